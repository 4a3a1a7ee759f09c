package report_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/gate"
	"agent/orchestrator/ledger"
	"agent/orchestrator/report"
	"agent/orchestrator/report/gather"
	"agent/sandbox/workspace"
	"agent/verify/check"
)

// factsOf writes files to a directory and gathers their facts, as the command does.
func factsOf(t testing.TB, files map[string]string) report.Facts {
	t.Helper()
	dir, err := os.MkdirTemp("", "report") // one test needs many of them
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for p, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, p)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, p), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	base, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := (&gather.Gatherer{NoBoxes: "no box was started"}).Facts(t.Context(), base, gate.Rules{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// row returns the row of one analyzer.
func row(t testing.TB, f report.Facts, name string) report.Row {
	t.Helper()
	r := report.Analyze(f, []string{name})
	if len(r.Rows) != 1 || r.Rows[0].Analyzer != name {
		t.Fatalf("asked for %s: %+v", name, r)
	}
	return r.Rows[0]
}

// shown renders a row on one line: status, score, then each detail.
func shown(r report.Row) string {
	score := "-"
	if r.Score != nil {
		score = fmt.Sprintf("%.2f", *r.Score)
	}
	text := fmt.Sprintf("%s %s", r.Status, score)
	for _, d := range r.Details {
		text += fmt.Sprintf("; %s %s:%d %s", d.Status, d.File, d.Line, d.Message)
	}
	return text
}

const (
	goodReadme = "# Till\n\nA till for small shops that have one drawer, a printer and no network at all, on any old machine.\n\n## Usage\n\n    till open\n"
	mit        = "MIT License\n\nCopyright (c) 2026 Ada\n\nPermission is hereby granted, free of charge, to any person obtaining a copy\nof this software\n"
	goodCI     = "on: [push, pull_request]\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n      - run: pytest\n"
	workflow   = ".github/workflows/test.yml"
)

// Each case has the files of a workspace, the analyzer, and its expected row: complete, or only parts of it, separated by ellipses.
var cases = []struct {
	name, analyzer string
	files          map[string]string
	want           string
}{
	{"no readme", "readme", map[string]string{"a.py": "x = 1\n"}, "fail 0.00; fail :0 there is no README"},
	{"a good one", "readme", map[string]string{"README.md": goodReadme}, "pass 1.00"},
	{"in capitals and as text", "readme", map[string]string{"ReadMe.txt": goodReadme}, "pass 1.00"},
	{"the root's comes first", "readme", map[string]string{"README.md": goodReadme, "docs/README.md": "x\n"}, "pass 1.00"},
	{"only a package's own", "readme", map[string]string{"lib/README.md": goodReadme}, "fail 0.00; …"},
	{"a title alone", "readme", map[string]string{"README.md": "# Till\n"}, "warn 0.60; warn README.md:0 the README does not show how …"},
	{"a readme in reStructuredText", "readme", map[string]string{"README.rst": strings.Replace(goodReadme, "## Usage\n", "Usage\n=====\n", 1)}, "pass 1.00"},
	{"a broken link", "readme", map[string]string{"README.md": goodReadme + "\nSee [the guide](docs/guide.md), [a site](https://x.test/a), [here](#usage) and [all](README.md).\n"}, "warn 0.90; warn README.md:9 the link to docs/guide.md leads nowhere"},
	{"links in code and comments are none", "readme", map[string]string{"README.md": goodReadme + "\n```\n[x](nowhere.md)\n```\n<!-- [x](nowhere.md)\n[x](nowhere.md) -->\n`[x](nowhere.md)`\n"}, "pass 1.00"},
	{"links that sites resolve", "readme", map[string]string{"README.md": goodReadme + "\n[a](docs/a) [b](docs/a.html) [c](docs) [d](/docs/a.md) [e](../other/x.md) [f]({{ site }}/x)\n", "docs/a.md": "x\n"}, "pass 1.00"},
	{"a link by reference", "readme", map[string]string{"README.md": goodReadme + "\n[guide]: gone.md \"the guide\"\n"}, "warn 0.80; warn README.md:9 …"},

	{"no build server", "ci", map[string]string{"a.py": "x = 1\n"}, "fail 0.00; fail :0 no build server is configured…"},
	{"dependabot builds nothing", "ci", map[string]string{".github/dependabot.yml": "version: 2\n"}, "fail 0.00; …"},
	{"a good workflow", "ci", map[string]string{workflow: goodCI, "test_a.py": "def test_a():\n    pass\n"}, "pass 1.00"},
	{"gitlab", "ci", map[string]string{".gitlab-ci.yml": "test:\n  script:\n    - pytest\n", "test_a.py": "def test_a():\n    pass\n"}, "pass 1.00"},
	{"no tests run", "ci", map[string]string{workflow: strings.Replace(goodCI, "pytest", "echo hello", 1), "test_a.py": "def test_a():\n    pass\n"}, "warn 0.81; warn .github/workflows/test.yml:0 no build server runs the tests"},
	{"not on pull requests", "ci", map[string]string{workflow: strings.Replace(goodCI, "on: [push, pull_request]", "on:\n  push:\n    branches: [main]", 1), "test_a.py": "def test_a():\n    pass\n"}, "warn 0.90; warn .github/workflows/test.yml:0 no workflow runs on pull requests"},
	{"unreadable", "ci", map[string]string{workflow: "on: [push\njobs: }\n"}, "fail 0.45; fail .github/workflows/test.yml:1 the build server cannot read it: …"},
	{"an empty workflow", "ci", map[string]string{workflow: "# nothing\n"}, "fail 0.45; …"},
	{"a machine that is gone", "ci", map[string]string{workflow: strings.Replace(goodCI, "ubuntu-latest", "ubuntu-18.04", 1), "test_a.py": "def test_a():\n    pass\n"}, "warn 0.95; warn .github/workflows/test.yml:4 ubuntu-18.04 no longer exists…"},
	{"in a matrix, and an action that is gone", "ci", map[string]string{
		workflow:    "on: pull_request\njobs:\n  test:\n    strategy:\n      matrix:\n        os: [ubuntu-latest, windows-2019]\n    steps:\n      - uses: actions/upload-artifact@v3\n      - run: make test\n",
		"test_a.py": "def test_a():\n    pass\n",
	}, "warn 0.93; warn .github/workflows/test.yml:6 windows-2019 …"},
	{"an alias that contains itself", "ci", map[string]string{workflow: "on: push\njobs: &a\n  x: *a\n"}, "…"},

	{"no tests", "tests", map[string]string{"a.py": strings.Repeat("x = 1\n", 200)}, "fail 0.00; fail :0 there are no tests"},
	{"too little to test", "tests", map[string]string{"a.py": "x = 1\n"}, "none -"},
	{"nothing to test", "tests", map[string]string{"README.md": goodReadme}, "none -"},
	{"tests that nobody ran", "tests", map[string]string{"a.py": "x = 1\n", "test_a.py": "def test_a():\n    pass\n"}, "unknown -"},
	{"nothing to build", "build", map[string]string{"data.csv": "1,2\n"}, "none -"},

	{"a credential", "security", map[string]string{"conf.py": "KEY = \"AKIA" + "IOSFODNN7QWERTZ2\"\n", "SECURITY.md": "Write to us.\n"}, "fail 0.58; fail conf.py:1 it looks like an AWS access key"},
	{"one that is made up", "security", map[string]string{"tests/conf.py": "KEY = \"AKIA" + "IOSFODNN7QWERTZ2\"\n", "SECURITY.md": "Write to us.\n"}, "pass 1.00; note tests/conf.py:1 it looks like …"},
	{"no policy", "security", map[string]string{"a.py": "x = 1\n"}, "pass 0.83; note :0 nothing says how …"},
	{"a script of strangers' text", "security", map[string]string{
		workflow: "on: issues\njobs:\n  x:\n    steps:\n      - run: echo \"${{ github.event.issue.title }}\"\n", ".github/SECURITY.md": "x\n",
	}, "warn 0.87; warn .github/workflows/test.yml:5 a script contains text that strangers write: …"},
	{"as a variable it is none", "security", map[string]string{
		workflow: "on: issues\njobs:\n  x:\n    steps:\n      - run: echo \"$TITLE\"\n        env:\n          TITLE: ${{ github.event.issue.title }}\n", ".github/SECURITY.md": "x\n",
	}, "pass 1.00"},
	{"the code of strangers", "security", map[string]string{
		workflow: "on: pull_request_target\njobs:\n  x:\n    steps:\n      - uses: actions/checkout@v4\n        with:\n          ref: ${{ github.event.pull_request.head.sha }}\n      - run: make\n", "SECURITY.md": "x\n",
	}, "fail 0.87; fail .github/workflows/test.yml:7 pull_request_target checks out …"},

	{"no manifest", "dependencies", map[string]string{"a.py": "x = 1\n"}, "none -"},
	{"a broken manifest", "dependencies", map[string]string{"package.json": "{"}, "fail 0.00; fail package.json:0 it cannot be read: …"},
	{"an application without a lock file", "dependencies", map[string]string{"package.json": `{"private": true, "dependencies": {"left": "^1.0.0"}}`}, "warn 0.62; warn package.json:0 its dependencies are not locked: …"},
	{"a library without one", "dependencies", map[string]string{"package.json": `{"name": "l", "dependencies": {"left": "^1.0.0"}}`}, "pass 1.00; note package.json:0 …"},
	{"any version", "dependencies", map[string]string{"package.json": "{\"name\": \"l\",\n \"dependencies\": {\n  \"left\": \"*\", \"right\": \"1\"}}"}, "warn 0.80; warn package.json:3 left: \"*\" allows any version; note …"},
	{"a module without sums", "dependencies", map[string]string{"go.mod": "module x\n\nrequire a.test/b v1.0.0\n"}, "fail 0.62; fail go.mod:0 there is no go.sum…"},
	{"sums of another state", "dependencies", map[string]string{"go.mod": "module x\n\nrequire (\n\ta.test/b v1.0.0\n\ta.test/c v1.0.0\n)\n", "go.sum": "a.test/b v1.0.0 h1:x\na.test/b v1.0.0/go.mod h1:x\n"}, "warn 0.90; warn go.mod:5 a.test/c is not in go.sum: …"},
	{"a module that is replaced", "dependencies", map[string]string{"go.mod": "module x\n\nrequire a.test/b v1.0.0\n\nreplace a.test/b => ./b\n"}, "pass 1.00"},
	{"a lock file of another state", "dependencies", map[string]string{
		"package.json": `{"dependencies": {"left": "1", "right": "1"}}`, "package-lock.json": `{"packages": {"": {}, "node_modules/left": {}}}`,
	}, "warn 0.85; warn package.json:1 right is not in package-lock.json: …"},
	{"a lock file of a workspace above", "dependencies", map[string]string{
		"package.json": `{"private": true, "workspaces": ["p"]}`, "package-lock.json": `{"packages": {}}`, "p/package.json": `{"private": true, "dependencies": {"left": "1"}}`,
	}, "pass 1.00"},
	{"requirements", "dependencies", map[string]string{"requirements.txt": "flask\nrequests==2.0 # pinned\n-r other.txt\n./local\n"}, "pass 1.00; note requirements.txt:1 flask: any version is allowed"},
	{"a library of Python", "dependencies", map[string]string{"pyproject.toml": "[project]\nname = \"x\"\ndependencies = [\"a>=1\"]\n"}, "pass 1.00"},
	{"a manifest that is a program", "dependencies", map[string]string{"setup.py": "setup()\n", "setup.cfg": "[metadata]\n"}, "none -"},
	{"poetry", "dependencies", map[string]string{"pyproject.toml": "[tool.poetry.dependencies]\npython = \"^3.12\"\nflask = \"*\"\n", "poetry.lock": "[[package]]\nname = \"Flask\"\nversion = \"1\"\n"}, "pass 1.00; note pyproject.toml:3 …"},
	{"cargo", "dependencies", map[string]string{"Cargo.toml": "[dependencies]\nserde = \"*\"\n", "src/main.rs": "fn main() {}\n"}, "warn 0.37; warn Cargo.toml:0 its dependencies …"},
	{"manifests of fixtures do not count", "dependencies", map[string]string{"tests/fixtures/package.json": "{"}, "none -"},

	{"no documentation", "documentation", map[string]string{"README.md": "# x\n", "a.py": strings.Repeat("x = 1\n", 3000)}, "warn -; warn :0 3000 lines of code, but no documentation besides a README of 2 words; note …"},
	{"a guide", "documentation", map[string]string{"docs/guide.md": "See [a](a.md).\n", "docs/a.md": "x\n", "CHANGELOG.md": "x\n", "CONTRIBUTING.md": "x\n"}, "unknown -"},
	{"a link in the guide", "documentation", map[string]string{"docs/guide.md": "See [a](a.md).\n", "CHANGELOG.md": "x\n", "CONTRIBUTING.md": "x\n"}, "warn -; warn docs/guide.md:1 the link to a.md leads nowhere"},

	{"no licence", "licence", map[string]string{"a.py": "x = 1\n"}, "fail 0.00; fail :0 there is no licence: …"},
	{"mit", "licence", map[string]string{"LICENSE": mit}, "pass 1.00"},
	{"two", "licence", map[string]string{"LICENSE-MIT": mit, "LICENSE-APACHE": "Apache License\nVersion 2.0, January 2004\n"}, "pass 1.00"},
	{"not filled in", "licence", map[string]string{"LICENSE.md": strings.Replace(mit, "2026 Ada", "[year] [fullname]", 1)}, "warn 0.80; warn LICENSE.md:3 the year and the owner …"},
	{"empty", "licence", map[string]string{"LICENSE": " \n"}, "fail 0.80; fail LICENSE:0 it is empty"},
	{"of one's own", "licence", map[string]string{"LICENSE": "You may look at it on Mondays.\n"}, "pass 0.80; note LICENSE:0 …"},
	{"another one in the manifest", "licence", map[string]string{"LICENSE": mit, "package.json": "{\n \"license\": \"ISC\"}"}, "warn 0.80; warn package.json:2 it says ISC, but the text is that of MIT"},
	{"a choice in the manifest", "licence", map[string]string{"LICENSE": mit, "package.json": `{"license": "(MIT OR Apache-2.0)"}`, "pyproject.toml": "[project]\nlicense = {text = \"MIT\"}\n"}, "pass 1.00"},
	{"closed", "licence", map[string]string{"package.json": `{"license": "UNLICENSED"}`}, "pass 1.00"},
	{"named in the readme", "licence", map[string]string{"README.md": "Licensed under MIT.\n"}, "warn 0.30; warn README.md:0 …"},

	{"a conflict", "structure", map[string]string{"a.py": "x = 1\n<<<<<<< HEAD\nx = 2\n=======\nx = 3\n>>>>>>> theirs\n"}, "fail 0.83; fail a.py:2 it contains an unresolved merge conflict"},
	{"what looks like one", "structure", map[string]string{"a.py": "# >>>>>>> and <<<<<<< \nTitle = '''\n=======\n'''\n", "docs/git.md": "<<<<<<< HEAD\n=======\n>>>>>>> x\n"}, "pass 1.00"},
	{"built files", "structure", map[string]string{"lib/a.o": "x", "lib/b.o": "x", "x.egg-info/PKG-INFO": "x"}, "warn 0.85; warn lib/a.o:0 it is generated from sources …"},
	{"names in two cases", "structure", map[string]string{"Read.py": "x\n", "read.py": "x\n"}, "warn 0.88; warn read.py:0 it differs from Read.py only in case…"},
	{"names of windows", "structure", map[string]string{"src/aux.c": "x\n"}, "warn 0.88; warn src/aux.c:0 Windows …"},
	{"names that nobody sees", "structure", map[string]string{"a\u202eb.py": "x\n"}, "warn 0.88; warn a␛b.py:0 its name holds …"},
}

func TestAnalyzers(t *testing.T) {
	t.Parallel()
	for _, c := range cases {
		got := shown(row(t, factsOf(t, c.files), c.analyzer))
		want, prefix := strings.CutSuffix(c.want, "…")
		if prefix && !strings.HasPrefix(got, want) || !prefix && got != want && got != strings.TrimSuffix(want, "…") && !inOrder(got, want) {
			t.Errorf("%s, %s:\n got %s\nwant %s", c.analyzer, c.name, got, c.want)
		}
	}
}

// inOrder reports whether got contains the parts of want between ellipses, in that order.
func inOrder(got, want string) bool {
	if !strings.Contains(want, "…") {
		return false
	}
	for i, part := range strings.Split(want, "…") {
		at := strings.Index(got, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		got = got[at+len(part):]
	}
	return true
}

// Every analyzer occurs in a case, so a new one must get one too.
func TestEveryAnalyzerHasACase(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{"quality": true} // judged by gates alone
	for _, c := range cases {
		asked[c.analyzer] = true
	}
	if names := report.Names(); !slices.Equal(slices.Sorted(slices.Values(names)), slices.Sorted(maps.Keys(asked))) {
		t.Errorf("the analyzers are %v, those with cases %v", names, asked)
	}
	for _, a := range report.Analyzers() {
		if a.About == "" || strings.HasSuffix(a.About, ".") {
			t.Errorf("%s says of itself %q", a.Name, a.About)
		}
	}
}

// standing returns the result of a check, with the verdict that follows from its findings.
func standing(gate, name string, found ...check.Finding) check.Standing {
	g := check.Gate{Name: gate, Verdict: check.Pass, Findings: found}
	if len(found) > 0 {
		g.Verdict = check.Fail
	}
	return check.Standing{Check: name, Gate: g}
}

func TestWhatGatesSayIsWeighed(t *testing.T) {
	t.Parallel()
	files := map[string]string{"shop.py": strings.Repeat("x = 1\n", 1000), "test_shop.py": "import shop\n\n\ndef test_a():\n    pass\n", "main.go": "package main\n"}
	book := ledger.New([]ledger.File{
		{Path: "shop.py", Language: "python", Lines: 1000, Summary: "A shop.", Definitions: []ledger.Definition{{Name: "x", Kind: ledger.Variable, Line: 1}}},
		{Path: "test_shop.py", Language: "python", Imports: []ledger.Import{{Module: "shop", Line: 1}}, Definitions: []ledger.Definition{{Name: "test_a", Kind: ledger.Function, Line: 4}}},
	})
	pass := func(n int) check.Standing {
		s := standing(check.GateTests, "pytest")
		s.Passed = n
		return s
	}
	failing := standing(check.GateTests, "pytest", check.Finding{File: "package.json", Rule: "test-failed", Message: "test_shop.py::test_a: no"})
	failing.Passed, failing.Failed = 3, 1
	flaky := pass(4)
	flaky.Flaky = []string{"test_shop.py::test_b"}
	infra := standing(check.GateTests, "pytest")
	infra.Gate.Verdict, infra.Gate.Detail = check.Infra, "the box was lost"
	late := infra
	late.Gate.Verdict, late.Gate.Detail = check.Timeout, "it did not finish within 5m0s"
	skipped := check.Standing{Check: "pytest", Gate: check.Gate{Name: check.GateTests}, Skipped: "no tests"}
	lint := func(n int) check.Standing {
		var list []check.Finding
		for i := range n {
			list = append(list, check.Finding{File: "shop.py", Line: i + 1, Rule: "F401", Message: "unused", Fixable: true})
		}
		return standing(check.GateLint, "ruff", list...)
	}
	for name, c := range map[string]struct {
		analyzer string
		checks   []check.Standing
		lacking  []string
		want     string
	}{
		"all pass":                {"tests", []check.Standing{pass(4)}, nil, "pass 1.00"},
		"one fails":               {"tests", []check.Standing{failing}, nil, "fail 0.87; fail package.json:0 test_shop.py::test_a: no (pytest)"},
		"one is flaky":            {"tests", []check.Standing{flaky}, nil, "pass 1.00; note test_shop.py:0 test_shop.py::test_b failed, and passed when it ran again"},
		"no box":                  {"tests", []check.Standing{infra}, nil, "unknown -"},
		"late":                    {"tests", []check.Standing{late}, nil, "unknown -"},
		"nothing ran":             {"tests", []check.Standing{skipped}, nil, "unknown -"},
		"none that counts":        {"tests", []check.Standing{pass(0)}, nil, "unknown -"},
		"fails without packages":  {"tests", []check.Standing{failing}, []string{"judged without flask"}, "unknown -"},
		"passes without packages": {"tests", []check.Standing{pass(4)}, []string{"judged without flask"}, "pass 1.00"},
		"compiles":                {"build", []check.Standing{standing(check.GateTypes, "go build"), standing(check.GateSmoke, "program")}, nil, "pass 1.00"},
		"does not compile":        {"build", []check.Standing{standing(check.GateTypes, "go build", check.Finding{File: "main.go", Line: 3, Rule: "compile", Message: "undefined: x"})}, nil, "fail 0.71; fail main.go:3 compile: undefined: x (go build)"},
		"mypy is no compiler":     {"build", []check.Standing{standing(check.GateTypes, "mypy", check.Finding{File: "shop.py", Message: "x"})}, nil, "pass 1.00"},
		"its own gate":            {"build", []check.Standing{standing("licences", "licences", check.Finding{Rule: "exit", Message: "exit status 1"})}, nil, "fail 0.80; fail :0 exit status 1 (licences)"},
		"does not start":          {"build", []check.Standing{standing(check.GateSmoke, "imports", check.Finding{File: "shop.py", Line: 1, Message: "import shop: NameError"})}, nil, "fail 0.75; …"},
		"wants a terminal":        {"build", []check.Standing{standing(check.GateSmoke, "program", check.Finding{Rule: "exit", Message: "the program did not run as before: exit status 2: not a tty"})}, nil, "unknown -"},
		"crashes":                 {"build", []check.Standing{standing(check.GateSmoke, "program", check.Finding{File: "shop.py", Line: 1, Rule: "NameError", Message: "no x"})}, nil, "fail 0.75; fail shop.py:1 NameError: no x (program)"},
		"no findings":             {"quality", []check.Standing{lint(0)}, nil, "…"},
		"a few findings":          {"quality", []check.Standing{lint(2)}, nil, "pass 0.59; note shop.py:0 it has 1000 lines, more than 800; note shop.py:1 F401: unused (ruff)…"},
		"many findings":           {"quality", []check.Standing{lint(30)}, nil, "warn 0.17; warn :0 linters find 30 things in 1006 lines; …"},
		"modules of the machine":  {"quality", []check.Standing{standing(check.GateTypes, "mypy", check.Finding{File: "shop.py", Line: 1, Rule: "import-not-found", Message: "no stub"})}, []string{"judged without flask"}, "pass 0.60; note shop.py:0 …"},
		"types of the machine":    {"quality", []check.Standing{lint(0), standing(check.GateTypes, "mypy", check.Finding{File: "shop.py", Line: 1, Message: "unknown"})}, []string{"judged without flask"}, "unknown -; note shop.py:0 …"},
		"a linter that failed":    {"quality", []check.Standing{{Check: "ruff", Gate: check.Gate{Name: check.GateLint, Verdict: check.Infra, Detail: "ruff is not there"}}}, nil, "unknown -; …"},
	} {
		f := factsOf(t, files)
		f.Ledger, f.NoLedger, f.Checks, f.Lacking = book, "", c.checks, c.lacking
		if c.analyzer == "tests" && name == "one fails" {
			f.Files = append([]report.File{{Path: "package.json"}}, f.Files...)
			slices.SortFunc(f.Files, func(a, b report.File) int { return strings.Compare(a.Path, b.Path) })
			c.want = strings.Replace(c.want, "fail package.json:0", "fail test_shop.py:0", 1)
		}
		got := shown(row(t, f, c.analyzer))
		want, prefix := strings.CutSuffix(c.want, "…")
		if got != c.want && !(prefix && strings.HasPrefix(got, want)) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// The ledger contributes files that do not parse, files that no test reaches by imports, and files without documentation.
func TestTheLedgerIsRead(t *testing.T) {
	t.Parallel()
	f := factsOf(t, map[string]string{
		"shop.py": strings.Repeat("x = 1\n", 100), "till.py": strings.Repeat("x = 1\n", 100), "test_shop.py": "import shop\ndef test_a():\n    pass\n", "tests/broken.py": "x = (\n", "pos/pos.go": strings.Repeat("// x\n", 60),
	})
	def := []ledger.Definition{{Name: "x", Kind: ledger.Variable, Line: 1}}
	f.Ledger = ledger.New([]ledger.File{
		{Path: "shop.py", Language: "python", Summary: "A shop.", Definitions: def},
		{Path: "till.py", Language: "python", Problem: "line 7: invalid syntax"},
		{Path: "test_shop.py", Language: "python", Imports: []ledger.Import{{Module: "shop", Line: 1}}},
		{Path: "tests/broken.py", Language: "python", Problem: "line 1: '(' was never closed"},
		{Path: "pos/pos.go", Language: "go", Definitions: def},
	})
	for name, want := range map[string]string{
		"build":         "fail -; fail till.py:7 it does not parse: line 7: invalid syntax",
		"tests":         "unknown -; note pos/pos.go:0 no test reaches it by imports; note till.py:0 no test reaches it by imports",
		"documentation": "warn 0.56; warn :0 260 lines of code, but no documentation besides a README of 0 words; note :0 no file says what changed from version to version; note :0 nothing tells a contributor how to build, test and submit; note pos:0 it does not say what it is for; note till.py:0 it does not say what it is for",
	} {
		if got := shown(row(t, f, name)); name != "documentation" && got != want || !strings.HasPrefix(got, strings.SplitN(want, " ", 2)[0]) {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

// A report is bounded whatever a tool says, and its texts are harmless.
func TestDetailsAreBoundedAndClean(t *testing.T) {
	t.Parallel()
	f := factsOf(t, map[string]string{"a.py": "x = 1\n"})
	var list []check.Finding
	for i := range 200 {
		list = append(list, check.Finding{File: "a.py", Line: i + 1, Rule: "E1", Message: "\x1b[31m" + strings.Repeat("long ", 500) + "\u202e\nnext\r"})
	}
	f.Checks = []check.Standing{standing(check.GateLint, "ruff", list...)}
	r := row(t, f, "quality")
	if len(r.Details) != report.MaxDetails || r.More != 151 || r.Status != report.Warn {
		t.Errorf("%d details, %d more, %s", len(r.Details), r.More, r.Status)
	}
	for _, d := range r.Details {
		if len(d.Message) > 320 || strings.ContainsAny(d.Message, "\x1b\n\r\u202e") || d.Next == "" {
			t.Errorf("%q, %q", d.Message, d.Next)
		}
	}
	if fails, warns, notes := r.Count(); fails != 0 || warns != 1 || notes != 200 {
		t.Errorf("%d, %d, %d", fails, warns, notes)
	}
}

// The same facts give the same bytes, and an analyzer gives the same row alone as with all others.
func TestAReportIsDeterministic(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i, c := range cases {
		for p, text := range c.files {
			files[fmt.Sprintf("p%d/%s", i%7, p)] = text
		}
	}
	files["README.md"], files[workflow] = goodReadme, goodCI
	f := factsOf(t, files)
	first, err := json.Marshal(report.Analyze(f, nil))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if again, _ := json.Marshal(report.Analyze(f, nil)); string(again) != string(first) {
			t.Fatalf("%s\n%s", first, again)
		}
	}
	for _, whole := range report.Analyze(f, nil).Rows {
		if alone := row(t, f, whole.Analyzer); shown(alone) != shown(whole) {
			t.Errorf("%s alone:\n%s\n%s", whole.Analyzer, shown(alone), shown(whole))
		}
	}
	if r := report.Analyze(f, []string{"none such"}); len(r.Rows) != 0 || r.Score != nil {
		t.Errorf("%+v", r)
	}
}

// A request for some analyzers starts only what these need.
func TestNeedsAreThoseOfTheAnalyzers(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"licence": "[] false", "readme": "[] false", "quality": "[lint types] false", "tests": "[tests] true", "build": "[own smoke types] true", "documentation": "[] true"} {
		gates, book := report.Needs([]string{name})
		if got := fmt.Sprint(gates, book); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if gates, book := report.Needs(nil); !book || len(gates) != 5 {
		t.Errorf("all: %v %v", gates, book)
	}
}
