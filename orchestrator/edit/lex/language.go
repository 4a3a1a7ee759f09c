package lex

import (
	"strings"

	"agent/sandbox/workspace/lang"
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
	Flow    lang.Flow   // where lines may be joined and broken
	prose   bool        // a fence of backquotes is part of the language
	Offside bool        // depth has a meaning
}

// plainLanguage is that of a file without a row: it may be prose, in which "#" is a heading.
var plainLanguage = &Language{prose: true, Offside: true}

// languages are those of the rows of lang. Rows that are alike in all that is asked
// of them share one: JavaScript and TypeScript, C and C++.
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

// LanguageOf tells the language by the file's name.
//
// The whole name goes before the extension, both in any case of letters:
// "Makefile" has none, and ".gitignore" is all extension. A name that is not
// known has no comments, which only makes matching stricter.
func LanguageOf(name string) *Language {
	if row := lang.Of(name); row != nil {
		return languages[row]
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
