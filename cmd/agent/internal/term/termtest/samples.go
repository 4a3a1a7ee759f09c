// Package termtest provides what tests of the command line share: a terminal, files with expected output, and samples
// of what a run reports.
package termtest

import (
	"strings"

	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// Diff is a diff of two files with content that is hard to show: a text over two lines, a tab, and a line that looks
// like a header.
const Diff = `diff --git a/shop/stock.py b/shop/stock.py
--- a/shop/stock.py
+++ b/shop/stock.py
@@ -1,6 +1,7 @@
 """Stock of the shop,
 over two lines."""
 
-def total(items):
-    return sum(items)
+def total(items: list[int]) -> int:
+    # a comment
+	return sum(items)  # tab
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+--- not a header
\ No newline at end of file
`

// Events returns the events of a small run.
func Events() []run.Event {
	gate := func(e verify.Event) run.Event { return run.Event{Run: "1k3", Gate: &e} }
	return []run.Event{
		{Run: "1k3", State: run.Queued, Note: "patch good.xml"},
		{Run: "1k3", State: run.Verifying, Note: "2 files changed"},
		gate(verify.Event{Gate: "lint"}),
		gate(verify.Event{Gate: "smoke"}),
		gate(verify.Event{Gate: "lint", Baseline: true}),
		gate(verify.Event{Gate: "lint", Done: true, Verdict: verify.Pass, Seconds: 0.42, Detail: "2 files"}),
		gate(verify.Event{Gate: "lint", Baseline: true, Done: true, Seconds: 0.5}),
		{Run: "1k3", Note: "a file changed; scanning again \x1b[2J"},
		gate(verify.Event{Gate: "smoke", Done: true, Verdict: verify.Fail, Seconds: 10, Detail: "exit status 1"}),
		{Run: "1k3", State: run.Rejected},
		{Run: "1k3", State: run.Rejected},
	}
}

// Rejected returns the document of a run whose patch breaks a caller.
func Rejected() run.Document {
	return run.Document{
		Run: "1k3mzq8a0v2c", State: run.Rejected, Verdict: verify.Fail, Workspace: "/home/me/shop", Exit: run.ExitFail,
		Candidates: []gate.Document{{
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
			Holds:   []policy.Hold{{Path: ".github/workflows/ci.yml", Kind: "ci", Reason: "it defines what CI runs"}},
			Diff:    Diff,
		}},
		Error: &run.Problem{Kind: run.ProblemPatch, Message: "the patch failed: types: 2 findings", Next: "fix the patch and run again"},
	}
}

// Promoted returns the document of a run that was promoted.
func Promoted() run.Document {
	return run.Document{
		Run: "1k3mzq8a0v2d", State: run.Promoted, Verdict: verify.Pass, Workspace: "/home/me/shop",
		Candidates: []gate.Document{{Verdict: verify.Pass, Gates: []verify.Gate{
			{Name: "lint", Verdict: verify.Pass, Seconds: 0.2}, {Name: "smoke", Verdict: verify.Pass, Seconds: 10, Detail: "still running"},
		}}},
		Promotion: &run.DocumentPromotion{Diff: Diff, Files: []run.DocumentFile{
			{Path: "shop/stock.py", Op: workspace.Modify}, {Path: "new.txt", Op: workspace.Rename, From: "old\n.txt"},
		}},
	}
}
