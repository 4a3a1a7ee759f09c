package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/node"
	"agent/verify/python"
	"agent/verify/shell"
	"agent/verify/smoke"
)

// baseline finds out what the gates of one group say without the patch: from
// the cache, or in a box of its own. A gate that has nothing to do there has
// nothing against it.
func (s *session) baseline(ctx context.Context, group string, defs []check.Check) {
	key := s.store.BaselineKey(standing(s.req.Base.Digest(), s.req.Installed), group)
	defer s.store.Making.Lock(ctx, key)()
	known := map[string]check.Outcome{}
	if _, err := s.store.Load(ctx, key, &known); err != nil {
		known = nil
		s.results.note(fmt.Sprintf("baseline not read from the cache: %v", err))
	}
	if known == nil { // a row that says null
		known = map[string]check.Outcome{}
	}
	// A row may lack checks: those that this workspace did not need before, or that
	// came to no judgement that time.
	var todo []check.Check
	for _, def := range defs {
		out, ok := known[def.Name]
		late, since := s.timedOut(def)
		switch {
		case ok:
			s.results.baseline(def.Name, out)
		case since:
			s.results.baseline(def.Name, late)
		case def.Name == smoke.ProgramName && len(s.before.Args) == 0 || def.Applies != nil && def.Applies(s.base) != "":
			s.results.baseline(def.Name, check.Outcome{})
		default:
			todo = append(todo, def)
		}
	}
	if len(todo) == 0 {
		return // not worth a row: it costs nothing to find out again
	}
	err := s.withBox(ctx, s.req.layer(), "baseline-", group, func(box *sandbox.Box) {
		for i, def := range todo {
			s.results.begin(def.Name, true)
			out := def.Run(ctx, s.warm(s.bench(box, s.base, s.before), todo[:i]))
			// What a cancelled command left behind is no outcome.
			if ctx.Err() != nil {
				return
			}
			known[def.Name] = out
			s.results.baseline(def.Name, out)
			if err := s.types.Keep(ctx, out.Learned); err != nil {
				s.results.note(err.Error())
			}
		}
	})
	if err != nil && ctx.Err() == nil {
		// Without a baseline nobody can say what is new: infra, not a pass.
		for _, def := range todo {
			s.results.baseline(def.Name, check.Infraf("%v", err))
		}
		return
	}
	if lasting := lasting(s.base, s.harmless(known)); ctx.Err() == nil && len(lasting) > 0 {
		if err := s.store.Save(ctx, key, lasting); err != nil {
			s.results.note(fmt.Sprintf("baseline not kept: %v", err))
		}
	}
}

// lasting returns the outcomes that would be the same another time: trouble, a
// deadline or the memory of a busy machine may be gone then, and an old finding
// whose line in v could not be read would look new to all who compare with it.
func lasting(v check.View, known map[string]check.Outcome) map[string]check.Outcome {
	kept := map[string]check.Outcome{}
	for name, out := range known {
		if out.Verdict == "" && !v.Missed(out.Findings) {
			kept[name] = out
		}
	}
	return kept
}

// A candidateBaseline is what a session found in the candidate that became final.
type candidateBaseline struct {
	session *session
	final   workspace.Changeset
}

// Keep implements Keeper.
func (b candidateBaseline) Keep(ctx context.Context) error {
	return b.session.keepAsBaseline(ctx, b.final)
}

// keepAsBaseline stores the candidate's own outcomes as the baseline of the
// workspace that it becomes, so that the run after a promotion starts warm.
// With changed configuration they would not be what that workspace gets. What cannot
// be kept does not keep the rest from it.
func (s *session) keepAsBaseline(ctx context.Context, final workspace.Changeset) error {
	if config, _ := splitConfig(final); !config.Empty() || final.Empty() {
		return nil
	}
	// The digest is the one that a scan finds after the promotion. When the
	// patch is never promoted, the row is simply never asked for.
	next := s.req.Base.With(final)
	v := check.NewView(next, workspace.Changeset{})
	r := s.results
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	groups := map[string]map[string]check.Outcome{}
	for _, def := range append(checks(), r.own...) {
		out, ok := r.cand[def.Name]
		if _, judged := r.judged[def.Name]; !ok || !judged {
			continue // skipped: what was not judged is no measure for others
		}
		if def.Name == smoke.ProgramName && !s.sameEntry(v) || r.repetitions[def.Name] != nil {
			continue // what failed by chance must not count as failing from now on
		}
		if !s.sawAll(def, final) || r.near[def.Name] != "" {
			continue
		}
		if groups[def.Group] == nil {
			groups[def.Group] = map[string]check.Outcome{}
		}
		out.Traced = nil // it is about this patch
		groups[def.Group][def.Name] = out
		errs = append(errs, s.types.Keep(ctx, out.Learned))
	}
	for group, known := range groups {
		// A group of which a check was skipped is stored in part, and made whole by
		// whoever needs it.
		if known = lasting(check.NewView(s.req.Base, final), s.harmless(known)); len(known) == 0 {
			continue
		}
		if err := s.store.Save(ctx, s.store.BaselineKey(standing(next.Digest(), s.req.patched().Installed), group), known); err != nil {
			errs = append(errs, fmt.Errorf("result not kept as the next baseline: %w", err))
		}
	}
	return errors.Join(errs...)
}

// sawAll reports whether a check has judged all of a changeset: none of it is code inside its tool, which stayed as
// it was, to the workspace's own tools none of it says which files there are to check, and to those of Python and of
// shell scripts what the project promises of itself.
func (s *session) sawAll(def check.Check, final workspace.Changeset) bool {
	if python.AsksBase(def.Name, final) || shell.AsksBase(def.Name, s.base, check.NewView(s.req.Base, final)) || s.results.partial[def.Name] {
		return false
	}
	own, rest := def.Unplug(s.base, check.NewView(s.req.Base, final), final)
	return own.Empty() && (!slices.Contains(node.OwnGroups, def.Group) || !slices.ContainsFunc(rest.Changes, func(c workspace.Change) bool {
		return path.Base(c.Path) == ".gitignore" || path.Base(c.Path) == "package.json"
	}))
}

// sameEntry reports whether the workspace after the patch would be started as the
// candidate was. Its files cannot be read on the host yet, so only names count.
func (s *session) sameEntry(next check.View) bool {
	if len(s.req.Config.Smoke.Command) > 0 {
		return true
	}
	// The candidate's own convention, without regard to the base: that is what
	// the next run, for which the candidate is the base, will go by.
	cand := check.NewView(s.req.Base, s.final)
	e, err := smoke.FindEntry(cand, s.tools, s.req.Config.Smoke)
	return err == nil && e.Path == s.after.Path && next.Has(e.Path)
}

// harmless returns the outcomes of which nothing would be hidden. The others are not
// cached: as they are they must not be kept, and hidden they would differ from what the
// same tool says when other secrets are configured.
func (s *session) harmless(known map[string]check.Outcome) map[string]check.Outcome {
	if s.hide == nil {
		return known
	}
	kept := map[string]check.Outcome{}
	for name, out := range known {
		data, err := json.Marshal(out)
		if err == nil && s.hide(string(data)) == string(data) {
			kept[name] = out
		}
	}
	return kept
}
