package lex

import (
	"strings"

	"agent/sandbox/workspace/lang"
)

// A Language holds what the engine must know of a file's language: what its comments look like, and what its line breaks mean. The
// zero language has no comments, and all its line breaks have a meaning.
//
// It is deliberately small. Comments decide only three things: which lines of the file the search may skip, which ends of lines it
// may skip, and whether SEARCH holds more than remarks. None of them removes text from a file.
type Language struct {
	line    []string    // the marks that begin a comment up to the end of the line
	Block   [][2]string // the marks that begin and end a comment
	syntax  *syntax     // the rest of what identifies comments after code; nil if those are not recognized
	Flow    lang.Flow   // where lines may be joined and broken
	prose   bool        // a fence of backquotes is part of the language
	Offside bool        // indentation has a meaning
}

// plainLanguage is the language of a file without a row: it may be prose, in which "#" is a heading.
var plainLanguage = &Language{prose: true, Offside: true}

// languages maps the rows of lang to their languages. Rows that do not differ in anything the engine needs share one: JavaScript
// and TypeScript, C and C++.
var languages = func() map[*lang.Language]*Language {
	type likeness struct {
		*lang.Syntax
		lang.Flow
		offside, prose bool
	}
	all, alike := map[*lang.Language]*Language{}, map[likeness]*Language{}
	for _, row := range lang.All() {
		key := likeness{row.Syntax, row.Flow, row.Offside, row.Prose}
		if alike[key] == nil {
			alike[key] = &Language{
				line: row.Syntax.Line, Block: row.Syntax.Block, syntax: syntaxOf(row.Syntax), Flow: row.Flow, prose: row.Prose, Offside: row.Offside,
			}
		}
		all[row] = alike[key]
	}
	return all
}()

// The languages with rules of their own in the engine.
var (
	PythonLanguage = languages[lang.Named("python")]
	YAMLLanguage   = languages[lang.Named("yaml")]
	ScriptLanguage = languages[lang.Named("javascript")]
	CLanguage      = languages[lang.Named("c")]
	ProseLanguage  = languages[lang.Named("markdown")]
)

// LanguageOf returns the language for the file's name.
//
// The whole name takes precedence over the extension, both ignoring case: "Makefile" has no extension, and ".gitignore" is all
// extension. An unknown name has no comments, which only makes matching stricter.
func LanguageOf(name string) *Language {
	if row := lang.Of(name); row != nil {
		return languages[row]
	}
	return plainLanguage
}

// Fenced reports whether a fence of backquotes is part of the language, so that a fence around a body may belong to the file.
func (l *Language) Fenced() bool { return l.prose }

// Comment reports whether the line s, taken alone, is a comment and nothing else. It does not recognize lines inside a longer
// comment or string; see Code for lines in their context.
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
