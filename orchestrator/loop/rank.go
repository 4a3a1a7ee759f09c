package loop

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace"
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

// rank puts files in the order in which a model should hear of them, since a list
// may be cut: those that wait to follow a change, those that changed last and most
// often, those that the goal's words name, then the larger before the smaller and
// the upper before the deeper. The same workspace and record give the same order.
func (s *Scout) rank(ctx context.Context, base *workspace.Manifest, files, hot []string, goal string) ([]string, error) {
	queue, err := s.Knowledge.Queue(ctx, base.Root)
	if err != nil {
		return nil, fmt.Errorf("read the cascade queue: %w", err)
	}
	history, err := s.Knowledge.History(ctx, base.Root, historyLen)
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	waiting, changed := map[string]bool{}, map[string]int{}
	for _, w := range queue {
		waiting[w.Path] = true
	}
	// The newest entry is the last one; what changed often comes after.
	slices.Reverse(history)
	for _, e := range history {
		changed[e.Path] = cmp.Or(changed[e.Path], len(changed)+1)
	}
	for _, p := range hot {
		changed[p] = cmp.Or(changed[p], len(changed)+1)
	}
	words := goalWords(goal)
	list := make([]standing, 0, len(files))
	for _, p := range files {
		e, _ := base.Lookup(p)
		st := standing{path: p, waiting: waiting[p], changed: changed[p], size: e.Size, depth: strings.Count(p, "/")}
		st.named = namedBy(p, goal, words)
		list = append(list, st)
	}
	slices.SortFunc(list, compareStanding)
	ranked := make([]string, 0, len(list))
	for _, st := range list {
		ranked = append(ranked, st.path)
	}
	return ranked, nil
}

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

var wordInText = regexp.MustCompile(`[\pL\pN]{3,}`)

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

var hump = regexp.MustCompile(`(\p{Ll}|\pN)(\p{Lu})`)

// split sets the words of a name such as priceTable or price_table apart.
func split(name string) string {
	return strings.ReplaceAll(hump.ReplaceAllString(name, "$1 $2"), "_", " ")
}
