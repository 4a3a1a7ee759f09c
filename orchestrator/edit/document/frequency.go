package document

import "strings"

// sampled is how many bytes of a file are read to learn which are rarely there.
const sampled = 1024

// A byteFrequency tells how often each byte value is in a sample of a file.
//
// It only says where a search is best begun, never what it finds, so that a
// sample will do: a value that is not in it is in the file rarely or never.
type byteFrequency [256]uint16

// newByteFrequency samples the text evenly, all of it when it is short.
func newByteFrequency(text string) *byteFrequency {
	r := &byteFrequency{}
	step := 1 + len(text)/sampled
	for i := 0; i < len(text); i += step {
		r[text[i]]++
	}
	return r
}

// least returns the index of the byte of s, which is not empty, that the file
// has least often; of equals the first.
func (r *byteFrequency) least(s string) int {
	best := 0
	for i := 1; i < len(s) && r[s[best]] > 0; i++ {
		if r[s[i]] < r[s[best]] {
			best = i
		}
	}
	return best
}

// index returns where s is first in the text of which r is the sample, from
// byte at on, or -1. It counts what costs more than reading.
//
// The standard library's search stops at each byte that is the first of s, and
// that is mostly a common letter. This one stops at the byte of s that the file
// has least often, which takes less than half the time for the long names and lines
// that are looked for here. Where it stops too often after all, the standard
// library takes over: no text costs more than a constant factor.
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
