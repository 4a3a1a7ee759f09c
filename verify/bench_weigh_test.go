//go:build bench

package verify

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/policy"
	"agent/verify/room"
	"agent/verify/trial"
	"agent/verify/verifytest"
)

// A weighedCase is a row of the tables, in its own directory.
type weighedCase struct {
	rewrite
	dir    string
	weaker bool
	cs     workspace.Changeset
	back   map[string][]byte // like trial.Trial.Earlier

	diff       check.Diff
	base, cand check.Outcome
	tried      *trial.Trial
	gate       check.Gate
	weighing   *trial.Weighing
	before     []string // what is held without measuring
}

// within returns the part of an outcome that concerns the case.
func (c *weighedCase) within(out check.Outcome) check.Outcome {
	mine := func(p string) bool { return p == c.dir || path.Dir(p) == c.dir }
	out = out.Within(mine)
	if out.Traced != nil {
		out.Traced = &check.Trace{Code: out.Traced.Code.Only(mine), Ran: out.Traced.Ran.Only(mine)}
	}
	return out
}

// held returns the reasons that block.
func (c *weighedCase) held() (list []string) {
	if c.gate.Verdict != check.Pass {
		list = append(list, fmt.Sprint(c.gate.Verdict, c.gate.Findings))
	}
	for _, h := range append(policy.ReviewText(c.cs, nil), c.tried.Holds...) {
		if h.Block {
			list = append(list, h.Kind+": "+h.Reason)
		}
	}
	return list
}

// casesOf plants the rows of a language next to each other.
func casesOf(t *testing.T, l weighedLanguage) (cases []*weighedCase, base *workspace.Manifest) {
	t.Helper()
	files, after := map[string]string{}, map[int]map[string]string{}
	for p, text := range l.files {
		files[p] = text
	}
	for i, r := range append(slices.Clone(l.weaker), l.honest...) {
		name := func(p string) string { return strings.ReplaceAll(p, "@", fmt.Sprint(i)) }
		c := &weighedCase{rewrite: r, dir: fmt.Sprint("c", i), weaker: i < len(l.weaker), back: map[string][]byte{}}
		program := r.apply(t, l.code, r.promoted)
		files[name(l.program)], files[name(l.test)] = program, l.text(fmt.Sprint(i), r.before)
		if r.earlier != "" {
			c.back[name(l.test)] = []byte(l.text(fmt.Sprint(i), r.earlier))
		}
		after[i] = map[string]string{name(l.test): l.text(fmt.Sprint(i), r.after)}
		if r.program != "" {
			after[i][name(l.program)] = r.apply(t, program, r.program)
		}
		cases = append(cases, c)
	}
	base = verifytest.Scan(t, files)
	for i, c := range cases {
		c.cs = verifytest.Change(t, base, after[i])
		c.diff = compare.NewDiff(c.cs, check.NewView(base, c.cs))
	}
	return cases, base
}

// joined returns the combined changeset of all cases.
func joined(of []*weighedCase, part func(*weighedCase) workspace.Changeset) (cs workspace.Changeset) {
	for _, c := range of {
		cs.Changes = append(cs.Changes, part(c).Changes...)
	}
	slices.SortFunc(cs.Changes, func(a, b workspace.Change) int { return strings.Compare(a.Path, b.Path) })
	return cs
}

// A scale weighs all cases of a language in one box, one mutant of each at a time.
type scale struct {
	rig
	cases []*weighedCase
}

// run runs tests on the content of the box plus the changeset more, which v does not include.
func (s scale) run(t *testing.T, v check.View, more workspace.Changeset, only []string, lines check.Lines) check.Outcome {
	t.Helper()
	return s.with(t, more, func(ctx context.Context, b check.Bench) check.Outcome {
		b.View, b.Only, b.Lines, b.Timeout = v, only, lines, 2*time.Minute
		return s.def.Run(ctx, b)
	})
}

// trials judges each case as far as reading the text and the trials allow.
func (s scale) trials(t *testing.T) {
	t.Helper()
	all := joined(s.cases, func(c *weighedCase) workspace.Changeset { return c.cs })
	programs := joined(s.cases, func(c *weighedCase) workspace.Changeset { return trial.SplitPatch(s.base, c.cs).Program })
	tests := joined(s.cases, func(c *weighedCase) workspace.Changeset { return trial.SplitPatch(s.base, c.cs).Tests })
	base, cand, old := s.with(t, workspace.Changeset{}, s.def.Run), s.with(t, all, s.def.Run), s.with(t, programs, s.def.Run)
	var asked []string
	for _, c := range s.cases {
		c.base, c.cand = c.within(base), c.within(cand)
		was := c.within(old)
		gate, reason := judge(s.def, c.base, c.cand, "", c.diff)
		c.gate = gate
		if reason != "" || len(c.base.Tests) == 0 || slices.ContainsFunc(c.base.Tests, check.TestResult.Bad) {
			t.Fatalf("%s: %s\n%s\n%+v", c.dir, reason, c.before, base)
		}
		c.tried = &trial.Trial{Old: &was, Before: check.OnBase(s.base), Earlier: c.back}
		c.tried.Ask(c.gate, c.base, c.cand, c.diff)
		asked = append(asked, c.tried.Asked()...)
	}
	var now check.Outcome
	if len(asked) > 0 {
		only := s.rig
		only.Only = asked
		now = only.with(t, tests, s.def.Run)
	}
	for _, c := range s.cases {
		if len(c.tried.Asked()) > 0 {
			answer := c.within(now)
			c.tried.New = &answer
		}
		c.gate = c.tried.Judge(c.gate, c.base, c.cand, c.diff)
		c.before = c.held()
		c.weighing = c.tried.Weigh(c.base, c.cand, c.diff, c.cs, check.NewView(s.base, c.cs))
	}
}

// weigh tries the mutants of a side, or repeats those that showed something if confirm is set.
func (s scale) weigh(t *testing.T, side trial.Side, confirm bool) {
	t.Helper()
	of := slices.DeleteFunc(slices.Clone(s.cases), func(c *weighedCase) bool {
		if c.weighing == nil || len(c.weighing.Tests[side]) == 0 {
			return true
		}
		i, found := c.weighing.Weaker()
		return confirm && (!found || c.weighing.ShownBy(i) != side)
	})
	if len(of) == 0 {
		return
	}
	cs := joined(of, func(c *weighedCase) workspace.Changeset {
		return map[trial.Side]workspace.Changeset{trial.Earlier: c.weighing.Back, trial.AsIs: c.cs}[side]
	})
	v := check.NewView(s.base, cs)
	if err := s.Box.Apply(t.Context(), cs); err != nil {
		t.Fatal(err)
	}
	due := map[*weighedCase][]int{}
	var only []string
	lines := check.Lines{}
	for _, c := range of {
		only = append(only, c.weighing.Tests[side]...)
		asked := c.weighing.Lines
		if side == trial.AsIs {
			asked = c.weighing.LinesNow()
		}
		for p, list := range asked {
			if path.Dir(p) == c.dir && side != trial.Earlier {
				lines[p] = list
			}
		}
	}
	var out check.Outcome
	if !confirm {
		out = s.run(t, v, workspace.Changeset{}, only, lines)
	}
	for _, c := range of {
		if i, found := c.weighing.Weaker(); confirm && found {
			due[c] = []int{i}
		} else if c.weighing.Began(c.within(out), side) {
			due[c] = c.weighing.Due(side)
		}
	}
	for round := 0; ; round++ {
		var ids []string
		changes := map[*weighedCase]workspace.Changeset{}
		for _, c := range of {
			if _, found := c.weighing.Weaker(); round < len(due[c]) && (confirm || !found) {
				change, ok := c.weighing.Change(due[c][round], side)
				if !ok {
					t.Errorf("%s: a mutant has no place", c.dir)
				}
				changes[c], ids = change, append(ids, c.weighing.Tests[side]...)
			}
		}
		if len(changes) == 0 {
			break
		}
		out := s.run(t, v, joined(of, func(c *weighedCase) workspace.Changeset { return changes[c] }), ids, nil)
		for c := range changes {
			if confirm {
				c.weighing.Confirmed(due[c][round], c.within(out))
			} else {
				c.weighing.Tried(due[c][round], side, c.within(out))
			}
		}
	}
	if err := s.Box.Apply(t.Context(), cs.Reverse()); err != nil {
		t.Fatal(err)
	}
}

// Weakened tests are held, even if they were weakened in two steps, and honestly rewritten tests are not, over all rows of the tables in
// three languages. AGENT_BENCH_WEAKENINGS selects one language. It takes minutes.
func TestBenchWeakenings(t *testing.T) {
	only := os.Getenv("AGENT_BENCH_WEAKENINGS")
	if only != "" && !slices.ContainsFunc(weighedLanguages(), func(l weighedLanguage) bool { return l.name == only }) {
		t.Fatalf("AGENT_BENCH_WEAKENINGS=%s: no language is called that", only)
	}
	for _, l := range weighedLanguages() {
		if only != "" && only != l.name {
			continue
		}
		began := time.Now()
		cases, base := casesOf(t, l)
		files := map[string]string{}
		for _, e := range base.Entries {
			if e.Kind == workspace.File {
				files[e.Path] = check.OnBase(base).Text(e.Path)
			}
		}
		s := scale{rig{checktest.NewBench(t, files, sandbox.Limits{Tmp: room.Tmp}), base, l.def}, cases}
		s.trials(t)
		for _, side := range []trial.Side{trial.AsWas, trial.Earlier, trial.AsIs} {
			s.weigh(t, side, false)
		}
		s.weigh(t, trial.AsWas, true)
		s.weigh(t, trial.Earlier, true)
		weaker, held, without, honest, free, freeWithout := 0, 0, 0, 0, 0, 0
		for i, c := range cases {
			said := "not measured"
			if c.weighing != nil {
				c.tried.Weighed(c.weighing)
				said = c.weighing.Said()
			}
			now := c.held()
			switch {
			case c.weaker:
				weaker++
				held += min(len(now), 1)
				without += min(len(c.before), 1)
				if len(now) == 0 {
					t.Errorf("%s: weakening %d is not held: %s\n%s", l.name, i, said, c.after)
				}
			default:
				honest++
				free += 1 - min(len(now), 1)
				freeWithout += 1 - min(len(c.before), 1)
				if len(now) > 0 {
					t.Errorf("%s: rewrite %d is held: %q: %s\n%s", l.name, i-len(l.weaker), now, said, c.after)
				}
			}
			t.Logf("%s %s: %q, before the measure %q: %s", l.name, c.dir, now, c.before, said)
		}
		t.Logf("%s: %d of %d weakenings held, %d without the measure; %d of %d honest rewrites free, %d without; %.0f s",
			l.name, held, weaker, without, free, honest, freeWithout, time.Since(began).Seconds())
	}
}
