// Package syntax parses the files that a patch touches, each with a real parser for its language. It executes nothing of
// them.
package syntax

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/golang"
)

// Command returns the command that gives the checker the paths of the files. The interpreter is isolated from everything
// that the workspace could bring.
func Command(tools check.Tools, paths []string) (guest.Command, error) {
	list, err := json.Marshal(paths)
	if err != nil {
		return guest.Command{}, err
	}
	return guest.Command{
		Args: []string{tools.Python, "-I", "-S", "-B", tools.Syntax}, Dir: check.Work, Stdin: list, MaxOutput: check.MaxToolOutput,
	}, nil
}

// An Answer is the document that syntax.py prints; its head describes it.
type Answer struct {
	// Rule names the language, as "json-syntax".
	Findings []check.Finding `json:"findings"`
	// Checked lists the files that a parser read, including those with findings.
	Checked []string `json:"checked"`
	// Skipped lists the files without a parser, or too large for it. Each requested file is in exactly one of the two.
	Skipped []struct {
		File   string `json:"file"`
		Reason string `json:"reason"`
	} `json:"skipped"`
	// Trouble is what kept the checker itself from working, such as a missing parser.
	Trouble []string `json:"trouble"`
}

// Run checks the files at paths. Files without a parser are counted and not judged: that no parser reads a format says
// nothing about a patch. Go files are left to their own parser.
func Run(ctx context.Context, b check.Bench, paths []string) check.Outcome {
	// The formatter may have undone the whole patch.
	if len(paths) == 0 {
		return check.Outcome{Detail: "no touched file is left"}
	}
	var goFiles, others []string
	for _, p := range paths {
		if golang.IsSource(p) {
			goFiles = append(goFiles, p)
		} else {
			others = append(others, p)
		}
	}
	out := golang.Syntax(ctx, b, goFiles)
	known := len(goFiles)
	if out.Verdict == "" && len(others) > 0 {
		rest, checked := parse(ctx, b, others)
		rest.Findings = append(out.Findings, rest.Findings...)
		rest.Seconds, rest.Peak = rest.Seconds+out.Seconds, max(rest.Peak, out.Peak)
		out, known = rest, known+checked
	}
	if out.Verdict == "" {
		judged, data := withoutData(ctx, b, out.Findings)
		out.Findings = judged
		out.Output, out.Detail = "", fmt.Sprintf("parsed %d of %d changed files", known, len(paths))
		if len(data) > 0 {
			out.Detail += fmt.Sprintf("; not judged, because it is test data: %s", check.Shorten(strings.Join(data, ", ")))
		}
	}
	return out
}

// mostSiblings bounds how many files next to one that does not parse are looked at.
const mostSiblings = 20

// withoutData leaves out findings in test data, and names these files. A file among tests is also data if files of its kind
// next to it, which the patch does not touch, do not parse either.
func withoutData(ctx context.Context, b check.Bench, found []check.Finding) (judged []check.Finding, data []string) {
	known := map[string]bool{}
	for _, f := range found {
		is, asked := known[f.File]
		if !asked {
			is = check.IsTestData(b.View, f.File) || besideBroken(ctx, b, f.File)
			known[f.File] = is
			if is {
				data = append(data, f.File)
			}
		}
		if !is {
			judged = append(judged, f)
		}
	}
	return judged, data
}

// besideBroken reports whether a file among tests, which nothing imports, lies next to others of its kind that do not parse
// without the patch.
func besideBroken(ctx context.Context, b check.Bench, file string) bool {
	if !check.InTestDirectory(file) || check.Imported(b.View, file) {
		return false
	}
	var siblings []string
	for _, p := range b.View.Paths() {
		_, touched := b.View.Changed[p]
		if !touched && path.Dir(p) == path.Dir(file) && path.Ext(p) == path.Ext(file) && len(siblings) < mostSiblings {
			siblings = append(siblings, p)
		}
	}
	if len(siblings) == 0 || golang.IsSource(file) {
		return false
	}
	out, _ := parse(ctx, b, siblings)
	return out.Verdict == "" && len(out.Findings) > 0
}

// parse asks the checker about files, and returns how many of them have a parser.
func parse(ctx context.Context, b check.Bench, paths []string) (check.Outcome, int) {
	cmd, err := Command(b.Tools, paths)
	if err != nil {
		return check.Infraf("list the files for the syntax check: %v", err), 0
	}
	res, out, done := b.Command(ctx, cmd)
	if !done {
		return out, 0
	}
	answer, err := Parse(res, len(paths))
	if err != nil {
		out.Verdict, out.Detail = check.Infra, fmt.Sprintf("read the answer of the syntax check: %v", err)
		return out, 0
	}
	// Findings that come with trouble may be right, but what was missed is unknown.
	if len(answer.Trouble) > 0 {
		out.Verdict, out.Detail = check.Infra, check.Shorten(strings.Join(answer.Trouble, "; "))+": rebuild the toolchain with: agent images build"
		return out, 0
	}
	out.Findings = check.NewSources(b.View).Fill(answer.Findings)
	return out, len(answer.Checked)
}

// Parse reads the checker's answer, which must account for every file.
func Parse(res guest.Result, files int) (Answer, error) {
	var answer Answer
	if res.Exit != 0 || res.Stdout.Dropped > 0 {
		return answer, fmt.Errorf("exit status %d: %s", res.Exit, check.FirstLine(check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxMessage)))
	}
	if err := json.Unmarshal(res.Stdout.Head, &answer); err != nil {
		return answer, err
	}
	// A file in neither list would count as sound without being read.
	if got := len(answer.Checked) + len(answer.Skipped); got != files {
		return answer, fmt.Errorf("it accounts for %d of %d files", got, files)
	}
	for i, f := range answer.Findings {
		answer.Findings[i].Message = check.Shorten(f.Message)
	}
	return answer, nil
}

// Touched lists the files that the candidate writes and for which a parser may exist. The checker looks again and more
// closely; this only avoids asking it in vain.
func Touched(v check.View) []string {
	var list []string
	for _, p := range v.Paths() {
		c, ok := v.Changed[p]
		l := lang.ByExtension(p)
		if ok && (l != nil && l.Parsed || bytes.HasPrefix(c.After, []byte("#!"))) {
			list = append(list, p)
		}
	}
	return list
}

// Name is the name of the check.
const Name = "parsers"

// Check is the parsers' row in the table of checks. It has no Run: see Run.
var Check = check.Check{
	Name: Name, Gate: check.GateSyntax, Group: check.GroupStatic, Judge: compare.JudgeFindings, Tools: []string{"python3", "node", "go"},
	Planted: planted, Prove: prove,
}

// planted holds one fault for each language, which every parser of the language refuses, and files over which a parser that
// is too strict or too old stumbles.
var planted = map[string]string{
	"bad.py":   "def f(:\n    pass\n",
	"bad.json": "{\"a\": 1,}\n",
	"bad.toml": "a = [1\n",
	"bad.css":  "a { color: red;\n",
	"bad.js":   "const = 1;\n",
	"bad.mjs":  "export const = 1;\n",
	"bad.sh":   "if true; then\n",
	"bad.go":   "package bad\n\nfunc f( {\n",
	"bad.ts":   "const a: = 1;\n",
	"bad.jsx":  "const a = <b>;\n",
	"bad.yaml": "a: [1\n",
	"bad.xml":  "<a><b></a>\n",
	"bad.html": "<a href=\"x>a</a><p class=\"b\">b</p>\n",

	"good.py":   "def f():\n    pass\n",
	"good.json": "{\"a\": [1, null]}\n",
	"good.toml": "a = [1]\n",
	"good.css":  "@media print { a:hover { color: red } }\n",
	"good.js":   "const one = 1;\n",
	"good.mjs":  "import a from \"./b.mjs\";\nexport const two = await a;\n",
	"good.sh":   "if true; then :; fi\n",
	"good.go":   "package good\nfunc f[T any](t T) (n int) {\n\tfor n = range 3 { }\n\treturn undefined }\n",
	"good.ts":   "enum A { B }\nexport const a = <T,>(b: T): T => b satisfies T;\n",
	"good.tsx":  "export const a = <b c={1}>d</b>;\n",
	"good.yaml": "a: !Ref b\nc: &d [1]\n---\ne: {\"f\":1}\n",
	"good.xml":  "<?xml version=\"1.0\"?>\n<a><b/></a>\n",
	"good.html": "<!DOCTYPE html>\n<html><body><p @click=\"a > 'b'\">a<p>b &lt; c<br></body></html>\n",
}

// prove requires one fault in each language, and none in the sound file next to it.
func prove(ctx context.Context, b check.Bench) error {
	out := Run(ctx, b, Touched(b.View))
	if err := check.Judged(out); err != nil {
		return err
	}
	want := map[string]string{}
	for file, rule := range map[string]string{
		"bad.py": "python", "bad.json": "json", "bad.toml": "toml", "bad.css": "css",
		"bad.js": "javascript", "bad.mjs": "javascript", "bad.sh": "shell", "bad.go": "go", "bad.ts": "typescript", "bad.jsx": "typescript",
		"bad.yaml": "yaml", "bad.xml": "xml", "bad.html": "html",
	} {
		want[file] = rule + "-syntax"
	}
	return check.Exactly(out.Findings, want)
}
