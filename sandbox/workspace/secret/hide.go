package secret

import (
	"fmt"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// pemBody matches what follows the first line of a private key: headers, and lines of base64, even if they are quoted,
// joined by \n or marked as a diff.
var pemBody = lazyregexp.New(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----` +
	`((?:[\s"'+,-]|\\[nr]|[A-Za-z-]+: [^\n\\]*(?:\n|\\n))*(?:[A-Za-z0-9+/=]{16,}(?:[\s"'+,-]|\\[nr])*)+[A-Za-z0-9+/=]{0,15})`)

// puttyBody matches what follows the line that counts the lines of a PuTTY private key.
var puttyBody = lazyregexp.New(`Private-Lines: \d+(?:\s+|\\[nr])+[+-]?((?:[+-]?[A-Za-z0-9+/=]+(?:\r?\n|\\[nr]|$))*[+-]?[A-Za-z0-9+/=]{4,})(?:\s|\\[nr]|$)`)

// longSecret is the length, in bytes, from which a credential is searched for in the whole text: a shorter one may be a
// word that also occurs elsewhere.
const longSecret = 16

// A Span is a part of a text, by its offsets in bytes: from From to before To.
type Span struct{ From, To int }

// Hide returns text with a mark, [secret 1] and so on, in place of every credential in it. It also returns a function
// that puts the credentials back for such marks in another text, namely a model's answer to the first. A text without
// credentials is returned unchanged.
//
// Hide recognises credentials by the rules that hold a change, and by the names that they are assigned to, quoted or
// not: one too many costs little here. If the text quotes a file as a question does, between a line <<WORD NAME and the
// line WORD>>, Hide reads the file's content according to its name. For one text the marks are always the same; Hide
// uses no mark that the text already contains.
//
// further finds additional credentials that the rules of this package do not find: see package disguise. nil finds
// none.
func Hide(text string, further func(text string) []Span) (hidden string, restore func(string) string) {
	var out strings.Builder
	marks := map[string]string{} // by credential
	var pairs []string
	at, n := 0, 0
	for _, s := range secretSpans(text, further) {
		value := text[s.From:s.To]
		if marks[value] == "" {
			for marks[value] == "" || strings.Contains(text, marks[value]) {
				n++
				marks[value] = fmt.Sprintf("[secret %d]", n)
			}
			pairs = append(pairs, marks[value], value)
		}
		out.WriteString(text[at:s.From] + marks[value])
		at = s.To
	}
	out.WriteString(text[at:])
	return out.String(), strings.NewReplacer(pairs...).Replace
}

// quotationHead is the line that begins a quotation.
var quotationHead = lazyregexp.New(`^<<([0-9a-f]{16,}) (.*\S)\s*$`)

// A quotation says which quoted file a line of a text is in. The zero value is outside of any.
type quotation struct {
	end  string // the line that ends it, "" outside
	kind lang.Values
}

// enter advances to a line.
func (q *quotation) enter(line string) {
	if q.end != "" {
		if strings.TrimRight(line, "\r\n") == q.end {
			*q = quotation{}
		}
		return
	}
	if m := quotationHead.FindStringSubmatch(line); m != nil {
		*q = quotation{m[1] + ">>", textKindOf(strings.Trim(m[2], `"`))}
	}
}

// secretSpans returns where credentials are in a text, in order and without overlap.
func secretSpans(text string, further func(text string) []Span) []Span {
	var found []Span
	if further != nil {
		found = further(text)
	}
	for _, m := range pemBody.FindAllStringSubmatchIndex(text, -1) {
		found = append(found, Span{m[2], m[3]})
	}
	for _, m := range puttyBody.FindAllStringSubmatchIndex(text, -1) {
		found = append(found, Span{m[2], m[3]})
	}
	from, quoted := 0, quotation{}
	for line := range strings.Lines(text) {
		quoted.enter(line)
		found = append(found, lineSpans(line, from)...)
		if len(line) <= MaxLine {
			for _, s := range assignedSpans(line, quoted.kind) {
				found = append(found, Span{from + s.From, from + s.To})
			}
		}
		from += len(line)
	}
	// What was recognised by its look in one place is a credential in any other.
	for _, s := range slices.Clone(found) {
		value := text[s.From:s.To]
		if len(value) < longSecret {
			continue
		}
		for at := 0; ; {
			i := strings.Index(text[at:], value)
			if i < 0 {
				break
			}
			found = append(found, Span{at + i, at + i + len(value)})
			at += i + len(value)
		}
	}
	return apart(found)
}

// lineSpans returns the credentials of a line that begins at from. In a line too long to be handwritten only well-known
// forms count.
func lineSpans(line string, from int) (found []Span) {
	for i, r := range rules {
		literal := i == len(rules)-1
		if r.entropy == 0 || literal && (len(line) > MaxLine || !mayAssign(line)) {
			continue // the body of a private key is searched for in the whole text
		}
		if !slices.ContainsFunc(r.marks, func(m string) bool { return strings.Contains(line, m) }) {
			continue
		}
		for _, m := range r.form.FindAllStringSubmatchIndex(line, -1) {
			if value := line[m[2]:m[3]]; random(value, r.entropy) && !(literal && isName(value)) {
				found = append(found, Span{from + m[2], from + m[3]})
			}
		}
	}
	return found
}

// apart sorts spans and joins those that overlap.
func apart(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return a.From - b.From })
	var joined []Span
	for _, s := range spans {
		if last := len(joined) - 1; last >= 0 && s.From < joined[last].To {
			joined[last].To = max(joined[last].To, s.To)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}
