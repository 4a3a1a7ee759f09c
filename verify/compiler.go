package verify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/guest"
)

// compilerCheck is the TypeScript that a workspace brings. It judges the projects of
// the packages that have it, and the image's, of another version, leaves these to
// it: scriptCheck. It is code of the workspace's choice, so that it has a box of its
// own, and packages that report as it does stand for it in the proof.
var compilerCheck = check{
	name: checkCompiler, gate: gateTypes, group: groupCompiler, run: runCompiler, applies: compilerApplies, judge: judgeInstalled("typescript"), config: scriptCheck.config,
	planted: map[string]string{
		"package.json": plantedNeed, "tsconfig.json": `{"compilerOptions": {"strict": true}, "files": ["a.ts"]}`, "a.ts": "export const n: number = \"21\";\n",
		"node_modules/typescript/package.json":      `{"version": "5.9.0", "bin": {"tsc": "./bin/tsc"}}`,
		"node_modules/typescript/lib/typescript.js": "module.exports = require(\"" + toolchain.compiler() + "/lib/typescript.js\");\n",
		"native/package.json":                       plantedNeed, "native/tsconfig.json": "{}", "native/a.ts": "export {};\n",
		"native/node_modules/typescript/package.json": `{"version": "7.0.0", "bin": {"tsc": "./bin/tsc"}}`,
		"native/node_modules/typescript/bin/tsc":      "console.log(`${process.argv[3].replace(\"tsconfig.json\", \"a.ts\")}(1,1): error TS2304: planted`);\nprocess.exitCode = 1;\n",
	},
	prove: proves(runCompiler, map[string]string{"a.ts": "TS2322", "native/a.ts": "TS2304"}),
}

// plantedNeed is the package.json of the planted projects.
const plantedNeed = `{"devDependencies": {"typescript": "1"}}`

// Major versions of the package typescript: the first that has all of the API
// that images/toolchain/typescript.cjs uses, and the first that has none, being a program.
const (
	oldestCompiler = 5
	nativeCompiler = 7
)

// projectConfig matches the configuration of a project of the compiler.
var projectConfig = regexp.MustCompile(`(?:^|/)[jt]sconfig\.json$`)

// compilerUses lists the packages that name TypeScript at the base revision.
func compilerUses(v view) (uses []packageUse) {
	for _, r := range packageRoots(v.unpatched()) {
		if r.needs["typescript"] {
			uses = append(uses, packageUse{root: r.dir})
		}
	}
	return uses
}

// compilerApplies gives the reason why there is nothing for it to check, or "".
func compilerApplies(v view) string {
	if len(compilerUses(v)) == 0 {
		return "no package.json has typescript"
	}
	if !slices.ContainsFunc(v.paths(), projectConfig.MatchString) {
		return "the workspace has no tsconfig.json"
	}
	return ""
}

// An installedCompiler is the TypeScript of a package and of those inside it that have none.
type installedCompiler struct {
	installedPackage
	root  string
	major int
}

// compilers finds those of a workspace, by their packages. blocked is why
// the last of the others is not among them.
func (b bench) compilers(ctx context.Context) (list map[string]installedCompiler, blocked string, out outcome, done bool) {
	uses := compilerUses(b.view)
	if len(uses) == 0 {
		return nil, "", outcome{}, true
	}
	found, out, done := b.installed(ctx, "typescript", "tsc", uses)
	if !done {
		return nil, "", out, false
	}
	list = map[string]installedCompiler{}
	for i, u := range uses {
		if found[i] == nil {
			blocked = absent("typescript", u.root)
			continue
		}
		version, _, _ := strings.Cut(found[i].Version, ".")
		major, err := strconv.Atoi(version)
		if err != nil || major < oldestCompiler {
			blocked = fmt.Sprintf("typescript of %s is %s, and only %d or later can be asked", path.Join(u.root, "package.json"), shorten(found[i].Version), oldestCompiler)
			continue
		}
		list[u.root] = installedCompiler{*found[i], u.root, major}
	}
	return list, blocked, out, true
}

// runCompiler checks each project with the compiler that is nearest to it.
func runCompiler(ctx context.Context, b bench) outcome {
	list, blocked, total, done := b.compilers(ctx)
	if !done {
		return total
	}
	total.Output = ""
	if len(list) == 0 {
		total.Blocked = blocked
		return total
	}
	configs := map[string][]string{}
	for _, p := range b.view.paths() {
		if root := nearest(list, path.Dir(p)); projectConfig.MatchString(p) && list[root].Dir != "" && !strings.Contains("/"+p, "/node_modules/") {
			configs[root] = append(configs[root], p)
		}
	}
	var details []string
	known := map[Finding]bool{}
	for _, root := range slices.Sorted(maps.Keys(configs)) {
		c := list[root]
		run := c.script
		if c.major >= nativeCompiler {
			run = c.native
		}
		out := run(ctx, b, configs[root])
		total = add(total, out)
		total.Blocked = cmp.Or(total.Blocked, out.Blocked)
		if out.Verdict != "" {
			return total
		}
		details = append(details, fmt.Sprintf("TypeScript %s of %s: %d projects", shorten(c.Version), path.Join(c.root, "package.json"), len(configs[root])))
		for _, f := range out.Findings {
			// A file may belong to several projects.
			key := Finding{File: f.File, Line: f.Line, Column: f.Column, Rule: f.Rule}
			if !known[key] {
				known[key] = true
				total.Findings = append(total.Findings, f)
			}
		}
	}
	total.Detail = strings.Join(details, "; ")
	total.Findings = newSources(b.view).fill(total.Findings)
	return total
}

// script checks projects by the API of a compiler.
func (c installedCompiler) script(ctx context.Context, b bench, configs []string) outcome {
	cmd, err := scriptCommand(b.tools, c.Dir, "projects", configs)
	if err != nil {
		return infra("list the projects for TypeScript: %v", err)
	}
	res, out, done := b.command(ctx, cmd)
	if !done {
		return out
	}
	answer, err := parseScript(res, configs)
	if err != nil {
		out.Blocked = fmt.Sprintf("TypeScript %s of the workspace gives no answer: %s", shorten(c.Version), shorten(err.Error()))
	}
	out.Findings = answer.Findings
	return out
}

var (
	// tscLine is how the program writes an error, with a place or without one.
	tscLine = regexp.MustCompile(`(?m)^(?:(.+?)\((\d+),(\d+)\): )?error (TS\d+): (.*)$`)
	// referring matches the configuration of a project that refers to others.
	referring = regexp.MustCompile(`"references"\s*:`)
	// ofSetup matches what it says of the way in which it was called, as SETUP in
	// images/toolchain/typescript.cjs does.
	ofSetup = regexp.MustCompile(`^TS(?:505[56]|5101|5107|5110|6059|630[567]|6310|6504|18003)$`)
)

// native checks projects with the program of a compiler. One that refers to others
// is built with them, in the box: it is made of what their build declares.
func (c installedCompiler) native(ctx context.Context, b bench, configs []string) outcome {
	var total outcome
	for _, config := range configs {
		args := []string{"-p", config, "--noEmit", "--composite", "false", "--incremental", "false", "--skipLibCheck", "--pretty", "false"}
		if referring.MatchString(b.view.text(config)) {
			args = []string{"-b", config, "--pretty", "false"}
		}
		cmd := b.useCommand(packageUse{}, c.installedPackage, args...)
		cmd.MaxOutput = maxToolOutput
		res, out, done := b.command(ctx, cmd)
		if total = add(total, out); !done {
			return total
		}
		found, trouble := parseCompiler(res)
		total.Blocked = cmp.Or(total.Blocked, trouble)
		total.Findings = append(total.Findings, found...)
	}
	return total
}

// parseCompiler reads what the program wrote, and says why it cannot be taken for
// an answer, "" when it can.
func parseCompiler(res guest.Result) (found []Finding, trouble string) {
	if res.Stdout.Dropped > 0 {
		return nil, fmt.Sprintf("tsc has more than %d MiB of findings", maxToolOutput>>20)
	}
	lines := tscLine.FindAllStringSubmatch(clean(whole(res.Stdout)), -1)
	// 1 and 2 are errors, without and with output.
	if res.Exit > 2 || (res.Exit != 0) != (len(lines) > 0) {
		return nil, fmt.Sprintf("tsc's exit status %d does not fit its %d errors: %s", res.Exit, len(lines), nodeComplaint(res))
	}
	for _, m := range lines {
		if ofSetup.MatchString(m[4]) {
			continue
		}
		// No number is 0, which is what a finding without a line has.
		line, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		found = append(found, Finding{File: relative(m[1], work), Line: line, Column: column, Rule: m[4], Message: shorten(m[5])})
	}
	return found, ""
}
