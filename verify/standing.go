package verify

import (
	"context"

	"agent/sandbox/workspace"
	"agent/verify/check"
)

// Findings returns what lint and types have against the base of req, one Gate
// each with all of its findings; the changeset of req does not count. It is the
// same judgement that Verify compares a candidate with, from the same cache: what
// is found out here, in a box, a later Verify does not find out again.
//
// A Verifier without Boxes answers from the cache alone, with no gates when it
// does not know. A gate that could not work has its verdict and no findings. The
// error is only that of a ctx that ended.
func (v *Verifier) Findings(ctx context.Context, req Request, emit func(Event)) ([]check.Gate, error) {
	req.Changeset = workspace.Changeset{}
	s := newSession(v, req, emit)
	var defs []check.Check
	for _, def := range checks() {
		if def.Group == check.GroupStatic && def.Applies(s.base) == "" {
			defs = append(defs, def)
		}
	}
	known := map[string]check.Outcome{}
	if s.boxes == nil {
		// A cache that does not answer knows nothing.
		_, _ = s.store.load(ctx, s.store.baselineKey(standing(req.Base.Digest(), req.Installed), check.GroupStatic), &known)
	} else {
		s.baseline(ctx, check.GroupStatic, defs)
		known = s.results.base
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var gates []check.Gate
	for _, name := range gateOrder {
		var parts []check.Gate
		for _, def := range defs {
			if out, ok := known[def.Name]; ok && def.Gate == name {
				g := check.GateOf(name, out)
				g.Findings, g.Output = append(g.Findings, out.Findings...), ""
				g.Tool = toolVersion(def.Name, req.Versions)
				parts = append(parts, g)
			}
		}
		if len(parts) > 0 {
			gates = append(gates, together(parts))
		}
	}
	return gates, nil
}
