package python

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/compare"
)

// Ty checks the types of Python where the project has chosen ty.
var Ty = check.Check{
	Name: TyName, Gate: check.GateTypes, Group: check.GroupStatic, Run: runTy, Applies: typesApply(TyName), Judge: compare.ByRoot(compare.RuleBlocked, compare.JudgeFindings),
	Tools: []string{"ty"}, Config: tyFiles, Inert: true, Variants: stubless,
	Planted: Mypy.Planted,
	Prove:   check.Proves(runTy, map[string]string{"caller.py": "invalid-argument-type", "undefined.py": "unresolved-reference"}),
}

// tyDocs is where ty's documentation lists its rules, one anchor each.
const tyDocs = "https://docs.astral.sh/ty/reference/rules/#"

// runTy runs ty over the workspace and reads its findings. It also checks files that .gitignore names, for the reason that
// lintCommand gives.
func runTy(ctx context.Context, b check.Bench) check.Outcome {
	return typed(b, TyName, func(b check.Bench, _ []string, root string) check.Outcome { return runTyIn(ctx, b, root) })
}

// runTyIn runs ty in one root.
func runTyIn(ctx context.Context, b check.Bench, root string) check.Outcome {
	cmd := guest.Command{
		Args: []string{
			b.Tools.Ty, "check", "--output-format", "gitlab", "--error-on-warning", "--no-progress", "--color", "never",
			"-c", "src.respect-ignore-files=false",
		},
		Dir: path.Join(check.Work, root), MaxOutput: check.MaxToolOutput,
	}
	for _, dir := range importPaths(b.View, root) {
		if root != "." && dir != root {
			cmd.Args = append(cmd.Args, "--extra-search-path", path.Join(check.Work, dir))
		}
	}
	res, out, done := b.Command(ctx, cmd)
	if !done {
		return out
	}
	out.Output = check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxTail)
	out.Detail = "ty over the workspace"
	findings, blocked, err := parseTy(res)
	if err != nil {
		out.Verdict, out.Detail = check.Infra, fmt.Sprintf("read the output of ty: %v", err)
		return out
	}
	out.Blocked = blocked
	for i, f := range findings {
		findings[i].File = path.Join(root, f.File) // ty reports paths relative to the root
	}
	out.Findings = check.NewSources(b.View).Fill(errorsAlone(findings, asksForWarnings(b.View, root, TyName, "--error-on-warning")))
	return out
}

// A tyLine is one message of ty in the form of GitLab's code quality report.
type tyLine struct {
	Rule string `json:"check_name"`
	// Description is the rule, then the message.
	Description string `json:"description"`
	// Severity is "info", "minor" for a warning, "major" for an error, or "critical".
	Severity string `json:"severity"`
	Location struct {
		Path      string `json:"path"`
		Positions struct {
			Begin struct {
				Line   int `json:"line"`
				Column int `json:"column"`
			} `json:"begin"`
		} `json:"positions"`
	} `json:"location"`
}

// parseTy reads ty's findings. Status 0 must come with none and status 1 with some, remarks left out. With status 2, ty gave
// up on its configuration or crashed.
func parseTy(res guest.Result) (found []check.Finding, blocked string, err error) {
	text := check.Clean(check.Bytes(res.Stderr))
	if res.Stdout.Dropped > 0 {
		return nil, "", fmt.Errorf("more than %d MiB of findings", check.MaxToolOutput>>20)
	}
	if res.Exit == 2 {
		// The cause names the file that ty could not accept.
		for line := range strings.Lines(text) {
			if what, ok := strings.CutPrefix(strings.TrimSpace(line), "Cause: "); ok && strings.Contains(what, ".toml") {
				return nil, "ty does not accept its configuration: " + check.Shorten(what), nil
			}
		}
		return nil, "", fmt.Errorf("exit status 2: %s", check.FirstLine(text))
	}
	var lines []tyLine
	if err := json.Unmarshal(res.Stdout.Head, &lines); err != nil {
		return nil, "", fmt.Errorf("exit status %d, %w: %s", res.Exit, err, check.FirstLine(text))
	}
	for _, l := range lines {
		switch {
		case l.Rule == "panic" || l.Severity == "critical":
			return nil, "", fmt.Errorf("ty crashed: %s", check.Shorten(l.Description))
		case l.Severity == "info":
			continue
		}
		found = append(found, check.Finding{
			File: check.Relative(l.Location.Path, check.Work), Line: max(l.Location.Positions.Begin.Line, 0), Column: max(l.Location.Positions.Begin.Column, 0),
			Rule: l.Rule, Message: check.Shorten(strings.TrimPrefix(l.Description, l.Rule+": ")), Help: check.Link(tyDocs + l.Rule),
			Unasked: l.Severity == "minor",
		})
	}
	if res.Exit > 1 || (res.Exit == 1) != (len(found) > 0) {
		return nil, "", fmt.Errorf("exit status %d with %d findings: %s", res.Exit, len(found), check.FirstLine(text))
	}
	if strings.Contains(text, "No python files found") {
		return nil, "ty found no file to check", nil
	}
	return found, "", nil
}
