// Package align pairs the equal elements of two sequences in order, as a diff does: the lines of a block with those that replace
// them, versions of a file, or the words of two lines.
//
// It owns the bound on that work: bodies of any size finish in bounded time, long ones with fewer pairs. It never pairs elements
// that are not equal.
package align

// maxCells bounds the table of the exact alignment. Longer middles are aligned by the lines that occur once on either side.
const maxCells = 1 << 18

// Lines returns, for each line of b, the index of the line of a that it repeats, or -1. This is an ordered pairing of equal lines,
// as in a diff.
//
// The pairing decides what a block changes: paired lines keep the file's own bytes, and all others are written as REPLACE has them.
// Any pairing is correct in that sense; a longer one makes for a smaller change.
func Lines(a, b []string) []int {
	al := aligner{out: unpaired(len(b)), left: maxPivots * (len(a) + len(b))}
	al.between(a, b, 0, 0)
	return al.out
}

// unpaired returns n elements of -1.
func unpaired(n int) []int {
	out := make([]int, n)
	for j := range out {
		out[j] = -1
	}
	return out
}

// maxPivots is how often each line may be examined in the search for lines at which to halve the bodies. Halving takes
// about twenty looks at most; bodies with very unequal halves would take as many as they have lines.
const maxPivots = 64

// An aligner fills in a pairing.
type aligner struct {
	out  []int
	left int // line visits left in the search for pivots
}

// between aligns a and b, which begin at lines i0 and j0 of the whole.
//
// It pairs equal lines at both ends first: nearly all blocks change a few lines in the middle of some context, and then nothing
// else is left to do.
func (al *aligner) between(a, b []string, i0, j0 int) {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		al.out[j0] = i0
		a, b, i0, j0 = a[1:], b[1:], i0+1, j0+1
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		al.out[j0+len(b)-1] = i0 + len(a) - 1
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a) == 0 || len(b) == 0 {
		return
	}
	if (len(a)+1)*(len(b)+1) <= maxCells {
		for j, i := range pairs(a, b, one, false) {
			if i >= 0 {
				al.out[j0+j] = i0 + i
			}
		}
		return
	}
	if al.left -= len(a) + len(b); al.left < 0 {
		return // everything counts as changed, which is safe
	}
	i, j, ok := pivot(a, b)
	if !ok {
		return // likewise
	}
	al.between(a[:i], b[:j], i0, j0)
	al.between(a[i:], b[j:], i0+i, j0+j)
}

// Heaviest is like Lines for pairs that differ in weight: weight returns the weight of a pair of this element, 1 or more, and the
// sum is the greatest possible. Of equal elements the later ones are paired.
//
// The table has a cell for each element of a and each of b, so the caller must bound both.
func Heaviest(a, b []string, weight func(string) int) []int { return pairs(a, b, weight, true) }

// one is the weight of elements that all count equally.
func one(string) int { return 1 }

// pairs finds a pairing of greatest weight by dynamic programming; late chooses among pairings of equal weight.
//
// t[i*w+j] is the weight of the best pairing of a[i:] and b[j:]. The table is filled from the end so that the walk afterwards runs
// forwards. Pairing equal elements as soon as they meet loses nothing, since all pairs of one element weigh the same. A late
// pairing first skips whatever it can.
func pairs(a, b []string, weight func(string) int, late bool) []int {
	w := len(b) + 1
	t := make([]int32, (len(a)+1)*w)
	for i := len(a) - 1; i >= 0; i-- {
		gain := int32(weight(a[i]))
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				t[i*w+j] = t[(i+1)*w+j+1] + gain
			} else {
				t[i*w+j] = max(t[(i+1)*w+j], t[i*w+j+1])
			}
		}
	}
	out := unpaired(len(b))
	for i, j := 0, 0; i < len(a) && j < len(b); {
		here, skipA, skipB := t[i*w+j], t[(i+1)*w+j], t[i*w+j+1]
		switch {
		case a[i] == b[j] && (!late || here != skipA && here != skipB):
			out[j] = i
			i, j = i+1, j+1
		case here == skipA:
			i++
		default:
			j++
		}
	}
	return out
}

// pivot returns a line that occurs once in a and once in b, the one nearest to the middle of b, so that each step roughly halves
// the rest.
//
// The idea comes from patience diff: a line that is unique on both sides is the same line, whatever moved around it. A body of many
// thousand lines without such a line is not a sensible edit, and its lines simply count as changed.
func pivot(a, b []string) (i, j int, ok bool) {
	type seen struct{ inA, inB, i int32 }
	all := make(map[string]seen, len(a))
	for k, s := range a {
		all[s] = seen{inA: all[s].inA + 1, i: int32(k)}
	}
	for _, s := range b {
		if x, in := all[s]; in {
			x.inB++
			all[s] = x
		}
	}
	best, mid := len(b)+1, len(b)/2
	for k, s := range b {
		if x := all[s]; x.inA != 1 || x.inB != 1 {
			continue
		}
		if far := max(k-mid, mid-k); far < best {
			best, i, j, ok = far, int(all[s].i), k, true
		}
	}
	return i, j, ok
}
