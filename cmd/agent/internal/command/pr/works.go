package pr

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/crew"
	"agent/orchestrator/forge/mirror"
	"agent/orchestrator/pull"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/history"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A promoted is a run whose change is in the workspace.
type promoted struct {
	work     pull.Work
	detail   history.RunDetail
	changes  workspace.Changeset
	snapshot string
	// steps are the tasks of the plan that the run delivered, in the order in which they landed; empty for any other run.
	steps []promoted
}

// promotions returns the named runs, in the order in which they are named, or else the last promoted run of the
// workspace.
func promotions(ctx context.Context, s *wire.Session, dir string, names []string) ([]promoted, error) {
	if len(names) == 0 {
		last, _, err := s.DB.LastPromotion(ctx, dir)
		if errors.Is(err, database.ErrNotFound) {
			return nil, fault.Usage("`agent sandbox run` makes one; or use --run RUN or --branch NAME", "no run of %s was promoted", dir)
		}
		if err != nil {
			return nil, err
		}
		names = []string{last.ID}
	}
	var list []promoted
	for _, name := range names {
		d, err := s.NamedIn(ctx, name, dir)
		if err != nil {
			return nil, err
		}
		next := "see `agent runs show " + d.ID + "`"
		switch {
		case !d.Promoted || d.Promotion == nil:
			return nil, fault.Usage("`agent runs apply "+d.ID+"` applies what passed", "run %s promoted nothing", d.ID)
		case d.Promotion.UndoOf != "":
			return nil, fault.Usage(next, "run %s is an undo: name a run that made a change", d.ID)
		case d.UndoneBy != "":
			return nil, fault.Usage(next, "run %s was undone by run %s", d.ID, d.UndoneBy)
		}
		p, err := tell(ctx, s, d)
		if err != nil {
			return nil, err
		}
		if p.steps, err = tasksOf(ctx, s, dir, d.ID); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

// maxPlans is how many plans of a workspace are searched.
const maxPlans = 50

// tasksOf reads the tasks of the plan that a run delivered, each with what its own run proved.
func tasksOf(ctx context.Context, s *wire.Session, dir, id string) (steps []promoted, err error) {
	list, err := s.DB.Plans().Plans(ctx, dir, maxPlans)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(p crew.Plan) bool { return p.Run == id && p.State == crew.Delivered })
	if i < 0 {
		return nil, nil
	}
	for _, t := range list[i].Landed() {
		d, err := s.DB.Run(ctx, t.Run)
		if err != nil {
			return nil, err
		}
		cand, err := s.DB.Proven(ctx, t.Run)
		if err != nil {
			return nil, err
		}
		steps = append(steps, promoted{detail: d, changes: cand.Changeset, work: pull.Work{Run: t.Run, Intent: cmp.Or(t.Message, t.Title), Judged: cand}})
	}
	return steps, nil
}

// tell reads what a pull request says about a run.
func tell(ctx context.Context, s *wire.Session, d history.RunDetail) (promoted, error) {
	p := promoted{detail: d, snapshot: d.Snapshot, work: pull.Work{Run: d.ID, Intent: strings.TrimPrefix(d.Intent, "goal ")}}
	written, err := s.DB.PromotionOf(ctx, d.ID)
	if err != nil {
		return p, err
	}
	p.changes = written.Changeset
	// If one run found a change and another applied it, the purpose is that of the first.
	if d.Applies != "" {
		origin, err := s.DB.Run(ctx, d.Applies)
		if err != nil {
			return p, err
		}
		p.work.Intent = strings.TrimPrefix(origin.Intent, "goal ")
	}
	for _, c := range d.Candidates {
		if c.Verdict == verify.Pass && (p.work.Judged.Digest == "" || c.Digest == p.changes.Digest()) {
			p.work.Judged = c
		}
	}
	reviews, err := s.DB.Promotions(ctx, history.ReviewFilter{Run: d.ID, All: true})
	if err != nil {
		return p, err
	}
	for _, r := range reviews {
		if r.Model != "patch" {
			p.work.Model = r.Model
		}
		if r.Cost != nil && *r.Cost > 0 {
			p.work.Cost = strconv.FormatFloat(*r.Cost, 'f', 4, 64)
		}
	}
	return p, nil
}

// onto applies the changes to the files of a commit. A file that differs there is merged, as in an undo; clashes are a
// conflict that lists the names. The result is empty if the commit already has all changes.
func (t *target) onto(ctx context.Context, parent string, cs workspace.Changeset) (list []mirror.Change, err error) {
	flat, err := cs.Flatten()
	if err != nil {
		return nil, err
	}
	var clashes []string
	for _, c := range flat {
		name := t.place(c.Path)
		now, mode, there := t.mirror.File(ctx, parent, name)
		after, ok := crew.Merged(c, now, there)
		switch {
		case !ok:
			clashes = append(clashes, c.Path)
		case c.Exists:
			if c.Keep != "" && t.place(c.Keep) != name {
				_, mode, _ = t.mirror.File(ctx, parent, t.place(c.Keep))
			}
			mode = c.FinalMode(cmp.Or(mode, 0o644))
			if !there || !bytes.Equal(now, after) || c.OldMode != 0 {
				list = append(list, mirror.Change{Path: name, Content: append([]byte{}, after...), Mode: mode})
			}
		case there:
			list = append(list, mirror.Change{Path: name})
		}
	}
	if len(clashes) > 0 {
		return nil, &fault.Error{
			Exit: run.ExitConflict, Kind: run.ProblemConflict, Next: "bring the workspace up to date with the branch and make the change there, or name another branch with --base",
			Err: fmt.Errorf("the branch does not have the lines that the change was made for in %s", strings.Join(clashes, ", ")),
		}
	}
	return list, nil
}
