package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// minForm is the shortest text that is masked: masking shorter ones would
	// destroy the text around them, and no vendor gives out such a secret.
	minForm = 4
	// minOutput is the shortest secret, and the shortest part of one, that is masked in
	// the output of programs: that is long, full of ordinary words, and read by people.
	minOutput = 8
)

// A Known is a secret whose text is known, and the mark that stands in its place.
type Known struct{ Text, Mark string }

// A Masker takes known secrets out of texts, in every form in which one may stand there: as
// it is, quoted, reversed, escaped for a URL, JSON or HTML, in hexadecimal, and in base64 at
// whatever offset; and each of its lines, where it has several. It is made by NewMasker.
type Masker struct {
	replacer *strings.Replacer
	longest  int // bytes of the longest form, 0 without secrets
}

// NewMasker returns the masker of these secrets. Those shorter than 4 bytes are left.
func NewMasker(known ...Known) Masker { return maskerOf(pairsOf(minForm, known)) }

// NewOutputMasker returns what masks secrets in the output of programs, which may be cut: the
// part of one that is left at either end of the text is masked too. Secrets and lines of them
// that are shorter than 8 bytes are left. The function is safe for concurrent use, and what
// it returns it returns unchanged the next time.
func NewOutputMasker(known ...Known) func(text string) string {
	// Only this closure holds the forms: what prints a struct must not print them.
	pairs := pairsOf(minOutput, known)
	m := maskerOf(pairs)
	return func(text string) string { return m.Mask(maskEnds(pairs, text)) }
}

// pairsOf returns the forms of all secrets that have at least so many bytes, each with its
// mark, the longest first.
func pairsOf(least int, known []Known) (pairs [][2]string) {
	for _, k := range known {
		for _, part := range parts(k.Text) {
			for _, form := range forms(part) {
				if len(form) >= least && len(part) >= least {
					pairs = append(pairs, [2]string{form, k.Mark})
				}
			}
		}
	}
	// At one place in the text the first pair that fits wins: the longest must
	// come first, or its rest would stay.
	slices.SortStableFunc(pairs, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	return pairs
}

// maskerOf returns the masker of pairs, of which the longest form comes first.
func maskerOf(pairs [][2]string) (m Masker) {
	var list []string
	for _, p := range pairs {
		m.longest = max(m.longest, len(p[0]))
		list = append(list, p[0], p[1])
	}
	m.replacer = strings.NewReplacer(list...)
	return m
}

// parts returns a secret and, where it has several lines, each of them: programs
// indent and quote lines one by one. A line that begins or ends a PEM block is the same
// in all of them and no secret.
func parts(secret string) []string {
	list := []string{secret}
	if strings.Contains(secret, "\n") {
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "-----") {
				list = append(list, line)
			}
		}
	}
	return list
}

// maskEnds returns text without the parts of secrets that are left of them where the
// text was cut: at its begin, at its end, and before the mark of something left out. A
// whole form at an end counts as well, with the last character of base64, which the
// middle of a longer base64 text does not have.
func maskEnds(pairs [][2]string, text string) string {
	rest, left := text, ""
	for _, more := range []string{"…", " …"} {
		if t, ok := strings.CutSuffix(text, more); ok {
			rest, left = t, more
		}
	}
	head, tail := 0, 0 // bytes that are part of a secret
	headMark, tailMark := "", ""
	for _, p := range pairs {
		form := p[0]
		if strings.Contains(form, "-----") {
			continue // a PEM block, which begins and ends like all others: its lines are forms of their own
		}
		if n := overlap(form, rest); n > tail {
			tail, tailMark = n, p[1]
		}
		if n := overlap(rest, form); n > head {
			head, headMark = n, p[1]
		}
	}
	if head+tail > len(rest) {
		head, headMark = 0, ""
	}
	return headMark + rest[head:len(rest)-tail] + tailMark + left
}

// overlap returns how many bytes, of minOutput at least, the end of before shares with
// the begin of after; 0 for fewer.
func overlap(after, before string) int {
	for n := min(len(after), len(before)); n >= minOutput; n-- {
		if strings.HasSuffix(before, after[:n]) {
			return n
		}
	}
	return 0
}

// Mask returns text with the marks in the place of the secrets.
func (m Masker) Mask(text string) string { return m.replacer.Replace(text) }

// Holds reports whether text has one of the secrets in it.
func (m Masker) Holds(text string) bool { return m.longest > 0 && m.Mask(text) != text }

// Longest is how many bytes the longest form of a secret has, 0 without any.
func (m Masker) Longest() int { return m.longest }

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
	escaped, err := json.Marshal(secret)
	if err == nil && len(escaped) > 2 {
		list = append(list, string(escaped[1:len(escaped)-1]))
	}
	list = append(list, html.EscapeString(secret), strings.ReplaceAll(secret, "/", `\/`))
	// Alone, a base64 text has a last character of its own, and padding.
	list = append(list, base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)))
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		list = append(list, encoding.EncodeToString([]byte(secret)))
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
