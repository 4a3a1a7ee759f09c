package lex

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
)

// script returns the next token of JavaScript, TypeScript or CSS, outside elements and their tags.
//
// Whether a slash begins a regular expression depends on the text before it ("Lexical Grammar", ECMA-262): after a value it is an
// operator. Cases that cannot be decided without parsing set Unsure.
//
// A style sheet shares strings, brackets and "/* */" with scripts, but has no "//": in "a: url(//x.org)" and elsewhere two slashes
// are part of an address.
func (l *lexer) script() Lexeme {
	for l.at < len(l.text) {
		c := l.text[l.at]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			l.at++
			continue
		case c == '/' && l.peek(1) == '*':
			lo := l.at
			l.at += 2
			if !l.skipTo("*/") {
				return l.stop(lo, "the comment is never closed")
			}
			continue
		case l.lang != StyleGrammar && (c == '/' && l.peek(1) == '/' || c == '#' && l.peek(1) == '!' && l.at == 0):
			l.comment()
			continue
		case c == '"' || c == '\'':
			return l.quoted(c)
		case l.lang == StyleGrammar:
			return l.style(c)
		}
		return l.scriptToken(c)
	}
	return Lexeme{TokenEnd, l.at, l.at}
}

// quoted reads a string that must end on its line, unless a backslash hides the line end. An operator follows it, as after any
// value.
func (l *lexer) quoted(quote byte) Lexeme {
	lo := l.at
	l.at++
	t := l.plainBody(lo, opening{at: lo, end: string(quote)})
	l.value = true
	return t
}

// style reads a token of CSS. An address in url() need not be quoted and may hold anything: url(it's) is read up to its bracket as
// one string. With quotation marks it is a string in brackets, and may itself hold a bracket.
func (l *lexer) style(c byte) Lexeme {
	switch {
	case c == '\\':
		l.at = min(l.at+2, len(l.text))
		return Lexeme{TokenPunct, l.at, l.at}
	case !wordBytes[c]:
		return l.punct()
	}
	t := l.word()
	if !strings.EqualFold(l.text[t.Lo:t.Hi], "url") || l.peek(0) != '(' {
		return t
	}
	if rest := strings.TrimLeft(l.text[l.at+1:], " \t\r\n"); rest != "" && rest[0] != '"' && rest[0] != '\'' {
		if !l.skipTo(")") {
			return l.stop(t.Lo, "the address is never closed")
		}
		t.Kind, t.Hi = TokenString, l.at
	}
	return t
}

// scriptToken reads the token of a script that begins with c. It records in l.value whether the token ends a value: a name, a
// number, a string, a closing bracket and the "!" of TypeScript do; operators and the words of beforeValue do not.
//
// "#" begins a private name. "}" may end the code in a template rather than a block. "++" changes nothing: after x++ a slash
// divides, and after ++ alone a value is still to come.
func (l *lexer) scriptToken(c byte) Lexeme {
	value := l.value
	l.value = true
	switch {
	case c == '`':
		l.at++
		return l.template(l.at-1, l.at-1)
	case digit(c) || c == '.' && digit(l.peek(1)):
		return l.number()
	case wordBytes[c] || c == '$' || c == '#':
		t := l.scriptWord()
		l.value = !slices.Contains(beforeValue, l.text[t.Lo:t.Hi])
		return t
	case c == '/':
		return l.slash(value)
	case c == '<' && l.lang == MarkupGrammar && !value && l.opensElement():
		l.open = append(l.open, opening{at: l.at, char: inTag})
		return l.tagName()
	case c == '}' && len(l.open) > 0 && l.open[len(l.open)-1].char == inString:
		o := l.open[len(l.open)-1]
		l.open = l.open[:len(l.open)-1]
		l.at++
		return l.template(l.at-1, o.at)
	case (c == '+' || c == '-') && l.peek(1) == c:
		l.at += 2
		l.value = value // of x++ and of ++x
		return Lexeme{TokenPunct, l.at - 2, l.at}
	}
	l.value = c == ')' || c == ']' || c == '}' || c == '!' && value && l.peek(1) != '='
	return l.punct()
}

// beforeValue are the keywords that precede a value: in "return /x/" the slash opens an expression, where one after another word
// divides.
var beforeValue = lang.Named("javascript").Syntax.RegexAfter

// scriptWord reads a name, in which "$" is a letter and "#" begins a private one.
func (l *lexer) scriptWord() Lexeme {
	lo := l.at
	for l.at++; l.at < len(l.text) && (wordBytes[l.text[l.at]] || l.text[l.at] == '$'); {
		l.at++
	}
	return Lexeme{TokenWord, lo, l.at}
}

// slash reads a slash: a regular expression, or a division.
//
// After a closing bracket both are possible. There a single slash on the line is a division; two could be either:
// "if (a) /b/.test(c)" and "(a) / b / c" differ only in what the bracket is for.
//
// A regular expression ends at a slash on its line that is neither escaped by a backslash nor in a class: the second slash of /[/]/
// is a plain character.
func (l *lexer) slash(value bool) Lexeme {
	lo := l.at
	line, _, _ := strings.Cut(l.text[lo+1:], "\n")
	if value {
		last := strings.TrimRight(l.text[:lo], " \t\r\n")
		if strings.HasSuffix(last, ")") || strings.HasSuffix(last, "}") {
			l.Unsure = l.Unsure || strings.Contains(line, "/")
		}
		l.value = false
		return l.punct()
	}
	class := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			l.at = lo + 1 + i + 1
			l.value = true
			return Lexeme{TokenString, lo, l.at}
		}
	}
	l.Unsure = true // neither reading makes sense
	return l.punct()
}

// template reads the text of a template from l.at to the next code in it, or to its end; begin is where the template began.
//
// Only "${" interrupts a template. The opening that it pushes keeps begin, so that a template without an end is reported where it
// was opened, not where its last code ended.
func (l *lexer) template(lo, begin int) Lexeme {
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == '\\':
			l.skipEscape()
		case c == '`':
			l.at++
			l.value = true
			return Lexeme{TokenString, lo, l.at}
		case c == '$' && l.peek(1) == '{':
			l.at += 2
			l.open = append(l.open, opening{at: begin, char: inString})
			l.value = false
			return Lexeme{TokenString, lo, l.at}
		default:
			l.at++
		}
	}
	return l.stop(begin, "the template is never closed")
}

// opensElement reports whether "<" where a value is expected begins an element rather than the type parameters of an arrow
// function.
//
// "<>" and "<" with a name begin one. "<T,>", "<T extends U>" and "<T = U>" are parameters: TSX requires these spellings to tell
// them from elements. "<T>(" may be either, and leaves the lexer unsure.
func (l *lexer) opensElement() bool {
	if l.peek(1) == '>' {
		return true
	}
	i := l.at + 1
	for i < len(l.text) && wordBytes[l.text[i]] {
		i++
	}
	if i == l.at+1 || digit(l.text[l.at+1]) {
		return false
	}
	rest := strings.TrimLeft(l.text[i:], " \t\r\n")
	switch {
	case strings.HasPrefix(rest, ",") || strings.HasPrefix(rest, "extends ") || strings.HasPrefix(rest, "="):
		return false
	case strings.HasPrefix(rest, ">("):
		l.Unsure = true // a generic function type, or text in brackets
	}
	return true
}

// tagName reads "<" and the name after it. The name of a component is a word; that of a page element refers to nothing.
//
// A lower-case letter begins a page element, as in JSX: <div> is a string, <Cart> and <cart.Item> are the words Cart and cart. The
// rest of a dotted name is skipped, as a member of the object that the word names.
func (l *lexer) tagName() Lexeme {
	l.at++
	lo := l.at
	for l.at < len(l.text) && wordBytes[l.text[l.at]] {
		l.at++
	}
	t := Lexeme{TokenWord, lo, l.at}
	for l.at < len(l.text) && (wordBytes[l.text[l.at]] || strings.IndexByte(".:-", l.text[l.at]) >= 0) {
		l.at++
	}
	if lo < len(l.text) && (t.Lo == t.Hi || l.text[lo] >= 'a' && l.text[lo] <= 'z' && l.at == t.Hi) {
		t.Kind = TokenString
	}
	return t
}

// tag reads the next token inside a tag: attributes, up to ">" or "/>".
//
// Strings in a tag have no escapes and may span lines, as in HTML. A brace begins code. "/>" pops the tag off the openings; ">"
// turns it into the element whose text follows. A ")" or "}" shows that it was not a tag.
func (l *lexer) tag() Lexeme {
	for l.at < len(l.text) {
		c := l.text[l.at]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '=':
			l.at++
		case c == '"' || c == '\'':
			lo := l.at
			if l.at++; !l.skipTo(string(c)) {
				return l.stop(lo, "the string is never closed")
			}
			return Lexeme{TokenString, lo, l.at}
		case c == '{':
			l.value = false
			return l.punct()
		case c == '/' && l.peek(1) == '>':
			l.open = l.open[:len(l.open)-1]
			l.value = true
			l.at += 2
			return Lexeme{TokenString, l.at - 2, l.at}
		case c == '/' && (l.peek(1) == '/' || l.peek(1) == '*'):
			l.Unsure = true // a comment among attributes
			l.at++
		case c == '>':
			l.open[len(l.open)-1].char = inElement
			l.at++
		case c == '<' || c == '}' || c == ')':
			l.Unsure = l.Unsure || c == '<' // type arguments
			if c != '<' {
				return l.stop(l.at, "%q stands in a tag", string(c))
			}
			l.at++
		default: // the name of an attribute refers to nothing
			l.at++
		}
		if l.open[len(l.open)-1].char == inElement {
			return Lexeme{TokenString, l.at - 1, l.at}
		}
	}
	return Lexeme{TokenEnd, l.at, l.at}
}

// element reads the next token in the text of an element: code, a tag, or the end.
//
// Everything else is text, in which quotation marks and slashes have no meaning: "don't" opens no string. The name in a closing tag
// is not compared with the one in the opening tag; the compiler does that, with a better message.
func (l *lexer) element() Lexeme {
	lo := l.at
	i := strings.IndexAny(l.text[lo:], "<{")
	if i < 0 {
		l.at = len(l.text)
		return Lexeme{TokenEnd, l.at, l.at}
	}
	l.at += i
	switch {
	case l.text[l.at] == '{':
		l.value = false
		return l.punct()
	case l.peek(1) == '/':
		if !l.skipTo(">") {
			return Lexeme{TokenEnd, l.at, l.at}
		}
		l.open = l.open[:len(l.open)-1]
		l.value = true
		return Lexeme{TokenString, lo, l.at}
	}
	l.open = append(l.open, opening{at: l.at, char: inTag})
	return l.tagName()
}
