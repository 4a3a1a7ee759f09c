package secret

import (
	"fmt"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// pemBody is what stands below the first line of a private key: headers, and
// lines of base64, also where they are quoted, joined by \n or marked as a diff.
var pemBody = lazyregexp.New(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----` +
	`((?:[\s"'+,-]|\\[nr]|[A-Za-z-]+: [^\n\\]*(?:\n|\\n))*(?:[A-Za-z0-9+/=]{16,}(?:[\s"'+,-]|\\[nr])*)+[A-Za-z0-9+/=]{0,15})`)

// puttyBody is what stands below the line that counts the lines of a private key of PuTTY.
var puttyBody = lazyregexp.New(`Private-Lines: \d+(?:\s+|\\[nr])+[+-]?((?:[+-]?[A-Za-z0-9+/=]+(?:\r?\n|\\[nr]|$))*[+-]?[A-Za-z0-9+/=]{4,})(?:\s|\\[nr]|$)`)

// longSecret is the length from which a credential is looked for in the whole
// text, in bytes: a shorter one may be a word that stands elsewhere by chance.
const longSecret = 16

// A Span is a part of a text, by its offsets in bytes: from From to before To.
type Span struct{ From, To int }

// Hide returns text with a mark, [secret 1] and so on, in the place of
// every credential in it, and a function that puts the credentials back where
// such marks stand in another text: in what a model answered to the first. A
// text without credentials is returned as it is.
//
// Credentials are known by the rules by which a change is held, and by the names that
// they are given to, quoted or not: here one too many costs little. What a file holds is
// read by its name where the text quotes it as a question does: between a line <<WORD
// NAME and the line WORD>>. Of one text
// the marks are always the same; one that the text holds already is not used.
//
// further finds more credentials, which the rules of this package do not: see package disguise. nil finds none.
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

// A quotation is where a text of several files stands. The zero value is outside of any.
type quotation struct {
	end  string // the line that ends it, "" outside
	kind lang.Values
}

// enter goes on to a line.
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

// secretSpans returns where credentials stand in a text, in order and apart.
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
	// What was told by its look in one place is the same in any other.
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

// lineSpans returns the credentials of a line that begins at from. In a line
// that is too long to be written by hand only well-known forms count.
func lineSpans(line string, from int) (found []Span) {
	for i, r := range rules {
		literal := i == len(rules)-1
		if r.entropy == 0 || literal && (len(line) > MaxLine || !mayAssign(line)) {
			continue // the body of a private key is looked for in the whole text
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
