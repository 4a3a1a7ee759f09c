package verify

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/golang"
	"agent/verify/node"
	"agent/verify/trial"
)

// graph draws which packages need which. A package may need itself, and two may need each other.
func graph(t *rapid.T) (needs [][]int) {
	n := rapid.IntRange(2, 7).Draw(t, "packages")
	for range n {
		needs = append(needs, rapid.SliceOfN(rapid.IntRange(0, n-1), 0, 2).Draw(t, "needs"))
	}
	return needs
}

// closure returns the packages that a change to one package affects, computed from the definition.
func closure(needs [][]int, touched int) map[int]bool {
	hit := map[int]bool{touched: true}
	for range needs {
		for from, list := range needs {
			for _, to := range list {
				hit[from] = hit[from] || hit[to]
			}
		}
	}
	maps.DeleteFunc(hit, func(_ int, ok bool) bool { return !ok })
	return hit
}

// A patch affects the package that it touches and everything that depends on it, no more and no less, whatever the packages need and
// however they declare it.
func TestReachIsTheClosureOfWhatPackagesNeed(t *testing.T) {
	t.Parallel()
	families := []struct {
		family   *check.Family
		manifest string
		file     string
		// The forms in which a file, or a manifest, may declare that it needs a package.
		says, asks []string
	}{
		{
			golang.Modules, "module m.com/p%d\n\ngo 1.24\n", "go.mod",
			[]string{"import _ \"m.com/p%d\"\n", "import (\n\t_ `m.com/p%d/deep`\n)\n", "// ../p%d/a.txt\n", "//go:x \"..\", \"p%d\"\n"},
			[]string{"require m.com/p%d v1.0.0\n", "replace x.com/y => ../p%d\n", "require (\n\tm.com/p%d v0.1.0 // indirect\n)\n"},
		},
		{
			node.Packages, `{"name": "@m/p%d"}`, "package.json",
			[]string{"import x from '@m/p%d';\n", "require(\"@m/p%d/x.js\");\n", "import `../p%d`\n", "join(__dirname, '..', 'p%d', 'x');\n"},
			nil,
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		f := families[rapid.IntRange(0, len(families)-1).Draw(t, "family")]
		needs, texts := graph(t), map[string]string{}
		for from, list := range needs {
			dir := fmt.Sprintf("p%d", from)
			texts[path.Join(dir, f.file)] = fmt.Sprintf(f.manifest, from)
			for i, to := range list {
				say := rapid.SampledFrom(append(f.says, f.asks...)).Draw(t, "form")
				line := fmt.Sprintf(say, to)
				if slices.Contains(f.asks, say) {
					texts[path.Join(dir, f.file)] += line
				} else if f.family == golang.Modules {
					texts[fmt.Sprintf("%s/f%d.go", dir, i)] = "package p\n\n" + line
				} else {
					texts[fmt.Sprintf("%s/f%d.mjs", dir, i)] = line
				}
			}
		}
		v, r := checktest.View(texts), check.Reach{}
		for _, root := range f.family.Roots(v) {
			r[root] = false
		}
		got, ok := f.family.Needs(v, r)
		if !ok || len(r) != len(needs) {
			t.Fatalf("nothing is known of %q", texts)
		}
		touched := rapid.IntRange(0, len(needs)-1).Draw(t, "touched")
		hit := map[string]bool{fmt.Sprintf("p%d", touched): true}
		check.Spread(hit, got)
		want := map[string]bool{}
		for n := range closure(needs, touched) {
			want[fmt.Sprintf("p%d", n)] = true
		}
		if !maps.Equal(hit, want) {
			t.Fatalf("%v, want %v of %q", hit, want, texts)
		}
	})
}

// A partial run, completed with the baseline of the rest, equals a run of everything, even if it also reports on packages that the patch
// cannot affect.
func TestRunInPartIsCompletedToTheWhole(t *testing.T) {
	t.Parallel()
	roots := []string{".", "a", "a/b", "c"}
	rapid.Check(t, func(t *rapid.T) {
		r := check.Reach{}
		for _, root := range roots {
			r[root] = rapid.Bool().Draw(t, root)
		}
		var base, part check.Outcome
		for i := range rapid.IntRange(0, 12).Draw(t, "facts") {
			root := rapid.SampledFrom(roots).Draw(t, "root")
			f := check.Finding{File: path.Join(root, "x"), Line: rapid.IntRange(1, 2).Draw(t, "line"), Message: "m"}
			test := check.TestResult{ID: fmt.Sprintf("%s::%d", f.File, i), Outcome: "passed"}
			scope := path.Join(root, fmt.Sprintf("%d/*.go", i))
			base.Findings, base.Tests, base.Unjudged = append(base.Findings, f), append(base.Tests, test), append(base.Unjudged, scope)
			if r[root] || rapid.Bool().Draw(t, "told along") {
				part.Findings, part.Tests, part.Unjudged = append(part.Findings, f), append(part.Tests, test), append(part.Unjudged, scope)
			}
		}
		whole := part.Beside(base, r)
		if fresh, old, fixed := compare.Findings(base.Findings, whole.Findings, check.Diff{}); len(fresh) != 0 || old != len(base.Findings) || fixed != 0 {
			t.Fatalf("%d new, %d old and %d fixed of %d", len(fresh), old, fixed, len(base.Findings))
		}
		if g := compare.JudgeTests(base, whole, check.Diff{}); g.Verdict != check.Pass || len(whole.Tests) != len(base.Tests) || len(whole.Unjudged) != len(base.Unjudged) {
			t.Fatalf("%+v of %+v", g, whole)
		}
	})
}

// The second run of the tests, with their helpers as before, leaves out the same packages.
func TestTrialLeavesOutTheSame(t *testing.T) {
	t.Parallel()
	passed := func(ids ...string) (out check.Outcome) {
		for _, id := range ids {
			out.Tests = append(out.Tests, check.TestResult{ID: id + "/a_test.go::TestA", Outcome: "passed"})
		}
		return out
	}
	for name, c := range map[string]struct {
		trial check.Outcome
		want  check.Verdict
		rule  string
	}{
		"sound without its helpers":  {passed("low"), check.Pass, ""},
		"passes with its helpers":    {check.Outcome{Tests: []check.TestResult{{ID: "low/a_test.go::TestA", Outcome: "failed"}}}, check.Policy, compare.RuleTestHelper},
		"does not run without them":  {check.Outcome{}, check.Policy, compare.RuleTestHelper},
		"the machine is in trouble":  {check.Outcome{Verdict: check.Infra}, check.Infra, ""},
		"of the others it tells too": {passed("low", "own"), check.Pass, ""},
	} {
		s := empty(nil)
		s.results.leave(golang.TestsName, check.Reach{"low": true, "own": false})
		s.results.await(golang.TestsName, trial.Trial{Aids: []string{"testdata/a"}})
		s.results.proven(map[string]string{})
		s.results.baseline(golang.TestsName, passed("low", "own"))
		s.results.candidate(golang.TestsName, passed("low"))
		s.results.tried(golang.TestsName, c.trial)
		for name := range s.results.due((*trial.Trial).Asked) {
			s.results.answered(name, passed("low", "own")) // they pass with either program
		}
		for name := range s.results.due((*trial.Trial).Doubted) {
			s.results.confirmed(name, nil)
		}
		g := s.results.judged[golang.TestsName]
		var rules []string
		for _, f := range g.Findings {
			rules = append(rules, f.Rule)
		}
		if g.Verdict != c.want || strings.Join(rules, " ") != c.rule {
			t.Errorf("%s: %+v", name, g)
		}
	}
}

// A cache row does not show that packages were left out: it equals the row of a full run.
func TestOutcomeOfAPartIsNoOtherRow(t *testing.T) {
	t.Parallel()
	whole := check.Outcome{Findings: []check.Finding{{File: "low/a.go", Message: "m"}, {File: "own/a.go", Message: "m"}}}
	part := check.Outcome{Findings: whole.Findings[:1]}.Beside(whole, check.Reach{"low": true, "own": false})
	a, errA := json.Marshal(whole)
	b, errB := json.Marshal(part)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("%s, want %s", b, a)
	}
}
