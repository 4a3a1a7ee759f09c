package verify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/sandbox"
	"agent/sandbox/workspace"
)

// A store keeps outcomes in the cache under keys that name everything they
// depend on: so nothing in it ever has to be thrown away for being out of date,
// and two processes may write the same row, since they write the same.
type store struct {
	// Nil keeps nothing.
	cache Cache
	// Image ID: a rebuilt image with other tools is another key.
	toolchain string
	// Digest of the gates' definitions with the configuration.
	definitions string
	// The same without it: the planted files have none.
	proof string
}

func newStore(cache Cache, toolchain string, tools toolPaths, cfg Config) *store {
	return &store{
		cache: cache, toolchain: toolchain,
		definitions: definitionDigest(tools, cfg), proof: definitionDigest(tools, Config{}),
	}
}

// baselineKey names the outcomes of one group of gates on one snapshot.
func (s *store) baselineKey(snapshot, group string) string {
	return strings.Join([]string{"baseline", snapshot, s.toolchain, s.definitions, group}, "/")
}

// proofKey names the proof of the gates in one image. The workspace and its
// configuration have no part in it: planted files stand in an empty box.
func (s *store) proofKey() string {
	return strings.Join([]string{"proof", s.toolchain, s.proof}, "/")
}

// load reads what is stored under key into v. A cache that does not answer is
// no trouble but a slower run: the error is a remark.
func (s *store) load(ctx context.Context, key string, v any) (bool, error) {
	if s.cache == nil {
		return false, nil
	}
	data, ok, err := s.cache.Load(ctx, key)
	if err != nil || !ok {
		return false, err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return false, fmt.Errorf("decode %s: %w", key, err)
	}
	return true, nil
}

// save stores v under key. As with load, an error costs time later and nothing else.
func (s *store) save(ctx context.Context, key string, v any) error {
	if s.cache == nil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", key, err)
	}
	return s.cache.Save(ctx, key, data)
}

// baseline finds out what the gates of one group say without the patch: from
// the cache, or in a box of its own. A gate that has nothing to do there has
// nothing against it.
func (s *session) baseline(ctx context.Context, group string, defs []check) {
	key := s.store.baselineKey(standing(s.req.Base.Digest(), s.req.Installed), group)
	known := map[string]outcome{}
	if _, err := s.store.load(ctx, key, &known); err != nil {
		known = nil
		s.results.note(fmt.Sprintf("baseline not read from the cache: %v", err))
	}
	if known == nil { // a row that says null
		known = map[string]outcome{}
	}
	// A row may lack checks: those that this workspace did not need before, or that
	// came to no judgement that time.
	var todo []check
	for _, def := range defs {
		out, ok := known[def.name]
		switch {
		case ok:
			s.results.baseline(def.name, out)
		case def.name == checkProgram && len(s.before.args) == 0 || def.applies != nil && def.applies(s.base) != "":
			s.results.baseline(def.name, outcome{})
		default:
			todo = append(todo, def)
		}
	}
	if len(todo) == 0 {
		return // not worth a row: it costs nothing to find out again
	}
	err := s.withBox(ctx, s.req.layer(), "baseline-", group, func(box *sandbox.Box) {
		for i, def := range todo {
			s.results.begin(def.name, true)
			out := def.run(ctx, s.warm(s.bench(box, s.base, s.before), todo[:i]))
			// What a cancelled command left behind is no outcome.
			if ctx.Err() != nil {
				return
			}
			known[def.name] = out
			s.results.baseline(def.name, out)
			if err := s.types.keep(ctx, out.types); err != nil {
				s.results.note(err.Error())
			}
		}
	})
	if err != nil && ctx.Err() == nil {
		// Without a baseline nobody can say what is new: infra, not a pass.
		for _, def := range todo {
			s.results.baseline(def.name, infra("%v", err))
		}
		return
	}
	if lasting := lasting(s.base, s.harmless(known)); ctx.Err() == nil && len(lasting) > 0 {
		if err := s.store.save(ctx, key, lasting); err != nil {
			s.results.note(fmt.Sprintf("baseline not kept: %v", err))
		}
	}
}

// lasting returns the outcomes that would be the same another time: trouble, a
// deadline or the memory of a busy machine may be gone then, and an old finding
// whose line in v could not be read would look new to all who compare with it.
func lasting(v view, known map[string]outcome) map[string]outcome {
	kept := map[string]outcome{}
	for name, out := range known {
		if out.Verdict == "" && !v.missed(out.Findings) {
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
	v := newView(next, workspace.Changeset{})
	r := s.results
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	groups := map[string]map[string]outcome{}
	for _, def := range append(checks(), r.own...) {
		out, ok := r.cand[def.name]
		if _, judged := r.judged[def.name]; !ok || !judged {
			continue // skipped: what was not judged is no measure for others
		}
		if def.name == checkProgram && !s.sameEntry(v) || r.repetitions[def.name] != nil {
			continue // what failed by chance must not count as failing from now on
		}
		if !s.sawAll(def, final) {
			continue
		}
		if groups[def.group] == nil {
			groups[def.group] = map[string]outcome{}
		}
		groups[def.group][def.name] = out
		errs = append(errs, s.types.keep(ctx, out.types))
	}
	for group, known := range groups {
		// A group of which a check was skipped is stored in part, and made whole by
		// whoever needs it.
		if known = lasting(newView(s.req.Base, final), s.harmless(known)); len(known) == 0 {
			continue
		}
		if err := s.store.save(ctx, s.store.baselineKey(standing(next.Digest(), s.req.patched().Installed), group), known); err != nil {
			errs = append(errs, fmt.Errorf("result not kept as the next baseline: %w", err))
		}
	}
	return errors.Join(errs...)
}

// sawAll reports whether a check has judged all of a changeset: none of it is code
// inside its tool, which stayed as it was, to the workspace's own tools none of it says which
// files there are to check, and to pytest from where it is run.
func (s *session) sawAll(def check, final workspace.Changeset) bool {
	if marks, _ := splitChanges(final, func(p string) bool { return projectMarks[path.Base(p)] != nil }); def.name == checkPytest && !marks.Empty() {
		return false
	}
	own, rest := def.unplug(s.base, newView(s.req.Base, final), final)
	return own.Empty() && (!slices.Contains(packageGroups, def.group) || !slices.ContainsFunc(rest.Changes, func(c workspace.Change) bool {
		return path.Base(c.Path) == ".gitignore" || path.Base(c.Path) == "package.json"
	}))
}

// sameEntry reports whether the workspace after the patch would be started as
// the candidate was. Its files cannot be read on the host yet, so only what
// is known by name counts.
func (s *session) sameEntry(next view) bool {
	if len(s.req.Config.Smoke.Command) > 0 {
		return true
	}
	// The candidate's own convention, without regard to the base: that is what
	// the next run, for which the candidate is the base, will go by.
	cand := newView(s.req.Base, s.final)
	e, err := findEntry(cand, s.tools, s.req.Config.Smoke)
	return err == nil && e.path == s.after.path && next.has(e.path)
}
