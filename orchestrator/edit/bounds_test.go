package edit

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

// dice returns n lines, each one of two letters, without a pattern.
func dice(seed uint64, n int) string {
	r := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	for range n {
		b.WriteString([]string{"a\n", "b\n"}[r.IntN(2)])
	}
	return b.String()
}

// blocksOf returns n operations, each with the texts that search and replace return for its number.
func blocksOf(n int, search, replace func(i int) string) (ops []*parse.Operation) {
	for i := range n {
		ops = append(ops, &parse.Operation{Block: i + 1, Path: "a.py", Search: parse.SplitBody(search(i)), Replace: parse.SplitBody(replace(i))})
	}
	return ops
}

// Whatever the lines are, no more is compared than one response may ask for, plus one block. Then all blocks are refused, with advice
// that helps.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	text := func(s string) func(int) string { return func(int) string { return s } }
	line := func(format string) func(int) string {
		return func(i int) string { return strings.ReplaceAll(format, "%d", fmt.Sprint(i)) }
	}
	for name, c := range map[string]struct {
		file            string
		n               int
		search, replace func(i int) string
		spent           bool
	}{
		"lines without a pattern":   {dice(1, mib/2), 1500, func(i int) string { return dice(uint64(i)+9, 40) }, line("c%d\n"), true},
		"a period":                  {strings.Repeat("a\nb\n", mib/4), 900, func(i int) string { return strings.Repeat("a\nb\n", 30) + "b\n" + strings.Repeat("a\nb\n", i%20) }, text("c\n"), true},
		"the same, numbered":        {strings.Repeat("a\nb\n", 12000), 1500, func(i int) string { return strings.Repeat("a\nb\n", 12) + "b\n" + strings.Repeat("a\nb\n", i%9) }, text("c\n"), true},
		"blank lines to skip":       {"x\n" + strings.Repeat("\n", mib-4) + "y\n", 2000, line("x\ny\nz%d\n"), text("c\n"), false},
		"comments to pass over":     {"x = 1\n" + strings.Repeat("# remark of a line\n", 50000) + "y = 2\n", 2000, text("x = 1\ny = 2\n"), line("z = %d\n"), true},
		"depths to learn":           {strings.Repeat("    a\n        bbbbbbbbbbbbbbbbbbbbb\n", 25000) + many(2000, "    x%d\n        y%d\n"), 2000, line("  x%d\n    y%d\n"), line("  x%d\n    z%d\n"), false},
		"one long line, reflowed":   {strings.Repeat("call(alpha, beta) ", mib/18), 2000, line("call(alpha,\nbeta)\ncall(alpha%d\n"), text("c\n"), true},
		"placeholders without file": {strings.Repeat("alpha = 1\n", mib/16), 2000, line("alpha beta %d\n"), text("# ... existing code ...\n"), false},
	} {
		w := document.NewWork()
		w.Open(len(c.file))
		all := left(*w)
		_, _, problems := editFile("a.py", []byte(c.file), blocksOf(c.n, c.search, c.replace), w)
		if used := all - left(*w); used > all+16*len(c.file) {
			t.Errorf("%s: %d is compared, of %d allowed", name, used, all)
		}
		if spent := len(problems) == 1 && problems[0].Reason == tooMuchWork("a.py")[0].Reason; spent != c.spent {
			t.Errorf("%s: refused for its work is %v, want %v: %.200v", name, spent, c.spent, problems)
		}
	}
}

// left returns the work that is left, which is negative if more was done.
func left(w document.Work) int {
	const most = 1 << 40
	w.Add(-most)
	return sort.Search(2*most, func(n int) bool {
		c := w
		c.Add(n + 1)
		return c.Spent()
	}) - most
}

// many returns n lines; in each, %d is the line's number.
func many(n int, line string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(line, "%d", fmt.Sprint(i)))
	}
	return b.String()
}

// A single block with a rare line is not refused, as the advice promises.
func TestLessWorkIsDone(t *testing.T) {
	t.Parallel()
	file := dice(1, 1<<19) + "here = 1\n"
	after, _, err := ApplyBlocks("a.py", []byte(file), []Block{{Search: "here = 1\n", Replace: "here = 2\n"}})
	if err != nil || !strings.HasSuffix(string(after), "here = 2\n") {
		t.Errorf("%.300v", err)
	}
}

// A file of too many short lines is not indexed: exact text is found, approximate text is not.
func TestAThinFile(t *testing.T) {
	t.Parallel()
	file := strings.Repeat("1\n2\n", 40000) + "one = 1\n  two = 2  \n"
	for _, c := range []struct{ search, replace, want string }{
		{"one = 1\n", "one = 3\n", "one = 3\n  two = 2  \n"},
		{"one = 1\n  two = 2\n", "one = 1\n  two = 4\n", "one = 1\n  two = 4\n"},
		{"two = 2\n", "two = 4\n", ""},
		{"1\n", "3\n", ""},
	} {
		after, _, err := ApplyBlocks("a.py", []byte(file), []Block{{Search: c.search, Replace: c.replace}})
		if c.want == "" != (err != nil) || !strings.HasSuffix(string(after), c.want) {
			t.Errorf("%q: %.300v, ends in %q", c.search, err, after[max(0, len(after)-30):])
		}
	}
}

// Crowded input is refused before it is indexed.
func TestCrowdedInputIsRefused(t *testing.T) {
	t.Parallel()
	const lines = 50_000
	if !lex.Crowded(lines, lines) {
		t.Fatalf("%d lines of a byte are not crowded", lines)
	}
	short := strings.Repeat("\n", lines)
	_, _, err := ApplyBlocks("a.py", []byte("x\n"), []Block{{Search: "x\n", Replace: short}})
	if err == nil || !strings.Contains(err.Error(), "send the change in several responses") {
		t.Errorf("blocks: %v", err)
	}
	for _, response := range []string{
		"<CREATE_FILE path='a'>" + short + "</CREATE_FILE>",
		`{"path":"a","old":"x","new":"` + strings.Repeat(`\n`, lines) + `"}`,
	} {
		if _, err := parse.Parse([]byte(response)); err == nil || !strings.Contains(err.Error(), " bytes on average") {
			t.Errorf("response: %.200v", err)
		}
	}
}

// Lines are not appended to a file that ends in thousands of blank lines, because every such block would have to repeat them.
func TestAnEndOfBlankLines(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{maxEdge - 1: true, maxEdge + 1: false} {
		p := newPlanner(nil, "")
		op := &parse.Operation{Block: 1, Kind: parse.OpAppend, Path: "a.txt", Replace: []string{"y"}}
		p.edge(&fileState{path: "a.txt", before: []byte("x\n" + strings.Repeat("\n", n))}, op)
		if got := op.Kind == parse.OpEdit && op.Line == 1 && len(op.Search) == n+1; got != want || want == (len(p.problems) > 0) {
			t.Errorf("%d blank lines: %v, %v", n, got, p.problems)
		}
	}
}

// Only the first few problems are explained; for the others, no lines are looked for or shown.
func TestOnlyTheFirstProblemsAreExplained(t *testing.T) {
	t.Parallel()
	file := strings.Repeat("x = 1\n", 30)
	_, _, problems := editFile("a.py", []byte(file), blocksOf(problem.MaxQuoted+2, func(int) string { return "x = 1\n" }, func(i int) string { return fmt.Sprint("y = ", i) }), document.NewWork())
	for i, p := range problems {
		if shown := p.Nearest != ""; p.Kind != problem.KindAmbiguous || shown != (i < problem.MaxQuoted) || p.Advice == "" {
			t.Errorf("problem %d: %s, shown %v, %q", i+1, p.Kind, shown, p.Advice)
		}
	}
}

// readings are files that count their reads by name.
type readings map[string]int

func (r readings) Paths() []string        { return []string{"a.txt"} }
func (r readings) Executable(string) bool { return false }
func (r readings) Read(name string) ([]byte, error) {
	r[name]++
	return []byte(many(1000, "line %d\n")), nil
}

// A file is read only a few times, however many hunks name it.
func TestHunksReadTheirFileOnce(t *testing.T) {
	t.Parallel()
	r := readings{}
	response := "--- a/a.txt\n+++ b/a.txt\n" + many(200, "@@ -1 +1 @@\n-line %d\n+new %d\n")
	if _, _, err := Apply(r, []byte(response), ""); err != nil || r["a.txt"] > 3 {
		t.Errorf("read %v times: %.200v", r, err)
	}
}
