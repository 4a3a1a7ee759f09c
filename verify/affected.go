package verify

import (
	"agent/verify/check"
)

// find determines what the changeset can affect for a check that will run.
func (s *session) find(def check.Check, cand check.View) {
	if def.Family == nil {
		return
	}
	r, ok := s.families[def.Family]
	if !ok {
		r = def.Family.Reach(s.base, cand, s.req.Changeset)
		s.families[def.Family] = r
	}
	s.reach[def.Name] = r.Only(def.Places(cand))
	if s.leaves(def) {
		s.results.leave(def.Name, s.reach[def.Name])
	}
}

// leaves reports whether a check leaves out what the patch cannot affect. Tests do so only on request: no text shows
// for certain what they read while they run.
func (s *session) leaves(def check.Check) bool {
	return def.Gate != check.GateTests || s.req.Config.AffectedTests
}

// idle reports whether the patch can affect nothing that the check judges, and the check leaves out the rest.
func (s *session) idle(def check.Check) bool {
	r := s.reach[def.Name]
	return r != nil && r.Affected() == 0 && s.leaves(def)
}

// within adds to the bench of a candidate's check what the patch can affect.
func (s *session) within(b check.Bench, def check.Check) check.Bench {
	b.Reach, b.Leave = s.reach[def.Name], s.leaves(def)
	b.AffectedDone = func() { s.results.reached(def, b.Reach) }
	return b
}
