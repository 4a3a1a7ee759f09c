package document

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// numbered returns a sequence of small numbers, each with its own text as key.
func numbered(ids []int) *sequence {
	q := &sequence{numbers: map[string]int32{}}
	for _, n := range ids {
		q.push(fmt.Sprint(n))
	}
	return q
}

// Frequent and rare numbers are searched differently, and then some bytes stand for two numbers. Neither affects the result.
func TestRepetitiveSequencesAreSearchedAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.SampledFrom([]int{1, 2, 3, 300}).Draw(t, "numbers")
		period := rapid.SliceOfN(rapid.IntRange(0, n-1), 1, 6).Draw(t, "period")
		var text []int
		for i := range n { // every number occurs, so that 0 and 256 share a byte
			text = append(text, i)
		}
		for range rapid.IntRange(1, 60).Draw(t, "times") {
			text = append(text, period...)
		}
		q := numbered(text)
		lo := rapid.IntRange(0, len(text)-1).Draw(t, "from")
		needle := slices.Clone(q.ids[lo:min(len(text), lo+rapid.IntRange(1, 9).Draw(t, "length"))])
		needle[0] = (needle[0] + int32(rapid.SampledFrom([]int{0, 0, 256}).Draw(t, "other"))) % int32(len(q.count))
		even := func(lo int) bool { return lo%2 == 0 }
		all := naive(q.ids, needle)
		want := slices.DeleteFunc(slices.Clone(all), func(lo int) bool { return !even(lo) })
		if got := q.search(needle, math.MaxInt, nil); !slices.Equal(got, all) {
			t.Fatalf("%v in %v: %v, want %v", needle, q.ids, got, all)
		}
		if got := q.repeated(needle, math.MaxInt, nil); !slices.Equal(got, all) {
			t.Fatalf("%v in %v as bytes: %v, want %v", needle, q.ids, got, all)
		}
		if got := q.search(needle, 3, even); !slices.Equal(got, want[:min(3, len(want))]) {
			t.Fatalf("three even places of %v in %v: %v, want the first of %v", needle, q.ids, got, want)
		}
	})
}

func TestPlacesAreInOrderAndFew(t *testing.T) {
	t.Parallel()
	q := numbered([]int{1, 2, 1, 3, 1})
	id, ok := q.number("1")
	if got := q.places(id); !ok || !slices.Equal(got, []int32{0, 2, 4}) {
		t.Errorf("the places of 1 are %v, known: %v", got, ok)
	}
	if _, ok := q.number("4"); ok {
		t.Error("4 is known and stands nowhere")
	}
	q = numbered(make([]int, 3*Rare))
	if got := q.places(0); len(got) != Rare {
		t.Errorf("%d places of a frequent number, want %d", len(got), Rare)
	}
}

// A text built to have many rejected hits uses up the work of the response, and the search ends.
func TestTheSearchOfRepetitiveTextIsBounded(t *testing.T) {
	t.Parallel()
	q := numbered(make([]int, 100_000))
	q.work = &Work{left: 1 << 20}
	asked := 0
	q.repeated(q.ids[:50_000], math.MaxInt, func(int) bool { asked++; return false })
	if !q.work.Spent() || asked > 30 {
		t.Errorf("%d hits are compared, spent %v", asked, q.work.Spent())
	}
}
