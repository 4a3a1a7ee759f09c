package promotion

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/internal/dirfd"
)

// An Outcome is what Recover made of an interrupted promotion.
type Outcome string

// The outcomes of a recovery.
const (
	// Every file is as after the changeset.
	Completed Outcome = "completed"
	// Every file is as before the changeset.
	RolledBack Outcome = "rolled-back"
	// Rolled back, except for files that the user changed meanwhile: those are kept.
	Conflicted Outcome = "conflict"
)

// A Recovery is one interrupted promotion, settled.
type Recovery struct {
	// The id given to Prepare.
	ID      string
	Outcome Outcome
	// The files left as the user made them, for Conflicted.
	Kept []string
	tree *dirfd.Tree // of the lock
	old  bool
}

// Recover settles every promotion of this user that a dead process left in the workspace: forward if all its bytes were
// staged and committing had begun, otherwise back. The caller records each outcome, then calls Discard on it, before it
// releases the lock. Recover may be killed and called again: until Discard it gives the same answer. It never takes
// anything in the workspace for a journal.
func (l *Lock) Recover(ctx context.Context) ([]Recovery, error) {
	return recoverAll(ctx, l.tree, nil)
}

// recoverAll is Lock.Recover with a hook for tests.
func recoverAll(ctx context.Context, t *dirfd.Tree, hook func(*journal)) ([]Recovery, error) {
	h, err := openHome(t, false)
	if err != nil {
		return nil, fmt.Errorf("recover %s: %w", t.Root, err)
	}
	defer h.close()
	found, err := h.journals(t)
	if err != nil {
		return nil, fmt.Errorf("recover %s: %w", t.Root, err)
	}
	// A kill between two directories leaves the outer one.
	if _, err := t.Stat(".agent"); err == nil && len(found) == 0 {
		return nil, tidy(t)
	}
	var list []Recovery
	for _, j := range found {
		if hook != nil {
			hook(j)
		}
		r, err := j.recover(ctx)
		if err != nil {
			return list, fmt.Errorf("recover promotion %s in %s: %w", j.ID, t.Root, err)
		}
		list = append(list, r)
	}
	return list, nil
}

// RecoverOld settles the promotion id in which an earlier version, which kept its journals in the workspace, was
// killed. It returns nil if there is no such journal. Anyone could have put a journal there. So the caller must know
// from elsewhere that id was being promoted in this workspace, and recorded returns what was promoted. A journal that
// says anything else is an error, and is not carried out.
func (l *Lock) RecoverOld(ctx context.Context, id string, recorded func(context.Context) (workspace.Changeset, error)) (*Recovery, error) {
	j, err := loadOld(l.tree, id)
	if j == nil || err != nil {
		return nil, err
	}
	cs, err := recorded(ctx)
	if err == nil {
		err = j.carriesOut(cs)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not carried out, because it is not known to belong to run %s: %w: compare the files with your version control, then remove it", j.place, id, err)
	}
	r, err := j.recover(ctx)
	if err != nil {
		return nil, fmt.Errorf("recover promotion %s in %s: %w", id, l.tree.Root, err)
	}
	return &r, nil
}

// carriesOut refuses a plan that does anything but what cs says.
func (j *journal) carriesOut(cs workspace.Changeset) error {
	changes, err := cs.Flatten()
	if err != nil {
		return err
	}
	is := func(there bool, content []byte, plan *fileMeta) bool {
		return there == (plan != nil) && (plan == nil || plan.Digest == workspace.Digest(content))
	}
	for _, it := range j.Items {
		if c, ok := workspace.FindChange(changes, it.Path); !ok || !is(c.Existed, c.Before, it.Before) || !is(c.Exists, c.After, it.After) {
			return fmt.Errorf("it changes %s differently", it.Path)
		}
	}
	names := slices.Clone(j.Make)
	for _, d := range slices.Concat(j.Clear, j.Remove) {
		names = append(names, d.Path)
	}
	for _, name := range names {
		if !slices.ContainsFunc(changes, func(c workspace.PathChange) bool { return strings.HasPrefix(c.Path, name+"/") }) {
			return fmt.Errorf("it changes the directory %s", name)
		}
	}
	return nil
}

// loadOld reads the journal id of an earlier version; it returns nil if there is none.
func loadOld(t *dirfd.Tree, id string) (*journal, error) {
	if !validID.MatchString(id) {
		return nil, nil
	}
	place := path.Join(oldJournals, id)
	if _, err := t.Stat(place); dirfd.Gone(err) {
		return nil, nil
	}
	j := &journal{ID: id, tree: t, home: t, place: place, stage: path.Join(place, "files"), state: staging, old: true}
	return j, j.load()
}

// OldJournals lists what is where earlier versions kept their journals. Only RecoverOld carries any of it out.
func (l *Lock) OldJournals() []string {
	names, err := l.tree.Names(oldJournals)
	if err != nil {
		return nil // nothing there that could be one
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = path.Join(oldJournals, name)
	}
	return names
}

// Foreign reports whether the workspace has staged files of the promotion id for which this user has no journal. Then
// another user has it, or this one with another XDG_STATE_HOME, and only there can the promotion be settled.
func (l *Lock) Foreign(id string) (bool, error) {
	if _, err := l.tree.Stat(path.Join(stages, id)); dirfd.Gone(err) {
		return false, nil
	}
	h, err := openHome(l.tree, false)
	if err != nil {
		return false, err
	}
	defer h.close()
	found, err := h.journals(l.tree)
	return !slices.ContainsFunc(found, func(j *journal) bool { return j.ID == id }), err
}

// recover settles one journal.
func (j *journal) recover(ctx context.Context) (Recovery, error) {
	r := Recovery{ID: j.ID, Outcome: RolledBack, tree: j.tree, old: j.old}
	if (j.state == committing || j.state == rollingBack) && !j.staged() {
		return j.stranded(r)
	}
	if j.state == committing {
		// Forward rather than back: all bytes are there, they have passed the gates, and the run may have been reported
		// as done.
		err := j.forward(ctx)
		if err == nil {
			err = j.unclaimed()
		}
		if err == nil {
			err = j.advance(committed)
		}
		// The next recovery resumes a cancelled one; any other error leads back.
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
	// Only rolled-back is left, reached just now or by an earlier process. kept is determined anew and not stored, so
	// the result is the same either way.
	kept, err := j.kept()
	if len(kept) > 0 {
		r.Outcome, r.Kept = Conflicted, kept
	}
	return r, err
}

// unclaimed returns a *ConflictError if a path is not in its state after: the user has changed it since it was placed.
func (j *journal) unclaimed() error {
	for _, it := range j.Items {
		now, err := look(j.tree, it.Path)
		if err != nil {
			return err
		}
		if !now.is(it.After) {
			return &ConflictError{Paths: []string{it.Path}}
		}
	}
	return nil
}

// stranded determines the outcome of a promotion whose staged files are gone: the workspace was removed and made anew,
// or someone cleared .agent. Nothing is left to go forward or back with, so it only looks.
func (j *journal) stranded(r Recovery) (Recovery, error) {
	after := true
	for _, it := range j.Items {
		now, err := look(j.tree, it.Path)
		if err != nil {
			return r, err
		}
		after = after && now.is(it.After)
	}
	if after {
		r.Outcome = Completed
		return r, nil
	}
	kept, err := j.kept()
	if len(kept) > 0 {
		r.Outcome, r.Kept = Conflicted, kept
	}
	return r, err
}

// Discard removes the journal of a settled promotion, and its staged files. The journal may be gone already. The error
// can be a *KeptError, as with Promotion.Close.
func (r Recovery) Discard() error {
	if r.old {
		j, err := loadOld(r.tree, r.ID)
		if j == nil || err != nil {
			return err
		}
		return j.finish()
	}
	h, err := openHome(r.tree, false)
	if err != nil {
		return err
	}
	defer h.close()
	found, err := h.journals(r.tree)
	if err != nil {
		return err
	}
	for _, j := range found {
		if j.ID == r.ID {
			return j.finish()
		}
	}
	return nil
}
