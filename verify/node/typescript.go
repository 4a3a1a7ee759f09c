package node

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/compare"
)

// ScriptName is the name of the check of the image's compiler.
const ScriptName = "typescript"

// Script checks the types of TypeScript and what is certain about JavaScript: the head of images/toolchain/typescript.cjs
// says how. The planted callers misuse a declaration in another file, in either language.
var Script = check.Check{
	Name: ScriptName, Gate: check.GateTypes, Group: check.GroupStatic, Run: runScript, Applies: scriptApplies, Judge: compare.JudgeFindings,
	Tools: []string{"tsc", "node24"}, Inert: true, Config: compilerConfigs, Closure: &projectFiles,
	Planted: map[string]string{
		"project/tsconfig.json":   "{\"compilerOptions\": {\"strict\": true, \"lib\": [\"es2020\"]}}\n",
		"project/src/double.ts":   "export function double(n: number): number {\n  return 2 * n;\n}\n",
		"project/src/caller.ts":   "import { double } from \"./double\";\n\nexport const total = double(\"21\");\n",
		"undefined.js":            "\"use strict\";\nmodule.exports = { area: (r) => pi * r * r };\n",
		"gone.js":                 "\"use strict\";\nconst { volume } = require(\"./undefined\");\nmodule.exports = volume(1);\n",
		"control/clean.js":        "import { readFileSync } from \"node:fs\";\n\nexport const size = readFileSync(process.argv[1]).length;\n",
		"project/src/node.ts":     "import fs from \"fs\";\n\nfs.writeFileSync(process.argv[2], Buffer.from(\"21\"));\n",
		"project/src/elements.ts": "document.title = \"21\";\n",
	},
	Prove: check.Proves(runScript, map[string]string{
		"project/src/caller.ts": "TS2345", "undefined.js": "undeclared-name", "gone.js": "TS2305",
		// The project asks for no browser names, and node's types are not there.
		"project/src/elements.ts": "undeclared-name",
	}),
}

// scriptSources matches the files that the compiler is given: sources, and what configures their projects.
var scriptSources = lazyregexp.New(`\.([cm]?[jt]s|[jt]sx)$|(^|/)([jt]sconfig|\.eslintrc|biome|package)\.jsonc?$|(^|/)\.eslintrc$`)

// extensions are the endings of JavaScript and TypeScript sources.
var extensions = lang.Extensions("javascript", "typescript")

// scriptApplies returns the reason why there is nothing to check, or "".
func scriptApplies(v check.View) string {
	if v.Ends(extensions) {
		return ""
	}
	return "the workspace has no JavaScript or TypeScript file"
}

// runScript checks the whole workspace, except the projects that Compiler checks: a changed declaration breaks the files
// that use it.
func runScript(ctx context.Context, b check.Bench) check.Outcome {
	apart, _, out, done := compilers(ctx, b)
	if !done {
		return out
	}
	paths := slices.DeleteFunc(slices.Clone(b.View.Paths()), func(p string) bool { return !scriptSources.MatchString(p) })
	cmd, err := scriptCommand(b.Tools, compilerPath(b.Tools), "types", paths, slices.Sorted(maps.Keys(apart))...)
	if err != nil {
		return check.Infraf("list the files for the TypeScript compiler: %v", err)
	}
	res, out, done := b.Command(ctx, cmd)
	if !done {
		return out
	}
	answer, err := parseScript(res, paths)
	if err != nil {
		out.Verdict, out.Detail = check.Infra, fmt.Sprintf("read the answer of the TypeScript compiler: %v", err)
		return out
	}
	out.Output = check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxTail)
	out.Detail = strings.Join(append([]string{"TypeScript over the workspace"}, answer.Notes...), "; ")
	out.Findings = slices.DeleteFunc(check.NewSources(b.View).Fill(answer.Findings), func(f check.Finding) bool { return foundOtherwise(b.View, f) })
	return out
}

// otherResolution matches the compiler's message about a module that it does not find by the resolution that applies if a
// project says nothing: the classic one, by which no program runs.
var otherResolution = lazyregexp.New(`^Cannot find module '([^']+)'\. Did you mean to set the 'moduleResolution'`)

// foundOtherwise reports whether a finding is about a module that exists for every program that runs: a file of the
// workspace, or a package that it names.
func foundOtherwise(v check.View, f check.Finding) bool {
	m := otherResolution.FindStringSubmatch(f.Message)
	if m == nil {
		return false
	}
	if !strings.HasPrefix(m[1], ".") {
		return slices.ContainsFunc(v.Paths(), func(p string) bool {
			return path.Base(p) == "package.json" && check.Below(path.Dir(f.File), path.Dir(p)) && strings.Contains(v.Text(p), `"`+m[1]+`"`)
		})
	}
	file := path.Join(path.Dir(f.File), m[1])
	if v.Has(file) || v.Has(path.Join(file, "package.json")) {
		return true
	}
	return slices.ContainsFunc(lang.Extensions("javascript", "typescript", "json"), func(ext string) bool {
		return v.Has(file+ext) || v.Has(path.Join(file, "index"+ext))
	})
}

// compilerConfigs are the base names of the files that configure a compiler, the image's or that of a workspace.
var compilerConfigs = []string{
	"tsconfig.json", "jsconfig.json", "tsconfig.base.json", "tsconfig.app.json", "tsconfig.lib.json", "tsconfig.node.json",
	"tsconfig.build.json", "tsconfig.test.json", "tsconfig.spec.json", "tsconfig.common.json", "tsconfig.shared.json",
}

// compilerPath returns the directory of the package whose compiler judges a view.
func compilerPath(t check.Tools) string { return t.Packages + "/typescript" }

// scriptCommand asks the compiler at a directory about the files at paths in the workspace. what is "types", without the
// projects below the directories apart, or "projects" or "configs", for which the paths are the configurations of projects.
func scriptCommand(tools check.Tools, compiler, what string, paths []string, apart ...string) (guest.Command, error) {
	list, err := json.Marshal(paths)
	if err != nil {
		return guest.Command{}, err
	}
	return guest.Command{
		Args: append([]string{tools.OwnNode, tools.Script, compiler, what}, apart...),
		Dir:  check.Work, Stdin: list, MaxOutput: check.MaxToolOutput,
	}, nil
}

// parseScript reads the script's answer, which must account for every file and agree with the exit status.
func parseScript(res guest.Result, paths []string) (scriptAnswer, error) {
	var answer scriptAnswer
	complaint := check.FirstLine(check.Tail(check.Clean(check.Bytes(res.Stderr)), check.MaxMessage))
	if res.Stdout.Dropped > 0 {
		return answer, fmt.Errorf("more than %d MiB of findings", check.MaxToolOutput>>20)
	}
	if res.Exit != 0 && res.Exit != 1 {
		return answer, fmt.Errorf("exit status %d: %s", res.Exit, complaint)
	}
	if err := json.Unmarshal(res.Stdout.Head, &answer); err != nil {
		return answer, fmt.Errorf("exit status %d: %w: %s", res.Exit, err, complaint)
	}
	if (res.Exit == 1) != (len(answer.Findings) > 0) {
		return answer, fmt.Errorf("exit status %d with %d findings: %s", res.Exit, len(answer.Findings), complaint)
	}
	// A file that the compiler did not look at would count as sound.
	seen := map[string]bool{}
	for _, p := range answer.Checked {
		seen[p] = true
	}
	for _, s := range answer.Skipped {
		seen[s.File] = true
	}
	if i := slices.IndexFunc(paths, func(p string) bool { return !seen[p] }); i >= 0 {
		return answer, fmt.Errorf("it says nothing about %s", check.Shorten(paths[i]))
	}
	for i, f := range answer.Findings {
		// The compiler's own paths are relative already; anything else is not in the workspace.
		f.File = check.Relative(f.File, check.Work)
		f.Line, f.Column, f.Message, f.Help = max(f.Line, 0), max(f.Column, 0), check.Shorten(f.Message), ""
		answer.Findings[i] = f
	}
	for i, note := range answer.Notes {
		answer.Notes[i] = check.Shorten(note)
	}
	return answer, nil
}

// A scriptAnswer is the document that typescript.cjs prints; its head describes it.
type scriptAnswer struct {
	Findings []check.Finding `json:"findings"`
	Checked  []string        `json:"checked"`
	Skipped  []struct {
		File   string `json:"file"`
		Reason string `json:"reason"`
	} `json:"skipped"`
	Notes []string `json:"notes"`
}
