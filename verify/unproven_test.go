package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/policy"
)

// openPoints returns what was not judged, one entry per line, for people who read a test.
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

// A pass without any test says so, whatever the reason, and a pass with tests does not.
func TestAPassWithoutATestSaysSo(t *testing.T) {
	t.Parallel()
	passing := "import lib\n\n\ndef test_x():\n    assert lib.x\n"
	skipping := "import pytest\n\n\n@pytest.mark.skip(reason=\"later\")\ndef test_x():\n    assert True\n"
	nodeTest := "const test = require(\"node:test\");\n\ntest(\"x\", () => void require(\"./lib.js\"));\n"
	mocha := map[string]string{
		"package.json": `{"devDependencies": {"mocha": "11"}, "scripts": {"test": "mocha"}}`, "lib.js": "module.exports = 1;\n",
		"test/a.js": "describe(\"x\", () => it(\"y\", () => {}));\n",
	}
	for name, c := range map[string]struct {
		files, patch map[string]string
		gates        []CustomGate
		want         string // the beginning of each entry, one per line
		held         bool   // nothing has executed the change
	}{
		"no runner for them": {
			files: map[string]string{"lib.rb": "X = 1\n", "notes.json": "1\n", "spec/lib_spec.rb": "describe(1) {}\n", "spec/b_spec.rb": "describe(2) {}\n"}, patch: map[string]string{"notes.json": "2\n"},
			want: "tests no-runner none: no test ran: 2 Ruby test files were found (spec/b_spec.rb) and nothing here runs them",
		},
		"no runner for them in several projects": {
			files: map[string]string{
				"package.json": `{"workspaces": ["a", "b"]}`, "notes.json": "1\n", "a/package.json": `{"name": "a"}`, "b/package.json": `{"name": "b"}`,
				"a/x.test.js": "describe('x', () => {});\n", "b/x.test.js": "describe('x', () => {});\n", "b/y.test.js": "describe('y', () => {});\n",
			},
			patch: map[string]string{"notes.json": "2\n"},
			want:  "tests no-runner none: no test ran: 3 JavaScript test files were found in 2 projects (a, b) and nothing here runs them",
		},
		"and a language that nothing reads": {
			files: map[string]string{"src/main.rs": "fn main() {}\n\n#[test]\nfn x() {}\n"}, patch: map[string]string{"src/main.rs": "fn main() { }\n\n#[test]\nfn x() {}\n"},
			want: "tests no-runner none: no test ran: 1 Rust test file was found (src/main.rs)\nsyntax no-gate none: no gate reads Rust: src/main.rs",
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
			want:  "tests script none: no test ran: 1 JavaScript test file was found (lib.test.js) and no command that the test script of package.json starts tests anything: xo, tsc --noEmit; a [[gate]]",
			held:  true,
		},
		"a script that needs a browser": {
			files: map[string]string{"package.json": `{"scripts": {"test": "node test.cjs && karma start"}}`, "lib.js": "module.exports = 1;\n", "test.cjs": "require(\"./lib.js\");\n"},
			patch: map[string]string{"lib.js": "module.exports = 2;\n"},
			want:  "tests no-runner part: not all tests ran: nothing here can run this part of the test script of package.json: karma start; a [[gate]]",
		},
		"a command that fails before": {
			files: map[string]string{"package.json": `{"scripts": {"test": "bun test"}}`, "lib.js": "module.exports = 1;\n"},
			patch: map[string]string{"lib.js": "module.exports = 2;\n"},
			want:  "tests no-runner none: no test judged the patch: test script: not judged: even before the patch, bun test failed: exit status 127",
			held:  true,
		},
		"one of two commands fails before": {
			files: map[string]string{"package.json": `{"scripts": {"test": "node a.cjs; node b.cjs"}}`, "lib.js": "module.exports = 1;\n", "a.cjs": "require(\"./lib.js\");\n", "b.cjs": "throw 1\n"},
			patch: map[string]string{"lib.js": "module.exports = 2;\n"},
			want:  "tests not-judged part: not all tests ran: not judged: even before the patch, node b.cjs failed: exit status 1",
		},
		"all are skipped": {
			files: map[string]string{"lib.py": "x = 1\n", "test_lib.py": skipping}, patch: map[string]string{"lib.py": "x = 2\n"},
			want: "tests all-skipped none: no test ran: pytest skipped all of its tests, 1",
			held: true,
		},
		"none loads": {
			files: map[string]string{"lib.py": "x = 1\n", "test_lib.py": "import nowhere_at_all\n\n\n" + passing}, patch: map[string]string{"lib.py": "x = 2\n"},
			want: "tests not-collected none: no test ran: pytest could not load test_lib.py: ",
			held: true,
		},
		"a runner that gives up": {
			files: map[string]string{"lib.py": "x = 1\n", "test_lib.py": passing, "pytest.ini": "[pytest]\nminversion = 99\n"}, patch: map[string]string{"lib.py": "x = 2\n"},
			want: "tests not-judged none: no test ran: pytest: not judged: even before the patch",
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
		"a test of something else": {
			files: map[string]string{"lib.py": "x = 1\n", "test_lib.py": "def test_x():\n    assert True\n"},
			patch: map[string]string{"lib.py": "x = 2\n"},
			want:  "tests not-executed part: nothing that ran executes what the patch changes in lib.py",
			held:  true,
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
			want: "tests not-executed part: nothing that runs was changed: only comments and blank space in lib.py\ntests no-tests none: no test ran: no tests were found in the workspace",
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
			want:  "tests no-runner none: no test ran: 1 Ruby test file was found",
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
