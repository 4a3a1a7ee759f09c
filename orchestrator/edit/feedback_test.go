package edit

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/problem"
)

// refused returns the text of the refusal of a response.
func refused(t *testing.T, w tree, response string) string {
	t.Helper()
	cs, applied, err := Apply(w, []byte(response), "")
	var refusal *problem.Refusal
	if !errors.As(err, &refusal) {
		t.Fatalf("applied, or another error: %v, %v", applied, err)
	}
	if !cs.Empty() || applied != nil {
		t.Errorf("a refusal came with %v and %v", cs, applied)
	}
	return refusal.Error()
}

// tagged returns a block in tags.
func tagged(path, search, replace string) string {
	return fmt.Sprintf("<EDIT file=\"%s\">\n<SEARCH>\n%s\n</SEARCH>\n<REPLACE>\n%s\n</REPLACE>\n</EDIT>\n", path, search, replace)
}

// A model reads these texts: each says what is wrong, where, and what to send instead, and contains nothing untrue.
func TestRefusalsReadAsAWhole(t *testing.T) {
	t.Parallel()
	w := tree{"shop/stock.py": "import math\n\n\ndef level(items):\n    total = 0\n    for item in items:\n        total += item.count\n    return total\n", "bin": "a\x00b\n"}
	for _, c := range []struct{ name, response, want string }{
		{"one of two is stale", tagged("shop/stock.py", "import math", "import cmath") +
			tagged("shop/stock.py", "    total = 0\n    for item in items:\n        total -= item.count\n    return total", "    return 0"), `
block 2, shop/stock.py: stale: SEARCH text not found in the file; nearest lines 5 to 8
     5 |     total = 0
     6 |     for item in items:
     7 |         total += item.count
     8 |     return total
  your line 3:         total -= item.count
       line 7:         total += item.count
               yours has ` + "`-=`, the file `+=`" + `
  → copy lines 5 to 8 exactly into SEARCH
block 1 matches as sent and would apply: repeat it unchanged with the corrected ones`},
		{"applied already", tagged("shop/stock.py", "    total = 1\n", "    total = 0\n    for item in items:"), `
block 1, shop/stock.py: already applied at line 5
     5 |     total = 0
     6 |     for item in items:
  → leave this block out
nothing is left to send`},
		{"overlapping", tagged("shop/stock.py", "import math", "import a") + tagged("shop/stock.py", "import math", "import b"), `
block 2, shop/stock.py: overlap: it touches lines that block 1 changes
     1 | import math
  → send blocks 1 and 2 as one block, with line 1 above as SEARCH`},
		{"the wrong folder", tagged("stock.py", "import math", "import a"), `
block 1, stock.py: not found: there is no such file
  → did you mean shop/stock.py?`},
		{"no text", tagged("bin", "a", "b") + tagged("bin", "c", "d"), `
block 1, bin: refused: the file holds NUL bytes: it is binary, or in a wide encoding
  → leave it, or replace the whole file
block 2, bin: refused: the file holds NUL bytes: it is binary, or in a wide encoding
  → leave it, or replace the whole file`},
		{"a block that asks for nothing, beside a sound one", tagged("shop/stock.py", "import maths", "import maths") + tagged("shop/stock.py", "import math", "import cmath"), `
block 1, shop/stock.py: noop: SEARCH and REPLACE are the same: the block asks for no change
  → leave this block out
block 2 matches as sent and would apply: repeat it unchanged`},
		{"nothing to do", tagged("shop/stock.py", "import math", "import math"), `
noop: the response changes nothing
  → send nothing, or the change that is missing`},
		{"a chained overlap, and one that is left", tagged("shop/stock.py", "import math", "import first_of_all") + tagged("shop/stock.py", "import first_of_all", "import x") +
			tagged("shop/stock.py", "import first_of_all", "import y") + tagged("shop/stock.py", "zzz", "yyy"), `
block 3, shop/stock.py: overlap: it touches lines that block 2 changes
     1 | import first_of_all
  → send blocks 2 and 3 as one block, with line 1 above as SEARCH
block 4, shop/stock.py: not found: SEARCH text not found in the file
  → read the file and copy the lines to replace from it, or leave this block out
block 1 matches as sent and would apply: repeat it unchanged with the corrected ones`},
	} {
		if got := refused(t, w, c.response); got != "nothing was applied"+c.want {
			t.Errorf("%s:\n%s\nwant\nnothing was applied%s", c.name, got, c.want)
		}
	}
}

func TestAmbiguousPlacesAreCountedAndShown(t *testing.T) {
	t.Parallel()
	for n := 2; n <= 7; n++ {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "def f_%d():\n    pass\n    x = 1\n\n\n\n\n\n", i)
		}
		got := refused(t, tree{"a.py": b.String()}, tagged("a.py", "    x = 1", "    x = 2"))
		want := fmt.Sprintf("SEARCH matches at %d places, lines 3, 11", n)
		switch {
		case n == 2:
			want = "SEARCH matches at 2 places, lines 3 and 11\n"
		case n >= document.Most:
			want = "SEARCH matches at 5 or more places, lines 3, 11, 19, 27 and 35\n"
		}
		if !strings.Contains(got, want) {
			t.Errorf("%d places: %q is not in\n%s", n, want, got)
		}
		if shown := strings.Count(got, "     x = 1\n"); shown != min(n, 3) {
			t.Errorf("%d places: %d are shown\n%s", n, shown, got)
		}
		if !strings.Contains(got, "| def f_0():") || !strings.Contains(got, "| def f_1():") {
			t.Errorf("what tells the places apart is not shown:\n%s", got)
		}
	}
}

func TestFilesOfTheSameNameAreProposed(t *testing.T) {
	t.Parallel()
	w := tree{"a/Stock.py": "x\n", "b/stock.py": "x\n", "c/stock.pyc": "x\n", "d/stock.py": "x\n", "e/stock.py": "x\n"}
	for name, want := range map[string]string{
		"stock.py":   "did you mean a/Stock.py or b/stock.py or d/stock.py?",
		"z/STOCK.PY": "did you mean a/Stock.py or b/stock.py or d/stock.py?",
		"stock.pyc":  "did you mean c/stock.pyc?",
		"stock":      "name a file of the workspace; to create this one, send CREATE_FILE with its whole content",
	} {
		if got := refused(t, w, tagged(name, "x", "y")); !strings.HasSuffix(got, "\n  → "+want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
