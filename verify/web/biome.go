package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
)

// Biome lints JavaScript, TypeScript, CSS and JSON.
var Biome = check.Check{
	Name: BiomeName, Gate: check.GateLint, Group: check.GroupStatic, Run: runBiome, Applies: biomeApplies, Judge: compare.JudgeFindings,
	Tools: []string{"biome"}, Inert: true, Config: biomeConfig, Variants: check.Extending(biomeConfig, lang.Extensions("css", "javascript", "typescript")),
	Planted: map[string]string{
		"constant.js":      "const planted = 1;\nplanted = 2;\n",
		"nan.ts":           "export const wrong = (n: number) => n === NaN;\n",
		"unit.css":         "a {\n  width: 10pixels;\n}\n",
		"twice.json":       "{\"a\": 1, \"a\": 2}\n",
		"control/clean.js": "export const answer = 42;\n",
	},
	Prove: check.Proves(runBiome, map[string]string{
		"constant.js": "correctness/noConstAssign", "nan.ts": "correctness/useIsNan",
		"unit.css": "correctness/noUnknownUnit", "twice.json": "suspicious/noDuplicateObjectKeys",
	}),
}

// biomeConfig names the files that configure biome.
var biomeConfig = []string{"biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc"}

// biomeFiles are the endings of the files that biome can lint.
var biomeFiles = lang.Extensions("css", "json", "jsonc", "javascript", "typescript")

// biomeApplies returns the reason why biome has nothing to do, or "".
//
// It goes only by the names of the files: whether the configuration wants them checked is for biome to decide.
func biomeApplies(v check.View) string {
	if v.Ends(biomeFiles) {
		return ""
	}
	return "the workspace has no JavaScript, TypeScript, CSS or JSON file"
}

// biomeRoots lists the directories with a configuration and none above them: each is a project of its own. The base decides,
// as it does about all configuration.
func biomeRoots(v check.View) []string {
	var roots []string
	for _, p := range check.OnBase(v.Base).Paths() {
		dir := path.Dir(p)
		above := func(r string) bool { return r == "." || dir == r || strings.HasPrefix(dir, r+"/") }
		if slices.Contains(biomeConfig, path.Base(p)) && !strings.Contains("/"+dir+"/", "/node_modules/") {
			roots = slices.DeleteFunc(roots, func(r string) bool { return dir == "." || strings.HasPrefix(r, dir+"/") })
			if !slices.ContainsFunc(roots, above) {
				roots = append(roots, dir)
			}
		}
	}
	return roots
}

// biomeCommand runs biome over one project, without its daemon. Only errors count, and text that does not parse is left to
// the syntax gate. If the workspace has no configuration, the gate's own applies: what is a mistake in any program, and
// nothing about style.
func biomeCommand(b check.Bench, root string, own bool) guest.Command {
	args := []string{
		b.Tools.Packages + "/biome/biome", "lint", "--reporter=json", "--colors=off", "--max-diagnostics=none",
		"--diagnostic-level=error", "--skip-parse-errors", "--no-errors-on-unmatched",
	}
	if !own {
		args = append(args, "--config-path="+b.Tools.Biome)
	}
	return guest.Command{Args: append(args, "."), Dir: path.Join(check.Work, root), MaxOutput: check.MaxToolOutput}
}

// runBiome runs biome over each project of the workspace.
func runBiome(ctx context.Context, b check.Bench) check.Outcome {
	roots, own := biomeRoots(b.View), true
	if len(roots) == 0 {
		roots, own = []string{"."}, false
	}
	total := check.Outcome{Detail: "biome over the workspace"}
	for _, root := range roots {
		res, out, done := b.Command(ctx, biomeCommand(b, root, own))
		if total = check.AddCost(total, out); !done {
			return total
		}
		if reason, ok := biomeRefuses(res); ok && own {
			total.Blocked = reason
			continue
		}
		found, err := parseBiome(res, root)
		if err != nil {
			out.Verdict, out.Detail = check.Infra, fmt.Sprintf("read the output of biome: %v", err)
			return out
		}
		total.Findings = append(total.Findings, found...)
	}
	total.Findings = check.NewSources(b.View).Fill(total.Findings)
	return total
}

// biomeRefuses reports whether biome did not start because of the workspace's configuration, and the reason: most often the
// configuration is for another major version.
func biomeRefuses(res guest.Result) (reason string, ok bool) {
	text := check.Clean(check.Bytes(res.Stderr))
	if res.Exit != 1 || len(bytes.TrimSpace(res.Stdout.Head)) > 0 || !strings.Contains(text, "configuration resulted in errors") {
		return "", false
	}
	for line := range strings.Lines(text) {
		if what, ok := strings.CutPrefix(strings.TrimSpace(line), "× "); ok {
			return "biome does not accept the workspace's configuration: " + check.Shorten(what), true
		}
	}
	return "biome does not accept the workspace's configuration", true
}

// A biomeAnswer is what biome prints with --reporter=json, limited to the fields used here.
type biomeAnswer struct {
	Summary *struct {
		Errors  int `json:"errors"`
		Unshown int `json:"diagnosticsNotPrinted"`
	} `json:"summary"`
	Diagnostics []struct {
		// Severity: only errors are requested, but biome also reports what it skips.
		Severity string `json:"severity"`
		Message  string `json:"message"`
		// Category is such as "lint/correctness/noConstAssign", or another word for what is not a rule.
		Category string `json:"category"`
		Location struct {
			// Path is relative to the directory in which biome runs.
			Path  string `json:"path"`
			Start struct {
				Line   int `json:"line"`
				Column int `json:"column"`
			} `json:"start"`
		} `json:"location"`
		// Advices is what biome advises, including a repair.
		Advices []struct {
			Text string `json:"text"`
		} `json:"advices"`
	} `json:"diagnostics"`
}

// parseBiome reads biome's findings in the project at root. The summary, the list and the exit status must agree.
//
// A list that was cut or miscounted is refused as a whole, since the missing findings could be the new ones.
func parseBiome(res guest.Result, root string) ([]check.Finding, error) {
	complaint := check.FirstLine(check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxMessage))
	if res.Stdout.Dropped > 0 {
		return nil, fmt.Errorf("more than %d MiB of findings", check.MaxToolOutput>>20)
	}
	var answer biomeAnswer
	if err := json.Unmarshal(res.Stdout.Head, &answer); err != nil {
		return nil, fmt.Errorf("exit status %d: %w: %s", res.Exit, err, complaint)
	}
	// biome counts a file that it cannot read as skipped and not as an error.
	var found, unread []check.Finding
	for _, d := range answer.Diagnostics {
		if d.Severity != "error" {
			continue
		}
		rule, isRule := strings.CutPrefix(d.Category, "lint/")
		f := check.Finding{
			File: check.Relative(path.Join(check.Work, root, d.Location.Path), check.Work), Line: max(d.Location.Start.Line, 0),
			Column: max(d.Location.Start.Column, 0), Rule: rule, Message: check.Shorten(d.Message),
		}
		for _, a := range d.Advices {
			f.Fixable = f.Fixable || strings.HasPrefix(a.Text, "Safe fix: ")
		}
		if isRule {
			f.Help = biomeHelp(path.Base(rule))
		}
		switch {
		case !strings.HasPrefix(d.Category, "fs/"):
			found = append(found, f)
		default:
			unread = append(unread, f)
		}
	}
	switch {
	case answer.Summary == nil || answer.Summary.Unshown > 0 || answer.Summary.Errors != len(found):
		return nil, fmt.Errorf("its summary does not match its %d findings", len(found))
	case res.Exit != 0 && res.Exit != 1 || (res.Exit == 1) != (len(found) > 0) && (res.Exit == 0 || len(unread) == 0):
		return nil, fmt.Errorf("exit status %d with %d findings: %s", res.Exit, len(found), complaint)
	}
	// A file that is not a script, such as a font or a drawing, may have any encoding.
	for _, f := range unread {
		if l := lang.Of(f.File); l != nil && l.Family == lang.Script {
			found = append(found, f)
		}
	}
	return found, nil
}

// capital matches the capitals in a rule's name.
var capital = lazyregexp.New(`[A-Z]`)

// biomeHelp returns the page of a rule: its name in lower case with hyphens.
func biomeHelp(rule string) string {
	kebab := capital.ReplaceAllStringFunc(rule, func(s string) string { return "-" + strings.ToLower(s) })
	return check.Link("https://biomejs.dev/linter/rules/" + kebab)
}

// BiomeFix repairs what biome finds.
var BiomeFix = check.Fixer{Check: BiomeName, Group: check.GroupStatic, Fix: biomeFix}

// biomeFix makes biome apply its safe repairs alone to one text, in the project that the file is part of.
func biomeFix(ctx context.Context, b check.Bench, name string, text []byte, rules []string) ([]byte, check.Outcome) {
	roots, own := biomeRoots(b.View), true
	if len(roots) == 0 {
		roots, own = []string{"."}, false
	}
	known := map[string]bool{}
	for _, r := range roots {
		known[r] = true
	}
	root := check.Nearest(known, path.Dir(name))
	if !known[root] {
		return nil, check.Outcome{}
	}
	args := []string{b.Tools.Packages + "/biome/biome", "lint", "--write", "--colors=off", "--stdin-file-path=" + check.Relative(path.Join(check.Work, name), path.Join(check.Work, root))}
	for _, r := range rules {
		args = append(args, "--only="+r)
	}
	if !own {
		args = append(args, "--config-path="+b.Tools.Biome)
	}
	res, out, done := b.Command(ctx, guest.Command{Args: args, Dir: path.Join(check.Work, root), Stdin: text, MaxOutput: check.MaxToolOutput})
	// The status says that something could not be repaired; biome still prints what it repaired.
	if !done || res.Exit > 1 || res.Stdout.Dropped > 0 || len(res.Stdout.Head) == 0 {
		return nil, out
	}
	return res.Stdout.Head, out
}
