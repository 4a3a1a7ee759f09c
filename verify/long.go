package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"agent/verify/check"
	"agent/verify/node"
)

// longFor is how long it is believed of a suite that it does not end in time: a machine may have been busy, and suites change.
const longFor = 24 * time.Hour

// mayBeLong reports whether a check is one that some files of tests can stand for.
func mayBeLong(def check.Check) bool { return def.Repeats && def.Name != node.CommandsName }

// longKey names what is remembered of a suite that did not end in time: by the directory and what lies at its top, since each
// commit has another digest, and nothing but time depends on it that longFor does not bound.
func (s *session) longKey(name string) string {
	tops := map[string]bool{}
	for _, p := range s.base.Paths() {
		top, _, _ := strings.Cut(p, "/")
		tops[top] = true
	}
	sum := sha256.Sum256([]byte(s.req.Base.Root + "\x00" + strings.Join(slices.Sorted(maps.Keys(tops)), "\x00")))
	return strings.Join([]string{"long", hex.EncodeToString(sum[:12]), s.store.toolchain, s.store.definitions, name}, "/")
}

// recallLong finds out which checks came to no end in time on both sides, not long ago. These are not run as a whole: narrow
// runs some files of them at once.
func (s *session) recallLong(ctx context.Context) {
	known := map[string]check.Outcome{}
	// What is known of this very base is better.
	if _, err := s.store.load(ctx, s.store.baselineKey(standing(s.req.Base.Digest(), s.req.Installed), check.GroupTests), &known); err != nil {
		return
	}
	for _, def := range checks() {
		var since time.Time
		if _, ended := known[def.Name]; ended || !mayBeLong(def) {
			continue
		}
		if ok, err := s.store.load(ctx, s.longKey(def.Name), &since); ok && err == nil && time.Since(since) < longFor {
			s.since[def.Name] = since
		}
	}
}

// timedOut is the outcome of a check on either side that came to no end in time a while ago; ok is false of others.
func (s *session) timedOut(def check.Check) (out check.Outcome, ok bool) {
	_, ok = s.since[def.Name]
	return check.Outcome{Verdict: check.Timeout, Detail: def.Name}, ok
}

// keepLong remembers that a check came to no end in time on both sides, unless that is what it was told.
func (s *session) keepLong(ctx context.Context, name string) {
	if _, known := s.since[name]; known || !s.results.late(name, true) {
		return
	}
	if err := s.store.save(ctx, s.longKey(name), time.Now()); err != nil {
		s.results.note(err.Error())
	}
}
