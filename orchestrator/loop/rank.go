package loop

import (
	"cmp"
	"slices"
	"strings"
)

// A standing holds what the place of a file in a ranking depends on.
type standing struct {
	path    string
	waiting bool // in the cascade queue
	changed int  // how recently, or how often: the lowest first, 0 for not
	size    int64
	depth   int
}

// maxData is the size up to which a file without code may be chosen, in bytes.
const maxData = 200 << 10

// compareStanding compares two files; the result is negative if a is to be listed before b.
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
		// A file this large is more often than not generated or data.
		first(a.size <= maxData, b.size <= maxData),
		cmp.Compare(b.size, a.size), cmp.Compare(a.depth, b.depth), strings.Compare(a.path, b.path),
	)
}

// due returns the files whose turn it is: those that the loop has not worked on or, if there are none, the half whose turn was longest
// ago. Without a goal, a loop should go round all files and not alternate between two.
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
