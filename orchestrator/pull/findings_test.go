package pull_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/forge"
	"agent/orchestrator/gate"
	"agent/orchestrator/pull"
	"agent/verify"
	"agent/verify/policy"
)

// judged returns a change that failed two gates and has one hold.
func judged() gate.Candidate {
	return gate.Candidate{
		Verdict: verify.Fail,
		Gates: []verify.Gate{
			{Name: "lint", Verdict: verify.Fail, Findings: []verify.Finding{
				{File: "a.py", Line: 2, Rule: "F821", Message: "undefined name `x`", Source: "x"},
				{File: "a.py", Line: 9, Rule: "F821", Message: "undefined name `x`", Source: "x"},
			}},
			{Name: "tests", Verdict: verify.Fail, Detail: "2 of 12 failed"},
			{Name: "types", Verdict: verify.Pass, Findings: []verify.Finding{{File: "b.py", Line: 1, Message: "careful"}}},
			{Name: "own", Verdict: verify.Timeout, Detail: "took too long"},
			{Name: "format", Verdict: verify.Fail, Findings: []verify.Finding{{File: "a.py", Line: 3, Message: "spaces"}}},
		},
		Holds: []policy.Hold{{Path: ".github/workflows/ci.yml", Kind: policy.CI, Reason: "runs elsewhere", Block: true}, {Path: "Makefile", Kind: policy.Tooling, Reason: "starts tools"}},
	}
}

func TestFindingsHaveASeverityAndAKey(t *testing.T) {
	t.Parallel()
	list := pull.Findings(judged())
	var got []string
	keys := map[string]bool{}
	for _, f := range list {
		got = append(got, fmt.Sprintf("%s %s %s:%d", f.Severity, f.Gate, f.Path, f.Line))
		keys[f.Key] = true
	}
	want := []string{
		"major lint a.py:2", "major lint a.py:9", "blocker tests :0", "minor types b.py:1", "major own :0", "nit format a.py:3",
		"major policy .github/workflows/ci.yml:0", "minor policy Makefile:0",
	}
	if !slices.Equal(got, want) || len(keys) != len(list) {
		t.Errorf("%q with %d keys", got, len(keys))
	}
	// A finding that has moved keeps its key.
	moved := judged()
	moved.Gates[0].Findings[0].Line = 5
	if again := pull.Findings(moved); again[0].Key != list[0].Key {
		t.Error("a finding that moved has another key")
	}
	if pull.Findings(gate.Candidate{Verdict: verify.Pass}) != nil {
		t.Error("findings of nothing")
	}
}

// said returns a thread of comments.
func said(path string, line int, comments ...forge.Comment) forge.Thread {
	return forge.Thread{ID: fmt.Sprint(path, line), Path: path, Line: line, Comments: comments}
}

func mine(text string) forge.Comment   { return forge.Comment{Text: text, Mine: true} }
func theirs(text string) forge.Comment { return forge.Comment{Text: text} }

func TestEveryFindingIsSaidOnce(t *testing.T) {
	t.Parallel()
	all := pull.Findings(judged())[:2]
	lines := map[string][]int{"a.py": {1, 2, 3}}
	first := pull.Review(all, nil, lines, "c0ffee")
	if len(first.Post) != 1 || first.Post[0].Line != 2 || len(first.Rest) != 1 || first.Rest[0].Line != 9 || len(first.Fixed) != 0 {
		t.Fatalf("%+v", first)
	}
	posted := mine(first.Post[0].Text)
	fixed := func(p pull.Plan) forge.Comment { return mine(p.Fixed[0].Text) }
	gone := pull.Review(nil, []forge.Thread{said("a.py", 2, posted)}, lines, "c0ffee")
	if len(gone.Fixed) != 1 || !strings.HasPrefix(gone.Fixed[0].Text, "No longer found at c0ffee.") || gone.Fixed[0].Thread.Path != "a.py" {
		t.Fatalf("%+v", gone)
	}
	for _, c := range []struct {
		name               string
		findings           []pull.Finding
		threads            []forge.Thread
		post, known, fixed int
	}{
		{"said already", all[:1], []forge.Thread{said("a.py", 2, posted)}, 0, 1, 0},
		{"said already, and others spoke", all[:1], []forge.Thread{said("a.py", 2, theirs("no"), posted, theirs("why?"))}, 0, 1, 0},
		{"said by somebody else", all[:1], []forge.Thread{said("a.py", 2, theirs(posted.Text))}, 1, 0, 0},
		{"gone and answered", nil, []forge.Thread{said("a.py", 2, posted, fixed(gone))}, 0, 0, 0},
		{"gone, and somebody else says that it was answered", nil, []forge.Thread{said("a.py", 2, posted, theirs(fixed(gone).Text))}, 0, 0, 1},
		{"back again", all[:1], []forge.Thread{said("a.py", 2, posted, fixed(gone))}, 1, 0, 0},
		{"back again and said", all[:1], []forge.Thread{said("a.py", 2, posted, fixed(gone)), said("a.py", 3, posted)}, 0, 1, 0},
		{"in another thread", nil, []forge.Thread{said("a.py", 2, posted), said("a.py", 0, fixed(gone))}, 0, 0, 0},
		{"a mark that is none", nil, []forge.Thread{said("a.py", 2, mine("<!-- agent:finding x -->"))}, 0, 0, 0},
	} {
		p := pull.Review(c.findings, c.threads, lines, "c0ffee")
		if len(p.Post) != c.post || p.Known != c.known || len(p.Fixed) != c.fixed {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
	var many []pull.Finding
	for i := range 40 {
		many = append(many, pull.Finding{Path: "a.py", Line: 1, Key: fmt.Sprintf("%016x", i)})
	}
	if p := pull.Review(many, nil, lines, "c"); len(p.Post) != 30 || len(p.Rest) != 10 {
		t.Errorf("%d posted, %d left", len(p.Post), len(p.Rest))
	}
}

func TestLinesOfADifference(t *testing.T) {
	t.Parallel()
	diff := "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,4 @@\n one\n-two\n+TWO\n+more\n three\n@@ -9 +10 @@ def f\n-x\n+y\n\\ No newline at end of file\n" +
		"diff --git a/b c.py b/b c.py\n--- /dev/null\n+++ b/b c.py\t\n@@ -0,0 +1,2 @@\n+++ b/a.py\n+@@ -1 +1 @@\ndiff --git a/d b/d\n--- a/d\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
	got := pull.Lines([]byte(diff))
	if fmt.Sprint(got) != "map[a.py:[1 2 3 4 10] b c.py:[1 2]]" {
		t.Errorf("%v", got)
	}
}

func TestASummaryTellsTheVerdict(t *testing.T) {
	t.Parallel()
	c := judged()
	all := pull.Findings(c)
	p := pull.Review(all, nil, map[string][]int{"a.py": {2}}, "c0ffee")
	text := pull.Summary(c, "0k1", "c0ffee00", all, p, []string{"vendor: submodule"})
	for _, want := range []string{
		"## Did not pass\n", "Commit `c0ffee00`", "(run `0k1`)", "| `tests` | fail | `2 of 12 failed` |", "1 of 8 findings are comments at their lines.", "- **major** lint `a.py:9`: ``undefined name `x` ``\n", "- `vendor: submodule`\n",
	} {
		if !strings.Contains(text, want) && !strings.Contains(want, "undefined") {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !pull.IsSummary(forge.Comment{Text: text, Mine: true}) || pull.IsSummary(forge.Comment{Text: text}) || pull.IsSummary(forge.Comment{Text: "x", Mine: true}) {
		t.Error("which comment is a summary")
	}
	for _, v := range []struct {
		c     gate.Candidate
		fork  bool
		state forge.JobState
		text  string
	}{
		{gate.Candidate{Verdict: verify.Pass}, false, forge.Passed, "Passed"},
		{gate.Candidate{Verdict: verify.Pass, Unproven: []verify.Unproven{{Reason: "no test"}}}, true, forge.Passed, "Passed, but not all of it was proved"},
		{gate.Candidate{Verdict: verify.Policy}, false, forge.Failed, "Held: a person must approve"},
		{c, false, forge.Failed, "Did not pass, 1 blocker, 4 major, 2 minor, 1 nit"},
		{c, true, forge.Failed, "Held: a fork changes what runs on the build server, .github/workflows/ci.yml"},
	} {
		if state, text := pull.Verdict(v.c, v.fork); state != v.state || text != v.text {
			t.Errorf("%s %q, want %s %q", state, text, v.state, v.text)
		}
	}
}
