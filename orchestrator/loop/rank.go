package loop

import (
	"cmp"
	"slices"
	"strings"
)

// A standing is what the place of a file in a ranking depends on.
type standing struct {
	path    string
	waiting bool // in the cascade queue
	changed int  // how recently, or how often: the least first, 0 for not
	size    int64
	depth   int
}

// maxData bounds a file without code that is to be chosen, in bytes.
const maxData = 200 << 10

// compareStanding orders two files, the one to be listed first before the other.
func compareStanding(a, b standing) int {
	first := func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case a:
			return -1
		}
		return 1
	}
	return cmp.Or(
		first(a.waiting, b.waiting),
		first(a.changed > 0, b.changed > 0), cmp.Compare(a.changed, b.changed),
		// What is this large is generated or data more often than not.
		first(a.size <= maxData, b.size <= maxData),
		cmp.Compare(b.size, a.size), cmp.Compare(a.depth, b.depth), strings.Compare(a.path, b.path),
	)
}

// due are the files whose turn it is: those that the loop has not worked on, or else the half whose turn was longest ago. Without a goal a loop should go round,
// and not polish two files by turns.
func (s *Scout) due(files []string) []string {
	var had []string
	for _, p := range s.Turns {
		if slices.Contains(files, p) {
			had = append(had, p)
		}
	}
	if len(had) == len(files) {
		return had[:(len(had)+1)/2]
	}
	return slices.DeleteFunc(slices.Clone(files), func(p string) bool { return slices.Contains(had, p) })
}
