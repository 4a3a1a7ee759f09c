package python

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/compare"
)

// Pyright checks the types of Python where the project has chosen pyright.
var Pyright = check.Check{
	Name: PyrightName, Gate: check.GateTypes, Group: check.GroupStatic, Run: runPyright, Applies: typesApply(PyrightName), Judge: compare.ByRoot(compare.RuleBlocked, compare.JudgeFindings),
	Tools: []string{"pyright"}, Inert: true, Config: pyrightFiles,
	Variants: func(base, cand check.View) []check.Variant {
		return append(stubless(base, cand), check.Extending(pyrightFiles, []string{".py", ".pyi"})(base, cand)...)
	},
	Planted: Mypy.Planted,
	Prove:   check.Proves(runPyright, map[string]string{"caller.py": "reportArgumentType", "undefined.py": "reportUndefinedVariable"}),
}

// pyrightDocs is where pyright's documentation lists its rules, one anchor each.
const pyrightDocs = "https://github.com/microsoft/pyright/blob/main/docs/configuration.md#"

// noSource is the rule of pyright's remark that a library with stubs is not installed, which says nothing about a patch.
const noSource = "reportMissingModuleSource"

// runPyright runs pyright over the workspace and reads its findings.
//
// It covers the whole workspace, since a changed signature breaks callers in files that the patch does not touch.
func runPyright(ctx context.Context, b check.Bench) check.Outcome {
	return typed(b, PyrightName, func(b check.Bench, _ []string, root string) check.Outcome { return runPyrightIn(ctx, b, root) })
}

// runPyrightIn runs pyright in one root. What the root imports through the top, pyright finds only where its configuration
// says so. To learn it in another way, pyright would have to start Python on the workspace's files and would no longer be
// inert.
func runPyrightIn(ctx context.Context, b check.Bench, root string) check.Outcome {
	res, out, done := b.Command(ctx, guest.Command{
		Args: []string{b.Tools.OwnNode, b.Tools.Pyright, "--outputjson"}, Dir: path.Join(check.Work, root), MaxOutput: check.MaxToolOutput,
	})
	if !done {
		return out
	}
	out.Output = check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxTail)
	out.Detail = "pyright over the workspace"
	findings, blocked, err := parsePyright(res)
	if err != nil {
		out.Verdict, out.Detail = check.Infra, fmt.Sprintf("read the output of pyright: %v", err)
		return out
	}
	out.Blocked = blocked
	out.Findings = check.NewSources(b.View).Fill(errorsAlone(findings, asksForWarnings(b.View, root, PyrightName, "--warnings")))
	return out
}

// A pyrightReport is what pyright prints with --outputjson.
//
// The counts of its summary serve to check the list.
type pyrightReport struct {
	Diagnostics []struct {
		File string `json:"file"`
		// Severity is "error", "warning" or "information".
		Severity string `json:"severity"`
		Message  string `json:"message"`
		// Rule is "" for a syntax error.
		Rule  string `json:"rule"`
		Range struct {
			// Line and Character both count from 0.
			Start struct {
				Line      int `json:"line"`
				Character int `json:"character"`
			} `json:"start"`
		} `json:"range"`
	} `json:"generalDiagnostics"`
	Summary *struct {
		Files    int `json:"filesAnalyzed"`
		Errors   int `json:"errorCount"`
		Warnings int `json:"warningCount"`
	} `json:"summary"`
}

// parsePyright reads pyright's findings: its errors, and its warnings, which it marks as unasked. Status 0 must come with no
// error and status 1 with errors, and the counts must match the list. With status 3 pyright cannot read the workspace's own
// configuration.
func parsePyright(res guest.Result) (found []check.Finding, blocked string, err error) {
	text := check.Clean(check.Bytes(res.Stderr))
	if res.Stdout.Dropped > 0 {
		return nil, "", fmt.Errorf("more than %d MiB of findings", check.MaxToolOutput>>20)
	}
	if res.Exit == 3 {
		return nil, "pyright does not accept its configuration: " + check.Shorten(check.LastLine(text)), nil
	}
	var report pyrightReport
	if err := json.Unmarshal(res.Stdout.Head, &report); err != nil {
		return nil, "", fmt.Errorf("exit status %d, %w: %s", res.Exit, err, check.FirstLine(text))
	}
	if report.Summary == nil {
		return nil, "", fmt.Errorf("exit status %d without a summary: %s", res.Exit, check.FirstLine(text))
	}
	count := map[string]int{}
	for _, d := range report.Diagnostics {
		count[d.Severity]++
		if !slices.Contains([]string{"error", "warning"}, d.Severity) || d.Rule == noSource {
			continue
		}
		f := check.Finding{
			File: check.Relative(d.File, check.Work), Line: max(d.Range.Start.Line+1, 0), Column: max(d.Range.Start.Character+1, 0),
			Rule: d.Rule, Message: check.Shorten(d.Message), Unasked: d.Severity == "warning",
		}
		if strings.HasPrefix(d.Rule, "report") {
			f.Help = check.Link(pyrightDocs + d.Rule)
		}
		found = append(found, f)
	}
	s := report.Summary
	if res.Exit > 1 || (res.Exit == 1) != (s.Errors > 0) || count["error"] != s.Errors || count["warning"] != s.Warnings {
		return nil, "", fmt.Errorf("exit status %d with %d errors, of which it lists %d: %s", res.Exit, s.Errors, count["error"], check.FirstLine(text))
	}
	if s.Files == 0 {
		return nil, "pyright found no file to check", nil
	}
	return found, "", nil
}
