// Package shell implements the check of shell scripts, shellcheck, and finds the files that a command starts.
package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/policy/checker"
)

// Shellcheck lints shell scripts.
var Shellcheck = check.Check{
	Name: Name, Gate: check.GateLint, Group: check.GroupStatic, Run: runShell, Applies: shellApplies, Judge: compare.JudgeFindings,
	Tools: []string{"shellcheck"}, Inert: true, Config: []string{".shellcheckrc", "shellcheckrc"},
	Planted: map[string]string{
		"unassigned.sh":    "#!/bin/sh\necho \"$planted\"\n",
		"control/clean.sh": "#!/bin/sh\nname=$1\necho \"$name\"\n",
	},
	Prove: check.Proves(runShell, map[string]string{"unassigned.sh": "SC2154"}),
}

// shellBatch is how many scripts one shellcheck reads. Their names are arguments, and the size of a command in bytes may be
// bounded.
const shellBatch = 400

// shebang matches the first line of a script in a dialect that shellcheck knows.
var shebang = lazyregexp.New(`^#!\s*/(usr/)?bin/(env (-S )?)?(sh|bash|dash|ksh)\b`)

// Extensions are the file extensions of the dialects that shellcheck knows.
var Extensions = append(lang.Extensions("shell"), ".ksh")

// shellScripts lists the scripts of a view: by name, or by the first line of an executable file without an extension.
func shellScripts(v check.View) []string {
	return slices.DeleteFunc(slices.Clone(v.Paths()), func(p string) bool {
		if path.Ext(p) == "" {
			text, err := v.Executable(p)
			return err != nil || !shebang.Match(text)
		}
		return !slices.Contains(Extensions, path.Ext(p))
	})
}

// shellApplies returns the reason why shellcheck has nothing to do, or "".
func shellApplies(v check.View) string {
	if len(shellScripts(v)) == 0 {
		return "the workspace has no shell script"
	}
	return ""
}

// A strictness says how much of shellcheck's output counts for a project.
type strictness int

const (
	// faults is for a project that does not use the tool, and so has agreed to none of its advice: only errors and names
	// that nothing assigns count.
	faults strictness = iota
	// warnings also counts warnings, which are almost always mistakes.
	warnings
	// everything is for a workspace that configures the tool: all that it asks for counts.
	everything
)

// unassigned is the code for a name that nothing assigns. It is a warning, since the name may come from the environment.
const unassigned = 2154

// AsksBase reports whether the check would have judged differently if the changeset had been in the base. How much counts is
// decided by the base, as is everything about configuration.
func AsksBase(name string, base, next check.View) bool {
	return name == Name && strictnessOf(base) != strictnessOf(next)
}

// strictnessOf looks for a file that configures the tool, for a build or a commit hook that names it, and for a directive to
// it in a script.
func strictnessOf(base check.View) strictness {
	if slices.ContainsFunc(base.Paths(), func(p string) bool { return shellConfig[path.Base(p)] }) {
		return everything
	}
	if checker.Runs(Name, base.Paths(), base.Text) || slices.ContainsFunc(shellScripts(base), func(p string) bool { return directive.MatchString(base.Text(p)) }) {
		return warnings
	}
	return faults
}

// directive matches a shellcheck directive in a comment.
var directive = lazyregexp.New(`(?m)#\s*shellcheck\s+[a-z-]+=`)

// shellCommand runs shellcheck on scripts. It does not follow sourced files: these are either scripts of their own here, or
// not part of this workspace.
func shellCommand(b check.Bench, scripts []string, how strictness) guest.Command {
	args := []string{b.Tools.Shellcheck, "--format", "json1", "--extended-analysis=true"}
	if how != everything {
		args = append(args, "--severity", "warning")
	}
	args = append(args, "--")
	for _, p := range scripts {
		args = append(args, "./"+p)
	}
	return guest.Command{Args: args, Dir: check.Work, MaxOutput: check.MaxToolOutput}
}

// shellConfig names the files that configure shellcheck.
var shellConfig = map[string]bool{".shellcheckrc": true, "shellcheckrc": true}

// runShell runs shellcheck over every script of the workspace.
func runShell(ctx context.Context, b check.Bench) check.Outcome {
	total, how := check.Outcome{Detail: "shellcheck over the workspace"}, strictnessOf(check.OnBase(b.View.Base))
	for batch := range slices.Chunk(shellScripts(b.View), shellBatch) {
		res, out, done := b.Command(ctx, shellCommand(b, batch, how))
		if total = check.AddCost(total, out); !done {
			return total
		}
		found, err := parseShell(res, how)
		if err != nil {
			out.Verdict, out.Detail = check.Infra, fmt.Sprintf("read the output of shellcheck: %v", err)
			return out
		}
		total.Findings = append(total.Findings, found...)
		total.Output = check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxTail)
	}
	total.Findings = check.NewSources(b.View).Fill(total.Findings)
	return total
}

// A shellAnswer is what shellcheck prints with --format json1, limited to the fields used here.
type shellAnswer struct {
	Comments []struct {
		File    string `json:"file"`
		Line    int    `json:"line"`
		Column  int    `json:"column"`
		Level   string `json:"level"`
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"comments"`
}

// parseShell reads those of shellcheck's findings that count. Status 0 must come with none and status 1 with some; any other
// status says that a file was not read.
func parseShell(res guest.Result, how strictness) ([]check.Finding, error) {
	if res.Stdout.Dropped > 0 {
		return nil, fmt.Errorf("more than %d MiB of findings", check.MaxToolOutput>>20)
	}
	var answer shellAnswer
	d := json.NewDecoder(bytes.NewReader(res.Stdout.Head))
	if err := d.Decode(&answer); err != nil {
		return nil, fmt.Errorf("exit status %d: %w: %s", res.Exit, err, check.FirstLine(check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxMessage)))
	}
	var found []check.Finding
	for _, c := range answer.Comments {
		if how == faults && c.Level != "error" && c.Code != unassigned {
			continue
		}
		found = append(found, check.Finding{
			File: check.Relative(c.File, check.Work), Line: max(c.Line, 0), Column: max(c.Column, 0),
			Rule: "SC" + strconv.Itoa(c.Code), Message: check.Shorten(c.Message),
			Help: "https://www.shellcheck.net/wiki/SC" + strconv.Itoa(c.Code),
		})
	}
	if res.Exit != 0 && res.Exit != 1 || (res.Exit == 1) != (len(answer.Comments) > 0) {
		return nil, fmt.Errorf("exit status %d with %d findings: %s", res.Exit, len(answer.Comments), check.FirstLine(check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxMessage)))
	}
	return found, nil
}

// Name is the name of the check.
const Name = "shellcheck"
