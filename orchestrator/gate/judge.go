package gate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"agent/images"
	"agent/images/dependencies"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// A Watch says how a candidate is judged among others, and who watches. The zero value is for a candidate that is judged alone and
// unwatched.
type Watch struct {
	// Rank is the candidate's place among those that want boxes at the same time.
	Rank int
	// Settled, if not nil, is called once the bytes of the candidate are final.
	Settled func(workspace.Changeset)
	// Event, if not nil, receives what the gates do, one event at a time. An error of it becomes the error of the judgement, which goes
	// on.
	Event func(verify.Event) error
}

// Judge has the gates judge a candidate on a stage, and fills in the judgement. The candidate's changeset is then the one that the
// gates left, since the format gate may change it. An error is trouble with the machine, with ctx or of w.Event; the candidate is then
// not judged.
func (g *Gate) Judge(ctx context.Context, st Stage, cand *Candidate, w Watch) error {
	// A patch that changes what is to be installed is judged with that installed. If the installation failed, the candidate has its
	// verdict already.
	patched, lacking, ok, err := g.reinstall(ctx, st, cand)
	if err != nil || !ok {
		return err
	}
	var lost error // of what has to be recorded before anything is judged
	req := g.request(st, *cand)
	req.Patched, req.Rank, req.Settled, req.Earlier = patched, w.Rank, w.Settled, g.Earlier
	report, err := g.Verifier.Verify(ctx, req, func(e verify.Event) {
		if w.Event != nil {
			lost = cmp.Or(lost, w.Event(e))
		}
	})
	if err = cmp.Or(err, lost); err != nil {
		return err
	}
	if report.Baseline != nil && g.Alongside != nil {
		g.Alongside.Go(func() { g.keepBaseline(ctx, report) })
	}
	if len(lacking) > 0 {
		report = report.Uninstalled()
	}
	cand.Verdict, cand.Gates, cand.Skipped, cand.Unproven = report.Verdict, report.Gates, report.Skipped, report.Unproven
	cand.Executed = report.Executed
	if len(lacking) > 0 { // reported first: much else follows from it
		cand.Unproven = append(lacking, report.Unproven...)
	}
	// Holds that only the whole workspace reveals are asked of the changeset that may be promoted.
	holds := policy.Review(ctx, st.Base, report.Changeset, g.Rules.Protect, report.Holds)
	for i, h := range holds {
		holds[i].Block = h.Block || g.Rules.Model && h.Kind == policy.ChangedTest
	}
	cand.seal(report.Changeset, holds)
	return ctx.Err()
}

// request returns the request to verify a candidate on a stage.
func (g *Gate) request(st Stage, cand Candidate) verify.Request {
	return verify.Request{
		Run: g.Run, Lease: time.Now().Add(LeaseFor), Snapshot: st.Image.ID, Delta: st.Delta, Installed: st.Image.Installed,
		Toolchain: st.Tools.ID, Versions: st.Tools.Versions, Base: st.Base, Changeset: cand.Changeset, Config: g.Rules.Config, Allow: g.Rules.Allow, Model: g.Rules.Model,
	}
}

// Repair returns another candidate, which is yet to be judged: what linters make of a candidate that failed only for what they repair
// by themselves. what says in a sentence what they did; it is "" if a model has to be asked.
func (g *Gate) Repair(ctx context.Context, st Stage, cand Candidate) (repaired Candidate, what string, err error) {
	if g.Repairer == nil || cand.Verdict != verify.Fail || cand.Changeset.Empty() {
		return cand, "", nil
	}
	cs, what, err := g.Repairer.Repair(ctx, g.request(st, cand), cand.Gates)
	if err != nil || what == "" {
		return cand, "", err
	}
	// Like a changeset that was taken, it is a patch of its own to the workspace.
	repaired = Candidate{Thought: cand.Thought, Edits: cand.Edits}
	g.Seal(&repaired, cs)
	repaired.Origin = Origin{Response: []byte(repaired.Diff), Asked: repaired.Digest}
	return repaired, what, nil
}

// Note adds a text about what was done to a candidate to its first gate called name, or to its very first gate.
func (c *Candidate) Note(name, text string) {
	if len(c.Gates) == 0 {
		return
	}
	g := &c.Gates[max(0, slices.IndexFunc(c.Gates, func(g verify.Gate) bool { return g.Name == name }))]
	g.Detail = strings.TrimPrefix(g.Detail+"; "+text, "; ")
}

// keepBaseline keeps what only the next run will ask for, even if the run that found it has ended.
func (g *Gate) keepBaseline(ctx context.Context, report verify.Report) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepFor)
	defer cancel()
	if err := report.Baseline.Keep(ctx); err != nil {
		g.note(err.Error())
	}
}

// reinstall returns the layer that the candidate's boxes stand on, zero for the base's own image, and what is lacking there. It
// installs a change of the dependencies only if that was approved in advance; otherwise the patch is judged without it. What could be
// installed before and no longer can is the patch's fault, unless its registry did not answer: ok is then false, and the candidate is
// judged.
func (g *Gate) reinstall(ctx context.Context, st Stage, cand *Candidate) (layer verify.Layer, lacking []verify.Unproven, ok bool, err error) {
	lacking = st.Dependencies.unproven()
	// What tox, nox and CI install is in files that are held for the other things they do.
	touches := cand.TouchesDependencies() || slices.ContainsFunc(cand.Holds, func(h policy.Hold) bool { return dependencies.Concerns(h.Path) })
	if !touches || !slices.Contains(g.Rules.Allow, policy.Dependencies) {
		return layer, lacking, true, nil
	}
	// Most patches to a manifest do not change what is installed: they change scripts, settings of tools or the package's own version.
	wanted, err := DependenciesOf(st.Base.With(cand.Changeset), g.Rules)
	if err != nil || wanted.Equal(st.dependencies) {
		return layer, lacking, true, err
	}
	wanted = wanted.Limited(st.dependencies, st.installed.Report)
	g.announce(ctx, st.Tools, wanted)
	// What was not available before the patch need not be available with it.
	installed, err := g.installMost(ctx, st.Tools, wanted, func(p dependencies.Part) bool { return slices.ContainsFunc(st.Dependencies.failed, p.Same) })
	var failure *images.InstallError
	if errors.As(err, &failure) && failure.Registry == "" {
		cand.fault(failure)
		return layer, nil, false, nil
	}
	if err != nil {
		return layer, nil, false, err
	}
	// The snapshot has a name of its own, so that the snapshots of candidates do not displace that of the base, on which more boxes are
	// to be started.
	image, err := g.Images.Snapshot(ctx, installed.image, tree{st.Base}, st.Base.Root+"/.agent/candidate")
	return verify.Layer{Snapshot: image.ID, Installed: image.Installed}, installed.unproven(), true, err
}

// fault gives the candidate its verdict from the failure to install what it changed.
func (c *Candidate) fault(failure *images.InstallError) {
	f := verify.Finding{Rule: "install", Message: oneLine(failure.Error())}
	if i := slices.IndexFunc(c.Holds, func(h policy.Hold) bool { return h.Kind == policy.Dependencies }); i >= 0 {
		f.File = c.Holds[i].Path
	}
	output := failure.Error()
	if failure.Err != nil {
		output = failure.Err.Error()
	}
	c.Verdict = verify.Fail
	c.Gates = []verify.Gate{{
		Name: "edit", Verdict: verify.Fail, Detail: "the dependencies with the patch cannot be installed; those without it could", Output: output, Findings: []verify.Finding{f},
	}}
}
