package golang

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// Gofmt formats Go.
var Gofmt = check.Formatter{
	Name: "gofmt", Owns: IsSource, Command: gofmtCommand, Style: goStyle,
	// gofmt reports a text that it cannot parse together with the place.
	Refuses: func(res guest.Result) bool {
		return res.Exit == 2 && strings.HasPrefix(string(res.Stderr.Head), "<standard input>:")
	},
}

// IsSource reports whether p is a Go source file by its name.
func IsSource(p string) bool { return path.Ext(p) == ".go" }

// gofmtCommand formats one text from standard input.
func gofmtCommand(tools check.Tools, _ string, data []byte) guest.Command {
	return guest.Command{Args: []string{tools.Gofmt}, Dir: check.Work, Stdin: data, MaxOutput: check.MaxToolOutput}
}

// goStyle decides for Go files that the patch creates: it returns 1 if a file of the workspace is formatted or there is
// none, and 0 otherwise.
//
// A workspace that never used gofmt does not get one formatted file among others.
func goStyle(ctx context.Context, b check.Bench) (int, check.Outcome) {
	var files []string
	for _, p := range check.OnBase(b.View.Base).Paths() {
		if IsSource(p) && !Ignored(path.Dir(p)) {
			files = append(files, "./"+p)
		}
	}
	if len(files) == 0 {
		return 1, check.Outcome{}
	}
	// This many say as much as all of them.
	files = files[:min(len(files), goBatch)]
	res, out, done := b.Command(ctx, guest.Command{Args: append([]string{b.Tools.Gofmt, "-l"}, files...), Dir: check.Work, MaxOutput: check.MaxToolOutput})
	if !done {
		return 0, out
	}
	// gofmt lists the files that it would change; those that it cannot parse it names elsewhere.
	if res.Exit == 0 && strings.Count(string(res.Stdout.Head), "\n") < len(files) {
		return 1, out
	}
	return 0, out
}

// goSyntaxFault matches how gofmt reports a place that it cannot parse.
var goSyntaxFault = lazyregexp.New(`^\./(.+):(\d+):(\d+): (.+)$`)

// Syntax parses the Go files at paths and reports all errors of each. It runs nothing of the workspace.
func Syntax(ctx context.Context, b check.Bench, paths []string) check.Outcome {
	var total check.Outcome
	for batch := range slices.Chunk(paths, goBatch) {
		args := []string{b.Tools.Gofmt, "-l", "-e"}
		for _, p := range batch {
			args = append(args, "./"+p)
		}
		res, out, done := b.Command(ctx, guest.Command{Args: args, Dir: check.Work, MaxOutput: check.MaxToolOutput})
		if total = check.AddCost(total, out); !done {
			return total
		}
		found, err := parseGofmt(res, batch)
		if err != nil {
			total.Verdict, total.Detail = check.Infra, fmt.Sprintf("read the output of gofmt: %v", err)
			return total
		}
		total.Findings = append(total.Findings, found...)
	}
	total.Findings = check.NewSources(b.View).Fill(total.Findings)
	return total
}

// parseGofmt reads what gofmt could not parse. gofmt reads all files that it is given or says why not: status 0 must come
// with nothing, and status 2 with faults in these files only.
func parseGofmt(res guest.Result, files []string) ([]check.Finding, error) {
	text := check.Clean(check.Bytes(res.Stderr))
	if res.Stderr.Dropped > 0 || res.Stdout.Dropped > 0 {
		return nil, fmt.Errorf("more than %d MiB of faults", check.MaxToolOutput>>20)
	}
	var found []check.Finding
	for line := range strings.Lines(text) {
		m := goSyntaxFault.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil || !slices.Contains(files, m[1]) {
			return nil, fmt.Errorf("exit status %d: %s", res.Exit, check.Shorten(line))
		}
		f := at("", m[0])
		found = append(found, check.Finding{File: m[1], Line: f.Line, Column: f.Column, Rule: "go-syntax", Message: f.Message})
	}
	if res.Exit != 0 && res.Exit != 2 || (res.Exit == 2) != (len(found) > 0) {
		return nil, fmt.Errorf("exit status %d with %d faults", res.Exit, len(found))
	}
	return found, nil
}
