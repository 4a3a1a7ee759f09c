package verify

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/node"
	"agent/verify/policy"
	"agent/verify/python"
)

// beside puts the results that the baseline has of what was left out beside those of the trial; see Outcome.Beside.
func (t *trial) beside(base check.Outcome, r check.Reach) {
	if t != nil && t.out != nil {
		out := t.out.Beside(base, r)
		t.out = &out
	}
}

// A trial is the tests of a check run once more, with the program as the patch
// leaves it, and the tests and all that they are made of as they were before. A
// patch could otherwise make every test pass in conftest.py.
type trial struct {
	// What of the patch is taken back that is no test itself, sorted.
	aids []string
	// Nil until the box is done.
	out *check.Outcome
	// What it tells and no judgement hangs on.
	holds []policy.Hold
}

// aidNames are files that a test runner reads by itself, wherever they lie.
var aidNames = []string{
	"conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "noxfile.py",
	"package.json", "jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.setup.*", "vite.config.*", "babel.config.*", ".babelrc", ".mocharc.*", "ava.config.*", ".taprc", "*.pth", "*.snap",
}

// aidDirs are directories of what tests use.
var aidDirs = []string{"test", "tests", "testing", "testdata", "fixtures", "spec", "__tests__", "__fixtures__", "__mocks__", "__snapshots__"}

// isAid reports whether tests are made of the file at p: configuration, plugins,
// helpers, data. A test itself is none.
func isAid(p string) bool {
	name := path.Base(p)
	if slices.ContainsFunc(aidNames, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }) {
		return true
	}
	if isTestModule(p) {
		return false
	}
	return slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(dir string) bool { return slices.Contains(aidDirs, dir) })
}

// isTestModule reports whether a file holds tests that a runner here collects by its name.
func isTestModule(p string) bool {
	return python.IsTest(p) || node.IsTest(p) || strings.HasSuffix(p, "_test.go")
}

// withoutAids takes back what a patch does to tests and to what they are made
// of. It names the latter, and says whether any of it was there before and
// still is: else the tests are judged as they are.
func withoutAids(base *workspace.Manifest, cs workspace.Changeset) (program workspace.Changeset, aids []string, old bool) {
	before := check.NewView(base, workspace.Changeset{})
	plugins := python.TestPlugins(before, check.NewView(base, cs))
	test := node.Collects(before) // whatever its name
	aid := func(p string) bool { return isAid(p) && !test(p) || slices.Contains(plugins, p) }
	back, program := check.SplitChanges(cs, func(p string) bool { return aid(p) || isTestModule(p) || test(p) })
	for _, c := range back.Changes {
		old = old || c.Op == workspace.Modify || c.Op == workspace.Rename
		if aid(c.Path) || aid(check.OldPath(c)) {
			aids = append(aids, c.Path)
		}
	}
	return program, aids, old
}

// waits reports whether the trial of a check is still to come.
func (t *trial) waits() bool { return t != nil && t.out == nil }

// judge holds against a judgement what the trial tells: tests that passed with
// the patch's helpers and do not without. Those that the patch brings cannot
// pass without, and prove nothing of what was there before. Where the patch has no
// helpers, only rewritten tests, that is left to a person: what a program is to do
// may change.
func (t *trial) judge(g check.Gate, base, cand check.Outcome, d check.Diff) check.Gate {
	if t == nil || g.Verdict != check.Pass && g.Verdict != check.Policy {
		return g
	}
	if t.out.Verdict == check.Infra {
		g.Verdict, g.Detail = check.Infra, "tried with the tests and helpers as they were: "+t.out.Detail
		return g
	}
	now, alone := map[string]string{}, map[string]check.TestResult{}
	for _, r := range cand.Tests {
		now[r.ID] = r.Outcome
	}
	for _, r := range t.out.Tests {
		alone[r.ID] = r
	}
	for _, old := range base.Tests {
		r, ran := alone[old.ID]
		outcome, there := now[d.NewID(old.ID)]
		if !old.Ran() || r.Outcome == "passed" || there && outcome != "passed" {
			continue
		}
		// Of a test that has another name or other parameters now nothing else tells
		// whether it would pass.
		if !there || len(t.aids) == 0 {
			t.changed(d.NewID(old.ID), r)
			continue
		}
		why := r.Message
		if !ran {
			why = check.Join([]string{"it does not run without them", t.out.Blocked, t.out.Detail}, ": ")
		}
		file, _, _ := strings.Cut(d.NewID(old.ID), "::")
		g.Findings = append(g.Findings, check.Finding{
			File: file, Rule: compare.RuleTestHelper,
			Message: fmt.Sprintf("%s passes only with what the patch makes of %s: %s", check.Shorten(old.ID), check.Shorten(strings.Join(t.aids, ", ")), check.Shorten(why)),
		})
		g.Verdict = check.Policy
		if len(g.Findings) >= compare.MaxOld {
			break
		}
	}
	return g
}

// otherNames matches how a test ends that calls what has another name or another
// form now: its callers were rewritten with it, which the tests that run tell.
var otherNames = regexp.MustCompile(`^(?:ImportError|ModuleNotFoundError|AttributeError|NameError|TypeError|ReferenceError)\b`)

// changed holds a test that fails as it was before the patch, r.
func (t *trial) changed(id string, r check.TestResult) {
	if r.Outcome != "failed" || otherNames.MatchString(r.Message) || len(t.holds) == maxChanged {
		return
	}
	file, _, _ := strings.Cut(id, "::")
	t.holds = append(t.holds, policy.Hold{
		Path: file, Kind: policy.ChangedTest, Block: true, Reason: fmt.Sprintf("%s expects something else now; as it was, it fails: %s", check.Shorten(id), r.Message),
	})
}

// maxChanged bounds the holds of rewritten tests: who has seen ten has seen enough.
const maxChanged = 10

// approvals are the kinds of hold whose approval in advance lets tests prove less than
// before, by the rule of the finding.
var approvals = map[string]string{
	compare.RuleTestRemoved: policy.WeakerTest, compare.RuleTestSkipped: policy.WeakerTest, compare.RuleTestHelper: policy.ChangedTest,
}

// Approvals lists the kinds that would let gates pass whose verdict is Policy, sorted; nil
// when no approval would.
func Approvals(gates []Gate) (kinds []string) {
	for _, g := range gates {
		if g.Verdict != check.Policy {
			continue
		}
		if len(g.Findings) == 0 {
			return nil
		}
		for _, f := range g.Findings {
			kind, ok := approvals[f.Rule]
			if !ok {
				return nil
			}
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// approve lets a gate pass that only policy speaks against, where all of it was approved in
// advance: the record then has it as holds. It is called with mu held.
func (r *results) approve(name string, g check.Gate) check.Gate {
	kinds := Approvals([]Gate{g})
	if len(kinds) == 0 || slices.ContainsFunc(kinds, func(kind string) bool { return !slices.Contains(r.request.Allow, kind) }) {
		return g
	}
	for i, f := range g.Findings {
		if i == maxChanged {
			g.Detail += fmt.Sprintf("; %d more of which less is proved than before", len(g.Findings)-i)
			break
		}
		r.approved[name] = append(r.approved[name], policy.Hold{Path: f.File, Kind: approvals[f.Rule], Block: true, Reason: f.Message})
	}
	g.Verdict, g.Findings = check.Pass, []check.Finding{}
	return g
}
