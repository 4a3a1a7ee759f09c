package node

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// CompilerName is the name of the check of a workspace's compiler.
const CompilerName = "tsc"

// Compiler checks types with the TypeScript that a workspace brings. It judges the projects of the packages that have it;
// Script, with the image's compiler of another version, leaves these projects to it. The workspace chooses this code, so the
// check has a box of its own, and in the proof packages that report as the compiler does stand in for it.
var Compiler = check.Check{
	Name: CompilerName, Gate: check.GateTypes, Group: check.GroupCompiler, Run: runCompiler, Applies: compilerApplies, Judge: judgeInstalled("typescript"), Config: compilerConfigs, Closure: &projectFiles,
	Planted: map[string]string{
		"package.json": plantedNeed, "tsconfig.json": `{"compilerOptions": {"strict": true}, "files": ["a.ts"]}`, "a.ts": "export const n: number = \"21\";\n",
		"node_modules/typescript/package.json":      `{"version": "5.9.0", "bin": {"tsc": "./bin/tsc"}}`,
		"node_modules/typescript/lib/typescript.js": "module.exports = require(\"" + compilerPath(check.Toolchain) + "/lib/typescript.js\");\n",
		"native/package.json":                       plantedNeed, "native/tsconfig.json": "{}", "native/a.ts": "export {};\n",
		"native/node_modules/typescript/package.json": `{"version": "7.0.0", "bin": {"tsc": "./bin/tsc"}}`,
		"native/node_modules/typescript/bin/tsc":      "console.log(`${process.argv[3].replace(\"tsconfig.json\", \"a.ts\")}(1,1): error TS2304: planted`);\nprocess.exitCode = 1;\n",
	},
	Prove: check.Proves(runCompiler, map[string]string{"a.ts": "TS2322", "native/a.ts": "TS2304"}),
}

// plantedNeed is the package.json of the planted projects.
const plantedNeed = `{"devDependencies": {"typescript": "1"}}`

// Major versions of the package typescript: the first whose program checks any project without writing anything, the first
// with all of the API that images/toolchain/typescript.cjs uses, and the first that is a program without an API.
const (
	oldestCompiler = 4
	apiCompiler    = 5
	nativeCompiler = 7
)

// projectConfig matches the configuration of a compiler project.
var projectConfig = lazyregexp.New(`(?:^|/)[jt]sconfig\.json$`)

// compilerUses lists the packages that name TypeScript at the base revision.
func compilerUses(v check.View) (uses []packageUse) {
	for _, r := range Roots(v.Unpatched()) {
		if r.needs["typescript"] {
			uses = append(uses, packageUse{root: r.Dir})
		}
	}
	return uses
}

// compilerApplies returns the reason why the compiler has nothing to check, or "".
func compilerApplies(v check.View) string {
	if len(compilerUses(v)) == 0 {
		return "no package.json has typescript"
	}
	if !slices.ContainsFunc(v.Paths(), projectConfig.MatchString) {
		return "the workspace has no tsconfig.json"
	}
	return ""
}

// An installedCompiler is the TypeScript of a package, and of the packages inside it that have none.
type installedCompiler struct {
	installedPackage
	root  string
	major int
}

// compilers finds the compilers of a workspace, by package. blocked says why the last of the unusable ones is left out.
func compilers(ctx context.Context, b check.Bench) (list map[string]installedCompiler, blocked string, out check.Outcome, done bool) {
	uses := compilerUses(b.View)
	if len(uses) == 0 {
		return nil, "", check.Outcome{}, true
	}
	found, out, done := installed(ctx, b, "typescript", "tsc", uses)
	if !done {
		return nil, "", out, false
	}
	list = map[string]installedCompiler{}
	for i, u := range uses {
		if found[i] == nil {
			blocked = Absent("typescript", u.root)
			continue
		}
		version, _, _ := strings.Cut(found[i].Version, ".")
		major, err := strconv.Atoi(version)
		if err != nil || major < oldestCompiler {
			blocked = fmt.Sprintf("typescript of %s is %s, and only %d or later can be used", path.Join(u.root, "package.json"), check.Shorten(found[i].Version), oldestCompiler)
			continue
		}
		list[u.root] = installedCompiler{*found[i], u.root, major}
	}
	return list, blocked, out, true
}

// runCompiler checks each project with the nearest compiler.
func runCompiler(ctx context.Context, b check.Bench) check.Outcome {
	list, blocked, total, done := compilers(ctx, b)
	if !done {
		return total
	}
	total.Output = ""
	if len(list) == 0 {
		total.Blocked = blocked
		return total
	}
	configs := map[string][]string{}
	for _, p := range b.View.Paths() {
		if root := check.Nearest(list, path.Dir(p)); projectConfig.MatchString(p) && list[root].Dir != "" && !strings.Contains("/"+p, "/node_modules/") {
			configs[root] = append(configs[root], p)
		}
	}
	var details []string
	known := map[check.Finding]bool{}
	for _, root := range slices.Sorted(maps.Keys(configs)) {
		c := list[root]
		run := c.script
		if c.major < apiCompiler || c.major >= nativeCompiler {
			run = c.program
		}
		out := run(ctx, b, configs[root])
		total = check.AddCost(total, out)
		total.Blocked = cmp.Or(total.Blocked, out.Blocked)
		if out.Verdict != "" {
			return total
		}
		details = append(details, fmt.Sprintf("TypeScript %s of %s: %d projects", check.Shorten(c.Version), path.Join(c.root, "package.json"), len(configs[root])))
		for _, f := range out.Findings {
			// A file may belong to several projects.
			key := check.Finding{File: f.File, Line: f.Line, Column: f.Column, Rule: f.Rule}
			if !known[key] {
				known[key] = true
				total.Findings = append(total.Findings, f)
			}
		}
	}
	total.Detail = strings.Join(details, "; ")
	total.Findings = check.NewSources(b.View).Fill(total.Findings)
	return total
}

// script checks projects through the API of a compiler.
func (c installedCompiler) script(ctx context.Context, b check.Bench, configs []string) check.Outcome {
	cmd, err := scriptCommand(b.Tools, c.Dir, "projects", configs)
	if err != nil {
		return check.Infraf("list the projects for TypeScript: %v", err)
	}
	res, out, done := b.Command(ctx, cmd)
	if !done {
		return out
	}
	answer, err := parseScript(res, configs)
	if err != nil {
		out.Blocked = fmt.Sprintf("TypeScript %s of the workspace gives no answer: %s", check.Shorten(c.Version), check.Shorten(err.Error()))
	}
	out.Findings = answer.Findings
	return out
}

var (
	// tscLine matches an error that the program writes, with or without a place.
	tscLine = lazyregexp.New(`(?m)^(?:(.+?)\((\d+),(\d+)\): )?error (TS\d+): (.*)$`)
	// referring matches the configuration of a project that refers to others.
	referring = lazyregexp.New(`"references"\s*:`)
	// ofSetup matches errors about the way in which the compiler was called, as SETUP in images/toolchain/typescript.cjs
	// does.
	ofSetup = lazyregexp.New(`^TS(?:505[56]|5101|5107|5110|6059|630[567]|6310|6504|18003)$`)
)

// program checks projects with the program of a compiler. A project that refers to others is built together with them, in
// the box: it needs what their build declares.
func (c installedCompiler) program(ctx context.Context, b check.Bench, configs []string) check.Outcome {
	var total check.Outcome
	for _, config := range configs {
		args := []string{"-p", config, "--noEmit", "--composite", "false", "--incremental", "false", "--skipLibCheck", "--pretty", "false"}
		if referring.MatchString(b.View.Text(config)) {
			args = []string{"-b", config, "--pretty", "false"}
		}
		cmd := useCommand(b, packageUse{}, c.installedPackage, args...)
		cmd.MaxOutput = check.MaxToolOutput
		res, out, done := b.Command(ctx, cmd)
		if total = check.AddCost(total, out); !done {
			return total
		}
		found, trouble := parseCompiler(res)
		total.Blocked = cmp.Or(total.Blocked, trouble)
		total.Findings = append(total.Findings, found...)
	}
	return total
}

// parseCompiler reads the output of the program. trouble says why that cannot be taken for an answer, "" if it can.
func parseCompiler(res guest.Result) (found []check.Finding, trouble string) {
	if res.Stdout.Dropped > 0 {
		return nil, fmt.Sprintf("tsc has more than %d MiB of findings", check.MaxToolOutput>>20)
	}
	lines := tscLine.FindAllStringSubmatch(check.Clean(check.Bytes(res.Stdout)), -1)
	// Status 1 means errors without output files, and 2 errors with output files.
	if res.Exit > 2 || (res.Exit != 0) != (len(lines) > 0) {
		return nil, fmt.Sprintf("tsc's exit status %d does not match its %d errors: %s", res.Exit, len(lines), nodeComplaint(res))
	}
	for _, m := range lines {
		if ofSetup.MatchString(m[4]) {
			continue
		}
		// Without a number this is 0, which is the line of a finding without one.
		line, _ := strconv.Atoi(m[2])
		column, _ := strconv.Atoi(m[3])
		found = append(found, check.Finding{File: check.Relative(m[1], check.Work), Line: line, Column: column, Rule: m[4], Message: check.Shorten(m[5])})
	}
	return found, ""
}

// projectFiles finds the files that compiler configurations extend and refer to, as the compiler does. Whatever their names,
// they end in .json; a package says in its own file which of them it has.
var projectFiles = check.Closure{
	May:   func(p string) bool { return strings.HasSuffix(p, ".json") },
	Files: listProjectFiles,
}

func listProjectFiles(ctx context.Context, b check.Bench) ([]string, check.Outcome, bool) {
	configs := slices.DeleteFunc(slices.Clone(b.View.Paths()), func(p string) bool { return !projectConfig.MatchString(p) })
	cmd, err := scriptCommand(b.Tools, compilerPath(b.Tools), "configs", configs)
	if err != nil {
		return nil, check.Infraf("list the projects for TypeScript: %v", err), false
	}
	res, out, done := b.Command(ctx, cmd)
	if !done {
		return nil, out, false
	}
	var files []string
	if err := json.Unmarshal(res.Stdout.Head, &files); err != nil || res.Exit != 0 {
		return nil, check.Infraf("ask TypeScript for the files of its configuration: exit status %d: %s", res.Exit, nodeComplaint(res)), false
	}
	return files, out, true
}
