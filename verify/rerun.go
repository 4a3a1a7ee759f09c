package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/audit"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/golang"
	"agent/verify/node"
	"agent/verify/policy"
	"agent/verify/python"
	"agent/verify/shell"
	"agent/verify/web"
)

// repeat runs the suspects of each check again, with the patch and without it, after everything else is done, and
// judges the checks. The judgement waits for it, so a repetition that cannot be made excuses nothing.
func (s *session) repeat(ctx context.Context) {
	todo := s.results.suspected()
	for _, name := range slices.Sorted(maps.Keys(todo)) {
		def, again := checkNamed(name), compare.Repetition{Suspects: todo[name]}
		var before, after []string
		for _, one := range again.Suspects {
			before, after = append(before, one.Base), append(after, one.Cand)
		}
		// All repeats together may take as long as the gate itself.
		deadline := time.Now().Add(s.req.Config.Timeout)
		again.Cand = s.repeatsAlone(ctx, def, after, deadline)
		// Otherwise no test is flaky, whatever it does before the patch.
		if slices.ContainsFunc(again.Suspects, func(one compare.Suspect) bool { return again.Cand[one.Cand].Passed > 0 }) {
			again.Base = s.repeatsAtOnce(ctx, def, before, deadline)
			s.repeatWhole(ctx, def, &again, after, deadline)
		}
		if ctx.Err() == nil {
			s.results.repeated(name, again)
		}
	}
}

// maxRepeats is how often tests are repeated on each side, each time in a new box: what a test leaves behind must not
// make the next run fail. It is below maxBoxes.
const maxRepeats = 3

// longRepeat is how long a repeat in which nothing passes may take for another repeat to be worthwhile.
const longRepeat = 20 * time.Second

// repeatsAlone runs tests with the patch one time after the other, until each has passed, and counts how they end.
// Tests that fail because the machine is busy are least likely to fail this way.
func (s *session) repeatsAlone(ctx context.Context, def check.Check, ids []string, deadline time.Time) map[string]compare.Tally {
	count := map[string]compare.Tally{}
	for range maxRepeats {
		began := time.Now()
		give := s.turn(ctx)
		compare.Count(count, s.repeatOnce(ctx, def, s.final, ids, nil, deadline))
		give()
		passed := 0
		for _, id := range ids {
			passed += min(count[id].Passed, 1)
		}
		if passed == len(ids) || passed == 0 && time.Since(began) > longRepeat || ctx.Err() != nil {
			break
		}
	}
	return count
}

// repeatsAtOnce runs the tests without the patch several times at once, which keeps the machine busy.
func (s *session) repeatsAtOnce(ctx context.Context, def check.Check, ids []string, deadline time.Time) map[string]compare.Tally {
	var mu sync.Mutex
	count := map[string]compare.Tally{}
	var wg sync.WaitGroup
	for range maxRepeats {
		give := s.turn(ctx)
		wg.Go(func() {
			defer give()
			out := s.repeatOnce(ctx, def, workspace.Changeset{}, ids, nil, deadline)
			mu.Lock()
			defer mu.Unlock()
			compare.Count(count, out)
		})
	}
	wg.Wait()
	return count
}

// repeatWhole runs all tests with the patch once more, if the suspects now pass on both sides and have no part in its changes.
func (s *session) repeatWhole(ctx context.Context, def check.Check, again *compare.Repetition, ids []string, deadline time.Time) {
	lines, ok := audit.Everywhere(s.final)
	if !ok || !again.Doubtful() || !compare.Apart(s.repeatOnce(ctx, def, s.final, ids, lines, deadline), ids, lines) {
		return
	}
	again.Whole = map[string]compare.Tally{}
	compare.Count(again.Whole, s.repeatOnce(ctx, def, s.final, nil, nil, deadline))
}

// repeatOnce runs tests in a new box, all if ids is nil, and records which of lines they execute. A run that does not
// come to its own end has no results.
func (s *session) repeatOnce(ctx context.Context, def check.Check, cs workspace.Changeset, ids []string, lines check.Lines, deadline time.Time) (out check.Outcome) {
	err := s.withBox(ctx, s.req.layer(), "repeat-", def.Group, func(box *sandbox.Box) {
		b := s.bench(box, check.NewView(s.req.Base, cs), check.Entry{})
		b.Only, b.Lines, b.Timeout = ids, lines, time.Until(deadline)
		if b.Timeout > 0 && (cs.Empty() || box.Apply(ctx, cs) == nil) {
			out = def.Run(ctx, b)
		}
	})
	if err != nil && ctx.Err() == nil {
		s.results.note(err.Error())
	}
	return out
}

// suspected returns the suspects of the checks that wait for their repetition.
func (r *results) suspected() map[string][]compare.Suspect {
	r.mu.Lock()
	defer r.mu.Unlock()
	todo := map[string][]compare.Suspect{}
	for name, list := range r.suspects {
		if _, skipped := r.skipped[name]; !skipped {
			todo[name] = list
		}
	}
	return todo
}

// repeated records a repetition, which the judgement has waited for.
func (r *results) repeated(name string, again compare.Repetition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.repetitions[name] = &again
	r.judge(name)
}

// silencers has the checks that heed the suppressions of a family.
var silencers = map[string][]string{
	"noqa": {python.RuffName}, "type: ignore": {python.MypyName, python.PyrightName, python.TyName}, "eslint": {node.ESLintName},
	"typescript": {node.ScriptName, node.CompilerName}, "biome": {web.BiomeName}, "staticcheck": {golang.StaticcheckName}, "shellcheck": {shell.Name},
	"stylelint": {node.StylelintName},
}

// unsilence repeats lint and types on a candidate that passed, without the suppressions that it adds. A suppression
// does not block if it hides nothing that counts, or only what neither a gate nor the project looks for.
func (s *session) unsilence(ctx context.Context) {
	list, bare := policy.SilencedBy(s.final)
	if len(list) == 0 || !s.results.passed() {
		return
	}
	d, told := compare.NewDiff(bare, check.NewView(s.req.Base, bare)), map[string]bool{}
	for _, defs := range s.results.heeding() {
		outs := s.rerun(ctx, "bare-", defs, bare)
		for _, def := range defs {
			if out, ran := outs[def.Name]; !ran || !s.results.report(def, out, d, told) {
				return // not measured: all suppressions block
			}
		}
	}
	list = slices.DeleteFunc(list, func(x policy.Silenced) bool {
		return told[x.Hold.Path] || !s.results.heeded(x.Family) && policy.Checks(s.base, x.Family)
	})
	for _, x := range list {
		s.results.silenced = append(s.results.silenced, x.Harmless())
	}
}

// rerun repeats checks that share a box, in a new one for purpose, on a form of the candidate: without its suppressions, or unchanged.
func (s *session) rerun(ctx context.Context, purpose string, defs []check.Check, form workspace.Changeset) map[string]check.Outcome {
	outs := map[string]check.Outcome{}
	give := s.turn(ctx)
	defer give()
	err := s.withBox(ctx, s.req.patched(), purpose, defs[0].Group, func(box *sandbox.Box) {
		_, cs := splitConfig(form)
		if defs[0].Group != check.GroupStatic {
			cs = s.seenBy(defs[0], form)
		}
		kept, err := s.keep(ctx, s.bench(box, s.base, check.Entry{}), defs, cs)
		if err == nil {
			err = box.Apply(ctx, cs)
		}
		if err != nil {
			s.results.note(fmt.Sprintf("%s not run again: %v", defs[0].Name, err))
			return
		}
		for _, def := range defs {
			b := s.bench(box, check.NewView(s.req.Base, cs), check.Entry{})
			b.Reach, b.Leave, b.Kept = s.reach[def.Name], s.leaves(def), kept
			outs[def.Name] = s.configured(ctx, def, b, cs)
		}
	})
	if err != nil && ctx.Err() == nil {
		s.results.note(err.Error())
	}
	return outs
}

// passed reports whether nothing counts against the candidate.
func (r *results) passed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return compare.Overall(slices.Collect(maps.Values(r.judged))) == check.Pass
}

// heeding lists the checks that judged and that heed suppressions, by the box that they share.
func (r *results) heeding() (boxes [][]check.Check) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var static []check.Check
	for _, def := range checks() {
		switch _, judged := r.judged[def.Name]; {
		case !judged:
		case def.Group == check.GroupStatic:
			static = append(static, def)
		case slices.Contains(node.OwnGroups, def.Group):
			boxes = append(boxes, []check.Check{def})
		}
	}
	if len(static) > 0 {
		boxes = append(boxes, static)
	}
	return boxes
}

// heeded reports whether a check that heeds the suppressions of a family has judged.
func (r *results) heeded(family string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(silencers[family], func(name string) bool { _, judged := r.judged[name]; return judged })
}

// report adds to told the files in which a check reports something that counts, and reports whether it judged.
func (r *results) report(def check.Check, out check.Outcome, d check.Diff, told map[string]bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	base := r.base[def.Name]
	g, reason := judge(def, base, out.Beside(base, r.left[def.Name]), r.proof[def.Name], d)
	for _, f := range g.Findings {
		told[f.File] = true
	}
	return reason == "" && (g.Verdict == check.Pass || g.Verdict == check.Fail && len(g.Findings) > 0 && !told[""])
}
