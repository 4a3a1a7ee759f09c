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

const (
	// maxSuspects is how many failing tests are repeated. A patch that breaks more
	// has broken something.
	maxSuspects = 5
	// maxRepeats is how often, on each side, each time in a box of its own: what a
	// test leaves behind must not make the next time fail. It is below maxBoxes.
	maxRepeats = 3
)

// A suspect is a test that passed before the patch and failed with it, by its ID
// on each side.
type suspect struct{ base, cand string }

// A repetition is what became of the suspects of one check: how often each, by its
// ID on that side, ended how.
type repetition struct {
	suspects   []suspect
	base, cand map[string]tally
}

// A tally counts the repeats of one test.
type tally struct{ passed, failed int }

// suspects lists the tests whose failing is all that a judgement holds against the
// patch, nil when there are too many or when something else speaks against it
// too: then it does not matter which of them fail by chance.
func suspects(g check.Gate, base, cand check.Outcome, d check.Diff) []suspect {
	if g.Verdict != check.Fail || base.Verdict != "" || base.Blocked != "" || cand.Blocked != "" {
		return nil
	}
	passed := map[string]string{}
	for _, r := range base.Tests {
		if r.Outcome == "passed" {
			passed[d.NewID(r.ID)] = r.ID
		}
	}
	var list []suspect
	for _, r := range cand.Tests {
		// A test can be asked for by its ID, unless its runner took that for an option.
		// What fails because of the tests in it is repeated with them.
		if old, ok := passed[r.ID]; ok && r.Bad() && r.Ran() && !r.Within && !strings.HasPrefix(r.ID, "-") && !strings.HasPrefix(old, "-") {
			list = append(list, suspect{old, r.ID})
		}
	}
	against := 0
	for _, f := range g.Findings {
		if !compare.TestPolicy[f.Rule] {
			against++
		}
	}
	if len(list) != against || len(list) > maxSuspects {
		return nil
	}
	return list
}

// flaky says that a test fails by chance: some of the repeats before the patch
// failed and some passed, and with the patch some passed. A test that fails each
// time with the patch is the patch's, however it was before.
func (r *repetition) flaky(s suspect) (why string, ok bool) {
	base, cand := r.base[s.base], r.cand[s.cand]
	if base.failed == 0 || base.passed == 0 || cand.passed == 0 {
		return "", false
	}
	return fmt.Sprintf("flaky: failed %d of %d times before the patch", base.failed, base.failed+base.passed), true
}

// excuse shows both sides as they would be if the flaky tests had failed before the
// patch too: they are then told as old.
func (r *repetition) excuse(base, cand check.Outcome) (check.Outcome, check.Outcome) {
	if r == nil {
		return base, cand
	}
	base.Tests, cand.Tests = slices.Clone(base.Tests), slices.Clone(cand.Tests)
	for _, s := range r.suspects {
		why, ok := r.flaky(s)
		if !ok {
			continue
		}
		for i, t := range base.Tests {
			if t.ID == s.base {
				base.Tests[i].Outcome = "failed"
			}
		}
		for i, t := range cand.Tests {
			if t.ID == s.cand {
				cand.Tests[i].Message = why + ": " + t.Message
			}
		}
	}
	return base, cand
}

// tallied adds one run to the count of its tests.
func tallied(count map[string]tally, out check.Outcome) {
	if out.Verdict != "" || out.AnyBlocked() {
		return
	}
	for _, t := range out.Tests {
		n := count[t.ID]
		switch {
		case t.Bad():
			n.failed++
		case t.Outcome == "passed":
			n.passed++
		}
		count[t.ID] = n
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
		if !old.Ran() || now[d.NewID(old.ID)] != "passed" || r.Outcome == "passed" {
			continue
		}
		if len(t.aids) == 0 {
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
var otherNames = regexp.MustCompile(`^(?:ImportError|ModuleNotFoundError|AttributeError|NameError|TypeError)\b`)

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
