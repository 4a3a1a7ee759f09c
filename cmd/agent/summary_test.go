package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
	holdpolicy "agent/verify/policy"
)

// aRejected is the document of a run whose patch breaks a caller.
func aRejected() run.Document {
	return run.Document{
		Run: "1k3mzq8a0v2c", State: run.Rejected, Verdict: verify.Fail, Workspace: "/home/me/shop", Exit: run.ExitFail,
		Candidates: []run.DocumentCandidate{{
			Verdict: verify.Fail,
			Gates: []verify.Gate{
				{Name: "format", Verdict: verify.Pass, Seconds: 0.1, Tool: "ruff 0.16.1"},
				{Name: "types", Verdict: verify.Fail, Seconds: 1.94, Old: 3, Fixed: 1, Tool: "mypy 1.15.0", Findings: []verify.Finding{
					{File: "shop/report.py", Line: 12, Column: 5, Rule: "arg-type", Message: "Argument 1 to \"total\" has incompatible type", Source: "total(1, 2)", Help: "https://mypy.readthedocs.io/en/stable/error_code_list.html#code-arg-type"},
					{Message: "found in no file \x1b[31m", Fixable: true, Help: "https://a.example/\x1b]0;owned\x07"},
					{File: "shop/report.py", Line: 14, Column: 5, Rule: "arg-type", Message: "Argument 1 to \"total\" has incompatible type", Source: "total(3, 4)", Help: "https://mypy.readthedocs.io/en/stable/error_code_list.html#code-arg-type"},
				}},
				{
					Name: "smoke", Verdict: verify.Fail, Seconds: 0.8, Detail: "exit status 1",
					Findings: []verify.Finding{{Rule: "crash", Message: "Traceback in the output"}},
					Output:   strings.Repeat("a line of the program\n", 20) + "Traceback (most recent call last):\n\x1b]0;owned\x07NameError: x\n",
				},
			},
			Skipped: []verify.Skip{{Name: "tests", Reason: "the workspace has none"}},
			Holds:   []holdpolicy.Hold{{Path: ".github/workflows/ci.yml", Kind: "ci", Reason: "it defines what CI runs"}},
			Diff:    aDiff,
		}},
		Error: &run.Problem{Kind: "patch", Message: "the patch failed: types: 2 findings", Next: "mend the patch and run again"},
	}
}

// aPromoted is the document of a run that was promoted.
func aPromoted() run.Document {
	return run.Document{
		Run: "1k3mzq8a0v2d", State: run.Promoted, Verdict: verify.Pass, Workspace: "/home/me/shop",
		Candidates: []run.DocumentCandidate{{Verdict: verify.Pass, Gates: []verify.Gate{
			{Name: "lint", Verdict: verify.Pass, Seconds: 0.2}, {Name: "smoke", Verdict: verify.Pass, Seconds: 10, Detail: "still running"},
		}}},
		Promotion: &run.DocumentPromotion{Diff: aDiff, Files: []run.DocumentFile{
			{Path: "shop/stock.py", Op: workspace.Modify}, {Path: "new.txt", Op: workspace.Rename, From: "old\n.txt"},
		}},
	}
}

func summarise(d run.Document, pal palette, columns int) string {
	var out bytes.Buffer
	summary{w: &out, palette: pal, columns: columns}.document(d)
	return out.String()
}

func TestResultsForPeople(t *testing.T) {
	t.Parallel()
	proved := aPromoted()
	proved.State, proved.Promotion, proved.Candidates[0].Diff = run.Done, nil, aDiff
	unattended := aPromoted()
	unattended.State, unattended.Verdict, unattended.Promotion = run.Rejected, verify.Policy, nil
	unattended.Error = &run.Problem{Kind: "policy", Message: "nobody is there to approve", Next: "run again with --yes"}
	for name, d := range map[string]run.Document{
		"rejected": aRejected(), "promoted": aPromoted(), "proved": proved, "unattended": unattended,
		"no-engine": {State: run.Failed, Verdict: verify.Infra, Workspace: "/w", Error: &run.Problem{Kind: "infra", Message: "no engine", Next: "start one"}},
	} {
		golden(t, "summary-"+name+".txt", summarise(d, palette{}, 80))
	}
}

func TestResultsCannotControlTheTerminal(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		text := summarise(aRejected(), palette{on: on}, 80)
		for _, bad := range []string{"\x1b]0", "\x07"} {
			if strings.Contains(text, bad) {
				t.Errorf("painted %v: %q reaches the terminal", on, bad)
			}
		}
	}
	if text := summarise(aRejected(), palette{}, 80); strings.Contains(text, "\x1b") {
		t.Error("an unpainted result holds an escape")
	}
}

func TestAPaintedResultFitsANarrowTerminal(t *testing.T) {
	t.Parallel()
	text := summarise(aRejected(), palette{on: true}, 20)
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "│") && ansi.StringWidth(line) > 20 {
			t.Errorf("%q does not fit 20 columns", line)
		}
	}
}

func TestManyFindingsAreCut(t *testing.T) {
	t.Parallel()
	d := aRejected()
	for range 100 {
		d.Candidates[0].Gates[1].Findings = append(d.Candidates[0].Gates[1].Findings, verify.Finding{Message: "again"})
	}
	text := summarise(d, palette{}, 80)
	if n := strings.Count(text, "again"); n >= 20 || !strings.Contains(text, "… and 83 more") {
		t.Errorf("%d findings are shown:\n%s", n, text)
	}
}
