package term

import (
	"testing"

	"agent/verify"
)

// Files whose changed lines all ran are left out; of many others, the first are named.
func TestWhatWasExecutedIsToldInALine(t *testing.T) {
	t.Parallel()
	x := func(p string, lines, ran int) verify.Execution {
		return verify.Execution{Path: p, Lines: lines, Executed: ran}
	}
	for want, list := range map[string][]verify.Execution{
		"":                              nil,
		"executed 2 of 3 changed lines": {x("a.py", 3, 2)},
		"executed 3 of 3 changed lines": {x("a.py", 2, 2), x("b.py", 1, 1)},
		"executed 2 of 4 changed lines: b␊.py 0 of 2":                               {x("a.py", 2, 2), x("b\n.py", 2, 0)},
		"executed 0 of 5 changed lines: a 0 of 1, b 0 of 1, c 0 of 1, 2 more files": {x("a", 1, 0), x("b", 1, 0), x("c", 1, 0), x("d", 1, 0), x("e", 1, 0)},
	} {
		if got := executed(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
