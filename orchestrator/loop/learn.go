package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"agent/orchestrator/agent"
	"agent/orchestrator/ledger"
	"agent/orchestrator/run"
	"agent/orchestrator/tournament"
)

// learn does what is left after an iteration's run: the ledger and its ripples, the cascade queue, the memory, and the exports. notes
// say what could not be learnt. After an error the iteration stays as it is.
//
// Each step may be done twice and counts once. What the vendor or the engine cannot provide is noted and left out, since the promoted
// change is there either way. What the store cannot take is an error.
func (l *Loop) learn(ctx context.Context, it *Iteration, crew tournament.Crew) (notes []string, err error) {
	ctx = l.Runner.Log.Of(ctx, it.Run)
	plan, err := tournament.RecordedPlan(it.Plan).Read()
	if err != nil {
		return nil, err
	}
	if it.Outcome == outcomePromoted {
		if err := l.ripple(ctx, *it, &notes); err != nil {
			return notes, err
		}
	}
	// It was attended to, whatever came of it: a file that no repair can fix would otherwise be chosen for ever.
	if plan.Task.Brief.Cascade != "" {
		if err := l.Knowledge.Served(ctx, it.Workspace, it.Run, plan.Task.Brief.Target); err != nil {
			return notes, err
		}
	}
	// A run that changed nothing leaves nothing to remember, and asks no model about it.
	if it.Outcome == outcomePromoted {
		if err := l.remember(ctx, *it, plan, crew, &notes); err != nil {
			return notes, err
		}
	}
	// A workspace in which nothing was promoted stays exactly as it was.
	if l.Export != nil && it.Outcome == outcomePromoted {
		if err := l.excuse(ctx, &notes, "the exports were not written", l.Export(ctx, it.Workspace)); err != nil {
			return notes, err
		}
	}
	it.Phase = Settled
	return notes, l.keep(ctx, *it)
}

// excuse notes what went wrong and goes on, unless ctx has ended or another process is at work.
func (l *Loop) excuse(ctx context.Context, notes *[]string, what string, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, run.ErrFenced) {
		return err
	}
	*notes = append(*notes, what+": "+err.Error())
	l.note(what + ": " + err.Error())
	return nil
}

// ripple brings the ledger up to date, and puts the files that use what the promotion changed into the queue.
func (l *Loop) ripple(ctx context.Context, it Iteration, notes *[]string) error {
	if l.Study == nil {
		return nil
	}
	l.note("bring the ledger up to date")
	var lost error // what the store did not take
	err := l.Study(ctx, it.Workspace, func(ripples []ledger.Ripple) error {
		if len(ripples) == 0 {
			return nil
		}
		p, err := l.Knowledge.PromotionOf(ctx, it.Run)
		if err == nil {
			err = Cascade(ctx, l.Knowledge, it.Workspace, it.Run, Diffs(p.Changeset))(ripples)
		}
		lost = err
		return err
	})
	if lost != nil {
		return lost
	}
	return l.excuse(ctx, notes, "the ledger was not brought up to date", err)
}

// remember merges the iteration into the memory, once.
func (l *Loop) remember(ctx context.Context, it Iteration, plan tournament.Plan, crew tournament.Crew, notes *[]string) error {
	m, err := l.Knowledge.Memory(ctx, it.Workspace)
	if err != nil || m.Run == it.Run {
		return err
	}
	// A path in the memory that no longer exists may be forgotten.
	exists := func(p string) bool {
		_, err := os.Lstat(filepath.Join(it.Workspace, p))
		return filepath.IsLocal(p) && err == nil
	}
	next, kept, err := m.Remember(ctx, crew.Engineer.Model, crew.Engineer.Prompts, plan.Task.Fence, it.Session, exists)
	if err != nil {
		var stop *agent.StopError
		if errors.As(err, &stop) && ctx.Err() == nil {
			err = fmt.Errorf("%s; next: %s", stop.Message, stop.Next)
		}
		return l.excuse(ctx, notes, "the memory was not updated", err)
	}
	if kept != "" {
		*notes = append(*notes, "memory: "+kept)
	}
	next.Run = it.Run
	return l.Knowledge.SaveMemory(ctx, it.Workspace, it.Run, next)
}
