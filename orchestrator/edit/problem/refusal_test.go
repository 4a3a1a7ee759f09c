package problem

import (
	"slices"
	"strings"
	"testing"
)

func TestTheTextOfARefusal(t *testing.T) {
	t.Parallel()
	r := &Refusal{
		Problems: []Problem{
			{Block: 2, Path: "a.py", Kind: KindNotFound, Reason: "it is not there", Nearest: "     1 | x\n", Advice: "copy it"},
			{Block: 3, Kind: KindParse, Reason: "it is odd"},
			{Path: "b.py", Kind: KindNoop, Reason: "it is the same"},
			{Kind: KindTruncated, Reason: "it ends"},
		},
		Staged: []int{1, 4},
	}
	want := `nothing was applied
block 2, a.py: not found: it is not there
     1 | x
  → copy it
block 3: parse: it is odd
b.py: noop: it is the same
truncated: it ends
blocks 1, 4 match as sent and would apply: repeat them unchanged with the corrected ones`
	if got := r.Error(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	r.Staged = []int{7}
	if got := r.Error(); !strings.HasSuffix(got, "block 7 matches as sent and would apply: repeat it unchanged with the corrected ones") {
		t.Errorf("one sound block: %s", got)
	}
}

func TestSoundBlocksAreNamedOnlyWhenTheResponseIsSound(t *testing.T) {
	t.Parallel()
	blocks := []int{1, 2, 3}
	r := NewRefusal(blocks, []Problem{{Block: 3, Kind: KindStale}, {Block: 1, Kind: KindNoop}})
	if !slices.Equal(r.Staged, []int{2}) || r.Problems[0].Block != 1 {
		t.Errorf("staged %v, first problem of block %d", r.Staged, r.Problems[0].Block)
	}
	if r := NewRefusal(blocks, []Problem{{Kind: KindNoop}}); r.Staged != nil {
		t.Errorf("staged %v though the response as a whole is at fault", r.Staged)
	}
}
