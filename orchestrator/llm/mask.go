package llm

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxDetail is how many bytes of what a vendor said an Error keeps.
	maxDetail = 300
	// minForm is the shortest text that is masked: masking shorter ones would
	// destroy the text around them, and no vendor gives out such a secret.
	minForm = 4
)

// NewError returns an error of the kind whose detail is one line of at most
// 300 bytes, without control characters and without the keys.
func NewError(kind Kind, vendor, model, detail string, keys ...Key) *Error {
	return &Error{Kind: kind, Vendor: vendor, Model: model, Detail: Line(newMasker(keys).mask(detail))}
}

// Mask returns text with every occurrence of a key's secret replaced by its ID:
// as it is, quoted, reversed, URL-encoded, in hexadecimal, and in base64 at
// whatever offset. Secrets shorter than 4 bytes are left.
func Mask(text string, keys ...Key) string { return newMasker(keys).mask(text) }

// Masker returns Mask for always the same keys, whose forms are then made once.
func Masker(keys ...Key) func(text string) string { return newMasker(keys).mask }

// A masker takes keys out of texts.
type masker struct {
	replacer *strings.Replacer
	longest  int // bytes of the longest form, 0 without keys
}

// newMasker prepares all forms of all keys.
func newMasker(keys []Key) masker {
	var m masker
	var pairs [][2]string
	for _, k := range keys {
		for _, form := range forms(k.Secret()) {
			if len(form) >= minForm && len(k.Secret()) >= minForm {
				pairs = append(pairs, [2]string{form, "[key " + k.ID + "]"})
				m.longest = max(m.longest, len(form))
			}
		}
	}
	// At one place in the text the first pair that fits wins: the longest must
	// come first, or its rest would stay.
	slices.SortStableFunc(pairs, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	var list []string
	for _, p := range pairs {
		list = append(list, p[0], p[1])
	}
	m.replacer = strings.NewReplacer(list...)
	return m
}

// mask returns text without the keys.
func (m masker) mask(text string) string { return m.replacer.Replace(text) }

// holds reports whether text has one of the keys in it.
func (m masker) holds(text string) bool { return m.longest > 0 && m.mask(text) != text }

// forms returns the ways in which a secret may stand in a text.
func forms(secret string) []string {
	reversed := []byte(secret)
	slices.Reverse(reversed)
	quoted := strconv.Quote(secret)
	hexed := hex.EncodeToString([]byte(secret))
	list := []string{
		secret, string(reversed), quoted[1 : len(quoted)-1],
		url.QueryEscape(secret), url.PathEscape(secret), lowerEscapes(url.QueryEscape(secret)), lowerEscapes(url.PathEscape(secret)),
		hexed, strings.ToUpper(hexed),
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			list = append(list, base64At(encoding, secret, offset))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// base64At returns the characters that secret alone decides when it is encoded
// after offset other bytes. A character holds 6 bits, so those at both ends
// that are shared with neighbours are left out.
func base64At(encoding *base64.Encoding, secret string, offset int) string {
	text := encoding.EncodeToString(append(make([]byte, offset), secret...))
	first := (8*offset + 5) / 6
	last := 8 * (offset + len(secret)) / 6
	return text[min(first, last):last]
}

// lowerEscapes returns a URL-encoded text with its hexadecimal digits in lower
// case, which is as good a URL.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(s[i+1:i+3]))
		}
	}
	return string(b)
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
