package edit

import "slices"

// A sequence is a text as numbers, those of its lines or of its tokens: equal
// ones have equal numbers, so that searching it reads no text.
type sequence struct {
	keys  *table  // from a line or token to its number
	ids   []int32 // the text
	first []int32 // where each number occurs first
	count []int32 // how often each number occurs
}

// push adds key to the end of the text.
func (q *sequence) push(key string) {
	id, added := q.keys.add(key)
	if added {
		q.first, q.count = append(q.first, int32(len(q.ids))), append(q.count, 0)
	}
	q.ids = append(q.ids, id)
	q.count[id]++
}

// number returns the number of key, and whether it is in the text.
func (q *sequence) number(key string) (int32, bool) {
	id, ok := q.keys.find(key)
	return id, ok && q.count[id] > 0
}

// places returns up to rare places of a number, in order.
//
// The places are not kept: from the first one on they are soon found, and
// keeping them would cost more than the text.
func (q *sequence) places(id int32) []int32 {
	n := min(q.count[id], rare)
	out := make([]int32, 0, n)
	for p := q.first[id]; len(out) < int(n); p++ {
		if q.ids[p] == id {
			out = append(out, p)
		}
	}
	return out
}

// rarest returns which number of needle the text has least often.
func (q *sequence) rarest(needle []int32) int {
	best := 0
	for i, id := range needle {
		if q.count[id] < q.count[needle[best]] {
			best = i
		}
	}
	return best
}

// search returns up to limit places of needle, of those that ok accepts; a nil
// ok accepts all. It starts from needle's rarest number; when even that one is
// frequent, it falls back on Knuth-Morris-Pratt, so that repetitive text costs
// linear time.
//
// Nearly always the rarest line of a block stands a few times in the file,
// so that a few comparisons settle it.
func (q *sequence) search(needle []int32, limit int, ok func(lo int) bool) []int {
	best := q.rarest(needle)
	if q.count[needle[best]] > rare {
		return searchKMP(q.ids, needle, limit, ok)
	}
	var hits []int
	for _, p := range q.places(needle[best]) {
		lo := int(p) - best
		if lo < 0 || lo+len(needle) > len(q.ids) || !slices.Equal(q.ids[lo:lo+len(needle)], needle) || ok != nil && !ok(lo) {
			continue
		}
		if hits = append(hits, lo); len(hits) == limit {
			break
		}
	}
	return hits
}

// searchKMP is the Knuth-Morris-Pratt search over numbers, for the places that
// ok accepts.
func searchKMP(hay, needle []int32, limit int, ok func(lo int) bool) []int {
	fail := make([]int32, len(needle)+1)
	for i, k := 1, int32(0); i < len(needle); i++ {
		for k > 0 && needle[i] != needle[k] {
			k = fail[k]
		}
		if needle[i] == needle[k] {
			k++
		}
		fail[i+1] = k
	}
	var hits []int
	k := int32(0)
	for i, id := range hay {
		for k > 0 && id != needle[k] {
			k = fail[k]
		}
		if id == needle[k] {
			k++
		}
		if int(k) < len(needle) {
			continue
		}
		if lo := i + 1 - len(needle); ok == nil || ok(lo) {
			if hits = append(hits, lo); len(hits) == limit {
				break
			}
		}
		k = fail[k]
	}
	return hits
}
