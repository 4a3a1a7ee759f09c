package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// docOf returns the document of a run whose last candidate counts.
func docOf(t *testing.T, verdict, state string, findings int, diff string) string {
	t.Helper()
	type m = map[string]any
	var list []m
	for i := range findings {
		list = append(list, m{"file": "a.py", "line": i + 1, "rule": "F821", "message": "undefined name"})
	}
	data, err := json.Marshal(m{
		"run": "abc1", "state": state, "verdict": verdict,
		"candidates": []m{
			{"diff": "an earlier one", "gates": []m{{"name": "tests", "findings": []m{{"message": "of the earlier one"}}}}},
			{
				"gates":    []m{{"name": "lint", "findings": list}},
				"holds":    []m{{"path": "ci.yml", "kind": "ci", "reason": "it runs elsewhere", "block": true}, {"path": "x", "kind": "git", "block": false}},
				"unproven": []m{{"reason": "no test ran"}}, "diff": diff,
			},
		},
		"error": m{"message": "it did not pass", "next": "fix it"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAProofIsAboutTheLastCandidate(t *testing.T) {
	t.Parallel()
	_, p, err := proofOf(Ended{Exit: 1, Stdout: docOf(t, "fail", "rejected", 2, "diff --git a/a.py b/a.py\n")})
	if err != nil {
		t.Fatal(err)
	}
	if p.Run != "abc1" || p.Passed || p.Applied || p.Summary != "it did not pass" || p.Next != "fix it" || len(p.Unproven) != 1 {
		t.Errorf("%+v", p)
	}
	if len(p.Findings) != 2 || p.Findings[1].Gate != "lint" || p.Findings[1].Line != 2 {
		t.Errorf("findings %+v", p.Findings)
	}
	if len(p.Holds) != 1 || p.Holds[0].Kind != "ci" {
		t.Errorf("only what blocks holds: %+v", p.Holds)
	}
	if !strings.HasPrefix(p.Diff, "diff --git a/a.py") {
		t.Errorf("diff %q", p.Diff)
	}
}

func TestOnlyAPassHasPassedAndOnlyAPromotionIsApplied(t *testing.T) {
	t.Parallel()
	for _, verdict := range []string{"pass", "fail", "policy", "timeout", "oom", "infra", "conflict", "cancelled", "budget", ""} {
		for _, state := range []string{"verified", "promoted", "rejected", ""} {
			_, p, err := proofOf(Ended{Stdout: docOf(t, verdict, state, 0, "")})
			if err != nil || p.Passed != (verdict == "pass") || p.Applied != (state == "promoted") {
				t.Errorf("%q in %q: %+v %v", verdict, state, p, err)
			}
		}
	}
}

func TestAnAnswerIsBounded(t *testing.T) {
	t.Parallel()
	_, p, err := proofOf(Ended{Stdout: docOf(t, "fail", "rejected", mostFindings+7, strings.Repeat("ä", longestDiff))})
	if err != nil || len(p.Findings) != mostFindings || p.Omitted != 7 {
		t.Errorf("%d findings, %d omitted, %v", len(p.Findings), p.Omitted, err)
	}
	if len(p.Diff) > longestDiff+200 || !strings.Contains(p.Diff, "agent://runs/abc1/diff") {
		t.Errorf("a diff of %d bytes that ends %q", len(p.Diff), p.Diff[max(0, len(p.Diff)-100):])
	}
}

// If a command prints no document, the result is an error with its output, and never a pass.
func TestACommandWithoutADocumentIsAnError(t *testing.T) {
	t.Parallel()
	for name, ended := range map[string]Ended{
		"nothing":     {Exit: 3},
		"text":        {Exit: 0, Stdout: "all good"},
		"half of one": {Exit: 0, Stdout: `{"run": "abc1", "verdict": "pass"`},
		"of no run":   {Exit: 0, Stdout: `{"verdict": "pass"}`},
		"said":        {Exit: 3, Stderr: "agent: no Docker engine\n  next: start it\n"},
	} {
		_, p, err := proofOf(ended)
		if err == nil || p.Passed {
			t.Errorf("%s: %+v", name, p)
		}
		if ended.Stderr != "" && (!strings.Contains(fmt.Sprint(err), "no Docker engine") || !strings.Contains(fmt.Sprint(err), "next: start it")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, out := range map[string]string{"nothing": "", "blank": " \n", "text": "done"} {
		if _, _, err := saidOf(Ended{Stdout: out}); err == nil {
			t.Errorf("%s was passed on", name)
		}
	}
}

func TestARunIsNamedByAnID(t *testing.T) {
	t.Parallel()
	for _, run := range []string{"abc", "01k3zz", "7f3"} {
		if err := runName(run); err != nil {
			t.Error(err)
		}
	}
	for _, run := range []string{"", "ab", "--all", "-h", "../x", "a b", "ABC", "abc\n", "abc;ls", strings.Repeat("a", 41)} {
		if runName(run) == nil {
			t.Errorf("%q was taken", run)
		}
	}
}

func TestFilesOfADiff(t *testing.T) {
	t.Parallel()
	diff := "diff --git a/b.py b/b.py\n+diff --git a/no b/no\ndiff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\ndiff --git a/b.py b/b.py\n"
	if got := filesOf(diff); !slices.Equal(got, []string{"a.py", "b.py"}) {
		t.Errorf("got %q", got)
	}
}

func TestPlacesOfAName(t *testing.T) {
	t.Parallel()
	var f analysedFile
	text := `{"definitions":[{"name":"Stock.level","kind":"method","line":3,"end":5},{"name":"levels","line":9}],"references":[{"name":"level","lines":[7,8]}]}`
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		t.Fatal(err)
	}
	if got := definitions("a.py", f, "level"); len(got) != 1 || got[0] != (Place{"a.py", 3, 5, "method", ""}) {
		t.Errorf("definitions %+v", got)
	}
	if got := references("a.py", f, "level"); len(got) != 2 || got[1].Line != 8 {
		t.Errorf("references %+v", got)
	}
}
