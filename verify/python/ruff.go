package python

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy/checker"
)

// lintRules are ruff's long-standing defaults: errors of syntax and of names, and how comparisons and statements are written.
// unlintRules are those among them that are opinions on style: an import that is not at the top, two statements on a line, a
// named lambda, a name of one letter, all names of a module. Both apply where the workspace runs ruff but does not configure it.
// Where nothing names ruff, only faults count: "== None" may be what a library asks for, and flake8 has rules of its own.
const (
	lintRules   = "E4,E7,E9,F"
	faultRules  = "E9,F"
	unlintRules = "E402,E701,E731,E741,F403,F405"
)

// Ruff lints Python.
var Ruff = check.Check{
	Name: RuffName, Gate: check.GateLint, Group: check.GroupStatic, Run: RunRuff, Applies: applies, Judge: judgeRuff,
	Tools: []string{"ruff"}, Inert: true, Config: ruffFiles, Variants: check.Extending(ruffFiles, []string{".py", ".pyi", ".ipynb"}),
	Planted: map[string]string{
		"undefined.py": "def area(r):\n    return pi * r * r\n",
		"sound.py":     check.PlantedSound,
	},
	Prove: check.Proves(RunRuff, map[string]string{"undefined.py": "F821"}),
}

// ruffFiles configure ruff, and so do the files that they extend.
var ruffFiles = []string{"ruff.toml", ".ruff.toml", "pyproject.toml"}

// applies returns the reason why a tool for Python has nothing to do, or "".
func applies(v check.View) string {
	return map[bool]string{false: "the workspace has no Python file"}[v.Python()]
}

// lintCommand runs ruff over the whole workspace. It also checks files that .gitignore or .ignore names: the snapshot holds
// only files that git tracks, and a patch could otherwise hide a file.
func lintCommand(b check.Bench) guest.Command {
	args := []string{b.Tools.Ruff, "check", "--no-cache", "--no-respect-gitignore", "--output-format", "json-lines"}
	// The base decides, as it does about all configuration.
	base := check.OnBase(b.View.Base)
	if !ruffConfigured(base) {
		rules := faultRules
		if checker.Runs(RuffName, base.Paths(), base.Text) {
			rules = lintRules
		}
		args = append(args, "--select", rules, "--ignore", unlintRules)
	} else if !slices.ContainsFunc(slices.Collect(maps.Values(ruffChoices(base))), func(c ruffChoice) bool { return c.selects }) {
		// A configuration that selects nothing has the classic default, which this version may have left.
		args = append(args, "--extend-select", lintRules)
	}
	return guest.Command{Args: append(args, "."), Dir: check.Work, MaxOutput: check.MaxToolOutput}
}

// ruffConfigured reports whether any file of the workspace configures ruff.
func ruffConfigured(v check.View) bool {
	for _, p := range v.Paths() {
		switch path.Base(p) {
		case "ruff.toml", ".ruff.toml":
			return true
		case "pyproject.toml":
			// Most of them belong to other tools. A file that cannot be read does not count: ruff, which reads it in the box, decides.
			if data, err := v.Read(p); err == nil && bytes.Contains(data, []byte("[tool.ruff")) {
				return true
			}
		}
	}
	return false
}

// RunRuff runs ruff over the whole workspace and reads its findings. Removing a name breaks untouched files that import it.
func RunRuff(ctx context.Context, b check.Bench) check.Outcome {
	res, out, done := b.Command(ctx, lintCommand(b))
	if !done {
		return out
	}
	out.Output = check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxTail)
	out.Detail = "ruff check over the workspace"
	// The workspace causes this, not the image: Blocked compares it with before.
	if reason, ok := ruffRefuses(res); ok {
		out.Blocked = reason
		return out
	}
	findings, err := parseRuff(res)
	if err != nil {
		out.Verdict, out.Detail = check.Infra, fmt.Sprintf("read the output of ruff: %v", err)
		return out
	}
	base := check.OnBase(b.View.Base)
	var first map[string][]int
	if len(findings) > 0 && pinned(base) != nil {
		rules, cost, listed := b.Command(ctx, rulesCommand(b))
		if out.Seconds += cost.Seconds; listed {
			first = since(rules)
		}
	}
	out.Findings = check.NewSources(b.View).Fill(withoutData(b.View, projectsOwn(base, findings, first)))
	return out
}

// judgeRuff is compare.JudgeFindings, but for a patch that changes how ruff is configured. The old configuration judges such
// a patch, and a suppression that is of no use under it may be for a rule of the new one.
func judgeRuff(base, cand check.Outcome, d check.Diff) check.Gate {
	if slices.ContainsFunc(slices.Collect(maps.Keys(d.Touched)), func(p string) bool { return slices.Contains(ruffFiles, path.Base(p)) }) {
		cand.Findings = slices.DeleteFunc(slices.Clone(cand.Findings), func(f check.Finding) bool {
			return f.Rule == "RUF100" && strings.Contains(f.Message, "(non-enabled:")
		})
	}
	return compare.JudgeFindings(base, cand, d)
}

// withoutData drops parse errors in test data, and every other finding there if the project does not say what ruff looks at.
func withoutData(v check.View, found []check.Finding) []check.Finding {
	known, anything := map[string]bool{}, !ruffConfigured(check.OnBase(v.Base))
	return slices.DeleteFunc(found, func(f check.Finding) bool {
		about := anything || f.Rule == "invalid-syntax" || f.Rule == ""
		if _, asked := known[f.File]; about && !asked {
			known[f.File] = check.IsTestData(v, f.File)
		}
		return about && known[f.File]
	})
}

// ruffConfig matches a cause in which ruff names a configuration file.
var ruffConfig = lazyregexp.New(`\.?ruff\.toml|pyproject\.toml`)

// ruffRefuses reports whether ruff did not start because of a configuration file in the workspace, and ruff's reason.
func ruffRefuses(res guest.Result) (reason string, ok bool) {
	text := check.Clean(check.Bytes(res.Stderr))
	if res.Exit != 2 || !strings.HasPrefix(text, "ruff failed\n") {
		return "", false
	}
	// The causes go from the general to the particular, one a line.
	var causes []string
	for line := range strings.Lines(text) {
		if cause, ok := strings.CutPrefix(strings.TrimSpace(line), "Cause: "); ok {
			causes = append(causes, cause)
		}
	}
	reason = check.Shorten(strings.Join(causes, ": "))
	return "ruff does not accept the workspace's configuration: " + reason, ruffConfig.MatchString(reason)
}

// A ruffLine is one finding as ruff prints it with --output-format json-lines, limited to the fields used here.
type ruffLine struct {
	// Code is such as "F821", or "invalid-syntax" for text that does not parse.
	Code string `json:"code"`
	// Filename is absolute.
	Filename string `json:"filename"`
	Message  string `json:"message"`
	// Location is where the finding begins; both numbers count from 1.
	Location struct {
		Row    int `json:"row"`
		Column int `json:"column"`
	} `json:"location"`
	// Fix is how ruff would repair the finding; null when it cannot.
	Fix *struct {
		// "safe" keeps what the program does; "unsafe" and "display" may not.
		Applicability string `json:"applicability"`
	} `json:"fix"`
	// URL is the page of the rule; null for a syntax error.
	URL string `json:"url"`
}

// parseRuff reads ruff's findings. Status 0 must come with none and status 1 with some: anything else is not an answer.
func parseRuff(res guest.Result) ([]check.Finding, error) {
	if res.Stdout.Dropped > 0 {
		return nil, fmt.Errorf("more than %d MiB of findings", check.MaxToolOutput>>20)
	}
	var found []check.Finding
	for line := range bytes.Lines(res.Stdout.Head) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var l ruffLine
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("line %q: %w", check.Shorten(string(line)), err)
		}
		// Any JSON object would pass the decoder.
		if l.Message == "" || l.Filename == "" {
			return nil, fmt.Errorf("line %q: no message or file", check.Shorten(string(line)))
		}
		found = append(found, check.Finding{
			File: check.Relative(l.Filename, check.Work), Line: max(l.Location.Row, 0), Column: max(l.Location.Column, 0),
			Rule: l.Code, Message: check.Shorten(l.Message),
			Fixable: l.Fix != nil && l.Fix.Applicability == "safe", Help: check.Link(l.URL),
		})
	}
	if res.Exit != 0 && res.Exit != 1 || (res.Exit == 1) != (len(found) > 0) {
		return nil, fmt.Errorf("exit status %d with %d findings: %s", res.Exit, len(found), check.FirstLine(check.Clean(check.Bytes(res.Stderr))))
	}
	return found, nil
}
