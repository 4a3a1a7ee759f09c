package verify

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/audit"
	"agent/verify/check"
	"agent/verify/near"
	"agent/verify/trial"
)

// narrow runs the test files that the patch is about, on both sides, if a run of all tests did not end in time before
// the patch: otherwise a suite that takes longer than the limit would say nothing about any patch.
func (s *session) narrow(ctx context.Context) {
	for _, name := range s.results.long() {
		def, files := checkNamed(name), near.Files(check.NewView(s.req.Base, s.final), s.final)
		run := func(on Layer, side string, cs workspace.Changeset) (out check.Outcome) {
			v := check.NewView(s.req.Base, cs)
			there := slices.DeleteFunc(slices.Clone(files), func(p string) bool { return !v.Has(p) })
			if len(there) == 0 {
				return out
			}
			defer s.turn(ctx)()
			err := s.withBox(ctx, on, side, def.Group, func(box *sandbox.Box) {
				if err := box.Apply(ctx, cs); err != nil {
					out = check.Infraf("apply the patch: %v", err)
					return
				}
				b := s.bench(box, v, check.Entry{})
				b.Files, b.Lines = there, audit.Asked(cs)
				out = def.Run(ctx, b)
			})
			if err != nil {
				return check.Infraf("%v", err)
			}
			return out
		}
		var base, cand, old check.Outcome
		if len(files) > 0 {
			cand = run(s.req.patched(), "near-", s.final)
		}
		if cand.Verdict == "" && len(files) > 0 {
			base = run(s.req.layer(), "near-base-", workspace.Changeset{})
			if parts := trial.SplitPatch(s.req.Base, s.final); parts.Wanted() || parts.Deleted {
				old = run(s.req.patched(), "near-unaided-", parts.Program)
			}
		}
		if ctx.Err() == nil {
			s.keepLong(ctx, name)
			for _, out := range []check.Outcome{cand, base} {
				if out.Verdict != "" {
					s.results.note(fmt.Sprintf("the test files that the patch is about (%d) did not judge it either: %s", len(files), cmp.Or(out.Detail, string(out.Verdict))))
					break
				}
			}
			s.results.narrowed(name, len(files), base, cand, old)
		}
	}
}

// isLong reports whether the judgement of a check waits for narrow. It is called with mu held.
func (r *results) isLong(def check.Check, base, cand check.Outcome) bool {
	_, tried := r.near[def.Name]
	return mayBeLong(def) && base.Verdict == check.Timeout && cand.Verdict != check.Infra && !tried
}

// long lists the checks that wait for narrow.
func (r *results) long() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(r.base)) {
		cand, have := r.cand[name]
		if _, skipped := r.skipped[name]; have && !skipped && r.isLong(r.named(name), r.base[name], cand) {
			names = append(names, name)
		}
	}
	return names
}

// late returns on how many sides a check did not end in time.
func (r *results) late(name string) (sides int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, out := range []check.Outcome{r.cand[name], r.base[name]} {
		if out.Verdict == check.Timeout {
			sides++
		}
	}
	return sides
}

// narrowed records how some test files ended and judges the check by them. If there are none, or they do not end in
// time either, the check is judged by its earlier outcomes.
func (r *results) narrowed(name string, files int, base, cand, old check.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.near[name] = ""
	if files > 0 && len(base.Tests)+len(cand.Tests) > 0 && base.Verdict == "" && cand.Verdict == "" {
		said := "the test file that the patch is about"
		if files > 1 {
			said = fmt.Sprintf("the %d test files that the patch is about", files)
		}
		r.near[name] = fmt.Sprintf("only %s ran, because the tests did not all finish within %s before the patch", said, r.request.Config.Timeout)
		if at := r.base[name].Running; at != "" {
			r.near[name] += ", when " + check.Shorten(at) + " was running"
		}
		r.base[name], r.cand[name] = base, cand
		if t := r.trials[name]; t != nil {
			t.Old = &old
		}
	}
	r.judge(name)
}
