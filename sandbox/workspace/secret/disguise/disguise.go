// Package disguise finds credentials that a text holds in pieces or in another notation: literals next to each other or in a
// list, escapes, character codes, and what is reversed or encoded. It joins what a line and the lines after it contain, decodes
// it, and searches it with package secret for the forms of issuers. It executes nothing, and does not recognise what is nested
// more than once.
package disguise

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"agent/sandbox/workspace/lazyregexp"
	"agent/sandbox/workspace/secret"
)

// Bounds: a key is put together within a few lines.
const (
	mostLines    = 12
	longestJoin  = 2 << 10
	leastEncoded = 16
	leastSecret  = 20
)

var (
	// literal matches a string, without any prefix of its quotes.
	literal = lazyregexp.New(`"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|` + "`([^`\n]*)`")
	// codes matches a list of numbers that may be character codes, decimal or hexadecimal.
	codes = lazyregexp.New(`(?:(?:0x[0-9a-fA-F]{2}|\b\d{2,3})\s*,\s*){15,}(?:0x[0-9a-fA-F]{2}|\d{2,3})`)
	// escaped matches one character written as its number.
	escaped = lazyregexp.New(`\\x([0-9a-fA-F]{2})|\\u00([0-9a-fA-F]{2})|\\u\{([0-9a-fA-F]{2})\}`)
	// encoded matches what may be encoded text.
	encoded = lazyregexp.New(`[0-9A-Za-z+/_-]{16,}={0,6}`)
	// named matches a name that a secret is assigned to, before the assigned value.
	named = lazyregexp.New(`(?i)(?:password|passwd|secret|token|api_?key|access_?key|private_?key|auth_?key)\w*["']?\s*(?::=|=>|=|:)\s*\(?\s*(.*)$`)
	// folded matches the head of a YAML value that continues in the lines below.
	folded = lazyregexp.New(`(?i)(?:password|passwd|secret|token|api_?key|access_?key|private_?key|auth_?key)\w*["']?\s*:\s*[>|][+-]?\s*$`)
)

// Find lists what is disguised in a text, at most one per line. Lines in known, without the space around them, were
// there before: it finds nothing that consists of such lines alone.
func Find(text string, known map[string]bool) (found []secret.Finding) {
	for i, w := range windows(strings.Split(text, "\n"), known) {
		found = append(found, secret.Finding{Rule: w.rule + ", in pieces or encoded", Line: i + 1})
	}
	return found
}

// A window is the number of lines that together hold something disguised, and what it is.
type window struct {
	rule string
	used int
}

// windows yields them by the index of their first line, in order and without overlap.
func windows(lines []string, known map[string]bool) iter.Seq2[int, window] {
	fresh := func(line string) bool { return strings.TrimSpace(line) != "" && !known[strings.TrimSpace(line)] }
	return func(yield func(int, window) bool) {
		for i := 0; i < len(lines); i++ {
			if len(lines[i]) > secret.MaxLine || len(lines[i]) < 5 || !fresh(lines[i]) || !strings.ContainsAny(lines[i], "\"'`,>|([=:+") {
				continue
			}
			if _, plain := secret.InLine(lines[i]); plain {
				continue // found without our help
			}
			rule, used := inWindow(lines[i:min(len(lines), i+mostLines)])
			if rule == "" {
				continue
			}
			if !yield(i, window{rule, used}) {
				return
			}
			i += used - 1
		}
	}
}

// Hide is secret.Hide for disguised credentials as well: every part of these gets a mark.
func Hide(text string) (hidden string, restore func(string) string) { return secret.Hide(text, spans) }

// leastPart is the length in bytes from which a part of a credential is hidden: anything shorter is a word or a sign.
const leastPart = 4

// spans lists the parts of what is disguised in a text.
func spans(text string) (found []secret.Span) {
	lines := strings.Split(text, "\n")
	starts := make([]int, len(lines)+1)
	for i, line := range lines {
		starts[i+1] = starts[i] + len(line) + 1
	}
	for i, w := range windows(lines, nil) {
		for n := i; n < i+w.used || goesOn(lines, i, n); n++ {
			for _, s := range parts(lines[n], n > i) {
				found = append(found, secret.Span{From: starts[n] + s.From, To: starts[n] + s.To})
			}
		}
	}
	return found
}

// goesOn reports whether line n has more of what began in line i: a window ends as soon as there is enough of it.
func goesOn(lines []string, i, n int) bool {
	if n >= len(lines) || n >= i+mostLines || strings.TrimSpace(lines[n]) == "" {
		return false
	}
	return continues(lines[n-1], lines[n]) || folded.MatchString(lines[i]) && indentation(lines[n]) > indentation(lines[i])
}

// parts lists where a line of a window holds parts of a credential: its strings and, outside of them, what may be encoded and
// character codes. A line below the first with none of these is a part as a whole.
func parts(line string, below bool) (found []secret.Span) {
	add := func(from, to int) {
		if to-from >= leastPart {
			found = append(found, secret.Span{From: from, To: to})
		}
	}
	outside := []byte(line)
	for _, m := range literal.FindAllStringSubmatchIndex(line, -1) {
		for k := 2; k < len(m); k += 2 {
			if m[k] >= 0 {
				add(m[k], m[k+1])
			}
		}
		for k := m[0]; k < m[1]; k++ {
			outside[k] = ' '
		}
	}
	for _, m := range codes.FindAllStringIndex(string(outside), -1) {
		add(m[0], m[1])
	}
	for _, m := range encoded.FindAllStringIndex(string(outside), -1) {
		if slices.ContainsFunc(decoded(line[m[0]:m[1]]), func(text string) bool {
			_, ok := secret.OfForm(text + " " + reversed(text))
			return ok
		}) {
			add(m[0], m[1])
		}
	}
	if below && len(found) == 0 {
		from := indentation(line)
		add(from, from+len(strings.TrimSpace(line)))
	}
	return found
}

// inWindow examines a line by itself, and together with the lines after it that continue it. used is how many lines were needed.
func inWindow(lines []string) (rule string, used int) {
	joined, plus := "", true
	for n, line := range lines {
		if n > 0 && (len(line) > secret.MaxLine || !continues(lines[n-1], line)) {
			break
		}
		pieces := literal.FindAllStringSubmatch(line, -1)
		for _, m := range pieces {
			joined += m[1] + m[2] + m[3]
		}
		plus = plus && (!strings.Contains(line, ",") || !strings.Contains(literal.ReplaceAllString(line, ""), ","))
		if len(joined) > longestJoin {
			break
		}
		for _, form := range forms(line, joined) {
			if rule, ok := secret.OfForm(form); ok {
				return rule, n + 1
			}
		}
		// A secret according to its name, in pieces that are joined without a list.
		if plus && (n > 0 || len(pieces) > 1) && len(joined) >= leastSecret && named.MatchString(lines[0]) {
			if _, ok := secret.InLine(`secret = "` + joined + `"`); ok {
				return "a secret given as a literal", n + 1
			}
		}
	}
	return inFolded(lines)
}

// inFolded examines a YAML value in the lines below its key.
func inFolded(lines []string) (rule string, used int) {
	if !strings.ContainsAny(lines[0], ">|") || !folded.MatchString(lines[0]) {
		return "", 0
	}
	value, depth := "", indentation(lines[0])
	for n, line := range lines[1:] {
		if strings.TrimSpace(line) == "" || indentation(line) <= depth {
			break
		}
		value += strings.TrimSpace(line)
		if _, ok := secret.InLine(`secret = "` + value + `"`); ok && len(value) >= leastSecret {
			return "a secret given as a literal", n + 2
		}
	}
	return "", 0
}

// indentation returns the width of the white space before a line.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// continues reports whether a line continues the strings of the one above: it contains only literals, and signs that join them.
func continues(above, line string) bool {
	if !strings.ContainsAny(line, "\"'`") {
		return false
	}
	rest := strings.TrimSpace(literal.ReplaceAllString(line, ""))
	return literal.MatchString(line) && len(rest) <= 8 && !strings.ContainsFunc(rest, unicode.IsLetter) || literal.MatchString(line) && strings.HasSuffix(strings.TrimSpace(above), "(")
}

// forms returns the texts that a line may stand for, with the strings so far joined.
func forms(line, joined string) (list []string) {
	add := func(text string) {
		if printable(text) && len(text) >= leastEncoded {
			list = append(list, text, reversed(text))
		}
	}
	add(joined)
	plain := joined
	if strings.Contains(joined, `\`) {
		plain = escaped.ReplaceAllStringFunc(joined, unescape)
		add(plain)
	}
	if strings.Contains(plain, "%") {
		if text, err := url.PathUnescape(plain); err == nil {
			add(text)
		}
	}
	if strings.Count(line, ",") >= leastEncoded-1 {
		for _, m := range codes.FindAllString(line, 4) {
			add(characters(m))
		}
	}
	if plain != line {
		plain += " " + line
	}
	for _, m := range encoded.FindAllString(plain, 16) {
		for _, text := range decoded(m) {
			add(text)
		}
	}
	return list
}

// unescape returns the character of one escape.
func unescape(text string) string {
	m := escaped.FindStringSubmatch(text)
	n, err := strconv.ParseUint(m[1]+m[2]+m[3], 16, 8)
	if err != nil {
		return text
	}
	return string(rune(n))
}

// characters returns the text that a list of character codes stands for.
func characters(list string) string {
	var text strings.Builder
	for _, field := range strings.Split(list, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(field), 0, 8)
		if err != nil {
			return ""
		}
		text.WriteRune(rune(n))
	}
	return text.String()
}

// decoded returns the texts that a text may stand for, in the usual notations.
func decoded(text string) (list []string) {
	bare := strings.TrimRight(text, "=")
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.RawStdEncoding.DecodeString, base64.RawURLEncoding.DecodeString, base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString,
	} {
		if data, err := decode(bare); err == nil {
			list = append(list, string(data))
		}
	}
	return list
}

// printable reports whether a text is ASCII, as credentials are.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII || r < ' ' && r != '\n' && r != '\r' && r != '\t' })
}

// reversed returns a text reversed.
func reversed(text string) string {
	list := []byte(text)
	slices.Reverse(list)
	return string(list)
}
