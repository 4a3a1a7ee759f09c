package edit

import (
	"path"
	"strings"
)

// A language is what the engine must know of a file's language: what its
// comments look like, and what its line breaks mean. The zero language has no
// comments and means something by every line break.
//
// It is deliberately little. Comments decide only three things: which lines
// of the file may be passed over in the search, which ends of lines may, and
// whether SEARCH is more than remarks. None removes text from a file.
type language struct {
	line    []string    // what begins a comment that runs to the end of the line
	block   [][2]string // what begins and ends a comment
	syntax  *syntax     // what else it takes to tell comments after code; nil when they are not told
	flow    flow        // where lines may be joined and broken
	prose   bool        // a fence of backquotes is part of the language
	offside bool        // depth has a meaning
}

// A flow is where line breaks and the space around tokens mean nothing.
type flow int

const (
	fixed    flow = iota // nowhere
	brackets             // between ( and ), or [ and ]
	braces               // also between { and }
	free                 // everywhere
)

// The marks of comments that families of languages share.
var (
	slashes = []string{"//"}
	hash    = []string{"#"}
	stars   = [][2]string{{"/*", "*/"}}
	markup  = [][2]string{{"<!--", "-->"}}
)

// The families of languages. Markdown and plain text have no comments that
// a line can be told by: "#" is a heading there.
var (
	plainLanguage  = &language{prose: true, offside: true}
	proseLanguage  = &language{block: markup, prose: true, offside: true}
	textLanguage   = &language{}
	jsonLanguage   = &language{flow: free}
	pythonLanguage = &language{line: hash, syntax: pythonSyntax, flow: braces, offside: true}
	shellLanguage  = &language{line: hash, syntax: shellSyntax}
	yamlLanguage   = &language{line: hash, syntax: yamlSyntax, offside: true}
	tomlLanguage   = &language{line: hash, syntax: tomlSyntax, flow: brackets}
	hashLanguage   = &language{line: hash}
	goLanguage     = &language{line: slashes, block: stars, syntax: goSyntax, flow: brackets}
	scriptLanguage = &language{line: slashes, block: stars, syntax: scriptSyntax, flow: brackets}
	cLanguage      = &language{line: slashes, block: stars, syntax: cSyntax, flow: free}
	javaLanguage   = &language{line: slashes, block: stars, syntax: javaSyntax, flow: free}
	protoLanguage  = &language{line: slashes, block: stars, syntax: protoSyntax, flow: free}
	rustLanguage   = &language{line: slashes, block: stars, syntax: rustSyntax, flow: free}
	slashLanguage  = &language{line: slashes, block: stars}
	phpLanguage    = &language{line: []string{"//", "#"}, block: stars}
	cssLanguage    = &language{block: stars, syntax: cssSyntax}
	markLanguage   = &language{block: markup}
	dashLanguage   = &language{line: []string{"--"}, block: stars}
	luaLanguage    = &language{line: []string{"--"}}
	texLanguage    = &language{line: []string{"%"}}
	lispLanguage   = &language{line: []string{";"}}
)

// byName maps whole names of files to languages, byExtension their extensions.
// The languages that share an entry are alike in all that is asked of them: Ruby
// and Terraform have little in common but "#", and no syntax is given for either,
// so that a comment behind code is not told in them.
var (
	byName = byEntry(map[*language]string{
		hashLanguage: "makefile dockerfile containerfile gemfile rakefile justfile .gitignore .dockerignore",
	})
	byExtension = byEntry(map[*language]string{
		pythonLanguage: ".py .pyi",
		shellLanguage:  ".sh .bash .zsh",
		yamlLanguage:   ".yaml .yml",
		tomlLanguage:   ".toml",
		hashLanguage:   ".rb .pl .r .jl .tf .cfg .conf .mk .cmake .ps1 .ex .exs .nix",
		goLanguage:     ".go",
		scriptLanguage: ".js .jsx .mjs .cjs .ts .tsx .mts",
		cLanguage:      ".c .h .cc .cpp .hpp",
		javaLanguage:   ".java",
		protoLanguage:  ".proto",
		rustLanguage:   ".rs",
		slashLanguage:  ".kt .kts .cs .swift .scala .dart .scss .less .groovy .gradle .zig",
		phpLanguage:    ".php",
		cssLanguage:    ".css",
		markLanguage:   ".html .htm .xml .svg .vue .svelte",
		dashLanguage:   ".sql .hs .elm",
		luaLanguage:    ".lua",
		texLanguage:    ".tex .sty .erl",
		lispLanguage:   ".lisp .clj .el .scm .ini .asm",
		proseLanguage:  ".md .markdown .mdx",
		jsonLanguage:   ".json",
		textLanguage:   ".csv .tsv",
	})
)

// byEntry turns lists of names round: from each name to its language.
func byEntry(lists map[*language]string) map[string]*language {
	out := map[string]*language{}
	for l, names := range lists {
		for _, n := range strings.Fields(names) {
			out[n] = l
		}
	}
	return out
}

// languageOf tells the language by the file's name.
//
// The whole name goes before the extension, both in any case of letters:
// "Makefile" has none, and ".gitignore" is all extension. A name that is not
// known has no comments, which only makes matching stricter.
func languageOf(name string) *language {
	if l := byName[strings.ToLower(path.Base(name))]; l != nil {
		return l
	}
	if l := byExtension[strings.ToLower(path.Ext(name))]; l != nil {
		return l
	}
	return plainLanguage
}

// fenced reports whether a fence of backquotes is part of the language, so
// that one around a body may belong to the file.
func (l *language) fenced() bool { return l.prose }

// comment reports whether the line s, taken alone, is a comment and nothing
// else. A line inside a longer comment or string is not told apart; see code
// for lines in their context.
func (l *language) comment(s string) bool {
	s = strings.TrimSpace(s)
	for _, p := range l.line {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	for _, b := range l.block {
		if strings.HasPrefix(s, b[0]) && strings.Index(s[len(b[0]):], b[1]) == len(s)-len(b[0])-len(b[1]) && len(s) >= len(b[0])+len(b[1]) {
			return true
		}
	}
	return false
}
