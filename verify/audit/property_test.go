package audit

import (
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/golang"
	"agent/verify/node"
	"agent/verify/policy"
	"agent/verify/python"
	"agent/verify/smoke"
	"agent/verify/verifytest"
)

// sources is the workspace of every run.
var sources = map[string]string{
	"a.py": "x = 1\n", "lib/b.py": "def f():\n    return 1\n", "test_a.py": "x = 1\n", "c.js": "f();\n", "c.test.js": "f();\n", "d.go": "package d\n", "d_test.go": "package d\n",
	"e.rs": "fn e() {}\n", "notes.md": "one\n", "data.json": "1\n",
}

const aComment = " a comment\n"

// anyRun returns evidence of a run drawn at random: the files it changes, the runners that ran, how their tests ended, whether they were
// judged, and the lines that they report.
func anyRun(t *testing.T, base *workspace.Manifest, r *rand.Rand) *Evidence {
	t.Helper()
	patch := map[string]string{}
	for _, p := range slices.Sorted(maps.Keys(sources)) {
		switch text := sources[p]; r.IntN(4) {
		case 0:
			patch[p] = text + "y = 2\n"
		case 1:
			mark := "//"
			if path.Ext(p) == ".py" {
				mark = "#"
			}
			patch[p] = mark + aComment + text
		}
	}
	e := evidenceOf(base, verifytest.Change(t, base, patch))
	ends := []string{"passed", "failed", "skipped", "xfailed", "error"}
	for _, pair := range [][2]string{{python.PytestName, "test_a.py"}, {golang.TestsName, "d_test.go"}, {node.TestsName, "c.test.js"}, {smoke.ProgramName, ""}} {
		name, file := pair[0], pair[1]
		var out check.Outcome
		for range r.IntN(3) {
			if id := file; file != "" {
				if r.IntN(4) > 0 {
					id += "::x"
				}
				out.Tests = append(out.Tests, check.TestResult{ID: id, Outcome: ends[r.IntN(len(ends))]})
			}
		}
		if name == smoke.ProgramName && r.IntN(2) == 0 {
			out.Ending = &check.Ending{Command: [][]string{{"/usr/bin/python3", "a.py"}, {"/usr/bin/node", "c.js"}, {"go", "/tmp/program"}, {"/bin/true"}}[r.IntN(4)]}
		}
		if r.IntN(2) == 0 {
			out.Traced = &check.Trace{Code: check.Lines{}, Ran: check.Lines{}}
			for _, p := range slices.Sorted(maps.Keys(patch)) {
				if r.IntN(2) == 0 {
					out.Traced.Code[p] = [][]int{{}, {1}, {1, 2}}[r.IntN(3)]
					if len(out.Traced.Code[p]) > 0 && r.IntN(3) == 0 {
						out.Traced.Ran[p] = []int{1}
					}
				}
			}
		}
		if r.IntN(3) > 0 {
			e.Candidate[name] = out
		}
		if r.IntN(3) > 0 {
			e.Judged[name] = check.Gate{Verdict: check.Pass}
		}
	}
	if r.IntN(10) == 0 {
		e.Own["unit"], e.Judged["unit"] = []string{"make", "test"}, check.Gate{Verdict: check.Pass}
	}
	return e
}

// Whatever ran and whatever it reported, a change that is not held has nothing to execute, or one of its own lines was executed in a run
// in which a test passed. Otherwise none of its lines was measured, and a test in its language passed or a program of it ran.
func TestNothingPassesThatNothingExecuted(t *testing.T) {
	t.Parallel()
	held, let := 0, 0
	base := verifytest.Scan(t, sources)
	for seed := range uint64(1500) {
		e := anyRun(t, base, rand.New(rand.NewPCG(seed, 1)))
		if holds := e.Hold(e.Unproven()); len(holds) > 0 {
			held++
			if holds[0].Kind != policy.Unproven || !holds[0].Block {
				t.Fatalf("seed %d: %+v", seed, holds)
			}
			continue
		}
		let++
		if !executedSomehow(e) {
			t.Fatalf("seed %d: nothing executed %s, and nothing holds it: %+v, judged %v", seed, e.Final.Diff(), e.Candidate, slices.Collect(maps.Keys(e.Judged)))
		}
	}
	if held < 100 || let < 100 {
		t.Errorf("%d held and %d not: the runs are all alike", held, let)
	}
}

// executedSomehow states the same in the simplest way.
func executedSomehow(e *Evidence) bool {
	if _, own := e.Own["unit"]; own {
		return true
	}
	language := map[string]string{"a.py": python.PytestName, "lib/b.py": python.PytestName, "test_a.py": python.PytestName, "c.js": node.TestsName, "c.test.js": node.TestsName, "d.go": golang.TestsName, "d_test.go": golang.TestsName}
	program := map[string]string{python.PytestName: "/usr/bin/python3", node.TestsName: "/usr/bin/node", golang.TestsName: "go"}
	tests := map[string]bool{"test_a.py": true, "c.test.js": true, "d_test.go": true}
	var code, aside []workspace.Change
	for _, c := range e.Final.Changes {
		if commented := strings.Contains(string(c.After), aComment); commented || language[c.Path] == "" && c.Path != "e.rs" {
			continue
		}
		if tests[c.Path] {
			aside = append(aside, c)
		} else {
			code = append(code, c)
		}
	}
	if len(code) == 0 {
		code = aside
	}
	some := len(code) == 0
	for _, c := range code {
		lines, measured := 0, false
		for name, out := range e.Candidate {
			if _, judged := e.Judged[name]; !judged {
				continue
			}
			if out.Traced != nil {
				passed := name == smoke.ProgramName || slices.ContainsFunc(out.Tests, func(r check.TestResult) bool { return r.Ran() && !r.Bad() })
				list, told := out.Traced.Code[c.Path]
				measured, lines = measured || told, max(lines, len(list))
				some = some || passed && len(out.Traced.Ran[c.Path]) > 0
			}
		}
		if measured {
			some = some || lines == 0
		}
		runner := language[c.Path]
		for name, out := range e.Candidate {
			if _, judged := e.Judged[name]; !judged {
				continue
			}
			if out.Ending != nil && (out.Ending.Command[len(out.Ending.Command)-1] == c.Path || !measured && runner != "" && out.Ending.Command[0] == program[runner]) {
				some = true
			}
			for _, r := range out.Tests {
				some = some || !measured && name == runner && r.Ran() && !r.Bad()
			}
		}
	}
	return some
}
