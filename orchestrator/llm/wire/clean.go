package wire

import (
	"encoding/base64"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/orchestrator/llm"
)

// maxDetail is the longest text of an error, in bytes.
const maxDetail = 300

// Detail returns text as the detail of an error: masked, and then one line.
// The order matters: a key that was cut is a key that is not found.
func Detail(text string, key llm.Key) string {
	return Line(mask(printable(text), key.Secret()))
}

// Line returns text as one line of at most 300 bytes of printable characters.
func Line(text string) string {
	text = printable(text)
	if len(text) <= maxDetail {
		return text
	}
	const dots = "…"
	cut := maxDetail - len(dots)
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + dots
}

// printable turns runs of white space into one space and drops what would move
// a terminal's cursor or hide text from its reader.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return strings.Join(strings.Fields(text), " ")
}

// mask replaces the secret, and the forms of it that servers and proxies echo.
func mask(text, secret string) string {
	if secret == "" {
		return text
	}
	for _, form := range forms(secret) {
		text = strings.ReplaceAll(text, form, "[key]")
	}
	return text
}

// forms returns a secret as it is written plain, reversed, in URLs, in
// hexadecimal and in base64, longest first, so that none leaves the rest of
// another behind.
func forms(secret string) []string {
	turned := []rune(secret)
	slices.Reverse(turned)
	digits := hex.EncodeToString([]byte(secret))
	list := []string{
		secret, string(turned), url.QueryEscape(secret), url.PathEscape(secret),
		digits, strings.ToUpper(digits),
	}
	// In base64 a key reads differently by where it begins among three bytes.
	for lead := range 3 {
		list = append(list, encoded(base64.RawStdEncoding, secret, lead), encoded(base64.RawURLEncoding, secret, lead))
	}
	list = slices.DeleteFunc(list, func(s string) bool { return s == "" })
	slices.SortFunc(list, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(list)
}

// encoded returns the characters of base64 that a secret alone decides when
// lead bytes, modulo three, stand before it, as a user's name does in basic
// authentication: the first and the last character may also hold bits of a
// neighbour and are left out.
func encoded(enc *base64.Encoding, secret string, lead int) string {
	text := enc.EncodeToString([]byte(strings.Repeat("\x00", lead) + secret))
	first := (lead*8 + 5) / 6
	return text[first : (lead+len(secret))*8/6]
}
