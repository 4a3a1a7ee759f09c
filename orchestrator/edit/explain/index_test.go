package explain

import (
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
)

// linesOf returns a document with the lines of file, split at "|".
func linesOf(path, file string) *document.Document {
	return document.New(path, []byte(strings.ReplaceAll(file, "|", "\n")+"\n"))
}

// The lines that contain a text are returned by number, unless there are too many.
func TestTheLinesWithAText(t *testing.T) {
	t.Parallel()
	d := linesOf("a.py", "one|two one|three|one one")
	if got := linesWith(d, "one"); !slices.Equal(got, []int{0, 1, 3, 3}) {
		t.Errorf("one: %v", got)
	}
	if got := linesWith(d, "four"); got != nil {
		t.Errorf("four: %v", got)
	}
	if got := linesWith(document.New("", []byte(strings.Repeat("x\n", mostHits))), "x"); len(got) != mostHits {
		t.Errorf("%d lines of %d", len(got), mostHits)
	}
	if got := linesWith(document.New("", []byte(strings.Repeat("x\n", mostHits+1))), "x"); got != nil {
		t.Errorf("%d lines of a text that is too frequent", len(got))
	}
}

// Votes for one start are added up. The heaviest comes first, then the earlier in the file, and only the best are kept.
func TestVotesAreTallied(t *testing.T) {
	t.Parallel()
	got := tally([]vote{{9, 1, 1}, {4, 0.5, 1}, {2, 1, 1}, {4, 1, 1}, {4, 0.25, 0}})
	if want := []vote{{4, 1.75, 2}, {2, 1, 1}, {9, 1, 1}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	var many []vote
	for i := range 3 * windows {
		many = append(many, vote{start: i, weight: 1})
	}
	if got := tally(many); len(got) != windows || got[0].start != 0 {
		t.Errorf("%d starts from %d on, want %d from 0", len(got), got[0].start, windows)
	}
}

// A line votes for the start of SEARCH, with less weight the more often it occurs. An absent line is reported; a blank one does not vote.
func TestLinesVoteForAStart(t *testing.T) {
	t.Parallel()
	votes, absent := lineVotes(linesOf("a.py", "a|b|c|b"), bars("a||  b|z"))
	if want := []vote{{0, 1, 1}, {-1, 0.5, 1}, {1, 0.5, 1}}; !slices.Equal(votes, want) {
		t.Errorf("votes %v, want %v", votes, want)
	}
	if !slices.Equal(absent, []int{3}) {
		t.Errorf("absent %v, want the last line", absent)
	}
}

// A filter passes every added line, and rejects most others.
func TestAFilterPassesItsLines(t *testing.T) {
	t.Parallel()
	var f lineFilter
	long := fill('l', 1000)
	for _, s := range []string{"alpha", "{", long} {
		f.set(s)
	}
	for s, want := range map[string]bool{
		"alpha": true, "{": true, long: true, long + "l": true, // all long lines count as one length
		"a": true, "beta!": false, "alphas": false, "\xff": false,
	} {
		if got := f.may(s); got != want {
			t.Errorf("%.10q of %d bytes passes: %v, want %v", s, len(s), got, want)
		}
	}
}

// Only ASCII space is trimmed, including line ends.
func TestTrimASCII(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": "", " \t\r\n": "", " a b\r\n": "a b", "\u00a0a": "\u00a0a", "a": "a"} {
		if got := trimASCII(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
