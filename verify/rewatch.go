package verify

import (
	"context"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/audit"
	"agent/verify/check"
	"agent/verify/smoke"
)

// rewatch watches the program to the end on one side, if a short look cut it short there while on the other side it was
// not a guess or had ended by itself. The judgement waits for it.
func (s *session) rewatch(ctx context.Context) {
	cand, due := s.results.unequal()
	if !due {
		return
	}
	var asked check.Lines
	if cand {
		asked = audit.Asked(s.final)
	}
	if out := s.started(ctx, "rewatch-", cand, asked); ctx.Err() == nil {
		s.results.rewatched(cand, out)
	}
}

// started starts the program once more, the candidate's if cand is true, watches it to the end, and records which of
// lines it executes.
func (s *session) started(ctx context.Context, purpose string, cand bool, lines check.Lines) (out check.Outcome) {
	on, v, e, cs := s.req.layer(), s.base, s.before, workspace.Changeset{}
	if cand {
		on, v, e, cs = s.req.patched(), check.NewView(s.req.Base, s.final), s.after, s.final
	}
	e.Guess = false
	give := s.turn(ctx)
	defer give()
	err := s.withBox(ctx, on, purpose, check.GroupSmoke, func(box *sandbox.Box) {
		if !cs.Empty() {
			if err := box.Apply(ctx, cs); err != nil {
				out = check.Infraf("apply the patch: %v", err)
				return
			}
		}
		b := s.bench(box, v, e)
		b.Lines = lines
		out = checkNamed(smoke.ProgramName).Run(ctx, b)
	})
	if err != nil {
		return check.Infraf("%v", err)
	}
	return out
}

// retrace records on both sides which lines the program executes in the files that the patch touches, if it may do less
// than before. The judgement waits for it.
func (s *session) retrace(ctx context.Context) {
	if !s.results.doubtful() {
		return
	}
	before, after := audit.Texts(s.final)
	var does check.Does
	if then := s.started(ctx, "retrace-", false, before); then.Traced != nil {
		does.Then = then.Traced.Ran.Count()
		if now := s.started(ctx, "retrace-", true, after); now.Traced != nil {
			does = audit.Does(s.final, then.Traced.Ran, now.Traced.Ran)
		}
	}
	if ctx.Err() == nil {
		s.results.retraced(does)
	}
}

// doubtful reports whether the program may do less than before; see smoke.Doubtful.
func (r *results) doubtful() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, skipped := r.skipped[smoke.ProgramName]
	return !skipped && smoke.Doubtful(r.base[smoke.ProgramName], r.cand[smoke.ProgramName])
}

// retraced records how much the program does of what it did, which the judgement has waited for.
func (r *results) retraced(does check.Does) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cand := r.cand[smoke.ProgramName]
	end := *cand.Ending
	end.Does = &does
	cand.Ending = &end
	r.cand[smoke.ProgramName] = cand
	r.judge(smoke.ProgramName)
}

// unequal reports whether the program was cut short on one side only; see smoke.Unequal.
func (r *results) unequal() (cand, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, skipped := r.skipped[smoke.ProgramName]; skipped {
		return false, false
	}
	return smoke.Unequal(r.base[smoke.ProgramName], r.cand[smoke.ProgramName])
}

// rewatched records the program's outcome when watched to the end, for the candidate if cand is true, and judges it.
func (r *results) rewatched(cand bool, out check.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	side := r.base
	if cand {
		side = r.cand
	}
	side[smoke.ProgramName] = out
	r.watched = true
	r.judge(smoke.ProgramName)
}
