package document

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestATableNumbersAsAMapDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[ab]{0,6}`), 0, 300).Draw(t, "keys")
		want, order := map[string]int32{}, []string(nil)
		tab := NewTable(rapid.IntRange(0, 20).Draw(t, "guess"), func(id int32) string { return order[id] })
		for _, w := range words {
			id, added := tab.Add(w)
			if _, known := want[w]; known == added {
				t.Fatalf("%q is new: %v, and was known: %v", w, added, known)
			}
			if added {
				want[w] = int32(len(order))
				order = append(order, w)
			}
			if id != want[w] {
				t.Fatalf("%q has number %d, want %d", w, id, want[w])
			}
		}
		for _, w := range append(words, "c", "aaaaaaaa") {
			id, ok := tab.Find(w)
			if n, known := want[w]; ok != known || ok && id != n {
				t.Fatalf("%q is found as %d, %v; want %d, %v", w, id, ok, n, known)
			}
		}
	})
}

// Two keys with one hash are two keys.
func TestATableComparesKeysOfOneHash(t *testing.T) {
	t.Parallel()
	keys := []string{"a"}
	tab := NewTable(4, func(id int32) string { return keys[id] })
	tab.Add("a")
	h := hashOf("a")
	if here, there := tab.slot("a", h), tab.slot("b", h); here == there || tab.slots[there] != 0 {
		t.Errorf("with the hash of a, b has slot %d, and a has %d", there, here)
	}
}

// A table that is told of too few keys grows, and loses none.
func TestATableGrows(t *testing.T) {
	t.Parallel()
	key := func(id int32) string { return fmt.Sprint("key ", id) }
	tab := NewTable(0, key)
	for i := range int32(10000) {
		if id, added := tab.Add(key(i)); !added || id != i {
			t.Fatalf("key %d has number %d, new: %v", i, id, added)
		}
	}
	if id, ok := tab.Find(key(77)); !ok || id != 77 {
		t.Errorf("key 77 is %d, %v", id, ok)
	}
}
