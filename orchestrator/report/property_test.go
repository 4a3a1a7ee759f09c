package report_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/orchestrator/ledger"
	"agent/orchestrator/report"
	"agent/verify/check"
)

// A fault is a problem of a workspace and its fix: contents by path, where "" means no such file.
type fault struct {
	wrong, fixed map[string]string
	// These change what gates and the ledger say.
	wrongGates func(w *world)
	fixedGates func(w *world)
}

// A world is what is known about a workspace besides its files.
type world struct {
	findings map[string][]check.Finding // by gate and check
	passed   int
	failed   int
	problems map[string]string
}

// Faults of tests need these files.
var (
	someTests  = map[string]string{"test_b.py": "def test_b():\n    pass\n"}
	otherTests = map[string]string{"test_c.py": "def test_c():\n    pass\n"}
)

const privateApp = `{"private": true, "dependencies": {"a": "1", "b": "1"}}`

// faults lists problems. Faults of the same path are not combined, because the later one would win.
var faults = []fault{
	{wrong: map[string]string{"README.md": ""}, fixed: map[string]string{"README.md": goodReadme}},
	{wrong: map[string]string{"README.md": "# Till\n"}, fixed: map[string]string{"README.md": goodReadme}},
	{wrong: map[string]string{"README.md": goodReadme + "\n[a](gone.md)\n[b](gone.md)\n"}, fixed: map[string]string{"README.md": goodReadme + "\n[a](README.md)\n[b](gone.md)\n"}},
	{wrong: map[string]string{"LICENSE": ""}, fixed: map[string]string{"LICENSE": mit}},
	{wrong: map[string]string{"LICENSE": "[year]" + mit}, fixed: map[string]string{"LICENSE": mit}},
	{wrong: map[string]string{workflow: ""}, fixed: map[string]string{workflow: goodCI}},
	{wrong: map[string]string{workflow: "on: [push\njobs: }\n"}, fixed: map[string]string{workflow: goodCI}},
	{wrong: map[string]string{".github/workflows/b.yml": "on: [push\njobs: }\n"}, fixed: map[string]string{".github/workflows/b.yml": strings.ReplaceAll(goodCI, "ubuntu-latest", "ubuntu-18.04")}},
	{wrong: map[string]string{".github/workflows/c.yml": "on: [push\njobs: }\n"}, fixed: map[string]string{".github/workflows/c.yml": "on: issues\njobs:\n  x:\n    steps:\n      - run: echo ${{ github.event.issue.title }} ${{ github.event.issue.body }}\n      - run: echo ${{ github.event.issue.body }}\n"}},
	{wrong: map[string]string{"test_a.py": ""}, fixed: map[string]string{"test_a.py": "def test_a():\n    pass\n"}},
	{wrong: map[string]string{"conf.py": "K = \"AKIA" + "IOSFODNN7QWERTZ2\"\n"}, fixed: map[string]string{"conf.py": "K = 1\n"}},
	{wrong: map[string]string{"package.json": "{"}, fixed: map[string]string{"package.json": `{"private": true, "dependencies": {"a": "*", "b": "latest", "c": ""}}`}},
	{wrong: map[string]string{"p/package.json": `{"private": true, "dependencies": {"a": "*", "b": "1"}}`}, fixed: map[string]string{"p/package.json": `{"private": true, "dependencies": {"a": "1", "b": "1"}}`}},
	{wrong: map[string]string{"r/package.json": privateApp}, fixed: map[string]string{"r/package.json": privateApp, "r/package-lock.json": `{"packages": {"node_modules/a": {}, "node_modules/b": {}}}`}},
	{wrong: map[string]string{"q/go.mod": "module x\n\nrequire a.test/b v1.0.0\n"}, fixed: map[string]string{"q/go.mod": "module x\n"}},
	{wrong: map[string]string{"docs/a.md": "[x](gone.md) [y](b.md)\n"}, fixed: map[string]string{"docs/a.md": "[y](b.md)\n"}},
	{wrong: map[string]string{"CHANGELOG.md": ""}, fixed: map[string]string{"CHANGELOG.md": "x\n"}},
	{wrong: map[string]string{"SECURITY.md": ""}, fixed: map[string]string{"SECURITY.md": "x\n"}},
	{wrong: map[string]string{"m.py": "<<<<<<< a\n=======\n>>>>>>> b\n"}, fixed: map[string]string{"m.py": "x = 1\n\n\n"}},
	{wrong: map[string]string{"lib/x.o": "x"}, fixed: map[string]string{"lib/x.o": ""}},
	{wrong: map[string]string{"Make.py": "x\n", "make.py": "x\n"}, fixed: map[string]string{"made.py": "x\n", "make.py": "x\n"}},
	{wrong: map[string]string{"long.py": strings.Repeat("x = 1\n", 900)}, fixed: map[string]string{"long.py": strings.Repeat("x = 1\n", 450), "short.py": strings.Repeat("x = 1\n", 450)}},
	{wrong: someTests, fixed: someTests, wrongGates: func(w *world) { w.failed++ }, fixedGates: func(w *world) { w.passed++ }},
	{wrong: otherTests, fixed: otherTests, wrongGates: func(w *world) { w.failed += 5 }, fixedGates: func(w *world) { w.failed += 4; w.passed++ }},
	{wrongGates: finds("lint/ruff", 20), fixedGates: finds("lint/ruff", 19)},
	{wrongGates: finds("types/mypy", 2), fixedGates: finds("types/mypy", 1)},
	{wrongGates: finds("types/go build", 2), fixedGates: finds("types/go build", 0)},
	{wrongGates: finds("smoke/program", 1), fixedGates: finds("smoke/program", 0)},
	{wrongGates: finds("licences/licences", 1), fixedGates: finds("licences/licences", 0)},
	{wrongGates: func(w *world) { w.problems["a.py"] = "line 1: invalid syntax" }, fixedGates: func(*world) {}},
}

// finds makes a check report n findings; with 0, it ran and found nothing.
func finds(name string, n int) func(*world) {
	return func(w *world) {
		w.findings[name] = append([]check.Finding{}, w.findings[name]...)
		for i := range n {
			w.findings[name] = append(w.findings[name], check.Finding{File: "a.py", Line: i + 1, Rule: "E1", Message: "no"})
		}
	}
}

// worldOf assembles a workspace with some faults, of which some are fixed.
func worldOf(t testing.TB, have []int, fixed map[int]bool) report.Facts {
	files := map[string]string{"a.py": strings.Repeat("x = 1\n", 300), "b.py": "x = 1\n", "docs/b.md": "x\n"}
	w := &world{findings: map[string][]check.Finding{}, problems: map[string]string{}, passed: 2}
	for _, i := range have {
		f := faults[i]
		texts, gates := f.wrong, f.wrongGates
		if fixed[i] {
			texts, gates = f.fixed, f.fixedGates
		}
		maps.Copy(files, texts)
		if gates != nil {
			gates(w)
		}
	}
	maps.DeleteFunc(files, func(_, text string) bool { return text == "" })
	facts := factsOf(t, files)
	tests := standing(check.GateTests, "pytest")
	tests.Passed, tests.Failed = w.passed, w.failed
	facts.Checks = []check.Standing{tests}
	for _, name := range slices.Sorted(maps.Keys(w.findings)) {
		gate, tool, _ := strings.Cut(name, "/")
		facts.Checks = append(facts.Checks, standing(gate, tool, w.findings[name]...))
	}
	var known []ledger.File
	for p := range files {
		if strings.HasSuffix(p, ".py") {
			known = append(known, ledger.File{Path: p, Language: "python", Problem: w.problems[p], Definitions: []ledger.Definition{{Name: "x", Kind: ledger.Variable, Line: 1}}})
		}
	}
	facts.Ledger, facts.NoLedger = ledger.New(known), ""
	return facts
}

// touches lists the paths of a fault, so that two faults of one path are not combined.
func (f fault) touches() []string {
	return slices.Concat(slices.Collect(maps.Keys(f.wrong)), slices.Collect(maps.Keys(f.fixed)))
}

var worse = map[report.Status]int{report.Pass: 0, report.None: 0, report.Unknown: 1, report.Warn: 2, report.Fail: 3}

// Whatever else is wrong with a workspace, fixing one fault lowers no score, unless code is removed with it: densities and shares are
// relative to the remaining code.
func TestFixingNeverLowersAScore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var have []int
		seen := map[string]bool{}
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(faults)-1), 1, 6, rapid.ID).Draw(r, "faults") {
			if !slices.ContainsFunc(faults[i].touches(), func(p string) bool { return seen[p] }) {
				have = append(have, i)
				for _, p := range faults[i].touches() {
					seen[p] = true
				}
			}
		}
		slices.Sort(have)
		fixed := map[int]bool{}
		before := report.Analyze(worldOf(t, have, fixed), nil)
		for _, i := range rapid.Permutation(have).Draw(r, "order") {
			fixed[i] = true
			after := report.Analyze(worldOf(t, have, fixed), nil)
			for k, now := range after.Rows {
				then := before.Rows[k]
				if then.Score != nil && (now.Score == nil || *now.Score < *then.Score) {
					r.Errorf("fault %d of %v, fixed %v: %s went from\n%s to\n%s", i, have, fixed, now.Analyzer, shown(then), shown(now))
				}
			}
			before = after
		}
	})
}

// Every fault alone costs something; otherwise fixing it would be pointless.
func TestEveryFaultCosts(t *testing.T) {
	t.Parallel()
	for i := range faults {
		wrong, fixed := report.Analyze(worldOf(t, []int{i}, nil), nil), report.Analyze(worldOf(t, []int{i}, map[int]bool{i: true}), nil)
		better := false
		for k := range wrong.Rows {
			a, b := wrong.Rows[k], fixed.Rows[k]
			better = better || a.Score != nil && b.Score != nil && *b.Score > *a.Score || a.Status != b.Status && worse[a.Status] > worse[b.Status]
		}
		if !better {
			t.Errorf("fault %d costs nothing", i)
		}
	}
}

// The status is that of the worst detail, and each detail says what to do.
func TestStatusesFollowFromDetails(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		have := rapid.SliceOfNDistinct(rapid.IntRange(0, len(faults)-1), 0, 6, rapid.ID).Draw(r, "faults")
		for _, row := range report.Analyze(worldOf(t, have, nil), nil).Rows {
			fails, warns, _ := row.Count()
			want := report.Pass
			switch {
			case fails > 0:
				want = report.Fail
			case warns > 0:
				want = report.Warn
			case len(row.Unmeasured) > 0:
				want = report.Unknown
			}
			if row.Status != want && row.Status != report.None {
				r.Errorf("%s is %s with %d fails and %d warnings", row.Analyzer, row.Status, fails, warns)
			}
			if row.Score != nil && (*row.Score < 0 || *row.Score > 1 || len(row.Unmeasured) > 0) || row.Score == nil && row.Status == report.Pass {
				r.Errorf("%s: %s", row.Analyzer, shown(row))
			}
			for _, d := range row.Details {
				if d.Message == "" || d.Next == "" {
					r.Errorf("%s: %+v", row.Analyzer, d)
				}
			}
		}
	})
}
