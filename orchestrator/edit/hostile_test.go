package edit_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
)

const mib = 1 << 20

// fill repeats s up to n bytes.
func fill(s string, n int) string { return strings.Repeat(s, n/len(s)) }

// TestHostileResponsesComeToAnEnd reads responses of one mebibyte that would take quadratic time in a careless parser: minutes instead of
// milliseconds.
func TestHostileResponsesComeToAnEnd(t *testing.T) {
	t.Parallel()
	for name, response := range map[string]string{
		"openings":        fill("<EDIT><SEARCH>", mib),
		"openings, lines": fill("<SEARCH>\n", mib),
		"closings":        fill("</SEARCH></REPLACE>", mib),
		"one line":        "<EDIT>" + fill("<SEARCH>a</SEARCH><REPLACE>b</REPLACE>", mib) + "</EDIT>",
		"thoughts":        fill("<THINK>", mib),
		"thoughts, diffs": fill("<THINK>\n@@ -1 +1 @@\n</THINK>\n", mib),
		"angles":          fill("<", mib),
		"attributes":      fill("<EDIT file='", mib),
		"spaces":          "<EDIT" + fill(" \t", mib),
		"hunks":           "--- a/a.txt\n+++ b/a.txt\n" + fill("@@ -1,9 +1,9 @@\n", mib),
		"hunk lines":      "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n" + fill("-\n", mib),
		"unmarked":        "--- a/a.txt\n+++ b/a.txt\n" + fill("@@ -1,9 +1,9 @@\n x\nx\nx\n", mib),
		"git names":       "diff --git " + fill("a ", mib) + "\n",
		"quoted names":    "diff --git x" + fill(` "`, mib) + "\n",
		"headers":         fill("--- a\n+++ b\n", mib),
		"markers":         fill("<<<<<<< SEARCH\n", mib),
		"dividers":        "<<<<<<< SEARCH\n" + fill("=======\n", mib),
		"marker blocks":   fill("<<<<<<< SEARCH\n=======\n>>>>>>> REPLACE\n", mib),
		"brackets":        fill("[{\"a\":", mib),
		"json items":      "[" + fill(`{"path":"a","action":"delete"},`, mib) + "]",
		"fences":          fill("```json\n[{\n", mib),
	} {
		t.Run(name, func(t *testing.T) { refusesInBounds(t, response) })
	}
}

// refusesInBounds applies a hostile response, which must be refused with a readable text.
func refusesInBounds(t *testing.T, response string) {
	t.Helper()
	t.Parallel()
	_, _, err := edit.Apply(fuzzed(), []byte(response), "")
	var refusal *problem.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("got %v", err)
	}
	if n := len(refusal.Error()); n > 16<<10 {
		t.Errorf("the refusal has %d bytes, more than the 16 KiB that it promises", n)
	}
}

// TestHostileFilesComeToAnEnd matches against files that would take quadratic time in a careless matcher.
func TestHostileFilesComeToAnEnd(t *testing.T) {
	t.Parallel()
	many := func(n int, s, r string) (out []edit.Block) {
		for i := range n {
			out = append(out, edit.Block{Search: fmt.Sprintf(s, i), Replace: fmt.Sprintf(r, i)})
		}
		return out
	}
	for name, c := range map[string]struct {
		before string
		blocks []edit.Block
	}{
		"equal lines":          {fill("a\n", mib/2), []edit.Block{{Search: fill("a\n", mib/4) + "b\n", Replace: "c\n"}}},
		"equal lines, a tail":  {fill("a\n", mib/2) + "b\n" + fill("a\n", mib/8), []edit.Block{{Search: fill("a\n", mib/4) + "b\n", Replace: fill("c\n", mib/8)}}},
		"two lines":            {fill("a\nb\n", mib/2), many(400, "a\nb\na\na\nx%d\n", "%d\n")},
		"frequent lines":       {fill("a\nb\na\na\n", mib/2), many(400, " a\n b\n a\n a\n b\n b\n a\n", "%d\n")},
		"blank lines":          {fill("\n", mib/2) + "x\n", []edit.Block{{Search: fill("\n", mib/4) + "x\n", Replace: "y\n"}}},
		"indented blank lines": {fill(" \n", mib/2) + "x = 1\n", []edit.Block{{Search: fill("\n", mib/4) + "  x = 1\n", Replace: "y\n"}}},
		"one long line":        {fill("a ", mib/2), []edit.Block{{Search: fill("a ", mib/4), Replace: "b"}}},
		"quotes":               {fill(`"\`, mib/2), []edit.Block{{Search: fill(`"\`, mib/4), Replace: "b"}}},
		"quotes on lines":      {fill("'\"`\\\n", mib/2), []edit.Block{{Search: "call(a, b, c, d, e, f, g)\n'", Replace: "b"}}},
		"comments":             {fill("# a\n", mib/2) + "x = 1\n" + fill("# b\n", mib/4) + "y = 2\n", []edit.Block{{Search: "x = 1\n" + fill("# b\n", mib/8) + "y = 2\n", Replace: "z\n"}}},
		"elisions":             {fill("a = 1\n", mib/2), []edit.Block{{Search: fill("a = 1\n# ...\n", mib/8), Replace: fill("b = 1\n# ...\n", mib/8)}}},
		"a large change":       {distinct("a", 30000), []edit.Block{{Search: distinct("a", 30000), Replace: distinct("b", 30000)}}},
		"a large shuffle":      {distinct("a", 20000), []edit.Block{{Search: distinct("a", 20000), Replace: backwards(distinct("a", 20000))}}},
		"many blocks":          {distinct("a", 40000), many(2000, "a line %d\n", "b line %d\n")},
		"many near blocks":     {distinct("a", 20000), many(2000, "a line %d\na line x\n", "b line %d\n")},
		"pieces":               {distinct("a", 60000), []edit.Block{{Search: elided("a", 30000), Replace: elided("b", 30000)}}},
		"random lines":         {coins(mib / 4), many(300, coins(100)+"%d\n", "c\n")},
		"frequent lines only":  {coins(mib / 4), many(300, coins(60), "c%d\n")},
		"reflow, no line end":  {fill("a a a a a\n", mib), []edit.Block{{Search: fill("a\n", mib/4) + "a\n", Replace: "b"}}},
		"reflow of one line":   {fill("ab ", mib), []edit.Block{{Search: fill("ab\n", mib), Replace: "b"}}},
		"many reflowed":        {distinct("call(alpha, beta, gamma) for a", 25000), many(1000, "call(alpha,\nbeta, gamma) for a line %d\n", "x%d\n")},
		"many indented":        {distinct("    a", 40000), many(2000, "a line %d\n", "b line %d\n\tc\n")},
		"many elided":          {distinct("a", 40000), many(1000, "a line %[1]d\n# ...\na line 1%[1]d\n", "b line %[1]d\n# ...\nb line 1%[1]d\n")},
		"typographic":          {fill("\u201ca\u201d \u2013 b\n", mib), []edit.Block{{Search: "\"a\" - b\nx\n", Replace: "c\n"}}},
		"a long comment":       {fill("x = 1\n"+fill("# b\n", mib/40), mib), []edit.Block{{Search: "x = 1\ny = 2\n", Replace: "z\n"}}},
		"old line ends":        {fill("a\r", mib), []edit.Block{{Search: "a = 1\n", Replace: "b\n"}}},
		"a chain":              {distinct("a", 20000), many(2000, "a line %[1]d\n", "a line %[1]d\nb %[1]d\n")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, _, err := edit.ApplyBlocks("a.py", []byte(c.before), c.blocks)
			var refusal *problem.Refusal
			if err != nil && !errors.As(err, &refusal) {
				t.Fatalf("got %v", err)
			}
			if err == nil && string(after) == c.before {
				t.Error("applied and changed nothing")
			}
		})
	}
}

// distinct returns n different lines.
func distinct(s string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s line %d\n", s, i)
	}
	return b.String()
}

// backwards returns the lines of s, last first.
func backwards(s string) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return strings.Join(lines, "\n") + "\n"
}

// elided returns n different lines with an elision after each.
func elided(s string, n int) string {
	return strings.ReplaceAll(distinct(s, n), "\n", "\n# ...\n")
}

// coins returns n lines, each one of two letters, without a pattern and the same at every call.
func coins(n int) string {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	var b strings.Builder
	for range n {
		b.WriteString([]string{"a\n", "b\n"}[r.IntN(2)])
	}
	return b.String()
}

// TestMemoryStaysWithinAMultipleOfTheInput bounds the total allocation for hostile files. That bounds the peak too: memory freed on the
// way only lowers it, and unlike a peak the total is the same in every run. It does not run in parallel, because the count covers the
// whole process.
//
// The unit is the input, file and blocks together. Many blocks need some hundred bytes each besides their text, most of which are freed;
// each line of a single newline takes a string header of 16 bytes.
func TestMemoryStaysWithinAMultipleOfTheInput(t *testing.T) {
	for name, c := range map[string]struct {
		before, search, replace string
		times                   float64
	}{
		"blank lines":            {fill("\n", mib) + "x = 1\n", "x = 1\n", "y = 1\n", 10},
		"blank lines, by depth":  {fill("\n", mib) + "x = 1\n", "  x = 1\n", "  y = 1\n", 10},
		"one line again":         {fill("a = 1\n", mib), "a = 1\n", "b = 1\n", 10},
		"one line, by depth":     {fill("a = 1\n", mib), "  a = 1\n", "  b = 1\n", 10},
		"one character a line":   {fill("a\n", mib) + "b\n", "a\na\nb\n", "b\n", 10},
		"one line":               {fill("a", mib), "a", "b", 10},
		"one line of words":      {fill("ab ", mib), fill("ab ", mib/2) + "\nc", "b", 10},
		"one line of tokens":     {fill("(", mib), fill("( ", mib), "b", 10},
		"words and dots":         {fill("a.", mib), fill("a .", mib) + "x", "b", 10},
		"quotes that stay open":  {fill("' \" `\n", mib), fill("'\n\"\n`", mib/2), "b", 10},
		"typographic characters": {fill("\u2026", mib), "...", "b\n", 10},
		"CRLF":                   {fill("a = 1\r\n", mib), "a = 1\n", "b\n", 10},
		"a huge replacement":     {"a = 1\nb = 2\n", "a = 1\n", distinct("a", 60000), 10},
		"a huge removal":         {distinct("a", 60000), distinct("a", 20000), "", 10},
		"a blank replacement":    {"a = 1\nb = 2\n", "a = 1\n", "x\n" + fill("\n", mib) + "y\n", 10},
		"blank bodies":           {"a\n" + fill("\n", mib) + "b\n", "a\n" + fill("\n", mib) + "b\n", "c\n", 10},
		"a reflowed line":        {"f(" + fill("ab, ", mib) + ")\n", "f(" + fill("ab,\n", mib) + ")\n", "b\n", 10},
		"letters, reflowed":      {fill("a ", mib), fill("a\n", mib/2) + "b\n", "b\n", 10},
		"elisions":               {distinct("a", 30000), elided("a", 30000), elided("b", 30000), 10},
	} {
		blocks := []edit.Block{{Search: c.search, Replace: c.replace}}
		allocates(t, name, c.times, len(c.before)+len(c.search)+len(c.replace), func() error {
			_, _, err := edit.ApplyBlocks("a.py", []byte(c.before), blocks)
			return err
		})
	}
}

// allocates runs the edit of an input of size bytes, which may allocate at most the given multiple of size.
func allocates(t *testing.T, name string, times float64, size int, run func() error) {
	t.Helper()
	var was, is runtime.MemStats
	runtime.ReadMemStats(&was)
	err := run()
	runtime.ReadMemStats(&is)
	var refusal *problem.Refusal
	if err != nil && !errors.As(err, &refusal) {
		t.Errorf("%s: %v", name, err)
	}
	if got := float64(is.TotalAlloc-was.TotalAlloc) / float64(size); got > times {
		t.Errorf("%s: %.1f times the input was allocated, want at most %.0f", name, got, times)
	}
}

// TestMemoryOfManyBlocks bounds the same for many blocks. Their chained rounds and refusals each allocate again what the previous one
// freed, so the peak is about half of the total.
func TestMemoryOfManyBlocks(t *testing.T) {
	many := func(n int, search func(i int) string) (out []edit.Block) {
		for i := range n {
			out = append(out, edit.Block{Search: search(i), Replace: "c\n"})
		}
		return out
	}
	for name, c := range map[string]struct {
		before string
		blocks []edit.Block
	}{
		"short lines":     {coins(mib / 2), many(1000, func(i int) string { return coins(40 + i%5) })},
		"a period":        {fill("a\nb\n", mib), many(900, func(i int) string { return fill("a\nb\n", 120) + "b\n" + fill("a\n", i%40) })},
		"blank lines":     {fill("\n", mib) + "x\n", many(1500, func(i int) string { return fill("\n", 10) + "x\n" + fill("\n", i%20) })},
		"tiny blocks":     {fill("a line of a file\n", mib), many(2000, func(i int) string { return fmt.Sprintf("a%d\n", i) })},
		"commented lines": {"x = 1\n" + fill("#\n", mib) + "y = 2\n", many(1500, func(int) string { return "x = 1\ny = 2\n" })},
		"reflowed words":  {fill("1 2 ", mib), many(900, func(i int) string { return coins(50 + i%9) })},
	} {
		size := len(c.before)
		for _, b := range c.blocks {
			size += len(b.Search) + len(b.Replace)
		}
		allocates(t, name, 20, size, func() error {
			_, _, err := edit.ApplyBlocks("a.py", []byte(c.before), c.blocks)
			return err
		})
	}
}

// TestHostilePatchesAllocateLittle does the same for input that only a whole response can contain: huge numbers of values and tags, and
// texts for a parser.
func TestHostilePatchesAllocateLittle(t *testing.T) {
	for name, c := range map[string]struct{ path, file, response string }{
		"JSON values":     {"a.py", "x\n", `[{"path":"a.py","edits":[` + fill("1,", mib) + "1]}]"},
		"YAML":            {"a.yaml", "- a: 1\n" + fill("- a: 1\n", mib) + "z: 1\n", "<EDIT file='a.yaml'><SEARCH>z: 1</SEARCH><REPLACE>z: 2</REPLACE></EDIT>"},
		"TOML":            {"a.toml", "a = [\n" + fill("1,\n", mib) + "2]\nz = 1\n", "<EDIT file='a.toml'><SEARCH>z = 1</SEARCH><REPLACE>z = 2</REPLACE></EDIT>"},
		"Go":              {"a.go", "package a\n\nvar z = 1\nfunc f() {\n" + fill("a()\n", mib/2) + "}\n", "<EDIT file='a.go'><SEARCH>var z = 1</SEARCH><REPLACE>var z = 2</REPLACE></EDIT>"},
		"a blank file":    {"a.py", "x\n", "<CREATE_FILE path='b.py'>\n" + fill("\n", mib) + "</CREATE_FILE>"},
		"blank and added": {"a.py", "x\n" + fill("\n", mib), `{"path":"a.py","edits":[` + strings.Repeat(`{"type":"append","content":"y"},`, parse.MaxBlocks) + "]}"},
	} {
		allocates(t, name, 20, len(c.file)+len(c.response), func() error {
			_, _, err := edit.Apply(memory{text: map[string]string{c.path: c.file}}, []byte(c.response), "")
			return err
		})
	}
}

// An edit without blocks asks for no change, and is refused like any other edit that changes nothing.
func TestNoBlocksAreNoChange(t *testing.T) {
	t.Parallel()
	for _, before := range []string{"", "x = 1\n", strings.Repeat("x = 1\n", 100)} {
		_, _, err := edit.ApplyBlocks("a.py", []byte(before), nil)
		var refusal *problem.Refusal
		if !errors.As(err, &refusal) || refusal.Problems[0].Kind != "noop" {
			t.Errorf("%.10q without blocks: %v", before, err)
		}
	}
}
