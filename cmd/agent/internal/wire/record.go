package wire

import (
	"context"
	"errors"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/blame"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/history"
	"agent/verify"
)

// Named returns the run that the argument names, the latest without
// one.
func (s *Session) Named(ctx context.Context, prefix string) (history.RunDetail, error) {
	// The latest run of any workspace: it is the one that the person
	// has just seen.
	if prefix == "" {
		latest, err := s.DB.Runs(ctx, history.RunFilter{Limit: 1})
		if err != nil {
			return history.RunDetail{}, err
		}
		if len(latest) == 0 {
			return history.RunDetail{}, fault.Usage("`agent sandbox run --patch FILE` makes one", "there is no run yet")
		}
		prefix = latest[0].ID
	}
	// The store's own error does not say what was asked for.
	d, err := s.DB.Run(ctx, prefix)
	if errors.Is(err, database.ErrNotFound) {
		err = fault.Usage("see `agent runs list`", "no run has a name that begins with %q", prefix)
	}
	return d, err
}

// Unrecorded is what is said of a run whose record does not tell what was not judged.
func Unrecorded() []verify.Unproven {
	return []verify.Unproven{{Gate: "tests", Kind: verify.Unknown, Reason: "it was not recorded then whether a test ran"}}
}

// Timeline reads the history of a file that holds now.
// dir is the workspace with its links resolved, as runs record it; under another name
// nothing would be found. now comes from the caller, so that the lines it shows are
// those that are judged.
func (s *Session) Timeline(ctx context.Context, dir, name, now string) (*blame.Timeline, error) {
	rows, err := s.DB.FileHistory(ctx, dir, name)
	if err != nil {
		return nil, err
	}
	var changes []blame.Change
	for _, r := range rows {
		changes = append(changes, blame.Change{
			Run: r.Run, UndoOf: r.UndoOf, Model: r.Model, Review: string(r.Verdict), At: r.At, Before: string(r.Before), After: string(r.After),
		})
	}
	return blame.NewTimeline(changes, now), nil
}
