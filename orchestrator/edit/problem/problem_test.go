package problem

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBlocksAreCountedInRuns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		blocks []int
		want   string
	}{
		{[]int{4}, "block 4 matches"},
		{[]int{1, 2}, "blocks 1, 2 match"},
		{[]int{1, 2, 3}, "blocks 1 to 3 match"},
		{[]int{1, 3, 4, 5, 6, 9}, "blocks 1, 3 to 6, 9 match"},
		{[]int{1, 2, 3, 5, 6, 8, 9, 10}, "blocks 1 to 3, 5, 6, 8 to 10 match"},
	} {
		if got := count(c.blocks); got != c.want {
			t.Errorf("%v: %q, want %q", c.blocks, got, c.want)
		}
	}
}

// The advice about sound blocks depends on the faults of the others: a block that is already applied does not require sending others
// again.
func TestWhatIsLeftToSend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		staged []int
		kinds  []string
		want   string
	}{
		{"a fault and nothing sound", nil, []string{KindStale}, ""},
		{"a fault and sound ones", []int{1, 2, 3}, []string{KindStale}, "\nblocks 1 to 3 match as sent and would apply: repeat them unchanged with the corrected ones"},
		{"all applied already", nil, []string{KindAlready, KindNoop}, "\nnothing is left to send"},
		{"applied already beside a sound one", []int{2}, []string{KindAlready}, "\nblock 2 matches as sent and would apply: repeat it unchanged"},
		{"applied already, stale and sound", []int{3}, []string{KindAlready, KindStale}, "\nblock 3 matches as sent and would apply: repeat it unchanged with the corrected ones"},
	} {
		r := &Refusal{Staged: c.staged}
		for i, k := range c.kinds {
			r.Problems = append(r.Problems, Problem{Block: i + 1, Kind: k})
		}
		if got := r.rest(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	// A response that changes nothing as a whole does not count as one whose blocks are done.
	if got := (&Refusal{Problems: []Problem{{Kind: KindNoop}}}).rest(); got != "" {
		t.Errorf("a response without a change: %q", got)
	}
}

// The text is bounded, however many problems there are: the first keep their lines, the next only their reasons, and the rest are
// counted.
func TestALongRefusalIsToldInShortThenCounted(t *testing.T) {
	t.Parallel()
	r := &Refusal{}
	for i := range 400 {
		r.Problems = append(r.Problems, Problem{
			Block: i + 1, Path: "a.py", Kind: KindStale, Reason: fmt.Sprint("reason ", i+1), Nearest: strings.Repeat("     1 | line\n", 60), Advice: "advice",
		})
	}
	got := r.Error()
	if len(got) > 16<<10 {
		t.Errorf("%d bytes", len(got))
	}
	if !strings.Contains(got, "reason 1\n     1 | line\n") {
		t.Error("the first problem has lost its lines")
	}
	whole, told := strings.Count(got, strings.Repeat("     1 | line\n", 60)), strings.Count(got, ": reason ")
	if whole == 0 || told <= whole || told == len(r.Problems) {
		t.Errorf("%d problems are told, %d of them whole", told, whole)
	}
	if want := fmt.Sprintf("\n%d more problems: correct these first", len(r.Problems)-told); !strings.HasSuffix(got, want) {
		t.Errorf("it does not end in %q: %q", want, got[len(got)-100:])
	}
	// A path with invalid bytes must not make the whole text invalid.
	if got := (&Refusal{Problems: []Problem{{Path: "a\xff", Kind: KindPath, Reason: "no"}}}).Error(); !utf8.ValidString(got) || !strings.Contains(got, "a\ufffd: path: no") {
		t.Errorf("%q", got)
	}
}

// A block that must be merged with another one is not sound either.
func TestAMergedBlockIsNotCalledSound(t *testing.T) {
	t.Parallel()
	r := NewRefusal([]int{1, 2, 3}, []Problem{{Block: 3, Kind: KindOverlap, Other: 1}})
	if !slices.Equal(r.Staged, []int{2}) {
		t.Errorf("staged %v, want only 2", r.Staged)
	}
	// Several operations of one block count as one block to send again.
	if r := NewRefusal([]int{1, 1, 3}, []Problem{{Block: 3, Kind: KindStale}}); !slices.Equal(r.Staged, []int{1}) {
		t.Errorf("staged %v, want 1 once", r.Staged)
	}
}

func TestALongLineIsQuotedInPart(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\ta \"b\"":                `"\ta \"b\""`,
		fill('x', 100):             `"` + fill('x', 100) + `"`,
		fill('x', 101):             `"` + fill('x', 100) + `…"`,
		fill('x', 99) + "é and on": `"` + fill('x', 99) + `…"`,
		"\xff":                     "\"\ufffd\"",
	} {
		if got := Quote(in); got != want {
			t.Errorf("%.20q: %s, want %s", in, got, want)
		}
	}
}
