package llm

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/sandbox/workspace/secret"
)

// maxDetail is how many bytes of what a vendor said an Error keeps.
const maxDetail = 300

// NewError returns an error of the kind whose detail is one line of at most
// 300 bytes, without control characters and without the keys.
func NewError(kind Kind, vendor, model, detail string, keys ...Key) *Error {
	return &Error{Kind: kind, Vendor: vendor, Model: model, Detail: Line(newMasker(keys).Mask(detail))}
}

// Mask returns text with every occurrence of a key's secret replaced by its ID:
// as it is, quoted, reversed, escaped for a URL, JSON or HTML, in hexadecimal, and
// in base64 at whatever offset; and with each of its lines, where it has several.
// Secrets shorter than 4 bytes are left.
func Mask(text string, keys ...Key) string { return newMasker(keys).Mask(text) }

// Masker returns Mask for always the same keys, whose forms are then made once.
func Masker(keys ...Key) func(text string) string { return newMasker(keys).Mask }

// OutputMasker returns what masks the keys in the output of programs, which may be
// cut: the part of a key that is left at either end of the text is masked too. Secrets
// and lines of them that are shorter than 8 bytes are left. The function is safe for
// concurrent use, and what it returns it returns unchanged the next time.
func OutputMasker(keys ...Key) func(text string) string {
	return secret.NewOutputMasker(known(keys)...)
}

// newMasker takes keys out of texts.
func newMasker(keys []Key) secret.Masker { return secret.NewMasker(known(keys)...) }

// known are the keys with their marks. It is kept nowhere: what prints a struct must not
// print them.
func known(keys []Key) (list []secret.Known) {
	for _, k := range keys {
		list = append(list, secret.Known{Text: k.Secret(), Mark: "[key " + k.ID + "]"})
	}
	return list
}

// Line returns text as one line of at most maxDetail bytes of valid UTF-8 with
// nothing in it that moves a cursor or hides: what a vendor says goes to a
// terminal and a database.
func Line(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= maxDetail {
		return text
	}
	const more = "…"
	cut := maxDetail - len(more)
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + more
}
