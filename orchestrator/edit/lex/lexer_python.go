package lex

import "strings"

// python returns the next token of Python.
//
// The rules are those of "Lexical analysis" in the language reference: https://docs.python.org/3/reference/lexical_analysis.html
//
// The end of a line is a token only where a statement may end: not on a line that is blank or holds only a comment, not within
// brackets, and not after a backslash. A missing last line end is supplied.
func (l *lexer) python() Lexeme {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == ' ' || c == '\t' || c == '\f':
			l.at++
		case c == '\n' || c == '\r':
			l.at++
			if len(l.open) == 0 && l.filled {
				l.filled = false
				return Lexeme{TokenLine, l.at - 1, l.at}
			}
		case c == '#':
			l.comment()
		case c == '\\':
			l.at++ // the line continues
			if l.peek(0) == '\r' && l.peek(1) == '\n' {
				l.at++
			}
			l.at = min(l.at+1, len(l.text))
		default:
			l.filled = true
			return l.pythonToken(c)
		}
	}
	if l.filled && len(l.open) == 0 {
		l.filled = false
		return Lexeme{TokenLine, l.at, l.at}
	}
	return Lexeme{TokenEnd, l.at, l.at}
}

// comment skips a comment that runs to the end of its line. It leaves the line end to be read, since in Python that may end a
// statement.
func (l *lexer) comment() {
	if i := strings.IndexAny(l.text[l.at:], "\r\n"); i >= 0 {
		l.at += i
		return
	}
	l.at = len(l.text)
}

// pythonToken reads the token that begins with c.
//
// Within the code of an f-string three bytes have another meaning: "}" ends the code, ":" begins the format, "!" a conversion. That
// holds only at the level of the code itself; in brackets of its own, as in f"{a[1:2]}", they are punctuation.
func (l *lexer) pythonToken(c byte) Lexeme {
	switch {
	case c == '"' || c == '\'':
		return l.pythonString(l.at, "")
	case digit(c) || c == '.' && digit(l.peek(1)):
		return l.number()
	case wordBytes[c]:
		t := l.word()
		if q := l.peek(0); (q == '"' || q == '\'') && stringPrefix(l.text[t.Lo:t.Hi]) {
			return l.pythonString(t.Lo, strings.ToLower(l.text[t.Lo:t.Hi]))
		}
		return t
	}
	if n := len(l.open); n > 0 && l.open[n-1].char == inString {
		o := &l.open[n-1]
		switch {
		case c == '}':
			l.at++
			return l.resumeString(l.at-1, n-1)
		case c == ':':
			l.at++
			o.spec = true
			return l.pythonBody(l.at-1, *o)
		case c == '!' && l.peek(1) != '=':
			l.at++ // a conversion: the "!r" of {x!r}
			t := l.word()
			t.Kind = TokenString
			return t
		}
	}
	return l.punct()
}

// stringPrefix reports whether the word s before a quotation mark belongs to the string: r, b, f, u and t in either case, and pairs
// of them such as rb. Some of those pairs are not valid Python; refusing them is left to Python.
func stringPrefix(s string) bool {
	return len(s) <= 2 && strings.Trim(strings.ToLower(s), "rbfut") == ""
}

// pythonString reads a string whose prefix begins at lo, up to its end or to the first code in it. Three quotation marks in a row
// open a string that may span lines; "" followed by anything else is an empty string.
func (l *lexer) pythonString(lo int, prefix string) Lexeme {
	end := l.text[l.at : l.at+1]
	if strings.HasPrefix(l.text[l.at:], strings.Repeat(end, 3)) {
		end = strings.Repeat(end, 3)
	}
	l.at += len(end)
	o := opening{at: lo, char: inString, end: end, raw: strings.Contains(prefix, "r")}
	if strings.ContainsAny(prefix, "ft") {
		return l.pythonBody(lo, o)
	}
	return l.plainBody(lo, o)
}

// plainBody reads a string without code to its end.
//
// A backslash hides the next byte in raw strings too: r"\"" is one string whose
// text keeps the backslash.
func (l *lexer) plainBody(lo int, o opening) Lexeme {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == '\\':
			l.skipEscape()
		case (c == '\n' || c == '\r') && len(o.end) == 1:
			return l.stop(o.at, "the string is not closed on its line")
		case c == o.end[0] && strings.HasPrefix(l.text[l.at:], o.end):
			l.at += len(o.end)
			return Lexeme{TokenString, lo, l.at}
		default:
			l.at++
		}
	}
	return l.stop(o.at, "the string is never closed")
}

// skipEscape moves past a backslash and the character that it hides, which at the end of a line is all of "\r\n".
func (l *lexer) skipEscape() {
	if l.peek(1) == '\r' && l.peek(2) == '\n' {
		l.at++
	}
	l.at = min(l.at+2, len(l.text))
}

// pythonBody reads the text of an f-string from l.at to the next code in it, or to its end. It pushes an opening for code; the
// caller has none on the stack.
//
// With spec set it reads a format, the ">{width}" of f"{a:>{width}}". A format may hold code, whose opening is then pushed on top
// of the format's, and it ends with the "}" of the code that it belongs to. Doubled braces stand for one brace in the text, but in
// a format they end code: f"{a:{b}}" closes twice.
func (l *lexer) pythonBody(lo int, o opening) Lexeme {
	if o.spec { // back in the opening of the code whose format this is
		l.open = l.open[:len(l.open)-1]
	}
	for l.at < len(l.text) {
		c := l.text[l.at]
		switch {
		// \N{BULLET} is a character by its name, not code.
		case c == '\\' && !o.raw && l.peek(1) == 'N' && l.peek(2) == '{':
			l.skipTo("}")
		case c == '\\' && l.peek(1) != '{' && l.peek(1) != '}':
			l.skipEscape()
		case (c == '\n' || c == '\r') && len(o.end) == 1:
			return l.stop(o.at, "the string is not closed on its line")
		case !o.spec && (c == '{' || c == '}') && l.peek(1) == c:
			l.at += 2
		case c == '{':
			l.at++
			if o.spec {
				l.open = append(l.open, o) // the format continues after the inner code
			}
			l.open = append(l.open, opening{at: o.at, char: inString, end: o.end, raw: o.raw})
			return Lexeme{TokenString, lo, l.at}
		case c == '}' && o.spec:
			l.at++
			o.spec = false
			if n := len(l.open); n > 0 && l.open[n-1].spec { // a format within a format
				o, l.open = l.open[n-1], l.open[:n-1]
			}
		case c == o.end[0] && strings.HasPrefix(l.text[l.at:], o.end):
			if o.spec {
				return l.stop(o.at, "the code in the string is not closed")
			}
			l.at += len(o.end)
			return Lexeme{TokenString, lo, l.at}
		default:
			l.at++
		}
	}
	return l.stop(o.at, "the string is never closed")
}

// resumeString continues a string after the code of opening i: in its text, or in the format that the code was part of.
func (l *lexer) resumeString(lo, i int) Lexeme {
	o := l.open[i]
	l.open = l.open[:i]
	if i > 0 && l.open[i-1].spec {
		return l.pythonBody(lo, l.open[i-1])
	}
	return l.pythonBody(lo, o)
}
