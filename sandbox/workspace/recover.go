package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// An Outcome is what Recover made of an interrupted promotion.
type Outcome string

// The outcomes of a recovery.
const (
	// Every file is as after the changeset.
	Completed Outcome = "completed"
	// Every file is as before the changeset.
	RolledBack Outcome = "rolled-back"
	// Rolled back, except for files that the user changed meanwhile: those are
	// kept.
	Conflicted Outcome = "conflict"
)

// A Recovery is one interrupted promotion, settled.
type Recovery struct {
	// As given to Prepare.
	ID      string
	Outcome Outcome
	// Files left as the user made them, with Conflicted.
	Kept []string
	root string
}

// Recover settles every promotion that a dead process left in root: forward
// when all its bytes were staged and committing had begun, else back. The
// caller holds the Lock, records each outcome, then calls Discard on it. A
// root without journals costs one open and one stat. Recover may be killed and
// called again: until Discard it gives the same answer.
func Recover(ctx context.Context, root string) ([]Recovery, error) {
	return recoverAll(ctx, root, nil)
}

// recoverAll is Recover with a hook for tests.
func recoverAll(ctx context.Context, root string, hook func(*journal)) ([]Recovery, error) {
	t, err := openTree(root)
	if err != nil {
		return nil, err
	}
	defer t.close()
	// The everyday case, before every run: nothing was interrupted.
	if _, err := t.stat(journals); gone(err) {
		// A kill between two directories leaves the outer one.
		if _, err := t.stat(".agent"); err == nil {
			return nil, tidy(t)
		}
		return nil, nil
	}
	ids, err := pending(t)
	if err != nil {
		return nil, fmt.Errorf("recover %s: %w", root, err)
	}
	if len(ids) == 0 {
		return nil, tidy(t)
	}
	var list []Recovery
	for _, id := range ids {
		j, err := load(t, id)
		if err != nil {
			return list, err
		}
		if hook != nil {
			hook(j)
		}
		r, err := j.recover(ctx)
		if err != nil {
			return list, fmt.Errorf("recover promotion %s in %s: %w", id, root, err)
		}
		r.root = root
		list = append(list, r)
	}
	return list, nil
}

// recover settles one journal.
func (j *journal) recover(ctx context.Context) (Recovery, error) {
	r := Recovery{ID: j.ID, Outcome: RolledBack}
	if j.state == committing {
		// Forward rather than back: all bytes are there, they have passed the
		// gates, and the run may have told somebody so.
		err := j.forward(ctx)
		if err == nil {
			err = j.unclaimed()
		}
		if err == nil {
			err = j.advance(committed)
		}
		// A cancelled recovery is taken up by the next; anything else goes
		// back.
		if cerr := ctx.Err(); cerr != nil {
			return r, cerr
		}
		if err != nil {
			if err := j.back(); err != nil {
				return r, err
			}
		}
	}
	switch j.state {
	case committed:
		r.Outcome = Completed
		return r, nil
	case rollingBack:
		if err := j.back(); err != nil {
			return r, err
		}
	case staging, ready:
		return r, nil // the workspace was not touched
	}
	// Only rolled-back is left, reached just now or by an earlier process.
	// What was kept is looked up and not stored, so that it is the same either
	// way.
	kept, err := j.kept()
	if len(kept) > 0 {
		r.Outcome, r.Kept = Conflicted, kept
	}
	return r, err
}

// unclaimed gives a *ConflictError when a path is not in its state after: the
// user has been there since it was placed.
func (j *journal) unclaimed() error {
	for _, it := range j.Items {
		now, err := j.tree.look(it.Path)
		if err != nil {
			return err
		}
		if !now.is(it.After) {
			return &ConflictError{Paths: []string{it.Path}}
		}
	}
	return nil
}

// Discard removes the journal of a settled promotion. A journal that is gone
// already is fine. The error can be a *KeptError, as that of Promotion.Close.
func (r Recovery) Discard() error {
	t, err := openTree(r.root)
	if err != nil {
		return err
	}
	defer t.close()
	if _, err := t.stat(path.Join(journals, r.ID)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	j, err := load(t, r.ID)
	if err != nil {
		return err
	}
	return j.finish()
}
