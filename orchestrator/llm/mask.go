package llm

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/sandbox/workspace/secret"
)

// maxDetail is the number of bytes of a vendor's message that an Error keeps.
const maxDetail = 300

// NewError returns an error of the kind whose detail is one line of at most 300 bytes, without control characters and without the
// keys.
func NewError(kind Kind, vendor, model, detail string, keys ...Key) *Error {
	return &Error{Kind: kind, Vendor: vendor, Model: model, Detail: Line(newMasker(keys).Mask(detail))}
}

// Mask returns text with every occurrence of a key's secret replaced by its ID: as it is, quoted, reversed, escaped for a URL, JSON
// or HTML, in hexadecimal, and in base64 at any offset. If the secret has several lines, each of them is masked too. Secrets
// shorter than 4 bytes are left.
func Mask(text string, keys ...Key) string { return newMasker(keys).Mask(text) }

// Masker returns a func that does what Mask does for the same keys; it makes their forms only once.
func Masker(keys ...Key) func(text string) string { return newMasker(keys).Mask }

// OutputMasker returns a func that masks the keys in the output of programs. The output may be cut, so it also masks the part of a
// key at either end of the text. It leaves secrets, and lines of them, that are shorter than 8 bytes. The func is safe for
// concurrent use, and does not change its own results when applied again.
func OutputMasker(keys ...Key) func(text string) string {
	return secret.NewOutputMasker(known(keys)...)
}

// newMasker returns a masker for the keys.
func newMasker(keys []Key) secret.Masker { return secret.NewMasker(known(keys)...) }

// known returns the keys with their marks. The result is stored nowhere, so that printing a struct cannot print it.
func known(keys []Key) (list []secret.Known) {
	for _, k := range keys {
		list = append(list, secret.Known{Text: k.Secret(), Mark: "[key " + k.ID + "]"})
	}
	return list
}

// Line returns text as one line of at most maxDetail bytes of valid UTF-8, without characters that move a cursor or are invisible:
// a vendor's message goes to a terminal and a database.
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
