package lex

import "agent/sandbox/workspace/lang"

// A syntax is what it takes to tell a comment after code from text that only
// looks like one: "#fff", "# no" in a string, the slashes of a URL.
//
// It is no grammar. Whatever a scanner cannot follow makes it lost, and from
// there on it calls nothing a comment: that costs a refusal at worst, where
// a wrong guess would cost a line of the user's code.
type syntax struct {
	quotes    string       // marks of strings that end on their line, where a backslash escapes
	literal   string       // the same where none does
	long      []longString // strings that may span lines, tried first
	letter    bool         // "'" begins a character literal
	lifetime  bool         // or a name: 'a
	raw       string       // a word that ends so makes the string after it one of another kind: r#"…"#
	formatted bool         // code may stand in f"{…}"
	script    bool         // "/" may begin a regular expression, and code stand in `${…}`
	keywords  []string     // words that a value follows: a slash behind one begins an expression
	shell     bool         // "<<WORD" begins a text up to a line WORD; code may stand in "$(…)"
	scalars   bool         // a line that ends in "|" or ">" begins an indented text
	spaced    bool         // without a space before it a mark begins no comment
	alien     []string     // files with one of these are not scanned at all
}

// A longString is a string that may span lines.
type longString struct {
	open, end string
	escapes   bool
}

// syntaxOf is that of a row of lang, nil where comments after code are not certain.
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
