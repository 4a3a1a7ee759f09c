package verify

import (
	"context"
	"encoding/json"
	"fmt"
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
	key := s.store.baselineKey(s.req.Base.Digest(), group)
	known := map[string]outcome{}
	ok, err := s.store.load(ctx, key, &known)
	if err != nil {
		s.results.note(fmt.Sprintf("baseline not read from the cache: %v", err))
	}
	if ok && complete(known, defs) {
		for _, def := range defs {
			s.results.baseline(def.name, known[def.name])
		}
		return
	}
	known = map[string]outcome{}
	// A row of an older shape, or one that a run with fewer gates has written,
	// is made anew as a whole: the groups are small.
	var todo []check
	for _, def := range defs {
		if def.name == checkProgram && len(s.before.args) == 0 || def.applies != nil && def.applies(s.base) != "" {
			s.results.baseline(def.name, outcome{})
			// It belongs to the row all the same, or that would never be complete.
			known[def.name] = outcome{}
			continue
		}
		todo = append(todo, def)
	}
	if len(todo) == 0 {
		return // not worth a row: it costs nothing to find out again
	}
	err = s.withBox(ctx, s.req.Snapshot, "baseline-"+group, func(box *sandbox.Box) {
		for _, def := range todo {
			s.results.begin(def.name, true)
			out := def.run(ctx, s.bench(box, s.base, s.before))
			// What a cancelled command left behind is no outcome.
			if ctx.Err() != nil {
				return
			}
			known[def.name] = out
			s.results.baseline(def.name, out)
		}
	})
	if err != nil && ctx.Err() == nil {
		// Without a baseline nobody can say what is new: infra, not a pass.
		for _, def := range todo {
			s.results.baseline(def.name, infra("%v", err))
		}
		return
	}
	if ctx.Err() == nil && lasting(known) {
		if err := s.store.save(ctx, key, known); err != nil {
			s.results.note(fmt.Sprintf("baseline not kept: %v", err))
		}
	}
}

// complete reports whether there is an outcome for every gate.
func complete(known map[string]outcome, defs []check) bool {
	for _, def := range defs {
		if _, ok := known[def.name]; !ok {
			return false
		}
	}
	return true
}

// lasting reports whether outcomes would be the same another time: trouble,
// a deadline or the memory of a busy machine may be gone then.
func lasting(known map[string]outcome) bool {
	for _, out := range known {
		if out.Verdict != "" {
			return false
		}
	}
	return true
}

// keepAsBaseline stores the candidate's own outcomes as the baseline of the
// workspace that it becomes, so that the run after a promotion starts warm.
// With changed configuration they would not be what that workspace gets.
func (s *session) keepAsBaseline(ctx context.Context, final workspace.Changeset) {
	if config, _ := splitConfig(final); !config.Empty() || final.Empty() {
		return
	}
	// The digest is the one that a scan finds after the promotion. When the
	// patch is never promoted, the row is simply never asked for.
	next := s.req.Base.With(final)
	v := newView(next, workspace.Changeset{})
	r := s.results
	r.mu.Lock()
	defer r.mu.Unlock()
	groups := map[string]map[string]outcome{}
	for _, def := range checks() {
		out, ok := r.cand[def.name]
		if _, judged := r.judged[def.name]; !ok || !judged {
			continue // skipped: what was not judged is no measure for others
		}
		if def.name == checkProgram && !s.sameEntry(v) {
			continue
		}
		if groups[def.group] == nil {
			groups[def.group] = map[string]outcome{}
		}
		groups[def.group][def.name] = out
	}
	for group, known := range groups {
		// A group of which a gate was skipped is stored in part; baseline sees
		// that the row is not complete.
		if !lasting(known) {
			continue
		}
		if err := s.store.save(ctx, s.store.baselineKey(next.Digest(), group), known); err != nil {
			r.notes = append(r.notes, fmt.Sprintf("result not kept as the next baseline: %v", err))
		}
	}
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
