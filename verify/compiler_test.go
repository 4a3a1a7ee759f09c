package verify

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"agent/images/dependencies"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/node"
	"agent/verify/verifytest"
)

// needsCompiler is a package.json that names a compiler.
const needsCompiler = `{"devDependencies": {"typescript": "1"}}`

func TestCompilerOfTheWorkspaceIsThatOfTheBase(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"package.json": needsCompiler, "tsconfig.json": "{}", "a.ts": "", "web/package.json": "{}"})
	cs := verifytest.Change(t, base, map[string]string{"package.json": "{}", "tsconfig.json": `{"compilerOptions": {"strict": false}}`, "web/package.json": needsCompiler, "a.ts": "x;"})
	s, _ := offline(base, nil, cs)
	if seen := s.seenBy(node.Compiler, s.final); len(seen.Changes) != 3 || seen.Changes[0].Path != "a.ts" {
		t.Errorf("it sees %+v", seen)
	}
	if s.sawAll(node.Compiler, s.final) {
		t.Error("with another package.json the next run goes by what this one found")
	}
	for name, files := range map[string]map[string]string{
		"no package.json has typescript":     {"package.json": "{}", "tsconfig.json": "{}"},
		"the workspace has no tsconfig.json": {"package.json": needsCompiler, "a.ts": ""},
	} {
		if reason := node.Compiler.Applies(check.NewView(verifytest.Scan(t, files), workspace.Changeset{})); reason != name {
			t.Errorf("%q, want %q", reason, name)
		}
	}
	gone := check.Outcome{Blocked: node.Absent("typescript", ".")}
	if g, reason := judge(node.Compiler, check.Outcome{}, gone, "", check.Diff{}); g.Verdict != "" || !strings.Contains(reason, "not judged: typescript of package.json") {
		t.Errorf("a compiler that the patch takes away: %+v, %s", g, reason)
	}
}

// sundry is a workspace whose packages have compilers of several versions. Only versions from 6 on know getOrInsert, and only versions
// from 5.5 on notice what is wrong with the regular expression.
var sundry = map[string]string{
	"package.json":       `{"private": true, "workspaces": ["first", "sixth", "native", "old"]}`,
	"first/package.json": `{"name": "first", "devDependencies": {"typescript": "5.0.4"}}`, "first/tsconfig.json": `{"compilerOptions": {"strict": true, "target": "es2022", "traceResolution": true}}`,
	"first/a.ts":         "export const old: number = '1';\n",
	"sixth/package.json": `{"name": "sixth", "devDependencies": {"typescript": "6.0.3"}}`, "sixth/tsconfig.json": `{"compilerOptions": {"lib": ["esnext"]}}`,
	"sixth/a.ts":          "export const old: number = '1';\n",
	"native/package.json": `{"name": "native", "devDependencies": {"typescript": "7.0.2"}}`, "native/tsconfig.json": `{"compilerOptions": {"lib": ["esnext"]}, "exclude": ["lib", "user"]}`,
	"native/a.ts":              "export const old: number = '1';\n",
	"native/lib/tsconfig.json": `{"compilerOptions": {"composite": true, "outDir": "out"}}`, "native/lib/f.ts": "export const f = (n: number) => n;\n",
	"native/user/tsconfig.json": `{"references": [{"path": "../lib"}], "compilerOptions": {"outDir": "out"}}`, "native/user/u.ts": "import { f } from '../lib/f';\n\nf(1);\n",
	"old/package.json": `{"name": "old", "devDependencies": {"typescript": "4.9.5"}}`, "old/tsconfig.json": "{}", "old/a.ts": "export const old: number = '1';\n",
}

func TestCompilersOfTheWorkspaceJudgeIt(t *testing.T) {
	t.Parallel()
	l := verifytest.Open(t)
	manifests := map[string][]byte{}
	for p, text := range sundry {
		if strings.HasSuffix(p, "package.json") {
			manifests[p] = []byte(text)
		}
	}
	installed, err := l.Builder.Install(t.Context(), l.Toolchain, dependencies.Read(manifests))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Engine.RemoveImage(context.WithoutCancel(t.Context()), installed.ID); err != nil {
			t.Error(err)
		}
	})
	s := newSiteOn(t, installed, sundry)
	const insert, regexp, wrong = "export const m = new Map<string, number>().getOrInsert('a', 1);\n", "export const r = /a/gg;\n", "export const wrong: string = 1;\n"
	r := s.verify(t, map[string]string{
		"first/a.ts": sundry["first/a.ts"] + regexp, "sixth/a.ts": sundry["sixth/a.ts"] + insert, "native/a.ts": sundry["native/a.ts"] + insert,
	})
	expect(t, r, check.Pass)
	types := find(t, r, check.GateTypes)
	for _, part := range []string{"TypeScript 5.0.4 of first/package.json: 1 projects", "TypeScript 6.0.3 of sixth/package.json: 1 projects", "TypeScript 7.0.2 of native/package.json: 3 projects"} {
		if !strings.Contains(types.Detail, part) {
			t.Errorf("no %q in %s", part, types.Detail)
		}
	}
	if types.Old != 4 {
		t.Errorf("%+v", types)
	}
	r = s.verify(t, map[string]string{
		"first/a.ts": sundry["first/a.ts"] + wrong + insert, "sixth/a.ts": sundry["sixth/a.ts"] + wrong, "native/a.ts": sundry["native/a.ts"] + wrong,
		"native/user/u.ts": "import { f } from '../lib/f';\n\nf('1');\n", "old/a.ts": sundry["old/a.ts"] + wrong,
	})
	expect(t, r, check.Fail, check.GateTypes)
	var got []string
	for _, f := range find(t, r, check.GateTypes).Findings {
		got = append(got, fmt.Sprintf("%s:%d %s %s", f.File, f.Line, f.Rule, f.Tool))
	}
	want := "old/a.ts:2 TS2322 typescript, first/a.ts:2 TS2322 tsc, first/a.ts:3 TS2339 tsc, native/a.ts:2 TS2322 tsc, native/user/u.ts:3 TS2345 tsc, sixth/a.ts:2 TS2322 tsc"
	if strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, ", "), want)
	}
}
