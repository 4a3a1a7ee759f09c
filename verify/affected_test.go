package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/golang"
	"agent/verify/node"
	"agent/verify/trial"
	"agent/verify/verifytest"
)

// modules is a Go workspace: mid needs low only by its import, top needs mid, own needs neither, and docs is outside every module.
var modules = map[string]string{
	"go.work":            "go 1.24\n\nuse (\n\t./low\n\t./mid\n\t./top\n\t./own\n)\n",
	"low/go.mod":         "module example.com/low\n\ngo 1.24\n",
	"low/low.go":         "// Package low counts.\npackage low\n\n// One is one.\nfunc One() int { return 1 }\n",
	"low/low_test.go":    goPassing("low", "One() != 1"),
	"mid/go.mod":         "module example.com/mid\n\ngo 1.24\n",
	"mid/mid.go":         "// Package mid adds.\npackage mid\n\nimport \"example.com/low\"\n\n// Two is two.\nfunc Two() int { return low.One() + low.One() }\n",
	"mid/mid_test.go":    goPassing("mid", "Two() != 2"),
	"top/go.mod":         "module example.com/top\n\ngo 1.24\n\nrequire example.com/mid v0.0.0\n\nreplace example.com/mid => ../mid\n",
	"top/top.go":         "package top\n",
	"own/go.mod":         "module example.com/own\n\ngo 1.24\n",
	"own/own.go":         "// Package own has an old fault of each kind.\npackage own\n\n// Keep keeps.\nfunc Keep(n int) int {\n\tn = n\n\treturn n\n}\n",
	"own/own_test.go":    "package own\n\nimport \"testing\"\n\nfunc TestKeep(t *testing.T) { t.Fatal(\"old\") }\n",
	"own/bad/bad.go":     "package bad\n\nvar x = y\n",
	"docs/readme.md":     "",
	"web/pyproject.toml": "",
	"web/a.py":           "",
}

// goPassing returns a test of a package that passes unless the condition in wrong holds.
func goPassing(name, wrong string) string {
	return fmt.Sprintf("package %s\n\nimport \"testing\"\n\nfunc TestIt(t *testing.T) {\n\tif %s {\n\t\tt.Fatal()\n\t}\n}\n", name, wrong)
}

// packages is an npm workspace: web needs core by name, app needs web by path, tool needs nothing, and the configuration of all of them
// is at the top.
var packages = map[string]string{
	"package.json":               `{"name": "all", "workspaces": ["packages/*"], "devDependencies": {"eslint": "9"}}`,
	"eslint.config.js":           "export default [];\n",
	"tsconfig.json":              `{"references": [{"path": "./packages/core"}]}`,
	"packages/core/package.json": `{"name": "@acme/core"}`, "packages/core/index.js": "export const one = 1;\n",
	"packages/web/package.json": `{"name": "web"}`, "packages/web/a.test.js": "import { one } from '@acme/core/index.js';\n",
	"packages/app/package.json": `{"name": "app"}`, "packages/app/vite.config.js": "export default { at: path.join(__dirname, '..', 'web') };\n",
	"packages/tool/package.json": `{"name": "tool"}`, "packages/tool/src/a.js": "console.log(...process.argv, '../b');\n",
	"server/go.mod": "module example.com/server\n\ngo 1.24\n", "server/a.go": "package server\n",
}

// reached lists the packages that a patch of a workspace can affect, or returns "all".
func reached(t *testing.T, f *check.Family, files, more, patch map[string]string) string {
	t.Helper()
	files = maps.Clone(files)
	maps.Copy(files, more)
	maps.DeleteFunc(files, func(_, text string) bool { return text == "-" })
	base := verifytest.Scan(t, files)
	cs := verifytest.Change(t, base, patch)
	r := f.Reach(check.NewView(base, workspace.Changeset{}), check.NewView(base, cs), cs)
	if r == nil || r.Affected() == len(r) {
		return "all"
	}
	var list []string
	for root, hit := range r {
		if hit {
			list = append(list, filepath.Base(root))
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

type files = map[string]string

func TestAPatchAffectsAModuleAndItsDependants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		more, patch files
		want        string
	}{
		"by import, then by requirement": {nil, files{"low/low.go": "package low\n"}, "low mid top"},
		"nothing needs it":               {nil, files{"own/own.go": "package own\n"}, "own"},
		"two":                            {nil, files{"own/a.go": "package own\n", "top/top.go": "-"}, "own top"},
		"its tests and data":             {nil, files{"mid/testdata/a.txt": "x"}, "mid top"},
		"in no module":                   {nil, files{"docs/readme.md": "x"}, "all"},
		"of another language":            {nil, files{"web/a.py": "x = 1\n"}, ""},
		"of another language, for it":    {nil, files{"pyproject.toml": "", "docs/readme.md": "x"}, "all"},
		"read from another language":     {files{"mid/b_test.go": "package mid\n\nconst at = \"../web/a.py\"\n"}, files{"web/a.py": "x = 1\n"}, "mid top"},
		"read from a module":             {files{"own/b_test.go": "package own\n\nvar at = filepath.Join(\"..\", \"top\")\n"}, files{"top/top.go": "package a\n"}, "own top"},
		"two in one list":                {files{"own/b_test.go": "package own\n\nvar at = []string{\"../top\", \"../low\"}\n"}, files{"top/top.go": "package a\n"}, "own top"},
		"a replacement inside":           {files{"own/in/go.mod": "module x.com/in\n\ngo 1.24\n", "own/go.mod": modules["own/go.mod"] + "replace x.com/on => ./in\n"}, files{"own/in/a.go": "package in\n"}, "in own"},
		"an import unlike its text":      {files{"own/b.go": "package own\n\nimport _ \"example.c\\x6fm/mid\"\n"}, files{"mid/mid.go": "package mid\n"}, "mid own top"},
		"what belongs together":          {nil, files{"go.work": "go 1.24\n\nuse ./low\n"}, "all"},
		"a dependant says it is none":    {nil, files{"low/low.go": "package low\n", "top/go.mod": "module example.com/top\n\ngo 1.24\n"}, "all"},
		"a dependant drops its import":   {nil, files{"low/low.go": "package low\n", "mid/mid.go": "package mid\n"}, "low mid top"},
		"a module is new":                {nil, files{"new/go.mod": "module new\n\ngo 1.24\n"}, "all"},
		"a module is gone":               {nil, files{"top/go.mod": "-"}, "all"},
		"what vendors":                   {nil, files{"own/vendor/modules.txt": ""}, "all"},
		"go.work replaces":               {files{"go.work": "use ./low\nreplace example.com/x => ./own\n"}, files{"own/own.go": "package own\n"}, "all"},
		"go.mod of old":                  {files{"top/go.mod": "module example.com/top\n\ngo 1.16\n"}, files{"own/own.go": "package own\n"}, "all"},
		"go.mod of no language":          {files{"top/go.mod": "module example.com/top\n"}, files{"own/own.go": "package own\n"}, "all"},
		"two of one name":                {files{"top/go.mod": modules["mid/go.mod"]}, files{"own/own.go": "package own\n"}, "all"},
		"imports that cannot be read":    {files{"top/b.go": "package top\n\nimport \"\n"}, files{"own/own.go": "package own\n"}, "all"},
	} {
		if got := reached(t, golang.Modules, modules, c.more, c.patch); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestAPatchAffectsAPackageAndItsDependants(t *testing.T) {
	t.Parallel()
	core, tool := files{"packages/core/index.js": ""}, files{"packages/tool/src/a.js": ""}
	for name, c := range map[string]struct {
		more, patch files
		want        string
	}{
		"by name, then by path":      {nil, core, ". app core web"},
		"nothing needs it":           {nil, tool, ". tool"},
		"what is around":             {nil, files{"eslint.config.js": ""}, "all"},
		"of Go":                      {files{"package.json": "-", "eslint.config.js": "-", "tsconfig.json": "-"}, files{"server/a.go": "package a\n"}, ""},
		"of Go, within a package":    {nil, files{"server/a.go": "package a\n"}, "all"},
		"read from Go":               {files{"package.json": "-", "packages/tool/src/b.js": "'../../../server/api.json';"}, files{"server/a.go": "package a\n"}, "tool"},
		"a dependency is taken away": {nil, files{"packages/web/package.json": `{"name": "web", "private": true}`, "packages/core/index.js": ""}, "all"},
		"a lock file":                {nil, files{"pnpm-lock.yaml": ""}, "all"},
		"what is around needs it":    {files{"jest.config.js": "m = { core: '<rootDir>/packages/core' }"}, core, "all"},
		"names for paths":            {files{"tsconfig.base.json": `{"compilerOptions": {"paths": {}}}`}, tool, "all"},
		"names for paths inside":     {files{"packages/web/tsconfig.json": `{"compilerOptions": {"paths": {"a": ["./src/a"]}}}`}, tool, ". tool"},
		"paths from outside":         {files{"packages/web/tsconfig.json": `{"compilerOptions": {"baseUrl": "../.."}}`}, tool, "all"},
		"two of one name":            {files{"packages/app/package.json": `{"name": "web"}`}, tool, "all"},
	} {
		if got := reached(t, node.Packages, packages, c.more, c.patch); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A link gives one package access to files of another without any text saying so.
func TestALinkBetweenPackagesLeavesNothingOut(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{"own.go": "own", "./own.go": "own", "../low/low.go": "all", "/work/low/low.go": "all", "bad/../own.go": "all"} {
		dir := t.TempDir()
		verifytest.Write(t, dir, modules)
		if err := os.Symlink(target, filepath.Join(dir, "own", "link.go")); err != nil {
			t.Fatal(err)
		}
		base, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		cs := verifytest.Change(t, base, files{"own/own.go": "package own\n"})
		r := golang.Modules.Reach(check.NewView(base, workspace.Changeset{}), check.NewView(base, cs), cs)
		if (r == nil) != (want == "all") {
			t.Errorf("%s: %v", target, r)
		}
	}
}

// Findings and tests of what was left out count as in the baseline: neither new nor fixed nor lost.
func TestWhatIsLeftOutStandsBeside(t *testing.T) {
	t.Parallel()
	at := func(file string) check.Finding { return check.Finding{File: file, Rule: "r", Message: "m"} }
	r := check.Reach{"a": true, "b": false, "b/c": true}
	base := check.Outcome{
		Findings: []check.Finding{at("a/x"), at("b/x"), at("b/x"), at("b/c/x"), at("")}, Unjudged: []string{"a/*.go", "b/*.go"},
		Tests: []check.TestResult{{ID: "a/t::T", Outcome: "passed"}, {ID: "b/t::T", Outcome: "failed"}, {ID: "b", Outcome: "error"}},
	}
	got := check.Outcome{Findings: []check.Finding{at("b/x"), at("b/c/x"), at("b/c/x")}}.Beside(base, r)
	got = got.Beside(base, r) // a second call changes nothing
	var list []string
	for _, f := range got.Findings {
		list = append(list, f.File)
	}
	for _, t := range got.Tests {
		list = append(list, t.ID+"="+t.Outcome)
	}
	want := []string{"b/x", "b/c/x", "b/c/x", "b/x", "", "b/t::T=failed", "b=error", "b/*.go"}
	if list = append(list, got.Unjudged...); !slices.Equal(list, want) {
		t.Errorf("%q, want %q", list, want)
	}
	if late := (check.Outcome{Verdict: check.Timeout}).Beside(base, r); len(late.Tests) > 0 {
		t.Errorf("a run that came to no end has %+v", late.Tests)
	}
}

func TestAffectedPackagesComeFirst(t *testing.T) {
	t.Parallel()
	var got []string
	b := check.Bench{Reach: check.Reach{"a": false, "b": true, "c": false}, AffectedDone: func() { got = append(got, "|") }}
	for _, leave := range []bool{false, true} {
		b.Leave = leave
		for i, root := range check.InOrder(b, []string{".", "a", "b", "c"}, check.Itself) {
			got = append(got, fmt.Sprint(i, root))
		}
		got = append(got, ";")
	}
	if text, want := strings.Join(got, " "), "0. 2b | 1a 3c ; 0. 2b ;"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}

// A check with its own box starts none if the patch can affect nothing that the check looks at. Tests are left out only on request.
func TestCheckThatThePatchCannotAffectStartsNoBox(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, modules)
	for affected, want := range map[bool]string{false: "tests unaided-tests", true: ""} {
		s, started := offline(base, nil, verifytest.Change(t, base, files{"web/a.py": "x = 1\n"}))
		s.req.Config.AffectedTests = affected
		s.plan(func() {})
		s.results.await(golang.TestsName, trial.Trial{})
		s.program(t.Context(), golang.Tests)
		s.unaided(t.Context(), golang.Tests)
		if got := strings.Join(*started, " "); got != want {
			t.Errorf("affected %t: boxes %q, want %q", affected, got, want)
		}
		if _, ok := s.results.cand[golang.TestsName]; !ok || s.results.trials[golang.TestsName].Waits() {
			t.Errorf("affected %t: no outcome", affected)
		}
		s.results.baseline(golang.TestsName, check.Outcome{Tests: []check.TestResult{{ID: "own/own_test.go::TestKeep", Outcome: "passed"}}})
		s.results.proven(map[string]string{})
		if g := s.results.judged[golang.TestsName]; affected && (g.Verdict != check.Pass || g.Detail != "go test; 0 of 4 modules: the patch cannot affect the others") {
			t.Errorf("%+v", g)
		}
	}
	if a, b := definitionDigest(check.Toolchain, Config{}), definitionDigest(check.Toolchain, Config{AffectedTests: true}); a == b {
		t.Error("the choice of tests is not in the key")
	}
}

// Reach contains only the packages in which a check itself works: what it sees of other packages from there is not left out.
func TestReachIsThatOfWhatACheckWorksIn(t *testing.T) {
	t.Parallel()
	const jests = `{"devDependencies": {"jest": "30"}}`
	base := verifytest.Scan(t, files{
		"package.json": jests, "web/package.json": jests, "tool/package.json": jests, "plain/package.json": `{"scripts": {"test": "true"}}`,
		"plain/a.js": "", "web/a.js": "", "web/a.test.js": "import 'node:test';\n",
	})
	for file, want := range map[string]string{"web/a.js": "map[.:true tool:false web:true]", "plain/a.js": "map[.:true tool:false web:false]"} {
		s, _ := offline(base, nil, verifytest.Change(t, base, files{file: "x;\n"}))
		s.plan(func() {})
		if got := fmt.Sprint(s.reach[node.JestName]); got != want || s.results.left[node.JestName] != nil {
			t.Errorf("%s: jest %s, want %s", file, got, want)
		}
	}
	r := check.Reach{"a": true, "b": false}
	if r.Only([]string{"a"}) != nil || r.Only([]string{"b", "."}) != nil || r.Only([]string{"b"}) == nil || check.Reach(nil).Only([]string{"b"}) != nil {
		t.Error("what is affected, or not known, is left out")
	}
}

func TestEndOfTheAffectedIsToldOnce(t *testing.T) {
	t.Parallel()
	var told []string
	s := empty(func(e Event) { told = append(told, e.Gate+": "+e.Detail) })
	s.reach[golang.TestsName] = check.Reach{"a": true, "b": false}
	s.reach[golang.VetName] = s.reach[golang.TestsName]
	b := s.within(check.Bench{}, golang.Tests)
	for range 2 {
		for range check.InOrder(b, []string{"a", "b"}, check.Itself) {
		}
	}
	if want := []string{"tests: go test: done with the 1 of 2 modules that the patch can affect"}; !slices.Equal(told, want) {
		t.Errorf("%q, want %q", told, want)
	}
	for range check.InOrder(s.within(check.Bench{}, golang.Vet), []string{"a", "b"}, check.Itself) {
	}
	if len(told) != 1 {
		t.Errorf("a check that leaves the others out tells %q", told)
	}
}

// Only the modules that a patch can affect are checked. The others stay as they were: their findings are old, and are kept for the next
// run.
func TestOnlyAffectedModulesAreChecked(t *testing.T) {
	t.Parallel()
	s := newSite(t, modules)
	s.config.AffectedTests = true
	r := s.verify(t, files{"low/low.go": strings.Replace(modules["low/low.go"], "One() int", "One(int) int", 1)})
	expect(t, r, check.Fail, check.GateTypes, check.GateTests)
	wantPlaces(t, r, map[string][]string{
		check.GateTypes: {"low/low_test.go:6 go-types", "mid/mid.go:7 go-types"},
	})
	for _, gate := range []string{check.GateLint, check.GateTypes, check.GateTests} {
		g := find(t, r, gate)
		if !strings.Contains(g.Detail, "3 of 4 modules: the patch cannot affect the others") || g.Old == 0 || g.Fixed != 0 {
			t.Errorf("%s: %d old, %d fixed: %s", gate, g.Old, g.Fixed, g.Detail)
		}
	}
	// The row for the next run covers the whole workspace, though only part of it ran.
	cs := verifytest.Change(t, s.base, files{"low/low.go": strings.Replace(modules["low/low.go"], "return 1", "return 2 - 1", 1)})
	expect(t, s.judge(t, cs), check.Pass)
	for group, want := range map[string]string{check.GroupStatic: "own/bad/bad.go own/own.go own/own.go", check.GroupTests: "own/bad own/own_test.go::TestKeep"} {
		var known map[string]check.Outcome
		key := newStore(nil, s.lab.Toolchain.ID, check.Toolchain, withTimeout(s.config)).BaselineKey(s.base.With(cs).Digest(), group)
		data, _, _ := s.lab.Cache.Load(t.Context(), key)
		if err := json.Unmarshal(data, &known); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, out := range known {
			for _, f := range out.Findings {
				got = append(got, f.File)
			}
			for _, t := range out.Tests {
				if t.Bad() {
					got = append(got, t.ID)
				}
			}
		}
		if slices.Sort(got); strings.Join(got, " ") != want {
			t.Errorf("%s: kept %q, want %q", group, got, want)
		}
	}
}
