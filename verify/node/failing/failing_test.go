package failing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/verify/check"
)

func TestFailingTestsAreReadOfWhatRunnersPrint(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		printed string
		want    []string
	}{
		"mocha": {
			"    ✓ upper\n    1) adds\n\n  413 passing (2s)\n  1 pending\n  2 failing\n\n  1) compiler\n       a suite\n         should autoescape:\n     Error: expected 'a' to equal 'b'\n      at x (tests/a.js:1:2)\n\n" +
				"  2) top:\n\n      AssertionError\n\nError: test failed. exit code: 2\n",
			[]string{"compiler a suite should autoescape", "top"},
		},
		"mocha without":   {"  413 passing (2s)\n\n  1) nothing\n", nil},
		"jasmine":         {"Started\n.F\n\nFailures:\n1) Player plays\n  Message:\n    Expected 1 to be 2.\n  Stack:\n", []string{"Player plays"}},
		"TAP":             {"ok 1 - fine\nnot ok 2 - wrong\n    not ok 1 - inner\nnot ok 3 - later # TO" + "DO\nnot ok 4 odd\n", []string{"wrong", "inner", "odd"}},
		"jest":            {"\x1b[1m  ● suite › fails\x1b[22m\n\n    expect(1)\n\n  ● suite › fails\n", []string{"suite › fails"}},
		"vitest":          {" FAIL  test/a.test.ts > suite > fails\nAssertionError: x\n   × suite > also 12ms\n", []string{"test/a.test.ts > suite > fails"}},
		"node":            {"✖ fails (1.23ms)\n✔ passes (1ms)\n✖ failing tests:\n\ntest at a.js:1:1\n✖ fails (1.23ms)\n", []string{"fails"}},
		"ava":             {"  ✘ [fail]: a › fails\n  ✔ passes\n  ✖ [fail]: b › fails Error\n", []string{"a › fails", "b › fails Error"}},
		"linters":         {"  ✖  12:3  Missing semicolon.  semi\n\n✖ 3 problems (3 errors, 0 warnings)\n× Expected a > b\n", nil},
		"node-tap":        {"not ok 1 - test/x.js # time=81.2ms\n", []string{"test/x.js"}},
		"karma":           {"Chrome 120.0.0 (Linux x86_64) Suite test FAILED\n\tError\n", []string{"Suite test"}},
		"pytest":          {"FAILED tests/test_a.py::test_b[x-1] - assert 1 == 2\nERROR tests/test_c.py::test_d\n", []string{"tests/test_a.py::test_b[x-1]", "tests/test_c.py::test_d"}},
		"unittest":        {"FAIL: test_a (tests.A.test_a)\nERROR: test_b (tests.B)\n", []string{"test_a (tests.A.test_a)", "test_b (tests.B)"}},
		"go":              {"--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\n", []string{"TestA", "TestA/b"}},
		"nothing":         {"", nil},
		"prose and lists": {"1) read this\n2) and that\nnot ok\nFAIL\n● Console\n", nil},
	} {
		if diff := cmp.Diff(c.want, Tests(c.printed)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	var many strings.Builder
	for i := range 3 * most {
		fmt.Fprintf(&many, "not ok %d - t%d\n", i, i)
	}
	if got := len(Tests(many.String())); got != most {
		t.Errorf("%d names", got)
	}
}

// If a command is run again for some of its tests, those that it does not report as failing have passed.
func TestOfACommandTheTestsThatAreAskedForHaveResults(t *testing.T) {
	t.Parallel()
	command := check.TestResult{ID: "package.json::test > x > log", Outcome: "failed", File: "package.json"}
	list := Results(command, "not ok 1 - a\n", []string{command.ID, command.ID + mark + "a", command.ID + mark + "b", "other > x" + mark + "c"})
	if len(list) != 2 || list[0].Outcome != "failed" || list[0].File != "package.json" || list[1].Outcome != "passed" || list[1].ID != command.ID+mark+"b" || Command(list[1].ID) != command.ID {
		t.Errorf("%+v", list)
	}
	command.Outcome = "passed"
	if list := Results(command, "not ok 1 - a\n", nil); len(list) != 0 {
		t.Errorf("of one that passed: %+v", list)
	}
}

// FuzzTests reads whatever a command may print: the names of failing tests are bounded in number, unique and not empty.
func FuzzTests(f *testing.F) {
	f.Add("  2 failing\n\n  1) a\n       b:\n  2) c:\n")
	f.Add("Failures:\n1) a\nnot ok 1 - b # time=1ms\n● a › b\n FAIL  x > y\n✖ n (1ms)\n✘ [fail]: t\nC 1 (L) t FAILED\nFAILED a::b - c\nFAIL: a (b)\n--- FAIL: T (\n")
	f.Fuzz(func(t *testing.T, printed string) {
		names := Tests(printed)
		if len(names) > most {
			t.Errorf("%d names", len(names))
		}
		for i, name := range names {
			if name == "" || slices.Contains(names[:i], name) {
				t.Errorf("%q", names)
			}
		}
	})
}
