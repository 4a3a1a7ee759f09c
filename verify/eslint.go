package verify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/guest"
)

// eslintCheck is the eslint that a workspace brings, with its plugins. Its
// configuration is code, so that it has a box of its own, with the configuration
// and what that imports as before the patch. As with the test runners a package that
// reports as eslint does stands for it in the proof.
var eslintCheck = check{
	name: checkESLint, gate: gateLint, group: groupESLint, run: runESLint, applies: eslintApplies, judge: judgeESLint, family: scriptFamily, places: eslintPlaces,
	config: eslintConfig, inside: eslintOwn,
	planted: map[string]string{
		"package.json": `{"devDependencies": {"eslint": "1"}}`, "eslint.config.js": "", "a.js": "a;\n",
		"node_modules/eslint/package.json": `{"version": "1.0.0", "bin": {"eslint": "./run.cjs"}}`,
		"node_modules/eslint/run.cjs":      plantedRunner, "node_modules/eslint/lib/report.json": plantedESLint,
	},
	prove: proves(runESLint, map[string]string{"a.js": "no-undef"}),
}

// eslintConfig names the files that configure eslint.
var eslintConfig = []string{
	"eslint.config.js", "eslint.config.mjs", "eslint.config.cjs", "eslint.config.ts", "eslint.config.mts", "eslint.config.cts", ".eslintignore",
	".eslintrc", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.json", ".eslintrc.yml", ".eslintrc.yaml",
}

// eslintOptions are those of the scripts that are left out; see runnerOptions.
var eslintOptions = map[string]bool{
	"--fix": false, "--fix-dry-run": false, "-f": true, "--format": true, "-o": true, "--output-file": true, "--max-warnings": true, "--quiet": false,
	"--cache": false, "--cache-file": true, "--cache-location": true, "--cache-strategy": true, "--color": false, "--no-color": false, "--debug": false,
}

// eslintUses lists the packages that eslint lints, those of the base: what it looks
// at is configuration.
func eslintUses(v view) []packageUse {
	base := view{base: v.base}
	if len(v.base.Entries) == 0 {
		base = v // nothing but what the proof plants
	}
	return slices.DeleteFunc(packageUses(base, "eslint", "lint"), func(u packageUse) bool {
		return !slices.ContainsFunc(base.paths(), func(p string) bool {
			return (slices.Contains(eslintConfig, path.Base(p)) || packageKeys(base, p)[eslintKeys[0]] != nil) && (path.Dir(p) == "." || strings.HasPrefix(u.root+"/", path.Dir(p)+"/"))
		})
	})
}

// eslintPlaces lists their directories.
func eslintPlaces(v view) []string { return dirs(eslintUses(v), packageUse.dir) }

// eslintApplies gives the reason why eslint has nothing to do, or "".
func eslintApplies(v view) string {
	if len(eslintUses(v)) > 0 {
		return ""
	}
	return "no package.json has eslint, with a configuration"
}

// runESLint runs eslint as the scripts of each package do.
func runESLint(ctx context.Context, b bench) outcome {
	uses := eslintUses(b.view)
	found, total, done := b.installed(ctx, "eslint", uses)
	if !done {
		return total
	}
	total.Output = ""
	for i, u := range inOrder(b, uses, packageUse.dir) {
		if found[i] == nil {
			total.Blocked = cmp.Or(total.Blocked, absent("eslint", u.root))
			continue
		}
		report, args := fmt.Sprintf("/tmp/agent-eslint-%d.json", i), without(u.args, eslintOptions)
		if len(args) == 0 {
			args = []string{"."}
		}
		cmd := b.useCommand(u, *found[i], append(args, "--quiet", "--no-error-on-unmatched-pattern", "--format=json", "--output-file="+report)...)
		cmd.Collect = []string{report}
		res, out, done := b.command(ctx, cmd)
		if total = add(total, out); !done {
			return total
		}
		total.Detail = "eslint " + shorten(found[i].Version)
		findings, trouble := parseESLint(res, report)
		total.Blocked = cmp.Or(total.Blocked, trouble)
		total.Findings = append(total.Findings, findings...)
	}
	total.Findings = newSources(b.view).fill(total.Findings)
	return total
}

// An eslintFile is what eslint's formatter json writes of a file, the fields that
// are used here.
type eslintFile struct {
	// Absolute.
	Path     string `json:"filePath"`
	Errors   int    `json:"errorCount"`
	Messages []struct {
		// Null for what does not parse.
		Rule string `json:"ruleId"`
		// 2 is an error; warnings are not asked for.
		Severity int    `json:"severity"`
		Message  string `json:"message"`
		Line     int    `json:"line"`
		Column   int    `json:"column"`
		// How it would repair the finding; null when it cannot.
		Fix *struct{} `json:"fix"`
	} `json:"messages"`
}

// parseESLint reads eslint's findings, and says why they are not all, "" when
// they are. It is the workspace's own program: whatever keeps it from judging is
// the workspace's doing.
func parseESLint(res guest.Result, report string) (found []Finding, trouble string) {
	var files []eslintFile
	if err := json.Unmarshal(res.Files[report], &files); err != nil || res.Exit > 1 {
		return nil, strings.TrimSuffix(fmt.Sprintf("eslint ended with exit status %d: %s", res.Exit, nodeComplaint(res)), ": ")
	}
	for _, f := range files {
		n := 0
		for _, m := range f.Messages {
			if m.Severity != 2 {
				continue
			}
			n++
			found = append(found, Finding{
				File: relative(f.Path, work), Line: max(m.Line, 0), Column: max(m.Column, 0),
				Rule: cmp.Or(shorten(m.Rule), "parse"), Message: shorten(m.Message), Fixable: m.Fix != nil,
			})
		}
		if n != f.Errors {
			return nil, fmt.Sprintf("eslint counts %d errors and tells of %d", f.Errors, n)
		}
	}
	if (res.Exit == 1) != (len(found) > 0) {
		return nil, fmt.Sprintf("eslint's exit status %d does not fit its %d errors: %s", res.Exit, len(found), nodeComplaint(res))
	}
	return found, ""
}

// judgeESLint is judgeFindings, but that a patch which was allowed to change what
// is installed may do without eslint.
func judgeESLint(base, cand outcome, d diff) Gate {
	if isAbsent("eslint", cand) {
		return Gate{Detail: "not judged: " + cand.Blocked}
	}
	return judgeFindings(base, cand, d)
}

// eslintOwn lists what of eslint's box comes from the base: the code of the
// configuration, and each package.json that would say something else of eslint.
func eslintOwn(base, cand view) []string {
	own := eslintInside(base, cand)
	for p, names := range changedKeys(base, cand) {
		if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(eslintKeys, name) }) {
			own = append(own, p)
		}
	}
	return own
}

// moduleImport matches what a module of JavaScript imports from a file.
var moduleImport = regexp.MustCompile(`(?:\bfrom|\bimport|\brequire)\s*\(?\s*["'](\.[^"']*)["']`)

// eslintInside lists the files that the configuration of eslint is made of: those
// of the base, and what cand would have in their place.
func eslintInside(base, cand view) []string {
	var found []string
	follow := func(from string) {
		for _, m := range moduleImport.FindAllStringSubmatch(base.text(from), -1) {
			stem := path.Join(path.Dir(from), m[1])
			for _, end := range []string{"", ".js", ".cjs", ".mjs", ".ts", ".json", "/index.js", "/index.cjs", "/index.mjs", "/index.ts"} {
				if p := stem + end; (base.has(p) || cand.has(p)) && !slices.Contains(found, p) && len(found) < mostModules {
					found = append(found, p)
				}
			}
		}
	}
	for _, p := range base.paths() {
		if slices.Contains(eslintConfig, path.Base(p)) {
			follow(p)
		}
	}
	for i := 0; i < len(found); i++ {
		follow(found[i])
	}
	slices.Sort(found)
	return found
}

// plantedESLint is the report of the planted package.
const plantedESLint = `[{"filePath": "/work/a.js", "errorCount": 1, "messages": [{"ruleId": "no-undef", "severity": 2, "message": "planted", "line": 1, "column": 1}]}]
`
