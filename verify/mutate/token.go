package mutate

import (
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A token is a word, a number, a sign or a literal of a line, and its place there.
type token struct {
	text     string
	from, to int
	literal  bool
}

// piece matches the next token of code; for signs, the longest.
var piece = lazyregexp.New(`^(?:\d[\w.]*|[\p{L}_$][\w$]*|===|!==|\*\*=|//=|<<=|>>=|&&=|\|\|=|\?\?=|\.\.\.|==|!=|<=|>=|<-|->|=>|:=|&&|\|\||\?\?|\?\.|\+\+|--|\+=|-=|\*=|/=|%=|\*\*|//|<<|>>|.)`)

// tokensOf splits a line into tokens. ok is false if the text of its literals cannot be determined for certain, as
// with a regular expression, a template with code in it or a string of several lines.
func tokensOf(line lang.Line) (list []token, ok bool) {
	raw, code, i := line.Raw, line.Code, 0
	for j := 0; j < len(code); {
		if i >= len(raw) {
			return nil, strings.TrimSpace(code[j:]) == ""
		}
		if strings.HasPrefix(code[j:], `""`) {
			end := literalEnd(raw, i)
			if end < 0 {
				return nil, false
			}
			list = append(list, token{raw[i:end], i, end, true})
			i, j = end, j+2
			continue
		}
		if raw[i] != code[j] {
			return nil, false // a comment within the line
		}
		if raw[i] == ' ' || raw[i] == '\t' {
			i, j = i+1, j+1
			continue
		}
		rest := code[j:]
		if k := strings.Index(rest, `""`); k > 0 {
			rest = rest[:k]
		}
		text := piece.FindString(rest)
		if text == "" || !strings.HasPrefix(raw[i:], text) {
			return nil, false
		}
		list = append(list, token{text, i, i + len(text), false})
		i, j = i+len(text), j+len(text)
	}
	return list, true
}

// literalEnd returns the end of the literal that begins at i of a line, or -1 if it does not certainly end on that line.
func literalEnd(raw string, i int) int {
	mark := raw[i]
	if mark != '"' && mark != '\'' && mark != '`' {
		return -1
	}
	width := 1
	if triple := strings.Repeat(string(mark), 3); strings.HasPrefix(raw[i:], triple) {
		width = 3
	}
	for k := i + width; k < len(raw); k++ {
		switch {
		case raw[k] == '\\' && mark != '`':
			k++
		case mark == '`' && (raw[k] == '\\' || strings.HasPrefix(raw[k:], "${")):
			return -1
		case raw[k] == mark && strings.HasPrefix(raw[k:], strings.Repeat(string(mark), width)):
			return k + width
		}
	}
	return -1
}
