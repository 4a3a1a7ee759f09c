package verify

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/verify/policy"
)

// ruleTestHelper is the rule of a test that needs the patch's own helpers.
const ruleTestHelper = "test-helper"

// A trial is the tests of a check run once more, with the program as the patch
// leaves it, and the tests and all that they are made of as they were before. A
// patch could otherwise make every test pass in conftest.py.
type trial struct {
	// What of the patch is taken back that is no test itself, sorted.
	aids []string
	// Nil until the box is done.
	out *outcome
	// What it tells and no judgement hangs on.
	holds []policy.Hold
}

// aidNames are files that a test runner reads by itself, wherever they lie.
var aidNames = []string{
	"conftest.py", "sitecustomize.py", "usercustomize.py", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "noxfile.py",
	"package.json", "jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.setup.*", "vite.config.*", "babel.config.*", ".babelrc", ".mocharc.*", "*.pth", "*.snap",
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
	l := lang.ByExtension(p)
	return l != nil && l.Checked && lang.IsTest(p)
}

// withoutAids takes back what a patch does to tests and to what they are made
// of. It names the latter, and says whether any of it was there before and
// still is: else the tests are judged as they are.
func withoutAids(base *workspace.Manifest, cs workspace.Changeset) (program workspace.Changeset, aids []string, old bool) {
	plugins := testPlugins(newView(base, workspace.Changeset{}), newView(base, cs))
	aid := func(p string) bool { return isAid(p) || slices.Contains(plugins, p) }
	back, program := splitChanges(cs, func(p string) bool { return aid(p) || isTestModule(p) })
	for _, c := range back.Changes {
		old = old || c.Op == workspace.Modify || c.Op == workspace.Rename
		if aid(c.Path) || aid(oldPath(c)) {
			aids = append(aids, c.Path)
		}
	}
	return program, aids, old
}

// trials prepares the second run of each check of tests that was there before,
// when the patch touches them or what they are made of. New tests beside the old
// ones make no difference.
func (s *session) trials(defs []check) (todo []check) {
	program, aids, old := withoutAids(s.req.Base, s.req.Changeset)
	if len(aids) == 0 && !old {
		return nil
	}
	for _, def := range defs {
		if def.applies(s.base) == "" && def.applies(newView(s.req.Base, program)) == "" {
			s.results.await(def.name, aids)
			todo = append(todo, def)
		}
	}
	return todo
}

// unaided runs a check of tests in a box of its own, on the program alone. Like
// program it records nothing when ctx ends.
func (s *session) unaided(ctx context.Context, def check) {
	if s.idle(def) {
		s.results.tried(def.name, outcome{})
		return
	}
	err := s.withBox(ctx, s.req.patched(), "unaided-", def.group, func(box *sandbox.Box) {
		select {
		case <-s.settled:
		case <-ctx.Done():
			return
		}
		program, _, _ := withoutAids(s.req.Base, s.final)
		if err := box.Apply(ctx, program); err != nil {
			s.results.tried(def.name, infra("apply the patch without its tests: %v", err))
			return
		}
		out := def.run(ctx, s.within(s.bench(box, newView(s.req.Base, program), s.after), def))
		if ctx.Err() == nil {
			s.results.tried(def.name, out)
		}
	})
	if err != nil && ctx.Err() == nil {
		s.results.tried(def.name, infra("%v", err))
	}
}

// await makes the judgement of a check wait for its trial.
func (r *results) await(name string, aids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials[name] = &trial{aids: aids}
}

// tried records the outcome of a trial.
func (r *results) tried(name string, out outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trials[name].out = &out
	r.judge(name)
}

// waits reports whether the trial of a check is still to come.
func (t *trial) waits() bool { return t != nil && t.out == nil }

// judge holds against a judgement what the trial tells: tests that passed with
// the patch's helpers and do not without. Those that the patch brings cannot
// pass without, and prove nothing of what was there before. Where the patch has no
// helpers, only rewritten tests, that is left to a person: what a program is to do
// may change.
func (t *trial) judge(g Gate, base, cand outcome, d diff) Gate {
	if t == nil || g.Verdict != Pass && g.Verdict != Policy {
		return g
	}
	if t.out.Verdict == Infra {
		g.Verdict, g.Detail = Infra, "tried with the tests and helpers as they were: "+t.out.Detail
		return g
	}
	now, alone := map[string]string{}, map[string]testResult{}
	for _, r := range cand.Tests {
		now[r.ID] = r.Outcome
	}
	for _, r := range t.out.Tests {
		alone[r.ID] = r
	}
	for _, old := range base.Tests {
		r, ran := alone[old.ID]
		if !old.ran() || now[d.newID(old.ID)] != "passed" || r.Outcome == "passed" {
			continue
		}
		if len(t.aids) == 0 {
			t.changed(d.newID(old.ID), r)
			continue
		}
		why := r.Message
		if !ran {
			why = present([]string{"it does not run without them", t.out.Blocked, t.out.Detail}, ": ")
		}
		file, _, _ := strings.Cut(d.newID(old.ID), "::")
		g.Findings = append(g.Findings, Finding{
			File: file, Rule: ruleTestHelper,
			Message: fmt.Sprintf("%s passes only with what the patch makes of %s: %s", shorten(old.ID), shorten(strings.Join(t.aids, ", ")), shorten(why)),
		})
		g.Verdict = Policy
		if len(g.Findings) >= maxOld {
			break
		}
	}
	return g
}

// otherNames matches how a test ends that calls what has another name or another
// form now: its callers were rewritten with it, which the tests that run tell.
var otherNames = regexp.MustCompile(`^(?:ImportError|ModuleNotFoundError|AttributeError|NameError|TypeError)\b`)

// changed holds a test that fails as it was before the patch, r.
func (t *trial) changed(id string, r testResult) {
	if r.Outcome != "failed" || otherNames.MatchString(r.Message) || len(t.holds) == maxChanged {
		return
	}
	file, _, _ := strings.Cut(id, "::")
	t.holds = append(t.holds, policy.Hold{
		Path: file, Kind: policy.ChangedTest, Block: true, Reason: fmt.Sprintf("%s expects something else now; as it was, it fails: %s", shorten(id), r.Message),
	})
}

// maxChanged bounds the holds of rewritten tests: who has seen ten has seen enough.
const maxChanged = 10
