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
	// minForm is the shortest text that is masked: masking shorter ones would destroy the text around them, and no
	// vendor issues such a secret.
	minForm = 4
	// minOutput is the shortest secret, or part of one, that is masked in the output of programs: output is long, full
	// of ordinary words, and read by people.
	minOutput = 8
)

// A Known is a secret whose text is known, and the mark that replaces it.
type Known struct{ Text, Mark string }

// A Masker removes known secrets from texts, in every form in which they may occur: as it is, quoted, reversed, escaped
// for a URL, JSON or HTML, in hexadecimal, and in base64 at any offset. If a secret has several lines, it also removes
// each of them. Use NewMasker to create one.
type Masker struct {
	replacer *strings.Replacer
	longest  int // bytes of the longest form, 0 without secrets
}

// NewMasker returns a Masker for these secrets. It ignores those shorter than 4 bytes.
func NewMasker(known ...Known) Masker { return maskerOf(pairsOf(minForm, known)) }

// NewOutputMasker returns a function that masks secrets in the output of programs. Output may be cut, so the function
// also masks the part of a secret that is left at either end of the text. It ignores secrets, and lines of them,
// shorter than 8 bytes. It is safe for concurrent use, and leaves its own results unchanged.
func NewOutputMasker(known ...Known) func(text string) string {
	// Only this closure holds the forms: printing a struct must not print them.
	pairs := pairsOf(minOutput, known)
	m := maskerOf(pairs)
	return func(text string) string { return m.Mask(maskEnds(pairs, text)) }
}

// pairsOf returns the forms of all secrets that have at least least bytes, each with its mark, the longest first.
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
	// At one place in the text the first pair that matches wins: the longest must come first, or its rest would stay.
	slices.SortStableFunc(pairs, func(a, b [2]string) int { return len(b[0]) - len(a[0]) })
	return pairs
}

// maskerOf returns the Masker of pairs, in which the longest form comes first.
func maskerOf(pairs [][2]string) (m Masker) {
	var list []string
	for _, p := range pairs {
		m.longest = max(m.longest, len(p[0]))
		list = append(list, p[0], p[1])
	}
	m.replacer = strings.NewReplacer(list...)
	return m
}

// parts returns a secret and, if it has several lines, each of them: programs indent and quote lines one by one. A line
// that begins or ends a PEM block is the same in all blocks and not secret.
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

// maskEnds removes the parts of secrets that are left where the text was cut: at its beginning, at its end, and before
// the mark of something left out. A whole form at an end counts as well, with the last character of base64, which
// differs in the middle of a longer base64 text.
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
			continue // a PEM block begins and ends like all others: its lines are forms of their own
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

// overlap returns how many bytes, at least minOutput, the end of before shares with the beginning of after; 0 for
// fewer.
func overlap(after, before string) int {
	for n := min(len(after), len(before)); n >= minOutput; n-- {
		if strings.HasSuffix(before, after[:n]) {
			return n
		}
	}
	return 0
}

// Mask returns text with the marks in place of the secrets.
func (m Masker) Mask(text string) string { return m.replacer.Replace(text) }

// Holds reports whether text contains one of the secrets.
func (m Masker) Holds(text string) bool { return m.longest > 0 && m.Mask(text) != text }

// Longest returns the length in bytes of the longest form of a secret, 0 without secrets.
func (m Masker) Longest() int { return m.longest }

// forms returns the ways in which a secret may occur in a text.
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
	// A base64 text of its own has a different last character, and padding.
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

// base64At returns the characters that depend on secret alone when it is encoded after offset other bytes. A character
// holds 6 bits, so it omits those at both ends that depend on neighbours too.
func base64At(encoding *base64.Encoding, secret string, offset int) string {
	text := encoding.EncodeToString(append(make([]byte, offset), secret...))
	first := (8*offset + 5) / 6
	last := 8 * (offset + len(secret)) / 6
	return text[min(first, last):last]
}

// lowerEscapes returns a URL-encoded text with its hexadecimal digits in lower case, which is an equivalent URL.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(s[i+1:i+3]))
		}
	}
	return string(b)
}
