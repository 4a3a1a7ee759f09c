package deps

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// encoding matches the declaration, in one of the first two lines, of how to decode the bytes. (peps.python.org/pep-0263)
var encoding = lazyregexp.New(`^(?:[^\r\n]*(?:\r\n|\r|\n))?[^\r\n]*coding[:=][ \t]*([-\w.]+)`)

// setupWithoutWords returns the text of a setup.py without its comments, and without the arguments of setup() that only describe
// the project, if these are strings or lists of strings. It reads nothing else in the file, since that is a program. ok is false
// if the text is not Python, or too unusual to decide.
func setupWithoutWords(text string) (rest string, ok bool) {
	if m := encoding.FindStringSubmatch(text); m != nil && !slices.Contains([]string{"utf-8", "utf8", "ascii"}, strings.ToLower(m[1])) {
		return "", false // decoded differently, other bytes than those seen here may be quotes
	}
	var (
		b     strings.Builder
		calls []bool // for each open bracket, whether it belongs to setup()
		last  string // the last name read, if only space followed it
		s     = pythonScanner{text: text}
		head  = firstLines(text)
	)
	for s.at < len(text) {
		from := s.at
		kind, good := s.next()
		if !good {
			return "", false
		}
		word := text[from:s.at]
		switch {
		case kind == pythonComment && from >= head:
			continue
		case kind == pythonSpace:
			b.WriteString(word)
			continue
		case kind == pythonName && len(calls) > 0 && calls[len(calls)-1] && slices.Contains(setupAbout, word) && s.textsAfterEqual():
			last = ""
			continue
		case kind == pythonOther && strings.Contains("([{", word):
			calls = append(calls, word == "(" && last == "setup")
		case kind == pythonOther && strings.Contains(")]}", word):
			if len(calls) == 0 {
				return "", false
			}
			calls = calls[:len(calls)-1]
		}
		last = ""
		if kind == pythonName {
			last = word
		}
		b.WriteString(word)
	}
	return b.String(), len(calls) == 0
}

// firstLines returns the length of the two lines whose comments may name an interpreter or an encoding.
func firstLines(text string) int {
	one := strings.Index(text, "\n") + 1
	return one + strings.Index(text[one:], "\n") + 1
}

// A pythonKind is the kind of a token in a Python text.
type pythonKind int

const (
	pythonSpace pythonKind = iota
	pythonComment
	pythonName // or a number
	pythonText // a literal without code in it
	pythonOther
)

// A pythonScanner splits a Python text into tokens, as precisely as strings and brackets require.
// (docs.python.org/3/reference/lexical_analysis)
type pythonScanner struct {
	text string
	at   int
}

// next reads a token of at least one byte. It reports false for a literal that does not end.
func (s *pythonScanner) next() (pythonKind, bool) {
	rest := s.text[s.at:]
	switch c := rest[0]; {
	case strings.IndexByte(" \t\r\n\f\\", c) >= 0:
		s.at++
		return pythonSpace, true
	case c == '#':
		if n := strings.IndexAny(rest, "\r\n"); n >= 0 {
			s.at += n
		} else {
			s.at = len(s.text)
		}
		return pythonComment, true
	case c == '"' || c == '\'':
		return pythonText, s.literal(false)
	case pythonLetter(c):
		n := 1
		for n < len(rest) && pythonLetter(rest[n]) {
			n++
		}
		s.at += n
		if n < len(rest) && (rest[n] == '"' || rest[n] == '\'') {
			if strings.ContainsAny(rest[:n], "fFtT") {
				return pythonOther, s.literal(true)
			}
			return pythonText, s.literal(false)
		}
		return pythonName, true
	}
	s.at++
	return pythonOther, true
}

func pythonLetter(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// literal reads a string from its first quote to its last. It does not examine code in the string: it refuses one in which a
// quote could belong to that code.
func (s *pythonScanner) literal(code bool) bool {
	quote := s.text[s.at : s.at+1]
	if strings.HasPrefix(s.text[s.at:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	start := s.at + len(quote)
	for i := start; i < len(s.text); i++ {
		switch {
		case s.text[i] == '\\':
			i++
		case len(quote) == 1 && (s.text[i] == '\n' || s.text[i] == '\r'):
			return false
		case strings.HasPrefix(s.text[i:], quote):
			s.at = i + len(quote)
			return !code || strings.Count(s.text[start:i], "{") == strings.Count(s.text[start:i], "}")
		}
	}
	return false
}

// textsAfterEqual reads `= TEXTS` up to the comma or bracket that ends an argument, and that comma. It reports whether there was
// nothing else; if there was, it reads nothing.
func (s *pythonScanner) textsAfterEqual() bool {
	begun, depth, equal := s.at, 0, false
	for s.at < len(s.text) {
		from := s.at
		kind, ok := s.next()
		word := s.text[from:s.at]
		switch {
		case !ok:
			s.at = begun
			return false
		case kind == pythonSpace || kind == pythonComment || kind == pythonText && equal:
		case word == "=" && !equal:
			equal = true
		case equal && depth == 0 && word == ",":
			return true
		case equal && depth == 0 && word == ")":
			s.at = from
			return true
		case equal && kind == pythonOther && strings.Contains("([{", word):
			depth++
		case equal && depth > 0 && kind == pythonOther && strings.Contains(")]}", word):
			depth--
		case equal && depth > 0 && (word == "," || word == ":"):
		default:
			s.at = begun
			return false
		}
	}
	s.at = begun
	return false
}
