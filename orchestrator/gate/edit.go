package gate

import (
	"errors"
	"fmt"
	"slices"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace"
)

// A ForbiddenError says that a response applies but would write what no approval allows: a place for secrets, a link, a directory.
type ForbiddenError struct{ Err error }

// Error returns the text of the reason, which names the path.
func (e *ForbiddenError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *ForbiddenError) Unwrap() error { return e.Err }

// Edit turns a response into the changeset that it asks for in the workspace of base, ready to be prepared: permission bits are those
// of the host's files, and every path can be written. target is the file that a block without a name means, "" for none.
//
// The error is a *problem.Refusal if the response does not apply. It is a *ForbiddenError, together with the changeset in question, if
// that must not be written. Any other error comes from reading the workspace.
func Edit(base *workspace.Manifest, response []byte, target string) (workspace.Changeset, []edit.Applied, error) {
	cs, applied, err := edit.Apply(editable{base}, response, target)
	if err != nil {
		return workspace.Changeset{}, nil, err
	}
	return cs, applied, suit(base, cs)
}

// Revise applies a response to the workspace as changes leave it, and returns what both together do to base. That is one changeset from
// the host to the end of both, since the gates and the promotion know no steps in between.
//
// The errors are those of Edit, but a changeset that must not be written is not returned.
func Revise(base *workspace.Manifest, changes workspace.Changeset, response []byte, target string) (workspace.Changeset, []edit.Applied, error) {
	cs, applied, err := edit.Apply(editable{base.With(changes)}, response, target)
	var refusal *problem.Refusal
	switch {
	case errors.As(err, &refusal):
		return workspace.Changeset{}, nil, refusal
	case err != nil:
		return workspace.Changeset{}, nil, fmt.Errorf("read the workspace: %w", err)
	}
	if cs, err = changes.Then(cs); err != nil {
		return workspace.Changeset{}, nil, &ForbiddenError{err}
	}
	if err := suit(base, cs); err != nil {
		return workspace.Changeset{}, nil, err
	}
	return cs, applied, nil
}

// suit gives the changes of cs the permission bits of the host's files. It reports, as a *ForbiddenError, what may not or cannot be
// written in the workspace of base.
func suit(base *workspace.Manifest, cs workspace.Changeset) error {
	keepModes(base, cs)
	// The rules for any workspace come first, then those of this one.
	if err := cs.Check(); err != nil {
		return &ForbiddenError{err}
	}
	if err := cs.CheckBounds(); err != nil {
		return &ForbiddenError{err}
	}
	if err := placeable(base, cs); err != nil {
		return &ForbiddenError{err}
	}
	if err := base.CheckRepositories(cs); err != nil {
		return &ForbiddenError{err}
	}
	return nil
}

// refusesPath reports whether a refusal names a path that may never be written. One such path decides for the whole response, whatever
// else is wrong with it.
func refusesPath(r *problem.Refusal) bool {
	return slices.ContainsFunc(r.Problems, func(p problem.Problem) bool { return p.Kind == "path" })
}
