package blame

import (
	"slices"
	"strings"

	"agent/orchestrator/edit/align"
)

// A Clash is a place where two changes of one text touch. First and Last are lines of ours, from 1; Last is First-1
// where lines were removed between them.
type Clash struct{ First, Last int }

// A hunk replaces the lines of the base from first up to, but without, end with lines of another text that begin there
// at line at. A hunk that only adds has first equal to end. Hunks of one text are sorted, with at least one unchanged
// line between any two.
type hunk struct {
	first, end int
	lines      []string
	at         int
}

// Merge applies to base both what ours and what theirs changed. Changes clash if they overlap or no unchanged line
// separates them, unless they are the same change; merged is then "".
//
// It merges lines and knows nothing about their meaning: the result must still be judged. The clashes are in the order
// of theirs, each once. A line includes its line end, which the last line may lack.
func Merge(base, ours, theirs string) (merged string, clashes []Clash) {
	lines := Lines(base)
	mine, other := hunks(lines, Lines(ours)), hunks(lines, Lines(theirs))
	all := slices.Clone(mine)
	for _, o := range other {
		touching := slices.Collect(func(yield func(hunk) bool) {
			for _, m := range mine {
				// Equal counts as touching: two insertions at one place have no order, and the author of a changed line
				// read the line next to it too.
				if m.first <= o.end && o.first <= m.end && !yield(m) {
					return
				}
			}
		})
		switch {
		case len(touching) == 0:
			all = append(all, o)
		case len(touching) == 1 && touching[0].same(o): // the same in both
		default:
			for _, m := range touching {
				clashes = append(clashes, Clash{m.at + 1, m.at + len(m.lines)})
			}
		}
	}
	if len(clashes) > 0 {
		return "", slices.Compact(clashes)
	}
	// No two begin at the same line, or they would have touched.
	slices.SortFunc(all, func(a, b hunk) int { return a.first - b.first })
	var text strings.Builder
	next := 0
	for _, h := range all {
		text.WriteString(strings.Join(lines[next:h.first], "") + strings.Join(h.lines, ""))
		next = h.end
	}
	return text.String() + strings.Join(lines[next:], ""), nil
}

// same reports whether both hunks do the same to the base.
func (h hunk) same(o hunk) bool {
	return h.first == o.first && h.end == o.end && slices.Equal(h.lines, o.lines)
}

// hunks returns the hunks that turn base into lines, in order. align.Lines decides which lines are the same: it gives
// for each of lines the index in base, or -1.
func hunks(base, lines []string) (list []hunk) {
	pairs := append(align.Lines(base, lines), len(base)) // the ends of both are a pair too
	first, at := 0, 0
	for j, i := range pairs {
		if i < 0 {
			continue
		}
		if i > first || j > at {
			list = append(list, hunk{first, i, lines[at:j], at})
		}
		first, at = i+1, j+1
	}
	return list
}
