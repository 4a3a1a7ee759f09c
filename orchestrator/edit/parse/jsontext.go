package parse

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/problem"
)

// maxJSONDepth bounds how deeply values may be nested; patches are three deep. maxJSONValues bounds their number: even with the
// most blocks that are read, it leaves each block more values than there are fields.
const (
	maxJSONDepth  = 32
	maxJSONValues = 16 * MaxBlocks
)

// A jsonValue is one value of a JSON text. Fields keep their order, so that
// the first fault is always the same one.
type jsonValue struct {
	kind  byte        // '{', '[' or '"', '0' for a number, 't', 'f' or 'n' for a word
	text  string      // a string's characters; a number or word as it was written
	names []string    // of an object: the name of each item
	items []jsonValue // of an object or an array
}

// A jsonReader reads JSON as models write it. It repairs only what can be read in exactly one way: a comma before a closing
// bracket, line breaks and tabs inside a string, comments between the values, a byte order mark.
//
// It never guesses. An unescaped quotation mark inside a string, an escape that JSON does not have and half of a surrogate pair are
// refused, with their position, since each could stand for two texts. A text that ends too early was cut off, and is never
// completed.
//
// The standard library's decoder repairs nothing, takes the last of two fields with one name, and replaces bytes that are not
// UTF-8: the last two are losses that would go unnoticed in a patch.
type jsonReader struct {
	text   string
	at     int
	depth  int
	values int // the number of values begun
}

// A jsonFault says what is wrong with a JSON text, and at which offset; at the end of the text it means that the text was cut off.
//
// It is not a refusal yet: most of the JSON in a response is tried and found not to be a patch, and counting the lines before each
// fault would take long.
type jsonFault struct {
	text   string
	at     int
	reason string
}

// Error returns the reason alone.
func (f *jsonFault) Error() string { return f.reason }

// cutOff reports whether the text ends too early.
func (f *jsonFault) cutOff() bool { return f.at >= len(f.text) }

// refusal refuses the response for the fault, with its position.
func (f *jsonFault) refusal() error {
	if f.cutOff() {
		return problem.Refuse(problem.Problem{
			Kind: problem.KindTruncated, Reason: "the JSON ends before it is complete: the response was cut off",
			Advice: "send the whole response again",
		})
	}
	line := 1 + strings.Count(f.text[:f.at], "\n")
	column := 1 + utf8.RuneCountInString(f.text[strings.LastIndexByte(f.text[:f.at], '\n')+1:f.at])
	return problem.Refuse(problem.Problem{
		Kind: problem.KindParse, Reason: fmt.Sprintf("the JSON patch is not valid: line %d, column %d: %s", line, column, f.reason),
		Advice: jsonAdvice,
	})
}

// refusal turns a *jsonFault into a refusal; it returns any other error, and nil, unchanged.
func refusal(err error) error {
	var f *jsonFault
	if errors.As(err, &f) {
		return f.refusal()
	}
	return err
}

// cutOff reports whether an error says that a JSON text ends too early.
func cutOff(err error) bool {
	var f *jsonFault
	return errors.As(err, &f) && f.cutOff()
}

// readJSON reads the value that begins at offset at, and returns where the value ends. The error is a *jsonFault.
func readJSON(text string, at int) (v jsonValue, end int, err error) {
	r := &jsonReader{text: text, at: at}
	v, err = r.value()
	return v, r.at, err
}

// fault describes what is wrong at the offset.
func (r *jsonReader) fault(at int, reason string) error {
	return &jsonFault{r.text, at, reason}
}

// space skips space, byte order marks and comments.
//
// An unclosed comment takes the rest of the text, which then ends too early.
func (r *jsonReader) space() {
	for r.at < len(r.text) {
		rest := r.text[r.at:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			r.at++
		case strings.HasPrefix(rest, lex.BOM):
			r.at += len(lex.BOM)
		case strings.HasPrefix(rest, "//"):
			r.at += length(rest, "\n")
		case strings.HasPrefix(rest, "/*"):
			r.at += 2 + length(rest[2:], "*/")
		default:
			return
		}
	}
}

// length returns the length of s up to and including the first end, or of all of s if there is none.
func length(s, end string) int {
	if i := strings.Index(s, end); i >= 0 {
		return i + len(end)
	}
	return len(s)
}

// peek returns the next byte after space, or 0 at the end of the text.
func (r *jsonReader) peek() byte {
	if r.space(); r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

// value reads one value of any kind.
//
// The depth is bounded because each level is a level of calls here: otherwise a text of brackets would use up the stack.
func (r *jsonReader) value() (jsonValue, error) {
	if r.values++; r.values > maxJSONValues {
		return jsonValue{}, r.fault(r.at, fmt.Sprintf("there are more than %d values", maxJSONValues))
	}
	switch c := r.peek(); c {
	case '{', '[':
		if r.depth++; r.depth > maxJSONDepth {
			return jsonValue{}, r.fault(r.at, "the values are nested too deeply")
		}
		v, err := r.list(c)
		r.depth--
		return v, err
	case '"':
		s, err := r.quoted(",}]")
		return jsonValue{kind: '"', text: s}, err
	default:
		return r.word()
	}
}

// list reads an object or an array, which open begins.
//
// It refuses a name that occurs twice in an object: each reader decides differently which of the two counts, so the author's
// intention is unknown.
func (r *jsonReader) list(open byte) (jsonValue, error) {
	v := jsonValue{kind: open}
	end := open + 2 // "]" and "}" are two above their openings in ASCII
	seen := map[string]bool{}
	r.at++
	for r.peek() != end {
		if open == '{' {
			at := r.at
			if r.peek() != '"' {
				return v, r.fault(at, "expected the name of a field in double quotes")
			}
			name, err := r.quoted(":")
			if err != nil {
				return v, err
			}
			if seen[name] {
				return v, r.fault(at, fmt.Sprintf("duplicate field %q", problem.Clip(name, 80)))
			}
			seen[name] = true
			v.names = append(v.names, name)
			r.at++ // the colon, which quoted has seen
		}
		item, err := r.value()
		if err != nil {
			return v, err
		}
		v.items = append(v.items, item)
		switch r.peek() {
		case ',':
			r.at++
		case end:
		default:
			return v, r.fault(r.at, fmt.Sprintf("expected a comma or %q", string(end)))
		}
	}
	r.at++
	return v, nil
}

// word reads a number, true, false or null, up to the next byte that may follow one.
//
// At the end of the text it cannot be complete: a patch is an object or a list, and those have yet to be closed.
func (r *jsonReader) word() (jsonValue, error) {
	n := 0
	for r.at+n < len(r.text) && strings.IndexByte(" \t\r\n,]}/:", r.text[r.at+n]) < 0 {
		n++
	}
	s := r.text[r.at : r.at+n]
	switch {
	case r.at+n == len(r.text):
		return jsonValue{}, r.fault(len(r.text), "") // nothing shows that the word is complete
	case s == "true", s == "false", s == "null":
		r.at += n
		return jsonValue{kind: s[0], text: s}, nil
	case s != "" && strings.IndexByte("-0123456789", s[0]) >= 0 && json.Valid([]byte(s)):
		r.at += n
		return jsonValue{kind: '0', text: s}, nil
	}
	return jsonValue{}, r.fault(r.at, "expected a value: a string in double quotes, a list, an object, a number, true, false or null")
}

// quoted reads a string. After it, ignoring space, one of the bytes of then must follow. A quotation mark that is not followed by
// one is inside the string. So may be one that is followed by a comment with another quotation mark: "//" begins comments in JSON,
// and occurs in the paths of unescaped strings.
//
// A line break of a response with "\r\n" ends counts as one "\n", as in the bodies of all forms; an escaped "\r\n" is taken
// literally.
func (r *jsonReader) quoted(then string) (string, error) {
	var b strings.Builder
	for r.at++; r.at < len(r.text); {
		n := strings.IndexAny(r.text[r.at:], "\"\\\r")
		if n < 0 {
			break
		}
		b.WriteString(r.text[r.at : r.at+n])
		r.at += n
		switch r.text[r.at] {
		case '\r':
			if !strings.HasPrefix(r.text[r.at:], "\r\n") {
				b.WriteByte('\r')
			}
			r.at++
		case '\\':
			c, err := r.escape()
			if err != nil {
				return "", err
			}
			b.WriteRune(c)
		default:
			at := r.at
			r.at++
			c := r.peek()
			if c != 0 && strings.IndexByte(then, c) < 0 || strings.Contains(r.text[at+1:r.at], `"`) {
				return "", r.fault(at, `either a comma is missing here, or this quotation mark is inside a string and must be written \"`)
			}
			if r.at == len(r.text) {
				return "", r.fault(r.at, "")
			}
			return b.String(), nil
		}
	}
	return "", r.fault(len(r.text), "")
}

// escapes are the one-letter escapes of JSON and what they stand for.
const (
	escapes = `"\/bfnrt`
	meaning = "\"\\/\b\f\n\r\t"
)

// escape reads one escape, or two if they are a surrogate pair.
//
// Escapes like "\d" come from patterns that were not escaped a second time. The author may or may not mean the backslash, and the
// file would hold one of the two.
func (r *jsonReader) escape() (rune, error) {
	at := r.at
	rest := r.text[at+1:]
	if rest == "" {
		return 0, r.fault(len(r.text), "")
	}
	if i := strings.IndexByte(escapes, rest[0]); i >= 0 {
		r.at += 2
		return rune(meaning[i]), nil
	}
	c, ok := hex4(rest)
	if !ok && rest[0] == 'u' && len(rest) < 5 && strings.Trim(rest[1:], "0123456789abcdefABCDEF") == "" {
		return 0, r.fault(len(r.text), "")
	}
	if !ok {
		return 0, r.fault(at, `a backslash inside a string must be written \\`)
	}
	if r.at += 6; !utf16.IsSurrogate(c) {
		return c, nil
	}
	if low, ok := hex4(strings.TrimPrefix(r.text[r.at:], `\`)); ok && r.text[r.at] == '\\' {
		if c := utf16.DecodeRune(c, low); c != utf8.RuneError {
			r.at += 6
			return c, nil
		}
	}
	return 0, r.fault(at, "half of a surrogate pair is no character")
}

// hex4 reads "u" and four hexadecimal digits, in either case.
func hex4(s string) (rune, bool) {
	if len(s) < 5 || s[0] != 'u' {
		return 0, false
	}
	var c rune
	for _, h := range []byte(s[1:5]) {
		d := strings.IndexByte("0123456789abcdef", h|0x20)
		if d < 0 || h < '0' {
			return 0, false
		}
		c = c<<4 | rune(d)
	}
	return c, true
}

// jsonAdvice shows the form.
const jsonAdvice = `send [{"path":"PATH","oldText":"whole lines of the file","newText":"new lines"}], or {"path":"PATH","action":"create|modify|delete|rename","content":"whole content","from":"old path of a rename"}`
