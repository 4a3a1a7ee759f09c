package document

import "strings"

// sampled is the number of bytes of a file that are read to learn which bytes are rare in it.
const sampled = 1024

// A byteFrequency tells how often each byte value occurs in a sample of a file.
//
// It only decides where a search best begins, never what it finds, so a sample is enough: a value that is not in the sample is rare
// or absent in the file.
type byteFrequency [256]uint16

// newByteFrequency samples the text evenly, or reads all of it if it is short.
func newByteFrequency(text string) *byteFrequency {
	r := &byteFrequency{}
	step := 1 + len(text)/sampled
	for i := 0; i < len(text); i += step {
		r[text[i]]++
	}
	return r
}

// least returns the index of the byte of s, which is not empty, that is rarest in the file; among equals the first.
func (r *byteFrequency) least(s string) int {
	best := 0
	for i := 1; i < len(s) && r[s[best]] > 0; i++ {
		if r[s[i]] < r[s[best]] {
			best = i
		}
	}
	return best
}

// index returns the first position of s at or after byte at in the text that r samples, or -1. It counts only the work that costs
// more than reading.
//
// The standard library's search stops at each byte that equals the first byte of s, which is usually a common letter. This one
// stops at the byte of s that is rarest in the file, which takes less than half the time for the long names and lines in question
// here. If it still stops too often, the standard library takes over: no text costs more than a constant factor.
func (r *byteFrequency) index(text string, at int, s string, work *Work) int {
	k := r.least(s)
	key, lo := s[k], at
	for stops := 0; at+len(s) <= len(text); at++ {
		i := strings.IndexByte(text[at+k:], key)
		if i < 0 {
			return -1
		}
		if at += i; strings.HasPrefix(text[at:], s) {
			return at
		}
		work.Add(WorkPair)
		if stops++; stops > 8+(at-lo)/16 {
			i = strings.Index(text[at+1:], s)
			if i < 0 {
				work.Add(len(text) - at)
				return i
			}
			work.Add(i)
			return i + at + 1
		}
	}
	return -1
}
