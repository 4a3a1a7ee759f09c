package blame_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/orchestrator/blame"
)

// A line with the version that introduced it.
type line struct {
	text   string
	origin int
}

func text(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// edited changes lines at random; every line that it adds is new.
func edited(t *rapid.T, lines []line, version int) []line {
	var after []line
	fresh := func(what string) {
		for n := range rapid.IntRange(0, 3).Draw(t, what) {
			after = append(after, line{fmt.Sprintf("version %d, line %d, %d", version, len(after), n), version})
		}
	}
	for _, l := range lines {
		switch rapid.IntRange(0, 9).Draw(t, "edit") {
		case 0: // removed
		case 1:
			fresh("in its place")
		case 2:
			fresh("above")
			after = append(after, l)
		default:
			after = append(after, l)
		}
	}
	fresh("below")
	return after
}

// Every line has the origin that an observer of the edits would name. An undo, and the undo of an undo, return lines to the version that
// first introduced them.
func TestPropertyEveryLineHasItsOrigin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var versions []blame.Version
		var states [][]line
		for i := range rapid.IntRange(1, 8).Draw(t, "versions") {
			var v blame.Version
			var state []line
			switch {
			case i == 0:
				state = edited(t, nil, 0)
			case i > 1 && rapid.IntRange(0, 2).Draw(t, "undo") == 0:
				v.Undo, v.Back = true, i-2
				state = states[i-2]
			default:
				state = edited(t, states[i-1], i)
			}
			v.Text = text(state)
			if rapid.Bool().Draw(t, "no end") {
				v.Text = strings.TrimSuffix(v.Text, "\n")
			}
			versions, states = append(versions, v), append(states, state)
		}
		want := []int{}
		for _, l := range states[len(states)-1] {
			want = append(want, l.origin)
		}
		if got := blame.Origins(versions); !slices.Equal(got, want) {
			t.Fatalf("origins %v, want %v of %+v", got, want, versions)
		}
	})
}

// A merged undo restores the lines that the undone change removed; lines that others wrote in between keep their origin.
func TestAMergedUndoGivesLinesBack(t *testing.T) {
	t.Parallel()
	got := blame.Origins([]blame.Version{
		{Text: "a\nb\nc\nd\n"},
		{Text: "a\nB\nc\nd\n"},
		{Text: "a\nB\nc\nd\ne\n"},
		{Text: "a\nb\nc\nd\ne\nf", Undo: true, Back: 0},
		{Text: "a\r\nb\nc\nd\ne\nf\n"},
	})
	if want := []int{4, 0, 0, 0, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("origins %v, want %v", got, want)
	}
	if got := blame.Origins([]blame.Version{{Text: "a\n"}, {Text: ""}}); len(got) != 0 {
		t.Errorf("an empty file has lines of %v", got)
	}
	if got := blame.Origins([]blame.Version{{Text: ""}, {Text: "\n"}}); !slices.Equal(got, []int{1}) {
		t.Errorf("an empty line is of %v", got)
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	const base = "a\nb\nc\nd\ne"
	for _, c := range []struct {
		name, ours, theirs, want string
		clashes                  []blame.Clash
	}{
		{"apart", "A\nb\nc\nd\ne", "a\nb\nc\nd\nE", "A\nb\nc\nd\nE", nil},
		{"ours alone", "a\nc\nd\ne", base, "a\nc\nd\ne", nil},
		{"theirs alone", base, "a\nb\n", "a\nb\n", nil},
		{"the same", "a\nB\nc\nd\ne", "a\nB\nc\nD\ne", "a\nB\nc\nD\ne", nil},
		{"both to nothing", "", "", "", nil},
		{"the same line", "a\nB\nc\nd\ne", "a\nX\nc\nd\ne", "", []blame.Clash{{2, 2}}},
		{"neighbours", "a\nB\nc\nd\ne", "a\nb\nX\nd\ne", "", []blame.Clash{{2, 2}}},
		{"two insertions at one place", "a\nb\n1\n2\nc\nd\ne", "a\nb\n3\nc\nd\ne", "", []blame.Clash{{3, 4}}},
		{"a line below one that goes", "a\nb\nnew\nc\nd\ne", "a\nc\nd\ne", "", []blame.Clash{{3, 3}}},
		{"taken away and changed", "a\nb\nd\ne", "a\nb\nC\nd\ne", "", []blame.Clash{{3, 2}}},
		{"several at once", "A\nB\nc\nd\nE", "X\nY\nc\nd\nZ", "", []blame.Clash{{1, 2}, {5, 5}}},
		{"line ends alone", "a\r\nb\nc\nd\ne", "a\nb\nc\nd\ne\n", "a\r\nb\nc\nd\ne\n", nil},
	} {
		got, clashes := blame.Merge(base, c.ours, c.theirs)
		if got != c.want || !slices.Equal(clashes, c.clashes) {
			t.Errorf("%s: %q, %v; want %q, %v", c.name, got, clashes, c.want, c.clashes)
		}
	}
}

// Changes with a line between them merge, whichever side is called ours; two changes of the same line never do.
func TestPropertyMergeTakesBothOrNeither(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var base, mine, other, both string
		for i := range rapid.IntRange(0, 12).Draw(t, "places") {
			old, kept := fmt.Sprintf("old %d\n", i), fmt.Sprintf("kept %d\n", i)
			fresh := rapid.SampledFrom([]string{"", "new %d\n", "new %d\nand more %[1]d\n"}).Draw(t, "change")
			if fresh != "" {
				fresh = fmt.Sprintf(fresh, i)
			}
			m, o, b := old, old, fresh
			switch rapid.IntRange(0, 3).Draw(t, "whose") {
			case 0:
				m = fresh
			case 1:
				o = fresh
			case 2:
				m, o = fresh, fresh
			default:
				b = old
			}
			base, mine, other, both = base+old+kept, mine+m+kept, other+o+kept, both+b+kept
		}
		if got, clashes := blame.Merge(base, mine, other); got != both || clashes != nil {
			t.Fatalf("%q and %q of %q: %q, %v; want %q", mine, other, base, got, clashes, both)
		}
		if got, _ := blame.Merge(base, other, mine); got != both {
			t.Fatalf("the other way round: %q, want %q", got, both)
		}
		if got, clashes := blame.Merge("x\n"+base, "mine\n"+mine, "other\n"+other); got != "" || clashes == nil {
			t.Fatalf("a guess was made: %q", got)
		}
	})
}
