package edit_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/edit"
)

const mib = 1 << 20

// fill repeats s up to n bytes.
func fill(s string, n int) string { return strings.Repeat(s, n/len(s)) }

// TestHostileResponsesComeToAnEnd reads responses of a mebibyte that would
// take quadratic work in a careless parser: minutes, where milliseconds do.
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := edit.Apply(fuzzed(), []byte(response), "")
			var refusal *edit.Refusal
			if !errors.As(err, &refusal) {
				t.Fatalf("got %v", err)
			}
			if n := len(refusal.Error()); n > 4*mib {
				t.Errorf("the refusal has %d bytes", n)
			}
		})
	}
}

// TestHostileFilesComeToAnEnd matches against files that would take quadratic
// work in a careless matcher.
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
		"a chain":              {distinct("a", 20000), many(2000, "a line %[1]d\n", "a line %[1]d\nb %[1]d\n")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, _, err := edit.ApplyBlocks("a.py", []byte(c.before), c.blocks)
			var refusal *edit.Refusal
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
