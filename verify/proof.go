package verify

import (
	"context"
	"fmt"
	"slices"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/typecache"
)

// proof determines whether the checks of this session work in this toolchain image, from the cache or on planted files
// in a box of the bare image. Each check must find its fault and leave the sound files alone; otherwise nothing that it
// reports in this image counts. The proof runs at the same time as the candidate, so the first run after a new image is
// hardly slower; the checks are judged when it is done. A check that nothing in the workspace needs is not proved and
// costs nothing.
func (s *session) proof(ctx context.Context, wanted []check.Check) {
	defer s.store.Making.Lock(ctx, s.store.ProofKey())()
	var known []string // names of the proved checks
	if _, err := s.store.Load(ctx, s.store.ProofKey(), &known); err != nil {
		known = nil
		s.results.note(fmt.Sprintf("proof not read from the cache: %v", err))
	}
	reasons := map[string]string{}
	todo := slices.DeleteFunc(slices.Clone(wanted), func(c check.Check) bool { return slices.Contains(known, c.Name) })
	if len(todo) > 0 {
		err := s.withBox(ctx, Layer{Snapshot: s.req.Toolchain}, "", "proof", func(box *sandbox.Box) {
			b := s.bench(box, check.View{}, check.Entry{})
			if row := typecache.OfProof(s.store.Cache, s.req.Toolchain, s.store.Proof); row != nil {
				b.Known, b.Learn = row, func(packed []byte) {
					if err := row.Keep(ctx, packed); err != nil {
						s.results.note(err.Error())
					}
				}
			}
			reasons = prove(ctx, b, todo)
		})
		if err != nil {
			for _, c := range todo {
				reasons[c.Name] = fmt.Sprintf("not proved on planted faults: %v", err)
			}
		}
	}
	s.results.proven(reasons)
	if ctx.Err() != nil || len(reasons) == len(todo) {
		return
	}
	for _, c := range todo {
		if reasons[c.Name] == "" {
			known = append(known, c.Name)
		}
	}
	slices.Sort(known)
	if err := s.store.Save(ctx, s.store.ProofKey(), known); err != nil {
		s.results.note(fmt.Sprintf("proof not kept: %v", err))
	}
}

// prove runs checks on their planted files in an empty box, one after the other. The files of each check are removed
// afterwards, since a tool reads everything that it finds. prove returns the reason for each check that failed its
// proof.
func prove(ctx context.Context, b check.Bench, list []check.Check) map[string]string {
	reasons := map[string]string{}
	// The workspace's own program and variables must not affect the planted ones.
	b.Smoke = check.Smoke{}
	for i, c := range list {
		// Each check has the box to itself: another check's files would give findings in the wrong place.
		files := check.Plant(c.Planted)
		b.View = check.NewView(&workspace.Manifest{}, files)
		if err := b.Box.Apply(ctx, files); err != nil {
			reasons[c.Name] = fmt.Sprintf("not proved: plant faults: %v", err)
			continue
		}
		if err := c.Prove(ctx, b); err != nil {
			reasons[c.Name] = fmt.Sprintf("did not prove itself on planted faults: %v; rebuild the toolchain with: agent images build", err)
		}
		if err := b.Box.Apply(ctx, files.Reverse()); err != nil {
			// The box is unusable for the remaining checks.
			for _, next := range list[i+1:] {
				reasons[next.Name] = fmt.Sprintf("not proved: remove the planted faults of %s: %v", c.Name, err)
			}
			break
		}
	}
	return reasons
}
