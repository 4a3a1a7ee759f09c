package agent

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// The sizes that shape an excerpt, among them how many lines are shown around one that matters.
const (
	aroundLine = 20 // a line that a finding or a log names
	aroundName = 6  // a line that holds a name of the task
	headLines  = 60 // imports, constants, the file's own introduction
	maxNames   = 400
	maxUses    = 2000 // lines of a file noted for one name
	// definitionLength is how many bytes of a line are searched for a definition.
	definitionLength = 200
	markRoom         = 64 // bytes of a mark
)

// mark stands for lines that are not shown. The edit engine recognizes it in every language, so it refuses the edit of
// a model that copies the mark into a file.
func mark(from, to, of int) string {
	return fmt.Sprintf("# ... omitted lines %d-%d of %d ...\n", from, to, of)
}

// A focus is what matters in a file: lines, and names from its task.
type focus struct {
	lines []int // from 1
	names map[string]bool
}

var (
	nameInText = lazyregexp.New(`[A-Za-z_$][A-Za-z0-9_$]{2,}`)
	lineInText = lazyregexp.New(`(?m)^line (\d+):`)
	definition = lazyregexp.New(`^(?: {0,4}|\t)(?:(?:export|default|pub|public|private|protected|static|abstract|async|final)\s+)*` +
		`(?:def|class|func|function|fn|type|interface|struct|enum|trait|impl|mod|module|const|let|var)\s+[A-Za-z_$(*]`)
)

// focus returns what matters in the file at path: the lines that findings and logs name, and the names in the goal, in
// the change to follow and in the failure.
func (b *Brief) focus(path string) focus {
	f := focus{names: map[string]bool{}}
	note := func(found [][]string) {
		for _, m := range found {
			if n, err := strconv.Atoi(m[1]); err == nil {
				f.lines = append(f.lines, n)
			}
		}
	}
	if path == b.Target {
		note(lineInText.FindAllStringSubmatch(b.Findings, maxNames))
	}
	if path != "" {
		at := regexp.MustCompile(regexp.QuoteMeta(path) + `(?:", line |:)(\d+)`)
		note(at.FindAllStringSubmatch(b.Failure.Text, maxNames))
	}
	for _, text := range []string{b.Goal, b.Extra, b.Cascade, b.Feature, b.Thought, b.Failure.Text} {
		for _, name := range nameInText.FindAllString(text[:min(len(text), 64<<10)], maxNames) {
			if len(f.names) < maxNames {
				f.names[name] = true
			}
		}
	}
	return f
}

// An excerpt is a file that is shown in parts.
type excerpt struct {
	lines []string
	shown []bool
	never []bool // lines that are never shown
	left  int    // bytes
}

// cutFile returns the parts of a text that matter, in at most budget bytes, with a mark for each part left out. It
// shows lines whole or not at all, so whatever a model copies from them exists in the file.
func cutFile(text string, budget int, f focus) string {
	if len(text) <= budget {
		return text
	}
	x := &excerpt{lines: strings.SplitAfter(text, "\n"), left: budget - markRoom}
	if n := len(x.lines); x.lines[n-1] == "" {
		x.lines = x.lines[:n-1]
	}
	x.shown, x.never = make([]bool, len(x.lines)), make([]bool, len(x.lines))
	x.withhold(budget / 4)
	// Each kind has its own share, so that a file in which a name occurs everywhere still has its imports and outline
	// shown.
	x.upTo(budget*2/5, func() {
		for _, n := range f.lines {
			x.around(n-1, aroundLine)
		}
	})
	named := x.named(f.names)
	x.upTo(budget*3/10, func() {
		for _, n := range named {
			x.around(n, aroundName)
		}
	})
	x.upTo(budget/10, func() { x.span(0, headLines) })
	x.upTo(budget*3/20, x.outline)
	x.span(0, len(x.lines))
	return x.String()
}

// Show returns the parts of a text that matter in at most budget bytes: those around lines, counted from 1, and around
// names. The instructions of a question explain the marks.
func Show(text string, budget int, names []string, lines []int) string {
	f := focus{lines: lines, names: map[string]bool{}}
	for _, n := range names {
		f.names[n] = true
	}
	return cutFile(text, budget, f)
}

// withhold hides keys, since half of a key would not be recognized as a secret any more, and lines that are too long to
// be shown among others.
func (x *excerpt) withhold(longest int) {
	key := false
	for i, l := range x.lines {
		key = key || strings.Contains(l, "-----BEGIN ")
		x.never[i] = key || len(l) > longest
		key = key && !strings.Contains(l, "-----END ")
	}
}

// upTo lets show use at most share of the remaining bytes.
func (x *excerpt) upTo(share int, show func()) {
	share = min(share, x.left)
	rest := x.left - share
	x.left = share
	show()
	x.left += rest
}

// one shows a line if there is room, and returns false if there is none.
func (x *excerpt) one(i int) bool {
	if i < 0 || i >= len(x.lines) || x.shown[i] || x.never[i] {
		return true
	}
	cost := len(x.lines[i])
	// A line without a shown neighbour splits what is left out in two.
	if (i == 0 || !x.shown[i-1]) && (i+1 == len(x.lines) || !x.shown[i+1]) {
		cost += markRoom
	}
	if cost > x.left {
		return false
	}
	x.left -= cost
	x.shown[i] = true
	return true
}

// around shows a line and the n lines on each side of it, the nearest first.
func (x *excerpt) around(i, n int) {
	for d := 0; d <= n; d++ {
		if !x.one(i-d) || !x.one(i+d) {
			return
		}
	}
}

// span shows lines in their order.
func (x *excerpt) span(from, to int) {
	for i := from; i < min(to, len(x.lines)); i++ {
		if !x.one(i) {
			return
		}
	}
}

// outline shows the lines that define something.
func (x *excerpt) outline() {
	for i, l := range x.lines {
		if !x.never[i] && definition.MatchString(l[:min(len(l), definitionLength)]) && !x.one(i) {
			return
		}
	}
}

// identifiers yields the parts of a line that nameInText matches. A large file has a hundred thousand of them, for
// which a regular expression takes seconds.
func identifiers(line string) iter.Seq[string] {
	letter := func(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '$' }
	return func(yield func(string) bool) {
		for i := 0; i < len(line); i++ {
			if !letter(line[i]) {
				continue
			}
			from := i
			for i < len(line) && (letter(line[i]) || line[i] >= '0' && line[i] <= '9') {
				i++
			}
			if i-from > 2 && !yield(line[from:i]) {
				return
			}
		}
	}
}

// named lists the lines that contain one of names: those that define it first, and then by how rare the name is in the
// file.
func (x *excerpt) named(names map[string]bool) []int {
	at := map[string][]int{}
	for i, l := range x.lines {
		if x.never[i] {
			continue
		}
		for name := range identifiers(l) {
			if !names[name] {
				continue
			}
			if list := at[name]; len(list) < maxUses && (len(list) == 0 || list[len(list)-1] != i) {
				at[name] = append(list, i)
			}
		}
	}
	var found []string
	for name := range at {
		found = append(found, name)
	}
	slices.SortFunc(found, func(a, b string) int {
		if d := len(at[a]) - len(at[b]); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var defined, used []int
	defines := map[int]bool{} // each line once: most hold several names
	for _, name := range found {
		for _, i := range at[name] {
			is, known := defines[i]
			if !known {
				is = definition.MatchString(x.lines[i][:min(len(x.lines[i]), definitionLength)])
				defines[i] = is
			}
			if is {
				defined = append(defined, i)
			} else {
				used = append(used, i)
			}
		}
	}
	return append(defined, used...)
}

// String returns what is shown, with a mark for each part that is not.
func (x *excerpt) String() string {
	var b strings.Builder
	for i := 0; i < len(x.lines); i++ {
		if x.shown[i] {
			b.WriteString(x.lines[i])
			continue
		}
		from := i
		for i+1 < len(x.lines) && !x.shown[i+1] {
			i++
		}
		b.WriteString(mark(from+1, i+1, len(x.lines)))
	}
	return b.String()
}
