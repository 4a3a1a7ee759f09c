package tools

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"agent/sandbox/workspace"
)

var errBroken = errors.New("the engine is gone")

func TestCommandsSeeTheDraft(t *testing.T) {
	b := bench(t, map[string]string{"a.py": "x = 1\n"})
	if _, ok := Find(For(b), "run"); ok {
		t.Error("there is a tool without what it needs")
	}
	var line string
	var limit time.Duration
	var diff string
	ran, broken := Ran{}, error(nil)
	b.Command = func(_ context.Context, draft workspace.Changeset, l string, d time.Duration) (Ran, error) {
		line, limit, diff = l, d, draft.Diff()
		return ran, broken
	}
	call(t, b, `edit {"path": "a.py", "old": "x = 1", "new": "x = 2"}`)
	for _, c := range []struct {
		call  string
		ran   Ran
		want  string
		limit time.Duration
	}{
		{`run {"command": "make test"}`, Ran{Exit: 2, Output: "1 failed\n"}, "exit status 2\n1 failed\n", time.Minute},
		{`run {"command": "true", "seconds": 5}`, Ran{}, "exit status 0, no output\n", 5 * time.Second},
		{`run {"command": "sleep 9999", "seconds": 9999}`, Ran{Exit: -1, Why: "killed: it was still running after 5m0s", Output: "z"}, "! z", 5 * time.Minute},
	} {
		ran = c.ran
		if got := shown(call(t, b, c.call)); got != c.want || limit != c.limit || !strings.Contains(diff, "+x = 2") || !strings.Contains(c.call, line) {
			t.Errorf("%s: %q, with %v for %q on\n%s", c.call, got, limit, line, diff)
		}
	}
	if got := call(t, b, `run {"command": " "}`); !got.Failed || got.Text != "the command is empty, or holds NUL" {
		t.Errorf("%+v", got)
	}
	broken = errBroken
	tool, _ := Find(For(b), "run")
	if _, err := tool.Run(t.Context(), b, `{"command": "true"}`); !errors.Is(err, errBroken) {
		t.Errorf("trouble of the machine is %v", err)
	}
}

func TestGatesCheckTheDraft(t *testing.T) {
	b := bench(t, map[string]string{"a.py": "x = 1\n"})
	passed, report, broken, asked := false, "lint: fail\na.py:1: X1 wrong\n", error(nil), 0
	b.Check = func(context.Context, workspace.Changeset) (bool, string, error) {
		asked++
		return passed, report, broken
	}
	if got := shown(call(t, b, `check {}`)); got != "! nothing is changed yet: there is nothing to check" || asked != 0 {
		t.Errorf("without a change: %q", got)
	}
	call(t, b, `edit {"path": "a.py", "old": "x = 1", "new": "x = 2"}`)
	if got := shown(call(t, b, `check {}`)); got != "this does not pass\nlint: fail\na.py:1: X1 wrong\n" {
		t.Errorf("%q", got)
	}
	passed, report = true, ""
	if got := shown(call(t, b, `check {}`)); got != "every gate passes: finish when the work is done\n" {
		t.Errorf("%q", got)
	}
	broken = errBroken
	tool, _ := Find(For(b), "check")
	if _, err := tool.Run(t.Context(), b, `{}`); !errors.Is(err, errBroken) {
		t.Errorf("trouble of the machine is %v", err)
	}
}
