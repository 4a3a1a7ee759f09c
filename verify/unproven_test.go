package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/node"
	"agent/verify/policy"
	"agent/verify/python"
	"agent/verify/verifytest"
)

// openPoints shows what was not judged, an entry a line, for people who read a test.
func openPoints(list []Unproven) string {
	var lines []string
	for _, u := range list {
		part := "none"
		if u.Part {
			part = "part"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", u.Gate, u.Kind, part, u.Reason))
	}
	return strings.Join(lines, "\n")
}

// A green without a test says so, whatever the reason, and one with tests says nothing.
func TestAPassWithoutATestSaysSo(t *testing.T) {
	t.Parallel()
	passing := "def test_x():\n    assert True\n"
	skipping := "import pytest\n\n\n@pytest.mark.skip(reason=\"later\")\ndef test_x():\n    assert True\n"
	nodeTest := "const test = require(\"node:test\");\n\ntest(\"x\", () => {});\n"
	mocha := map[string]string{
		"package.json": `{"devDependencies": {"mocha": "11"}, "scripts": {"test": "mocha"}}`, "lib.js": "module.exports = 1;\n",
		"test/a.js": "describe(\"x\", () => it(\"y\", () => {}));\n",
	}
	for name, c := range map[string]struct {
		files, patch map[string]string
		gates        []CustomGate
		want         string // of every entry a line: the beginning
		held         bool   // nothing has executed the change
	}{
		"no runner for them": {
			files: map[string]string{"lib.rb": "X = 1\n", "notes.json": "1\n", "spec/lib_spec.rb": "describe(1) {}\n", "spec/b_spec.rb": "describe(2) {}\n"}, patch: map[string]string{"notes.json": "2\n"},
			want: "tests no-runner none: no test ran: 2 test files of Ruby were found (spec/b_spec.rb) and nothing here runs them",
		},
		"and a language that nothing reads": {
			files: map[string]string{"src/main.rs": "fn main() {}\n\n#[test]\nfn x() {}\n"}, patch: map[string]string{"src/main.rs": "fn main() { }\n\n#[test]\nfn x() {}\n"},
			want: "tests no-runner none: no test ran: 1 test file of Rust was found (src/main.rs)\nsyntax no-gate none: no gate reads Rust: src/main.rs",
			held: true,
		},
		"a runner that is not installed": {
			files: mocha, patch: map[string]string{"lib.js": "module.exports = 2;\n"},
			want: "tests not-installed none: no test ran: mocha of package.json is not installed",
			held: true,
		},
		"a runner behind a linter": {
			files: map[string]string{"package.json": `{"scripts": {"test": "xo && node --test"}}`, "lib.js": "module.exports = 1;\n", "lib.test.js": nodeTest},
			patch: map[string]string{"lib.js": "module.exports = 2;\n"},
		},
		"a script without a test": {
			files: map[string]string{"package.json": `{"scripts": {"test": "xo && npm run types", "types": "tsc --noEmit"}}`, "lib.js": "module.exports = 1;\n", "lib.test.js": nodeTest},
			patch: map[string]string{"lib.js": "module.exports = 2;\n"},
			want:  "tests script none: no test ran: 1 test file of JavaScript was found (lib.test.js) and nothing that the test script of package.json starts tests anything: xo, tsc --noEmit; a [[gate]]",
			held:  true,
		},
		"a script that needs a browser": {
			files: map[string]string{"package.json": `{"scripts": {"test": "node test.cjs && karma start"}}`, "lib.js": "module.exports = 1;\n", "test.cjs": ""},
			patch: map[string]string{"lib.js": "module.exports = 2;\n"},
			want:  "tests no-runner part: not all tests ran: nothing here can run this of the test script of package.json: karma start; a [[gate]]",
		},
		"a command that fails before": {
			files: map[string]string{"package.json": `{"scripts": {"test": "bun test"}}`, "lib.js": "module.exports = 1;\n"},
			patch: map[string]string{"lib.js": "module.exports = 2;\n"},
			want:  "tests no-runner none: no test judged the patch: test script: not judged: already before the patch, bun test failed: exit status 127",
			held:  true,
		},
		"one of two commands fails before": {
			files: map[string]string{"package.json": `{"scripts": {"test": "node a.cjs; node b.cjs"}}`, "lib.js": "module.exports = 1;\n", "a.cjs": "", "b.cjs": "throw 1\n"},
			patch: map[string]string{"lib.js": "module.exports = 2;\n"},
			want:  "tests not-judged part: not all tests ran: not judged: already before the patch, node b.cjs failed: exit status 1",
		},
		"all are skipped": {
			files: map[string]string{"lib.py": "x = 1\n", "test_lib.py": skipping}, patch: map[string]string{"lib.py": "x = 2\n"},
			want: "tests all-skipped none: no test ran: pytest skipped all of its 1 tests",
			held: true,
		},
		"none loads": {
			files: map[string]string{"lib.py": "x = 1\n", "test_lib.py": "import nowhere_at_all\n\n\n" + passing}, patch: map[string]string{"lib.py": "x = 2\n"},
			want: "tests not-collected none: no test ran: pytest could not load test_lib.py: ",
			held: true,
		},
		"a runner that gives up": {
			files: map[string]string{"lib.py": "x = 1\n", "test_lib.py": passing, "pytest.ini": "[pytest]\nminversion = 99\n"}, patch: map[string]string{"lib.py": "x = 2\n"},
			want: "tests not-judged none: no test ran: pytest: not judged: already before the patch",
			held: true,
		},
		"there are none": {
			files: map[string]string{"lib.py": "x = 1\n"}, patch: map[string]string{"lib.py": "x = 2\n"},
			want: "tests no-tests none: no test ran: no tests were found in the workspace",
			held: true,
		},
		"none, but a target for them": {
			files: map[string]string{"lib.py": "x = 1\n", "Makefile": "test:\n\t./run-them\n"}, patch: map[string]string{"lib.py": "x = 2\n"},
			want: "tests script none: no test ran: Makefile has a target for tests",
			held: true,
		},
		"all is judged": {
			files: map[string]string{"lib.py": "x = 1\n", "test_lib.py": passing, "Makefile": "test:\n\tpytest\n", "scripts/test_connection.py": "print(1)\n"},
			patch: map[string]string{"lib.py": "x = 2\n"},
		},
		"one of two runs": {
			files: map[string]string{
				"api/lib.py": "x = 1\n", "api/test_lib.py": passing, "web/package.json": `{"devDependencies": {"vitest": "3"}, "scripts": {"test": "vitest run"}}`,
				"web/a.test.ts": "test(\"x\", () => {});\n",
			},
			patch: map[string]string{"api/lib.py": "x = 2\n"},
			want:  "tests not-installed part: not all tests ran: vitest of web/package.json is not installed",
		},
		"the program alone": {
			files: map[string]string{"main.py": "x = 1\n"}, patch: map[string]string{"main.py": "x = 2\n"},
			want: "tests no-tests none: no test ran: no tests were found in the workspace",
		},
		"a program of another language": {
			files: map[string]string{"main.py": "x = 1\n", "lib.js": "export const x = 1;\n"}, patch: map[string]string{"lib.js": "export const x = 2;\n"},
			want: "tests no-tests none: no test ran: no tests were found in the workspace", held: true,
		},
		"a comment": {
			files: map[string]string{"lib.py": "# one\nx = 1\n"}, patch: map[string]string{"lib.py": "# two\n\nx = 1\n"},
			want: "tests no-tests none: no test ran: no tests were found in the workspace",
		},
		"text in a string": {
			files: map[string]string{"lib.py": "x = \"\"\"a\n# one\n\"\"\"\n"}, patch: map[string]string{"lib.py": "x = \"\"\"a\n# two\n\"\"\"\n"},
			want: "tests no-tests none: no test ran: no tests were found in the workspace", held: true,
		},
		"a document": {files: mocha, patch: map[string]string{"README.md": "new\n"}},
		"a gate of the workspace runs them": {
			files: map[string]string{"lib.rb": "X = 1\n", "spec/lib_spec.rb": "describe(1) {}\n"}, patch: map[string]string{"lib.rb": "X = 2\n"},
			gates: []CustomGate{{Name: "specs", Command: []string{"sh", "-c", "true"}}},
		},
		"a gate that runs something else": {
			files: map[string]string{"lib.json": "1\n", "spec/lib_spec.rb": "describe(1) {}\n"}, patch: map[string]string{"lib.json": "2\n"},
			gates: []CustomGate{{Name: "licence", Command: []string{"true"}}},
			want:  "tests no-runner none: no test ran: 1 test file of Ruby was found",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, c.files)
			s.config.Gates = c.gates
			r := s.verify(t, c.patch)
			if r.Verdict != check.Pass || r.Unproven == nil {
				t.Errorf("verdict %s, the list is nil: %v: %+v", r.Verdict, r.Unproven == nil, r.Gates)
			}
			if held := slices.ContainsFunc(r.Holds, func(h policy.Hold) bool { return h.Kind == policy.Unproven && h.Block }); held != c.held {
				t.Errorf("held: %+v", r.Holds)
			}
			got, want := strings.Split(openPoints(r.Unproven), "\n"), strings.Split(c.want, "\n")
			if len(got) != len(want) {
				t.Fatalf("not judged is\n%s\nwant\n%s", openPoints(r.Unproven), c.want)
			}
			for i := range want {
				if !strings.HasPrefix(got[i], want[i]) || want[i] == "" && got[i] != "" {
					t.Errorf("not judged is\n%s\nwant\n%s", got[i], want[i])
				}
			}
		})
	}
}

// Tests are known by the names that people give them in each language.
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
		audit := newResults(nil, Request{Base: v.Base}).newTestAudit(v)
		audit.look()
		found := 0
		for _, s := range audit.suites {
			audit.read(s)
			found += s.files
		}
		if p == "src/__tests__/a.tsx" {
			want = true
		}
		if (found == 1) != want {
			t.Errorf("%s holds tests: %v, want %v", p, found == 1, want)
		}
	}
	// A name that is also one of other things is not enough.
	for _, p := range []string{"scripts/test_connection.py", "tests/helper.js", "src/LoadTest.java", "src/lib.rs", "tests/data.c"} {
		v := check.NewView(verifytest.Scan(t, map[string]string{p: "x = 1\n"}), workspace.Changeset{})
		audit := newResults(nil, Request{Base: v.Base}).newTestAudit(v)
		if list := audit.untested(); len(list) != 1 || list[0].Kind != NoTests {
			t.Errorf("%s without a test in it: %s", p, openPoints(list))
		}
	}
}

// What only people read needs no test.
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

// What ran counts by project and language, and each reason has its own kind.
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
		"a failing test ran":       {map[string]string{"a.test.js": spec}, map[string]check.Outcome{node.TestsName: nodeRan("a.test.js", "failed")}, nil},
		"a runner that found none": {map[string]string{"package.json": pkg("node --test"), "a.test.js": spec}, map[string]check.Outcome{node.TestsName: {}}, []string{"none-found none node"}},
		"expected to fail":         {map[string]string{"test_a.py": "def test_x(): pass\n"}, map[string]check.Outcome{python.PytestName: nodeRan("test_a.py", "xfailed")}, []string{"all-skipped none pytest"}},
		"another language beside": {
			map[string]string{"test_a.py": "def test_x(): pass\n", "a_test.rb": ""}, map[string]check.Outcome{python.PytestName: nodeRan("test_a.py", "passed")}, []string{"no-runner part Ruby"},
		},
		"pytest is configured": {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n", "a.py": ""}, nil, []string{"script none pyproject.toml"}},
	} {
		base := verifytest.Scan(t, c.files)
		r := newResults(nil, Request{Base: base, Changeset: workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "x.json", After: []byte("1")}}}})
		r.proof = map[string]string{}
		for name, out := range c.ran {
			r.base[name], r.cand[name], r.judged[name] = out, out, check.Gate{Verdict: check.Pass}
		}
		list := r.unproven()
		ok := len(list) == len(c.want)
		for i, u := range list {
			part := map[bool]string{true: "part", false: "none"}[u.Part]
			ok = ok && slices.ContainsFunc(c.want[i:i+1], func(w string) bool {
				word, text, _ := strings.Cut(w, part+" ")
				return word == string(u.Kind)+" " && strings.Contains(u.Reason, text)
			})
			begins := map[bool]string{true: "not all tests ran: ", false: "no test ran: "}[u.Part]
			ok = ok && strings.HasPrefix(u.Reason, begins)
		}
		if !ok {
			t.Errorf("%s: %s\nwant %q", name, openPoints(list), c.want)
		}
	}
}
