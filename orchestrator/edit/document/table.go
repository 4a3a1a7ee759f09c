package document

import (
	"hash/maphash"
)

// A table gives keys numbers, from 0 in the order in which they come, and
// equal keys the same one. Lines and tokens are numbered by it.
//
// It is a hash table with open addressing that holds no keys: it asks for the
// key of a number where two hashes agree, so that a number stands for one key
// and no other. What it is for is to cost a few bytes a key and no allocation:
// keys are substrings of a file, and a file has many. The hash is seeded anew
// in each process, so that no file can be made to collide; numbers do not
// depend on it.
type table struct {
	slots []int32            // 1 + a number, or 0; as many as a power of two
	hash  []uint32           // of the key of each number
	key   func(int32) string // the key of a number
}

// tableSeed seeds the hash of every table of the process.
var tableSeed = maphash.MakeSeed()

// NewTable returns an empty table for about n keys; key returns the key that
// was added as a number. More keys than n only cost time.
func NewTable(n int, key func(int32) string) *table {
	size := 16
	for size < 2*n {
		size *= 2
	}
	return &table{slots: make([]int32, size), hash: make([]uint32, 0, n), key: key}
}

// Find returns the number of a key, and whether it has one.
func (t *table) Find(key string) (int32, bool) {
	id := t.slots[t.slot(key, hashOf(key))] - 1
	return id, id >= 0
}

// Add returns the number of a key, and whether it is new.
func (t *table) Add(key string) (id int32, added bool) {
	h := hashOf(key)
	i := t.slot(key, h)
	if id := t.slots[i] - 1; id >= 0 {
		return id, false
	}
	id = int32(len(t.hash))
	t.hash = append(t.hash, h)
	t.slots[i] = id + 1
	if 4*len(t.hash) > 3*len(t.slots) {
		t.grow()
	}
	return id, true
}

// slot returns the slot that holds key, or the free one where it belongs.
//
// Some slot is always free, since a table grows before it is full.
func (t *table) slot(key string, h uint32) int {
	mask := len(t.slots) - 1
	for i := int(h) & mask; ; i = (i + 1) & mask {
		id := t.slots[i] - 1
		if id < 0 || t.hash[id] == h && t.key(id) == key {
			return i
		}
	}
}

// grow doubles the slots. Numbers keep their hash, so no key is read again.
func (t *table) grow() {
	t.slots = make([]int32, 2*len(t.slots))
	mask := len(t.slots) - 1
	for id, h := range t.hash {
		i := int(h) & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = int32(id) + 1
	}
}

// hashOf hashes a key. Half of the hash's bits are enough to tell keys apart
// nearly always; where they are not, the keys are compared.
func hashOf(key string) uint32 { return uint32(maphash.String(tableSeed, key)) }
