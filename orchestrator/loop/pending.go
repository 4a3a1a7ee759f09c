package loop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"agent/orchestrator/loop/directive"
	"agent/orchestrator/run"
)

// takeUp returns the order of an iteration that is about to begin, with the kept proposal that it takes up: the oldest one from before
// the loop that the loop has not reached yet. A goal never waits for a proposal, and neither does an open directive of the person.
func (l *Loop) takeUp(ctx context.Context, dir string, o Order) (Order, error) {
	o.Proposal = 0
	if l.Pending == nil || o.Single || o.Goal != "" || len(o.Scope) > 0 {
		return o, nil
	}
	if open, err := l.ordered(ctx, dir); open || err != nil {
		return o, err
	}
	list, err := l.Pending.Proposals(ctx, dir)
	if err != nil {
		return o, fmt.Errorf("list the proposals: %w", err)
	}
	for _, p := range list {
		// What the loop itself left comes from the same models, files and gates.
		if slices.Contains(o.Had, p.ID) || !o.Began.IsZero() && p.At.After(o.Began) || !l.fits(dir, p) {
			continue
		}
		o.Had = append(slices.Clone(o.Had), p.ID)
		decision := run.Apply
		if l.Ask != nil {
			if decision, err = l.Ask(ctx, p); err != nil {
				return o, fmt.Errorf("ask about proposal %d: %w", p.ID, err)
			}
		}
		switch decision {
		case run.Apply:
			o.Proposal = p.ID
			return o, nil
		case run.Drop:
			if err := l.Pending.SettleProposal(ctx, p.ID, run.ProposalDropped); err != nil {
				return o, fmt.Errorf("drop proposal %d: %w", p.ID, err)
			}
		}
	}
	return o, nil
}

// fits reports whether a proposal can be taken up: its file exists, and a feature that nobody has written yet is wanted.
func (l *Loop) fits(dir string, p run.KeptProposal) bool {
	if p.Patch == nil && p.Kind == run.Feature && l.Ask == nil && !l.Features {
		return false
	}
	_, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(p.Path)))
	return p.Path != "" && filepath.IsLocal(p.Path) && err == nil
}

// ordered reports whether a directive is open. A list that cannot be read counts as open: the iteration says what is wrong with it.
func (l *Loop) ordered(ctx context.Context, dir string) (bool, error) {
	list, err := directive.List(dir)
	if err != nil {
		return true, nil
	}
	var attended []string
	if l.Orders != nil && len(list) > 0 {
		if attended, err = l.Orders.Attended(ctx, dir); err != nil {
			return false, fmt.Errorf("read which directives were attended to: %w", err)
		}
	}
	return slices.ContainsFunc(list, func(d directive.Directive) bool { return !slices.Contains(attended, d.Text) }), nil
}

// resumed returns the request of an iteration that takes a proposal up. Its change, if it has one, is judged first and repaired if it
// does not pass. A proposal that was settled meanwhile is ignored.
func (l *Loop) resumed(ctx context.Context, dir string, o Order, req run.Request) (run.Request, error) {
	if o.Proposal == 0 || l.Pending == nil {
		return req, nil
	}
	list, err := l.Pending.Proposals(ctx, dir)
	if err != nil {
		return req, fmt.Errorf("list the proposals: %w", err)
	}
	i := slices.IndexFunc(list, func(p run.KeptProposal) bool { return p.ID == o.Proposal })
	if i < 0 {
		return req, nil
	}
	req.Proposal, req.Goal, req.Scope = &list[i], list[i].Goal, []string{list[i].Path}
	return req, nil
}
