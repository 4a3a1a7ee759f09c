package document

import (
	"slices"
	"strings"
)

// A sequence is a text as numbers, one for each of its lines or tokens: equal ones have equal numbers, so a search reads no text.
type sequence struct {
	numbers map[string]int32 // of each line or token
	ids     []int32          // the text
	first   []int32          // where each number occurs first
	count   []int32          // how often each number occurs
	bytes   string           // the text as bytes; "" until repeated needs it
	work    *Work            // the comparisons that are left
}

// push adds key to the end of the text.
func (q *sequence) push(key string) {
	id, known := q.numbers[key]
	if !known {
		id = int32(len(q.count))
		q.numbers[key] = id
		q.first, q.count = append(q.first, int32(len(q.ids))), append(q.count, 0)
	}
	q.ids = append(q.ids, id)
	q.count[id]++
}

// number returns the number of key, and whether it is in the text.
//
// A sequence may share its numbers with another and leave out some of the text: then a key can have a number and occur nowhere.
func (q *sequence) number(key string) (int32, bool) {
	id, ok := q.numbers[key]
	return id, ok && q.count[id] > 0
}

// places returns up to Rare places of a number, in order.
//
// The places are not stored: from the first one on they are quickly found, and storing them would cost more than the text.
func (q *sequence) places(id int32) []int32 {
	n := min(q.count[id], Rare)
	out := make([]int32, 0, n)
	for p := q.first[id]; len(out) < int(n); p++ {
		if q.ids[p] == id {
			out = append(out, p)
		}
	}
	return out
}

// rarest returns the index of the number in needle that is rarest in the text.
func (q *sequence) rarest(needle []int32) int {
	best := 0
	for i, id := range needle {
		if q.count[id] < q.count[needle[best]] {
			best = i
		}
	}
	return best
}

// search returns up to limit places of needle that ok accepts; a nil ok accepts all. It starts from needle's rarest number; see
// repeated for the case that even that one is frequent.
func (q *sequence) search(needle []int32, limit int, ok func(lo int) bool) []int {
	best := q.rarest(needle)
	if q.count[needle[best]] > Rare {
		return q.repeated(needle, limit, ok)
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

// repeated is search for text so repetitive that no number of needle is rare.
//
// For such text the standard library's substring search over one byte per number is by far the fastest. Such a byte may stand for
// several numbers, so each hit is compared, and the comparison is counted. A text crafted to have many hits that differ late, or
// that ok does not accept, uses up the response's work and ends the search.
func (q *sequence) repeated(needle []int32, limit int, ok func(lo int) bool) []int {
	if q.bytes == "" {
		q.bytes = asBytes(q.ids)
	}
	var hits []int
	text := asBytes(needle)
	for lo := 0; !q.work.Spent(); lo++ {
		i := strings.Index(q.bytes[lo:], text)
		if i < 0 {
			break
		}
		lo += i
		q.work.Add(len(needle))
		if slices.Equal(q.ids[lo:lo+len(needle)], needle) && (ok == nil || ok(lo)) {
			if hits = append(hits, lo); len(hits) == limit {
				break
			}
		}
	}
	return hits
}

// asBytes turns each number into a byte; equal numbers give equal bytes.
func asBytes(ids []int32) string {
	var b strings.Builder
	b.Grow(len(ids))
	for _, id := range ids {
		b.WriteByte(byte(id))
	}
	return b.String()
}

// Most bounds how many ambiguous places are found and named.
const Most = 5

// Rare bounds the places that are tried for one line. A more frequent line does not help to find its block; see search.
const Rare = 32
