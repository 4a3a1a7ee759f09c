package explain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/orchestrator/edit/align"
	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

// maxAligned bounds the lines of a SEARCH that is aligned by content; a longer one is compared line by line from the start.
const maxAligned = 200

// An alignment pairs the lines of SEARCH with lines of the file that are equal except for the space around them and Unicode
// punctuation.
//
// It only serves the message to the author of SEARCH. Nothing is ever applied at a place that was found in this way.
type alignment struct {
	search []string // without outer blank lines
	first  int      // the index in SEARCH, from 0, of search[0]
	at     []int    // for each line of search its line in the file, or -1
	lo, hi int      // the lines of the file that search stands for
}

// newAlignment pairs search with the lines in and around the window n.
//
// The window is as long as SEARCH; the text that it stands for can be longer or shorter by the lines that were inserted or removed.
// So lines slightly outside the window take part, and the first and the last recognizable line determine where the text begins and
// ends.
func newAlignment(d *document.Document, n near, search []string) *alignment {
	lo, hi := lex.Outer(search)
	a := &alignment{search: search[lo:hi], first: lo, lo: n.lo, hi: n.hi}
	a.at = make([]int, len(a.search))
	for i := range a.at {
		a.at[i] = -1
	}
	// A text this long is compared by position: an extra line at its top makes all the rest differ, but the first difference is
	// reported correctly.
	if len(a.search) > maxAligned {
		for i := range a.at {
			if l := n.lo + i; l < d.Len() && document.Loose.Key(a.search[i]) == document.Loose.Key(d.Line(l)) {
				a.at[i] = l
			}
		}
		return a
	}
	// A quarter of the text may be missing or new. With more than that, it is hardly the text that was meant.
	pad := min(2+len(a.search)/4, 20)
	a.common(d, max(0, n.lo-pad), min(d.Len(), n.hi+pad))
	// Each line with a word implies where the text would begin if nothing were missing before it. The first such line decides the
	// beginning and the last one the end.
	from, to := -1, -1
	for i, l := range a.at {
		if l >= 0 && hasWord(a.search[i]) {
			if from < 0 {
				from = max(n.lo-pad, l-i)
			}
			to = l + len(a.search) - i
		}
	}
	if from >= 0 {
		a.lo, a.hi = max(0, from), min(d.Len(), to)
	}
	for i, l := range a.at {
		if l < a.lo || l >= a.hi { // a brace outside the text
			a.at[i] = -1
		}
	}
	return a
}

// common pairs lines of search with equal ones among lines [lo, hi) of the file. A line with a word counts for more than a brace,
// and a brace for more than a blank line.
func (a *alignment) common(d *document.Document, lo, hi int) {
	search, file := make([]string, len(a.search)), make([]string, hi-lo)
	for i, s := range a.search {
		search[i] = document.Loose.Key(s)
	}
	for j := range file {
		file[j] = document.Loose.Key(d.Line(lo + j))
	}
	weight := func(key string) int {
		switch {
		case hasWord(key):
			return 8
		case key != "":
			return 2
		}
		return 1
	}
	for j, i := range align.Heaviest(search, file, weight) {
		if i >= 0 {
			a.at[i] = lo + j
		}
	}
}

// hasWord reports whether a line holds a letter or digit: most others, such as
// braces, are everywhere.
func hasWord(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// maxDiffering bounds the differing lines that a problem names.
const maxDiffering = 3

// differences describes how SEARCH differs from the lines of the file that it probably stands for. For the first differing lines it
// gives the author's line, the file's line and their difference, each on one line.
func (a *alignment) differences(d *document.Document, op *parse.Operation) string {
	var b strings.Builder
	told, more := 0, 0
	tell := func(mine, line int) {
		switch {
		case told == maxDiffering:
			more++
			return
		case mine < 0:
			fmt.Fprintf(&b, "  line %d is not in yours: %s\n", line+1, printable(cutAround(d.Line(line), 0, 200)))
		case line < 0:
			fmt.Fprintf(&b, "  your line %d is not in the file: %s\n", a.first+mine+1, printable(cutAround(a.search[mine], 0, 200)))
		default:
			writePair(&b, op, a.first+mine+1, a.search[mine], line+1, d.Line(line))
		}
		told++
	}
	f := a.lo
	for i := 0; i <= len(a.search); {
		j := i // lines i to j of search are not in the file; lines f to g of the file are not in search
		for j < len(a.search) && a.at[j] < 0 {
			j++
		}
		g := a.hi
		if j < len(a.search) {
			g = a.at[j]
		}
		a.gap(d, i, j, f, g, tell)
		i, f = j+1, max(f, g+1)
	}
	if told == 0 {
		a.spacing(d, tell)
	}
	if more > 0 {
		fmt.Fprintf(&b, "  %d more %s\n", more, problem.Plural(more, "line differs", "lines differ"))
	}
	return b.String()
}

// gap reports lines [i, j) of search and lines [f, g) of the file, between two paired lines: in pairs if their numbers are equal or
// while they resemble one another, else one by one.
func (a *alignment) gap(d *document.Document, i, j, f, g int, tell func(mine, line int)) {
	even := j-i == g-f
	for i < j || f < g {
		switch {
		case i < j && lex.Blank(a.search[i]):
			i++
		case f < g && lex.Blank(d.Line(f)):
			f++
		case i < j && f < g && (even || similar(a.search[i], d.Line(f))):
			tell(i, f)
			i, f = i+1, f+1
		case i < j && (f >= g || j-i >= g-f):
			tell(i, -1)
			i++
		default:
			tell(-1, f)
			f++
		}
	}
}

// spacing reports the pairs whose lines differ in space or punctuation, for a SEARCH that differs in nothing else. It reports
// trailing space only if there is no other difference.
func (a *alignment) spacing(d *document.Document, tell func(mine, line int)) {
	for _, trailing := range []bool{false, true} {
		told := false
		for i, l := range a.at {
			if l < 0 || lex.Blank(a.search[i]) {
				continue
			}
			s, f := a.search[i], d.Line(l)
			if !trailing {
				s, f = strings.TrimRight(s, " \t\r"), strings.TrimRight(f, " \t\r")
			}
			if s != f {
				tell(i, l)
				told = true
			}
		}
		if told {
			return
		}
	}
}

// similar reports whether two lines share a third of the bytes of their words, so that one is probably a changed version of the
// other.
func similar(a, b string) bool {
	have, shared, size := map[string]bool{}, 0, 0
	for _, w := range cuts(problem.Clip(lex.PlainUnicode(a), 2000)) {
		have[w] = have[w] || hasWord(w)
	}
	for _, w := range cuts(problem.Clip(lex.PlainUnicode(b), 2000)) {
		if hasWord(w) {
			size += len(w)
			if have[w] {
				shared += len(w)
			}
		}
	}
	return 3*shared >= size
}

// writePair shows a line of SEARCH above the line of the file that it probably stands for, and the tokens that differ.
func writePair(b *strings.Builder, op *parse.Operation, mine int, s string, line int, f string) {
	at := differAt(s, f)
	name := fmt.Sprintf("your line %d", mine)
	fmt.Fprintf(b, "  %s: %s\n", name, printable(cutAround(s, at, 200)))
	fmt.Fprintf(b, "  %*s: %s\n", len(name), fmt.Sprintf("line %d", line), printable(cutAround(f, at, 200)))
	yours := "your SEARCH"
	if op.Hunk != nil {
		yours = "your old lines"
	}
	var parts []string
	for _, h := range changes(s, f) {
		mine, theirs := h[0], h[1]
		if lookAlike(mine, theirs) {
			mine, theirs = visible(mine), visible(theirs)
		}
		mine, theirs = printable(cutAround(mine, 0, 80)), printable(cutAround(theirs, 0, 80))
		switch {
		case mine == "":
			parts = append(parts, fmt.Sprintf("missing in %s: `%s`", yours, theirs))
		case theirs == "":
			parts = append(parts, fmt.Sprintf("not in the file: `%s`", mine))
		default:
			parts = append(parts, fmt.Sprintf("yours has `%s`, the file `%s`", mine, theirs))
		}
	}
	fmt.Fprintf(b, "  %*s  %s\n", len(name), "", strings.Join(parts, "; "))
}

// differAt returns the length of the common prefix of two texts, in bytes.
func differAt(a, b string) (at int) {
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	return at
}

// lookAlike reports whether two differing pieces look the same or nearly so: they differ in kinds of space or punctuation, or one
// is ASCII and the other has as many characters but is not.
//
// Such pieces are shown by signs and code points; shown directly they would read as "yours has x, the file x".
func lookAlike(a, b string) bool {
	squash := func(s string) string { return strings.Join(strings.Fields(lex.PlainUnicode(s)), "") }
	if squash(a) == squash(b) {
		return true
	}
	return lex.ASCII(a) != lex.ASCII(b) && utf8.RuneCountInString(a) == utf8.RuneCountInString(b)
}

// changes returns up to three pairs of pieces that differ between two lines: the piece in a, and the piece in its place in b.
func changes(a, b string) (out [][2]string) {
	if at := differAt(a, b); len(a) > longLine || len(b) > longLine {
		a, b = problem.Clip(strings.ToValidUTF8(a[at:], "\ufffd"), longLine), problem.Clip(strings.ToValidUTF8(b[at:], "\ufffd"), longLine)
	}
	x, y := cuts(a), cuts(b)
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	if len(x)*len(y) > 4096 { // too long for piece by piece
		return [][2]string{{strings.Join(x, ""), strings.Join(y, "")}}
	}
	pairs, i0, j0 := align.Heaviest(x, y, func(s string) int { return len(s) }), 0, 0
	for j, i := range append(pairs, len(x)) { // the ends of both are a pair too
		if i < 0 {
			continue
		}
		if i > i0 || j > j0 {
			out = append(out, [2]string{strings.Join(x[i0:i], ""), strings.Join(y[j0:j], "")})
		}
		i0, j0 = i+1, j+1
	}
	return out[:min(len(out), 3)]
}

// cuts divides a line into words, runs of space, runs of operators and single characters; joined they are the line again.
func cuts(s string) (out []string) {
	class := func(r rune) int {
		switch {
		case lex.Word(r):
			return 1
		case unicode.IsSpace(r):
			return 2
		case strings.ContainsRune("+-*/%=<>!&|^~?:.", r):
			return 3
		}
		return 0
	}
	for s != "" {
		r, n := utf8.DecodeRuneInString(s)
		for c := class(r); c > 0 && n < len(s); {
			r, m := utf8.DecodeRuneInString(s[n:])
			if class(r) != c {
				break
			}
			n += m
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	return out
}
