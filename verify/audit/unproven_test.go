package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/golang"
	"agent/verify/node"
	"agent/verify/python"
	"agent/verify/smoke"
	"agent/verify/verifytest"
)

// evidenceOf returns what is known about a workspace before anything ran.
func evidenceOf(base *workspace.Manifest, cs workspace.Changeset) *Evidence {
	return &Evidence{
		Base: base, Final: cs, Checks: []check.Check{python.Pytest, golang.Tests, node.Tests, smoke.Program, smoke.Imports},
		Candidate: map[string]check.Outcome{}, Before: map[string]check.Outcome{}, Judged: map[string]check.Gate{}, Skipped: map[string]string{}, Own: map[string][]string{},
	}
}

// Tests are recognized by the names that are customary in each language.
func TestTestsAreKnownByTheirNames(t *testing.T) {
	t.Parallel()
	text := map[string]string{
		".py": "def test_x(): pass\n", ".js": "describe('x', f)\n", ".ts": "test('x', f)\n", ".go": "func TestX(t *testing.T) {}\n", ".rs": "#[tokio::test]\nasync fn x() {}\n",
		".java": "@Test void x() {}\n", ".cs": "[Fact] public void X() {}\n", ".c": "int main(void) {}\n", ".cc": "TEST(a, b) {}\n", ".rb": "def test_x; end\n", ".zig": "test \"x\" {}\n",
		".hs": "main = hspec spec\n", ".kt": "@Test fun x() {}\n", ".swift": "import XCTest\n",
	}
	for p, want := range map[string]bool{
		"test_a.py": true, "pkg/a_test.py": true, "tests/stock.py": true, "src/attest.py": false, "latest.py": false, "contest.py": false,
		"a.test.js": true, "a.spec.ts": true, "src/__tests__/a.tsx": false, "test/a.js": true, "test.js": true, "e2e/login.ts": true, "src/test-utils.js": true, "latest.js": false, "src/inspect.ts": false,
		"a_test.go": true, "a.go": false, "src/lib.rs": true, "tests/it.rs": true, "spec/a_spec.rb": true, "test/a_test.rb": true, "test/test_a.rb": true, "src/inspect.rb": false,
		"src/test/java/ATest.java": true, "src/main/java/A.java": false, "app/src/test/kotlin/AKt.kt": true, "A.Tests/ATests.cs": true, "Latest.cs": false,
		"tests/a.c": true, "a_test.cc": true, "src/a.c": false, "test/x.bats": true, "t/a.t": true, "test/a_test.exs": true, "lib/a_test.dart": true, "tests/ATest.php": true,
		"test/Spec.hs": true, "src/a.zig": true, "Tests/ATests.swift": true, "features/a.feature": true, "README.md": false,
		"node_modules/a/a.test.js": false, "vendor/a/a_test.go": false, "testdata/a_test.go": false, "tests/fixtures/test_a.py": false, "third_party/a_test.cc": false, ".venv/test_a.py": false,
	} {
		ext := p[strings.LastIndex(p, "."):]
		v := check.NewView(verifytest.Scan(t, map[string]string{p: text[ext]}), workspace.Changeset{})
		tests := evidenceOf(v.Base, workspace.Changeset{}).newTests(v)
		tests.look()
		found := 0
		for _, s := range tests.suites {
			tests.read(s)
			found += s.files
		}
		if p == "src/__tests__/a.tsx" {
			want = true
		}
		if (found == 1) != want {
			t.Errorf("%s holds tests: %v, want %v", p, found == 1, want)
		}
	}
	// A name that other things have as well is not enough.
	for _, p := range []string{"scripts/test_connection.py", "tests/helper.js", "src/LoadTest.java", "src/lib.rs", "tests/data.c"} {
		v := check.NewView(verifytest.Scan(t, map[string]string{p: "x = 1\n"}), workspace.Changeset{})
		tests := evidenceOf(v.Base, workspace.Changeset{}).newTests(v)
		if list := tests.untested(); len(list) != 1 || list[0].Kind != NoTests {
			t.Errorf("%s without a test in it: %+v", p, list)
		}
	}
}

// Files that only people read need no test.
func TestProseIsNotTested(t *testing.T) {
	t.Parallel()
	for p, want := range map[string]bool{
		"README.md": true, "docs/guide.md": true, "LICENSE": true, "web/README.rst": true, "CHANGELOG.txt": true, ".github/PULL_REQUEST_TEMPLATE.md": true, "LICENSE-MIT": true, "notes.md": true,
		"requirements.txt": false, "CMakeLists.txt": false, "prompts/system.md": false, "tests/golden.md": false, "testdata/README.md": false, "docs/conf.py": false, "Makefile": false,
		"src/readme.py": false, "README.py": false, ".github/workflows/ci.yml": false, "security.py": false, "history": true, "news.json": false,
	} {
		if isProse(p) != want {
			t.Errorf("%s is prose: %v, want %v", p, !want, want)
		}
	}
}

// What ran counts by project and language. Each reason for not running has its own kind.
func TestWhatDidNotRunIsToldByProject(t *testing.T) {
	t.Parallel()
	pkg := func(script string) string { return fmt.Sprintf(`{"scripts": {"test": %q}}`, script) }
	spec := "describe('x', f)\n"
	nodeRan := func(file, end string) check.Outcome {
		return check.Outcome{Tests: []check.TestResult{{ID: file + "::x", Outcome: end}}}
	}
	for name, c := range map[string]struct {
		files map[string]string
		ran   map[string]check.Outcome
		want  []string
	}{
		"a script of all packages": {
			map[string]string{"package.json": pkg("turbo run test"), "a/package.json": pkg("node --test"), "a/a.test.js": spec},
			map[string]check.Outcome{node.TestsName: nodeRan("a/a.test.js", "passed")},
			nil,
		},
		"a package whose script is another": {
			map[string]string{"a/package.json": pkg("node --test"), "a/a.test.js": spec, "b/package.json": pkg("ava"), "b/b.test.js": spec},
			map[string]check.Outcome{node.TestsName: nodeRan("a/a.test.js", "passed")},
			[]string{"no-runner part b/b.test.js"},
		},
		"a manifest among the tests": {
			map[string]string{"package.json": pkg("node --test"), "a.test.js": spec, "test/project/package.json": pkg("ava"), "test/project/b.test.js": spec},
			map[string]check.Outcome{node.TestsName: nodeRan("a.test.js", "passed")},
			nil,
		},
		"a script that only lints": {map[string]string{"package.json": pkg("eslint ."), "a.js": ""}, nil, []string{"script none package.json"}},
		"npm's own script":         {map[string]string{"package.json": pkg(`echo "Error: no test specified" && exit 1`), "a.js": ""}, nil, []string{"no-tests none no tests"}},
		"no script":                {map[string]string{"a.spec.ts": spec}, nil, []string{"no-runner none a.spec.ts"}},
		"all fail as before":       {map[string]string{"a.test.js": spec}, map[string]check.Outcome{node.TestsName: nodeRan("a.test.js", "failed")}, []string{"not-judged none node: each test that ran fails"}},
		"a runner that found none": {map[string]string{"package.json": pkg("node --test"), "a.test.js": spec}, map[string]check.Outcome{node.TestsName: {}}, []string{"none-found none node"}},
		"none could begin":         {map[string]string{"test_a.py": "def test_x(): pass\n"}, map[string]check.Outcome{python.PytestName: {Roots: map[string]string{".": "no module", "b": ""}}}, []string{"not-judged none no module"}},
		"none came to its end":     {map[string]string{"package.json": pkg("node --test"), "a.test.js": spec}, map[string]check.Outcome{node.TestsName: {Verdict: check.Timeout, Detail: "node did not finish within 5m0s"}}, []string{"not-judged none with more time (AGENT_TIMEOUT=20m"}},
		"expected to fail":         {map[string]string{"test_a.py": "def test_x(): pass\n"}, map[string]check.Outcome{python.PytestName: nodeRan("test_a.py", "xfailed")}, []string{"all-skipped none pytest"}},
		"another language beside": {
			map[string]string{"test_a.py": "def test_x(): pass\n", "a_test.rb": ""}, map[string]check.Outcome{python.PytestName: nodeRan("test_a.py", "passed")}, []string{"no-runner part Ruby"},
		},
		"pytest is configured": {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n", "a.py": ""}, nil, []string{"script none pyproject.toml"}},
	} {
		base := verifytest.Scan(t, c.files)
		e := evidenceOf(base, workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "x.json", After: []byte("1")}}})
		for name, out := range c.ran {
			e.Before[name], e.Candidate[name], e.Judged[name] = out, out, check.Gate{Verdict: check.Pass}
			if out.Verdict != "" {
				e.Skipped[name] = out.Detail + ", as before the patch"
			}
			if out.AnyBlocked() {
				e.Skipped[name] = fmt.Sprint(out.Roots)
			}
		}
		list := e.Unproven()
		ok := len(list) == len(c.want)
		for i, u := range list {
			part := map[bool]string{true: "part", false: "none"}[u.Part]
			ok = ok && slices.ContainsFunc(c.want[i:i+1], func(w string) bool {
				word, text, _ := strings.Cut(w, part+" ")
				return word == string(u.Kind)+" " && strings.Contains(u.Reason, text)
			})
			begins := map[bool]string{true: "not all tests ran: ", false: "no test ran: "}[u.Part]
			if name == "all fail as before" {
				begins = "no test judged the patch: "
			}
			ok = ok && strings.HasPrefix(u.Reason, begins)
		}
		if !ok {
			t.Errorf("%s: %+v\nwant %q", name, list, c.want)
		}
	}
}
