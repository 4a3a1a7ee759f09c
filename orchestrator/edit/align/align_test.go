package align

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAlignPairsTheLinesThatStay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, a, b string
		want       []int
	}{
		{"nothing", "", "", []int{}},
		{"all new", "", "x y", []int{-1, -1}},
		{"all gone", "x y", "", []int{}},
		{"equal", "x y z", "x y z", []int{0, 1, 2}},
		{"one changed", "x y z", "x Y z", []int{0, -1, 2}},
		{"inserted at the start", "x y", "n x y", []int{-1, 0, 1}},
		{"inserted in the middle", "x y", "x n y", []int{0, -1, 1}},
		{"inserted at the end", "x y", "x y n", []int{0, 1, -1}},
		{"removed", "x y z", "x z", []int{0, 2}},
		{"moved down", "x y z", "y z x", []int{1, 2, -1}},
		{"swapped", "x y", "y x", []int{1, -1}},
		{"doubled", "x", "x x", []int{0, -1}},
		{"two changes", "a b c d e", "a B c D e", []int{0, -1, 2, -1, 4}},
	} {
		got := Lines(strings.Fields(c.a), strings.Fields(c.b))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// checkPairing fails if a pairing joins unequal lines or crosses itself.
func checkPairing(t interface{ Fatalf(string, ...any) }, a, b []string, pairs []int) (n int) {
	last := -1
	for j, i := range pairs {
		if i < 0 {
			continue
		}
		if a[i] != b[j] {
			t.Fatalf("line %d, %q, is paired with line %d, %q", j, b[j], i, a[i])
		}
		if i <= last {
			t.Fatalf("the pairs of lines %d and %d cross", last, i)
		}
		last = i
		n++
	}
	return n
}

// longest is the length of the longest common subsequence, the slow way.
func longest(a, b []string) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	if a[0] == b[0] {
		return 1 + longest(a[1:], b[1:])
	}
	return max(longest(a[1:], b), longest(a, b[1:]))
}

func TestAlignFindsALongestPairing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 8)
		a, b := draw.Draw(t, "a"), draw.Draw(t, "b")
		if n := checkPairing(t, a, b, Lines(a, b)); n != longest(a, b) {
			t.Fatalf("%d pairs of %v and %v, want %d", n, a, b, longest(a, b))
		}
	})
}

func TestAlignOfLongBodiesGoesByUniqueLines(t *testing.T) {
	t.Parallel()
	var a, b []string
	for i := range 3000 {
		a = append(a, fmt.Sprint("line ", i), "}")
		switch i % 3 {
		case 0:
			b = append(b, fmt.Sprint("line ", i), "}")
		case 1:
			b = append(b, fmt.Sprint("changed ", i), "}")
		}
	}
	pairs := Lines(a, b)
	if n := checkPairing(t, a, b, pairs); n < 1000 {
		t.Errorf("%d pairs, want at least the 1000 lines that stay", n)
	}
	for j, l := range b {
		if strings.HasPrefix(l, "line") && pairs[j] < 0 {
			t.Fatalf("%q is not paired, though it is unique", l)
		}
	}
}

func TestAlignOfLongBodiesWithoutUniqueLinesPairsOnlyTheEnds(t *testing.T) {
	t.Parallel()
	a := slices.Repeat([]string{"a", "b"}, 2000)
	b := slices.Repeat([]string{"b", "a"}, 2000)
	a, b = append([]string{"first"}, a...), append([]string{"first"}, b...)
	if n := checkPairing(t, a, b, Lines(a, b)); n != 1 {
		t.Errorf("%d pairs, want only the common first line", n)
	}
}

// Heavier elements are paired first; among equal elements, the later one is paired.
func TestTheHeaviestPairing(t *testing.T) {
	t.Parallel()
	size := func(s string) int { return len(s) }
	for _, c := range []struct {
		name, a, b string
		want       []int
	}{
		{"nothing", "", "", []int{}},
		{"equal", "x y", "x y", []int{0, 1}},
		{"one long for two short", "x y long", "long x y", []int{2, -1, -1}},
		{"the later of two in b", "x", "x x", []int{-1, 0}},
		{"the later of two in a", "x x", "x", []int{1}},
		{"a line left out on either side", "x n y", "x m y", []int{0, -1, 2}},
	} {
		if got := Heaviest(strings.Fields(c.a), strings.Fields(c.b), size); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
