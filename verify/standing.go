package verify

import (
	"context"

	"agent/sandbox/workspace"
)

// Findings returns what lint and types have against the base of req, one Gate
// each with all of its findings; the changeset of req does not count. It is the
// same judgement that Verify compares a candidate with, from the same cache: what
// is found out here, in a box, a later Verify does not find out again.
//
// A Verifier without Boxes answers from the cache alone, with no gates when it
// does not know. A gate that could not work has its verdict and no findings. The
// error is only that of a ctx that ended.
func (v *Verifier) Findings(ctx context.Context, req Request, emit func(Event)) ([]Gate, error) {
	req.Changeset = workspace.Changeset{}
	s := newSession(v, req, emit)
	var defs []check
	for _, def := range checks() {
		if def.group == groupStatic && def.applies(s.base) == "" {
			defs = append(defs, def)
		}
	}
	known := map[string]outcome{}
	if s.boxes == nil {
		// A cache that does not answer knows nothing.
		_, _ = s.store.load(ctx, s.store.baselineKey(standing(req.Base.Digest(), req.Installed), groupStatic), &known)
	} else {
		s.baseline(ctx, groupStatic, defs)
		known = s.results.base
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var gates []Gate
	for _, name := range gateOrder {
		var parts []Gate
		for _, def := range defs {
			if out, ok := known[def.name]; ok && def.gate == name {
				g := gateOf(name, out)
				g.Findings, g.Output = append(g.Findings, out.Findings...), ""
				g.Tool = toolVersion(def.name, req.Versions)
				parts = append(parts, g)
			}
		}
		if len(parts) > 0 {
			gates = append(gates, together(parts))
		}
	}
	return gates, nil
}
