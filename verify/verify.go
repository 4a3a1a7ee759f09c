package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/format"
)

// enginePatience is how long a judgement waits for an engine that went away: a restart takes some seconds.
const enginePatience = 30 * time.Second

// awaitEngine waits until the engine starts boxes again, and reports whether it does.
func (v *Verifier) awaitEngine(ctx context.Context, req Request) bool {
	var away *sandbox.UnavailableError
	for wait := time.Second; ; wait *= 2 {
		box, err := v.Boxes.Start(ctx, sandbox.Spec{Image: req.Toolchain, Run: req.Run, Purpose: "engine", Lease: req.Lease, Runtime: req.Config.Runtime})
		if err == nil {
			return box.Close() == nil
		}
		if !errors.As(err, &away) || wait > enginePatience/2 {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}

// Findings returns the findings of lint and types on the base of req, one Gate each with all of its findings; the
// changeset of req is ignored. It is the same judgement that Verify compares a candidate with, from the same cache: a
// later Verify does not repeat what Findings determines here in a box.
//
// A Verifier without Boxes answers from the cache alone, with no gates if the cache has none. A gate that could not
// work has its verdict and no findings. The error is non-nil only if ctx ended.
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
		// A cache that does not answer counts as empty.
		_, _ = s.store.Load(ctx, s.store.BaselineKey(standing(req.Base.Digest(), req.Installed), check.GroupStatic), &known)
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
			gates = append(gates, compare.Together(parts).Hidden(v.Hide))
		}
	}
	return gates, nil
}

// Standing returns what each check reports on the base of req as it is, in the order of a report; the changeset of req
// is ignored. It judges as Findings does and from the same cache, for the gates named in gates; check.GateOwn selects
// the workspace's own. A few failing tests are repeated. A check that has not proved itself is infra. The error is
// non-nil only if ctx ended.
func (v *Verifier) Standing(ctx context.Context, req Request, gates []string, emit func(Event)) ([]check.Standing, error) {
	req.Changeset = workspace.Changeset{}
	s := newSession(v, req, emit)
	groups, r := s.groups(s.base), s.results
	var jobs []job
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		if defs := check.Among(groups[group], gates, gateOrder); len(defs) > 0 {
			jobs = append(jobs, job{false, func(ctx context.Context) { s.baseline(ctx, group, defs) }})
		}
	}
	s.work(ctx, ctx, append(jobs, job{false, func(ctx context.Context) { s.proof(ctx, r.wanted()) }}))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var list []check.Standing
	for _, def := range r.all() {
		out, ok := r.base[def.Name]
		g, reason := check.Gate{}, r.skipped[def.Name]
		if reason == "" && ok && def.Name != format.Name {
			if ids := compare.Failing(def, out); len(ids) > 0 {
				out = compare.Again(out, s.repeatsAlone(ctx, def, ids, time.Now().Add(s.req.Config.Timeout)))
			}
			g, reason = judge(def, check.Outcome{}, out.Asked(), r.proof[def.Name], r.diff)
		}
		if g.Verdict != "" || reason != "" {
			list = append(list, check.NewStanding(def, g, reason, out.Tests).Hidden(v.Hide))
		}
	}
	return list, nil
}

// Verify judges one candidate. If the engine or a tool fails, and still does after the engine has come back and
// everything was judged once more, the report's verdict is Infra. The error is non-nil only if ctx ended. emit may be
// called from several goroutines, but only one call at a time; it may be nil.
func (v *Verifier) Verify(ctx context.Context, req Request, emit func(Event)) (Report, error) {
	s := newSession(v, req, emit)
	s.run(ctx)
	// What fails because the engine restarts says nothing about the patch.
	if s.lost.Load() && ctx.Err() == nil && v.awaitEngine(ctx, req) {
		s = newSession(v, req, emit)
		s.results.note("the engine lost a box: everything was judged again")
		s.run(ctx)
	}
	// An incomplete report would look like one with fewer findings.
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	report := s.report().hidden(v.Hide)
	// Only a pass is worth a row: nothing else is promoted without a person, who may change more before the next run.
	if report.Verdict == check.Pass {
		report.Baseline = candidateBaseline{s, report.Changeset}
	}
	return report, nil
}

// report puts the judgements in the order of a report.
func (s *session) report() Report {
	r := s.results
	r.mu.Lock()
	defer r.mu.Unlock()
	report := Report{Changeset: r.final, Gates: []check.Gate{}, Skipped: []Skip{}}
	for _, name := range r.gates() {
		if g, reason := r.gate(name); reason != "" {
			report.Skipped = append(report.Skipped, Skip{Name: name, Reason: reason})
		} else {
			report.Gates = append(report.Gates, g)
		}
	}
	for _, c := range checks() {
		if t := r.trials[c.Name]; t != nil {
			report.Holds = append(report.Holds, t.Holds...)
		}
		report.Holds = append(report.Holds, r.approved[c.Name]...)
	}
	report.Holds = slices.Concat(report.Holds, r.contrary, r.silenced, r.configuring)
	report.Verdict = compare.Overall(report.Gates)
	known := r.evidence()
	report.Unproven, report.Executed, report.Evidence = known.Unproven(), known.Executions(), known
	if report.Verdict == check.Pass {
		report.Holds = append(report.Holds, known.Hold(report.Unproven)...)
	}
	if len(r.notes) > 0 && len(report.Gates) > 0 {
		g := &report.Gates[0]
		g.Detail = strings.TrimPrefix(fmt.Sprintf("%s (%s)", g.Detail, strings.Join(r.notes, "; ")), " ")
	}
	return report
}
