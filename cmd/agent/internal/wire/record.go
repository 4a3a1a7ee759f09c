package wire

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/blame"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/history"
	"agent/verify"
)

// furthest is how many runs back a name like @3 may go.
const furthest = 1000

// Named returns the run, of any workspace, that the argument names; see NamedIn.
func (s *Session) Named(ctx context.Context, name string) (history.RunDetail, error) {
	return s.NamedIn(ctx, name, "")
}

// NamedIn returns the run that the argument names, in a workspace or, for "", in any. The argument is the beginning or
// the end of the run's name, or its age: "latest" or nothing for the newest, @2 for the one before.
func (s *Session) NamedIn(ctx context.Context, name, workspace string) (history.RunDetail, error) {
	back, aged, err := age(name)
	if err != nil {
		return history.RunDetail{}, err
	}
	if aged {
		found, err := s.DB.Runs(ctx, history.RunFilter{Workspace: workspace, Limit: back})
		switch {
		case err != nil:
			return history.RunDetail{}, err
		case len(found) == 0 && workspace != "":
			return history.RunDetail{}, fault.Usage("`agent sandbox run --patch FILE` makes one; `agent runs list --all` shows those of other workspaces",
				"there is no run of %s yet", workspace)
		case len(found) == 0:
			return history.RunDetail{}, fault.Usage("`agent sandbox run --patch FILE` makes one", "there is no run yet")
		case len(found) < back:
			return history.RunDetail{}, fault.Usage("see `agent runs list`", "there is no run %s: the record has only %s", name, run.Count(len(found), "run"))
		}
		name, workspace = found[back-1].ID, ""
	}
	// The store's own error does not say what was asked for.
	d, err := s.DB.RunIn(ctx, name, workspace)
	var elsewhere *history.ElsewhereError
	switch {
	case errors.Is(err, database.ErrNotFound):
		err = fault.Usage("see `agent runs list`", "no run has a name that begins or ends with %q", name)
	case errors.As(err, &elsewhere):
		err = fault.Usage("use --all, or --workspace "+elsewhere.Workspace, "%w, not to %s", elsewhere, workspace)
	}
	return d, err
}

// age reads a name that gives the age of a run: 1 for the newest.
func age(name string) (back int, ok bool, err error) {
	if name == "" || name == "latest" {
		return 1, true, nil
	}
	text, ok := strings.CutPrefix(name, "@")
	if !ok {
		return 0, false, nil
	}
	back, err = strconv.Atoi(text)
	if err != nil || back < 1 || back > furthest {
		return 0, false, fault.Usage("the latest is @1, the one before @2", "%q does not name a run", name)
	}
	return back, true, nil
}

// Unrecorded returns what is said of a run whose record does not tell what was not judged.
func Unrecorded() []verify.Unproven {
	return []verify.Unproven{{Gate: "tests", Kind: verify.Unknown, Reason: "at that time it was not recorded whether a test ran"}}
}

// Timeline returns the history of a file whose content is now. dir is the workspace with its links resolved, as runs
// record it; under any other name nothing would be found. now comes from the caller, so that the lines shown are the
// lines judged.
func (s *Session) Timeline(ctx context.Context, dir, name, now string) (*blame.Timeline, error) {
	rows, err := s.DB.FileHistory(ctx, dir, name)
	if err != nil {
		return nil, err
	}
	var changes []blame.Change
	for _, r := range rows {
		changes = append(changes, blame.Change{
			Run: r.Run, UndoOf: r.UndoOf, Model: r.Model, Review: string(r.Verdict), Pull: r.Pull, At: r.At, Before: string(r.Before), After: string(r.After),
		})
	}
	return blame.NewTimeline(changes, now), nil
}
