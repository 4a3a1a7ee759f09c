package lex

import (
	"path"
	"strings"
)

// A Language is what the engine must know of a file's language: what its
// comments look like, and what its line breaks mean. The zero language has no
// comments and means something by every line break.
//
// It is deliberately little. Comments decide only three things: which lines
// of the file may be passed over in the search, which ends of lines may, and
// whether SEARCH is more than remarks. None removes text from a file.
type Language struct {
	line    []string    // what begins a comment that runs to the end of the line
	Block   [][2]string // what begins and ends a comment
	syntax  *syntax     // what else it takes to tell comments after code; nil when they are not told
	Flow    Flow        // where lines may be joined and broken
	prose   bool        // a fence of backquotes is part of the language
	Offside bool        // depth has a meaning
}

// A Flow is where line breaks and the space around tokens mean nothing.
type Flow int

const (
	Fixed    Flow = iota // nowhere
	Brackets             // between ( and ), or [ and ]
	Braces               // also between { and }
	Free                 // everywhere
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
	plainLanguage  = &Language{prose: true, Offside: true}
	ProseLanguage  = &Language{Block: markup, prose: true, Offside: true}
	textLanguage   = &Language{}
	jsonLanguage   = &Language{Flow: Free}
	PythonLanguage = &Language{line: hash, syntax: pythonSyntax, Flow: Braces, Offside: true}
	shellLanguage  = &Language{line: hash, syntax: shellSyntax}
	YAMLLanguage   = &Language{line: hash, syntax: yamlSyntax, Offside: true}
	tomlLanguage   = &Language{line: hash, syntax: tomlSyntax, Flow: Brackets}
	hashLanguage   = &Language{line: hash}
	goLanguage     = &Language{line: slashes, Block: stars, syntax: goSyntax, Flow: Brackets}
	ScriptLanguage = &Language{line: slashes, Block: stars, syntax: scriptSyntax, Flow: Brackets}
	CLanguage      = &Language{line: slashes, Block: stars, syntax: cSyntax, Flow: Free}
	javaLanguage   = &Language{line: slashes, Block: stars, syntax: javaSyntax, Flow: Free}
	protoLanguage  = &Language{line: slashes, Block: stars, syntax: protoSyntax, Flow: Free}
	rustLanguage   = &Language{line: slashes, Block: stars, syntax: rustSyntax, Flow: Free}
	slashLanguage  = &Language{line: slashes, Block: stars}
	phpLanguage    = &Language{line: []string{"//", "#"}, Block: stars}
	cssLanguage    = &Language{Block: stars, syntax: cssSyntax}
	markLanguage   = &Language{Block: markup}
	dashLanguage   = &Language{line: []string{"--"}, Block: stars}
	luaLanguage    = &Language{line: []string{"--"}}
	texLanguage    = &Language{line: []string{"%"}}
	lispLanguage   = &Language{line: []string{";"}}
)

// byName maps whole names of files to languages, byExtension their extensions.
// The languages that share an entry are alike in all that is asked of them: Ruby
// and Terraform have little in common but "#", and no syntax is given for either,
// so that a comment behind code is not told in them.
var (
	byName = byEntry(map[*Language]string{
		hashLanguage: "makefile dockerfile containerfile gemfile rakefile justfile .gitignore .dockerignore",
	})
	byExtension = byEntry(map[*Language]string{
		PythonLanguage: ".py .pyi",
		shellLanguage:  ".sh .bash .zsh",
		YAMLLanguage:   ".yaml .yml",
		tomlLanguage:   ".toml",
		hashLanguage:   ".rb .pl .r .jl .tf .cfg .conf .mk .cmake .ps1 .ex .exs .nix",
		goLanguage:     ".go",
		ScriptLanguage: ".js .jsx .mjs .cjs .ts .tsx .mts",
		CLanguage:      ".c .h .cc .cpp .hpp",
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
		ProseLanguage:  ".md .markdown .mdx",
		jsonLanguage:   ".json",
		textLanguage:   ".csv .tsv",
	})
)

// byEntry turns lists of names round: from each name to its language.
func byEntry(lists map[*Language]string) map[string]*Language {
	out := map[string]*Language{}
	for l, names := range lists {
		for _, n := range strings.Fields(names) {
			out[n] = l
		}
	}
	return out
}

// LanguageOf tells the language by the file's name.
//
// The whole name goes before the extension, both in any case of letters:
// "Makefile" has none, and ".gitignore" is all extension. A name that is not
// known has no comments, which only makes matching stricter.
func LanguageOf(name string) *Language {
	if l := byName[strings.ToLower(path.Base(name))]; l != nil {
		return l
	}
	if l := byExtension[strings.ToLower(path.Ext(name))]; l != nil {
		return l
	}
	return plainLanguage
}

// Fenced reports whether a fence of backquotes is part of the language, so
// that one around a body may belong to the file.
func (l *Language) Fenced() bool { return l.prose }

// Comment reports whether the line s, taken alone, is a comment and nothing
// else. A line inside a longer comment or string is not told apart; see code
// for lines in their context.
func (l *Language) Comment(s string) bool {
	s = strings.TrimSpace(s)
	for _, p := range l.line {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	for _, b := range l.Block {
		if strings.HasPrefix(s, b[0]) && strings.Index(s[len(b[0]):], b[1]) == len(s)-len(b[0])-len(b[1]) && len(s) >= len(b[0])+len(b[1]) {
			return true
		}
	}
	return false
}
