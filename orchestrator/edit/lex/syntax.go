package lex

import "agent/sandbox/workspace/lang"

// A syntax holds what is needed to tell a comment after code from text that only looks like one: "#fff", "# no" in a string, the
// slashes of a URL.
//
// It is not a grammar. A scanner that meets something it cannot follow is lost, and from there on it calls nothing a comment. That
// costs a refusal at worst, where a wrong guess would cost a line of the user's code.
type syntax struct {
	quotes    string       // marks of strings that end on their line and have backslash escapes
	literal   string       // the same without escapes
	long      []longString // strings that may span lines, tried first
	letter    bool         // "'" begins a character literal
	lifetime  bool         // or a name: 'a
	raw       string       // a word with this ending changes the kind of the string after it: r#"…"#
	formatted bool         // code may appear in f"{…}"
	script    bool         // "/" may begin a regular expression, and code may appear in `${…}`
	keywords  []string     // words that a value follows: a slash after one begins an expression
	shell     bool         // "<<WORD" begins a text up to a line WORD; code may appear in "$(…)"
	scalars   bool         // a line that ends in "|" or ">" begins an indented text
	spaced    bool         // a mark begins a comment only after a space
	alien     []string     // files that contain one of these are not scanned at all
}

// A longString is a string that may span lines.
type longString struct {
	open, end string
	escapes   bool
}

// syntaxOf returns the syntax of a row of lang, or nil if comments after code are not certain.
func syntaxOf(row *lang.Syntax) *syntax {
	if !row.Exact {
		return nil
	}
	s := &syntax{
		letter: row.Char, lifetime: row.Lifetimes, raw: row.Raw, formatted: row.Formatted, script: row.RegexAfter != nil, keywords: row.RegexAfter,
		shell: row.HereDocs, scalars: row.Scalars, spaced: row.Spaced, alien: row.Alien,
	}
	for _, form := range row.Strings {
		switch {
		case form.Lines:
			s.long = append(s.long, longString{form.Open, form.Close, form.Escapes})
		case form.Escapes:
			s.quotes += form.Open
		default:
			s.literal += form.Open
		}
	}
	return s
}
