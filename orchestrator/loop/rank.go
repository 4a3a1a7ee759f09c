package loop

import (
	"cmp"
	"path"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// A standing is what the place of a file in a ranking depends on.
type standing struct {
	path    string
	waiting bool // in the cascade queue
	changed int  // how recently, or how often: the least first, 0 for not
	named   int  // words of the goal in its path
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
		cmp.Compare(b.named, a.named),
		// What is this large is generated or data more often than not.
		first(a.size <= maxData, b.size <= maxData),
		cmp.Compare(b.size, a.size), cmp.Compare(a.depth, b.depth), strings.Compare(a.path, b.path),
	)
}

var wordInText = lazyregexp.New(`[\pL\pN]{3,}`)

// maxWords bounds how many words of a goal are looked for.
const maxWords = 200

// goalWords returns the words of a goal, in lower case, in the way that names of
// files are made of words.
func goalWords(goal string) map[string]bool {
	words := map[string]bool{}
	for _, w := range wordInText.FindAllString(split(goal), maxWords) {
		words[strings.ToLower(w)] = true
	}
	return words
}

// namedBy counts the words of a path that a goal has; a path that stands in the
// goal whole, or whose file name does, counts for more than any number of words.
func namedBy(p, goal string, words map[string]bool) int {
	n := 0
	switch {
	case goal == "":
		return 0
	case strings.Contains(goal, p):
		n = 2000
	case strings.Contains(goal, path.Base(p)):
		n = 1000
	}
	seen := map[string]bool{}
	for _, w := range wordInText.FindAllString(split(p), maxWords) {
		w = strings.ToLower(w)
		if words[w] && !seen[w] {
			seen[w] = true
			n++
		}
	}
	return n
}

var hump = lazyregexp.New(`(\p{Ll}|\pN)(\p{Lu})`)

// split sets the words of a name such as priceTable or price_table apart.
func split(name string) string {
	return strings.ReplaceAll(hump.ReplaceAllString(name, "$1 $2"), "_", " ")
}
