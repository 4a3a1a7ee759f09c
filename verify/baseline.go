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

// baseline determines the results of the gates of one group without the patch, from the cache or in its own box. A gate
// that does not apply there has no findings.
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
	// A row may lack checks: those that this workspace did not need before, or that reached no judgement that time.
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
		return // not worth a row: determining it again costs nothing
	}
	err := s.withBox(ctx, s.req.layer(), "baseline-", group, func(box *sandbox.Box) {
		for i, def := range todo {
			s.results.begin(def.Name, true)
			out := def.Run(ctx, s.warm(s.bench(box, s.base, s.before), todo[:i]))
			// What a cancelled command left is not an outcome.
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
		// Without a baseline it is unknown what is new: infra, not a pass.
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

// lasting returns the outcomes that would be the same another time. Infrastructure failures, deadlines and memory shortage on a
// busy machine may be gone then. An old finding whose line in v could not be read would look new in every later comparison.
func lasting(v check.View, known map[string]check.Outcome) map[string]check.Outcome {
	kept := map[string]check.Outcome{}
	for name, out := range known {
		if out.Verdict == "" && !v.Missed(out.Findings) {
			kept[name] = out
		}
	}
	return kept
}

// A candidateBaseline is what a session found in the final candidate.
type candidateBaseline struct {
	session *session
	final   workspace.Changeset
}

// Keep implements Keeper.
func (b candidateBaseline) Keep(ctx context.Context) error {
	return b.session.keepAsBaseline(ctx, b.final)
}

// keepAsBaseline stores the candidate's own outcomes as the baseline of the workspace that it becomes, so that the run
// after a promotion starts warm. With changed configuration that workspace would get other outcomes, so nothing is
// stored. A failure to store one outcome does not keep the others from being stored.
func (s *session) keepAsBaseline(ctx context.Context, final workspace.Changeset) error {
	if config, _ := splitConfig(final); !config.Empty() || final.Empty() {
		return nil
	}
	// The digest is the one that a scan finds after the promotion. If the patch is never promoted, the row is never
	// requested.
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
			continue // skipped: without a judgement it is not a baseline for others
		}
		if def.Name == smoke.ProgramName && !s.sameEntry(v) || r.repetitions[def.Name] != nil {
			continue // a flaky failure must not count as failing from now on
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
		// A group with a skipped check is stored in part; a run that needs the rest completes it.
		if known = lasting(check.NewView(s.req.Base, final), s.harmless(known)); len(known) == 0 {
			continue
		}
		if err := s.store.Save(ctx, s.store.BaselineKey(standing(next.Digest(), s.req.patched().Installed), group), known); err != nil {
			errs = append(errs, fmt.Errorf("result not kept as the next baseline: %w", err))
		}
	}
	return errors.Join(errs...)
}

// sawAll reports whether a check has judged all of a changeset. No part of it may be code inside the check's tool,
// which stayed as it was. For the workspace's own tools, no part may say which files there are to check. For the tools
// of Python and of shell scripts, no part may change what the project promises.
func (s *session) sawAll(def check.Check, final workspace.Changeset) bool {
	if python.AsksBase(def.Name, final) || shell.AsksBase(def.Name, s.base, check.NewView(s.req.Base, final)) || s.results.partial[def.Name] {
		return false
	}
	own, rest := def.Unplug(s.base, check.NewView(s.req.Base, final), final)
	return own.Empty() && (!slices.Contains(node.OwnGroups, def.Group) || !slices.ContainsFunc(rest.Changes, func(c workspace.Change) bool {
		return path.Base(c.Path) == ".gitignore" || path.Base(c.Path) == "package.json"
	}))
}

// sameEntry reports whether the workspace after the patch would be started as the candidate was. Its files cannot be
// read on the host yet, so only names count.
func (s *session) sameEntry(next check.View) bool {
	if len(s.req.Config.Smoke.Command) > 0 {
		return true
	}
	// This is the candidate's own convention, regardless of the base: the next run, whose base is the candidate, uses
	// it.
	cand := check.NewView(s.req.Base, s.final)
	e, err := smoke.FindEntry(cand, s.tools, s.req.Config.Smoke)
	return err == nil && e.Path == s.after.Path && next.Has(e.Path)
}

// harmless returns the outcomes in which nothing would be hidden. The others are not cached: they must not be stored as
// they are, and hidden they would differ from what the same tool reports when other secrets are configured.
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
