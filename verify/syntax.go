package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lang"
)

// syntaxCommand gives the checker the paths of the files. The
// interpreter is isolated from everything that the workspace could bring.
func syntaxCommand(tools toolPaths, paths []string) (guest.Command, error) {
	list, err := json.Marshal(paths)
	if err != nil {
		return guest.Command{}, err
	}
	return guest.Command{
		Args: []string{tools.Python, "-I", "-S", "-B", tools.Syntax}, Dir: work, Stdin: list, MaxOutput: maxToolOutput,
	}, nil
}

// A syntaxAnswer is the document that syntax.py prints; its head describes it.
type syntaxAnswer struct {
	// Rule names the language, as "json-syntax".
	Findings []Finding `json:"findings"`
	// Files that a parser read, those with findings among them.
	Checked []string `json:"checked"`
	// Files without a parser or too large for it. Each asked-for file is in
	// exactly one of the two.
	Skipped []struct {
		File   string `json:"file"`
		Reason string `json:"reason"`
	} `json:"skipped"`
	// What kept the checker itself from working, such as a missing parser.
	Trouble []string `json:"trouble"`
}

// runSyntax checks the files at paths. Files without a parser are
// counted, not judged: that nobody can read a format says nothing about a patch.
// Those of Go are left to their own parser.
func runSyntax(ctx context.Context, b bench, paths []string) outcome {
	// The formatter may have undone all of a patch.
	if len(paths) == 0 {
		return outcome{Detail: "no touched file is left"}
	}
	var golang, others []string
	for _, p := range paths {
		if isGo(p) {
			golang = append(golang, p)
		} else {
			others = append(others, p)
		}
	}
	out := b.goSyntax(ctx, golang)
	known := len(golang)
	if out.Verdict == "" && len(others) > 0 {
		rest, checked := b.syntax(ctx, others)
		rest.Findings = append(out.Findings, rest.Findings...)
		rest.Seconds, rest.Peak = rest.Seconds+out.Seconds, max(rest.Peak, out.Peak)
		out, known = rest, known+checked
	}
	if out.Verdict == "" {
		out.Output, out.Detail = "", fmt.Sprintf("%d of %d touched files have a parser", known, len(paths))
	}
	return out
}

// syntax asks the checker about files, and tells how many of them have a parser.
func (b bench) syntax(ctx context.Context, paths []string) (outcome, int) {
	cmd, err := syntaxCommand(b.tools, paths)
	if err != nil {
		return infra("list the files for the syntax check: %v", err), 0
	}
	res, out, done := b.command(ctx, cmd)
	if !done {
		return out, 0
	}
	answer, err := parseSyntax(res, len(paths))
	if err != nil {
		out.Verdict, out.Detail = Infra, fmt.Sprintf("read the answer of the syntax check: %v", err)
		return out, 0
	}
	// Findings besides the trouble may be right, but what else was missed is open.
	if len(answer.Trouble) > 0 {
		out.Verdict, out.Detail = Infra, shorten(strings.Join(answer.Trouble, "; "))+": rebuild the toolchain with: agent images build"
		return out, 0
	}
	out.Findings = newSources(b.view).fill(answer.Findings)
	return out, len(answer.Checked)
}

// parseSyntax reads the checker's answer, which must account for every file.
func parseSyntax(res guest.Result, files int) (syntaxAnswer, error) {
	var answer syntaxAnswer
	if res.Exit != 0 || res.Stdout.Dropped > 0 {
		return answer, fmt.Errorf("exit status %d: %s", res.Exit, firstLine(tail(clean(whole(res.Stderr)), maxMessage)))
	}
	if err := json.Unmarshal(res.Stdout.Head, &answer); err != nil {
		return answer, err
	}
	// A file that is in neither list would count as sound without being read.
	if got := len(answer.Checked) + len(answer.Skipped); got != files {
		return answer, fmt.Errorf("it accounts for %d of %d files", got, files)
	}
	for i, f := range answer.Findings {
		answer.Findings[i].Message = shorten(f.Message)
	}
	return answer, nil
}

// touched lists the files that the candidate writes and that a parser may exist
// for. The checker looks again and more closely: this only saves asking it.
func touched(v view) []string {
	var list []string
	for _, p := range v.paths() {
		c, ok := v.changed[p]
		l := lang.ByExtension(p)
		if ok && (l != nil && l.Parsed || bytes.HasPrefix(c.After, []byte("#!"))) {
			list = append(list, p)
		}
	}
	return list
}
