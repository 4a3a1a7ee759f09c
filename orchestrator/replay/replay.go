// Package replay judges the candidates of a recorded run again and compares. It
// rebuilds the workspace that the run saw, applies the recorded responses again,
// and has the candidates judged by whatever tools are there.
//
// It owns the [Evidence], which is all that is recorded of a run which decided its
// verdict. It refuses evidence that is not whole, asks no model, and writes no
// record.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/images"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// A replay is one at work.
type replay struct {
	*Report
	evidence Evidence
	// Of the evidence, compared with its digest.
	content func(digest string) ([]byte, error)
	base    *workspace.Manifest
	// By digest: what responses came on top of.
	// The empty one is there from the beginning: an answer may come on top of no change.
	finals map[string]workspace.Changeset
	// The steps of the questions, by the digests of the answers.
	steps map[string]string
	hide  func(string) string
}

// A Replayer judges recorded runs again.
type Replayer struct {
	Images   gate.Snapshotter
	Verifier gate.Verifier
	// Emit takes progress, from several goroutines, one at a time; nil for nobody.
	Emit func(run.Event)
	// Hide takes the configured secrets out of a text before that is compared or shown;
	// nil hides nothing.
	Hide func(text string) string
}

// Replay judges the candidates of a recorded run again, and compares. It needs neither
// the workspace, which it rebuilds in dir, nor a model: responses are applied
// again. content gives what the evidence names.
//
// That the tools are of another image is a note: it counts when a verdict differs.
// What was not judged then is not judged now: candidates that were cancelled, or
// struck by trouble of the machine. The error is trouble of the machine, or
// an *UnfitError.
func (r *Replayer) Replay(ctx context.Context, e Evidence, dir string, content func(digest string) ([]byte, error)) (*Report, error) {
	t := &run.Notifier{Run: run.NewID(time.Now()), Emit: r.Emit, Hide: r.Hide}
	rep := &replay{
		Report:   &Report{Run: e.Run, Recorded: e.Settings.Toolchain, Verdicts: []Verdict{}, Differs: []Difference{}, Notes: []string{}},
		evidence: e, hide: t.Hidden, finals: map[string]workspace.Changeset{workspace.Changeset{}.Digest(): {}}, steps: map[string]string{},
	}
	// Each time anew, whoever compared before: what content reads may have changed since.
	rep.content = func(digest string) ([]byte, error) {
		data, err := content(digest)
		if err == nil && workspace.Digest(data) != digest {
			err = &UnfitError{e.Run, "the content " + digest + " has other bytes"}
		}
		return data, err
	}
	for _, x := range e.Exchanges {
		if x.Answer != nil {
			rep.steps[workspace.Digest(x.Answer)] = x.Step
		}
	}
	text, err := rep.content(e.Inventory)
	if err != nil {
		return nil, err
	}
	if rep.base, err = workspace.Rebuild(dir, text, rep.content); err != nil {
		return nil, &UnfitError{e.Run, err.Error()}
	}
	// Contents were compared one by one; this compares names, modes and what is not there.
	if rep.Snapshot = rep.base.Digest(); rep.Snapshot != e.Snapshot {
		return nil, &UnfitError{e.Run, "the rebuilt workspace is " + rep.Snapshot + ", and not the one that was judged"}
	}
	if err := rep.run(ctx, r, t); err != nil {
		return nil, err
	}
	rep.conclude()
	rep.Identical = len(rep.Differs) == 0
	return rep.Report, nil
}

// run has all candidates judged.
// Candidates come in their order, since later ones build on earlier ones. Settings that decide a verdict are those of
// the evidence, not of here: whether they may be is for the caller to say before.
func (rep *replay) run(ctx context.Context, r *Replayer, t *run.Notifier) (err error) {
	s := rep.evidence.Settings
	rules := gate.Rules{Config: s.Config, Allow: s.Allow, NoInstall: s.NoInstall, InstallScripts: s.InstallScripts, InstallAll: s.InstallAll, Packages: s.Packages, Model: s.Model}
	if rules.Protect, err = policy.Protect(s.Protect); err != nil {
		return &UnfitError{rep.Run, err.Error()}
	}
	// What a candidate leaves for later runs is not kept: there are none on this workspace.
	g := &gate.Gate{
		Images: r.Images, Verifier: r.Verifier, Rules: rules, Run: t.Run, Note: func(text string) { t.Notify(run.Event{Note: text}) },
		Earlier: func(_ context.Context, name string, _ []byte) ([]byte, error) { return s.Earlier[name], nil },
	}
	st, err := rep.stage(ctx, g)
	if err != nil {
		return err
	}
	for i, x := range rep.evidence.Candidates {
		if err := rep.judge(ctx, g, t, st, i+1, x); err != nil {
			return fmt.Errorf("judge candidate %d again: %w", i+1, err)
		}
	}
	return nil
}

// conclude compares the run's own verdict with what its candidates came to now.
//
// A run that passed, or was promoted, has a candidate that passes: which one it took is not recorded, as the best of
// several need not be the last. Of the other verdicts no candidate tells, since they come of people and policy too. A
// replay that judged nothing proves nothing. What differs in a candidate is told there, and not once more.
func (rep *replay) conclude() {
	recorded, best := string(rep.evidence.Verdict), verify.Verdict("")
	for _, v := range rep.Verdicts {
		if best != verify.Pass {
			best = cmp.Or(v.Replayed, best)
		}
	}
	passed := rep.evidence.Verdict == verify.Pass || rep.evidence.State == run.Promoted
	if len(rep.Differs) > 0 || best != "" && (!passed || best == verify.Pass && rep.evidence.Verdict == verify.Pass) {
		return
	}
	if rep.evidence.State == run.Promoted {
		recorded = string(run.Promoted) + ", " + recorded
	}
	rep.differs(0, "verdict", recorded, string(best))
}

// differs notes a difference, if there is one.
// n is 0 for the run. Neither side is cleaned for a terminal here.
func (rep *replay) differs(n int, what, recorded, replayed string) {
	if recorded != replayed {
		rep.Differs = append(rep.Differs, Difference{n, what, recorded, replayed})
	}
}

// stage makes the snapshot of the rebuilt workspace on the tools that are here. It is
// made under the name of its directory, so that it can be told from those of the
// workspace itself.
// An image with the recorded ID may be gone for good, and is not asked for: the tools are built here from what this
// program knows. So a difference in them is a note, which a reader needs when a verdict differs.
func (rep *replay) stage(ctx context.Context, g *gate.Gate) (st gate.Stage, err error) {
	tools, err := g.Images.Ensure(ctx, images.Toolchain)
	if err != nil {
		return st, fmt.Errorf("build the toolchain image: %w", err)
	}
	recorded := rep.evidence.Settings
	if rep.Toolchain = tools.ID; rep.Toolchain != recorded.Toolchain {
		rep.Notes = append(rep.Notes, "the toolchain image is another than recorded: "+versionsApart(recorded.Versions, tools.Versions))
	}
	if recorded.Definitions != verify.Definitions {
		rep.Notes = append(rep.Notes, fmt.Sprintf("the gates are of definitions %s, recorded are %s", verify.Definitions, recorded.Definitions))
	}
	// Dependencies come from a registry or the cache, by the lock files in the snapshot: what was withdrawn there ends
	// the replay as trouble, and is no difference.
	if st, err = g.FreezeWhole(ctx, tools, rep.base); err != nil {
		return st, err
	}
	if st.Image.Installed != recorded.Installed {
		rep.Notes = append(rep.Notes, "the installed dependencies are others than recorded")
	}
	return st, nil
}

// versionsApart names the tools whose versions differ, for people.
// Tools that are here no more are not named: what was judged by them is, as a gate that is left out.
func versionsApart(recorded, here map[string]string) string {
	var apart []string
	for name, v := range here {
		if recorded[name] != v {
			apart = append(apart, fmt.Sprintf("%s %s instead of %s", name, v, cmp.Or(recorded[name], "none")))
		}
	}
	if len(apart) == 0 {
		return "with the same versions"
	}
	slices.Sort(apart)
	return strings.Join(apart, ", ")
}

// judge replays candidate n.
// An error leaves a verdict behind in the list, but the report is not given out then.
func (rep *replay) judge(ctx context.Context, g *gate.Gate, t *run.Notifier, st gate.Stage, n int, x Exhibit) error {
	v := Verdict{Step: rep.steps[x.Response], Recorded: x.Verdict}
	defer func() { rep.Verdicts = append(rep.Verdicts, v) }()
	recorded, err := rep.changeset(x)
	if err != nil {
		return err
	}
	// The recorded changes are what later answers came on top of, whatever the gates make of them today: one formatter
	// of another version would else make every candidate behind it differ.
	rep.finals[x.Digest] = recorded
	v.Tree = rep.base.With(recorded).Digest()
	cand, applied, err := rep.apply(g, x)
	if err != nil {
		return err
	}
	if rep.differs(n, "response", x.Asked, cand.Origin.Asked); x.Asked != cand.Origin.Asked {
		return nil // what would be judged is something else
	}
	if x.Verdict == verify.Cancelled || x.Verdict == verify.Infra {
		rep.Notes = append(rep.Notes, fmt.Sprintf("candidate %d was not judged then (%s), and is not now", n, x.Verdict))
		return nil
	}
	if applied {
		if err := g.Judge(ctx, st, &cand, gate.Watch{Event: func(e verify.Event) error {
			if e.Request != nil {
				t.Request(e)
			} else {
				t.Notify(run.Event{Gate: &e})
			}
			return nil
		}}); err != nil {
			return err
		}
		v.Tree = rep.base.With(cand.Changeset).Digest()
		rep.differs(n, "tree", rep.base.With(recorded).Digest(), v.Tree)
		rep.differs(n, "changeset", recorded.Digest(), cand.Digest)
	}
	v.Replayed = cand.Verdict
	if cand.Verdict == verify.Infra {
		return errors.New(cand.Because(verify.Infra))
	}
	rep.compare(n, x, cand)
	return nil
}

// apply makes the candidate of an exhibit again. applied is false when it ended there.
// The answer is read by the same code as in a run, so that a change of how answers are read shows as a difference.
func (rep *replay) apply(g *gate.Gate, x Exhibit) (cand gate.Candidate, applied bool, err error) {
	response, err := rep.content(x.Response)
	if err != nil {
		return cand, false, err
	}
	if x.Onto == "" {
		cand, rejected, err := g.Make(rep.base, response, x.Target)
		return cand, err == nil && rejected == nil, err
	}
	onto, ok := rep.finals[x.Onto]
	if !ok {
		return cand, false, &UnfitError{rep.Run, "a candidate came on top of a changeset that no other has"}
	}
	rejected, err := g.Extend(&cand, rep.base, onto, response, x.Target)
	return cand, err == nil && rejected == nil, err
}

// changeset puts the recorded changes of an exhibit together.
// One that was refused before it had a changeset has no digest to compare.
func (rep *replay) changeset(x Exhibit) (cs workspace.Changeset, err error) {
	for _, f := range x.Files {
		c := workspace.Change{Op: f.Op, Path: f.Path, From: f.From, Mode: f.Mode, OldMode: f.OldMode}
		if f.Before != "" {
			c.Before, err = rep.content(f.Before)
		}
		if err == nil && f.After != "" {
			c.After, err = rep.content(f.After)
		}
		if err != nil {
			return cs, err
		}
		cs.Changes = append(cs.Changes, c)
	}
	if x.Asked != "" && cs.Digest() != x.Digest {
		err = &UnfitError{rep.Run, "the changes of a candidate do not match its digest"}
	}
	return cs, err
}

// compare notes how a candidate that was judged again differs.
// Seconds, memory and outputs are not compared: they differ from one run to the next on one machine.
func (rep *replay) compare(n int, x Exhibit, cand gate.Candidate) {
	rep.differs(n, "verdict", string(x.Verdict), string(cand.Verdict))
	// Recorded and judged again may each have had other secrets configured.
	x.Gates, cand = gate.Candidate{Gates: x.Gates}.Hidden(rep.hide).Gates, cand.Hidden(rep.hide)
	was, is := byName(x.Gates), byName(cand.Gates)
	for _, g := range slices.Concat(x.Gates, cand.Gates) {
		a, b := was[g.Name], is[g.Name]
		rep.differs(n, g.Name, gateVerdict(a), gateVerdict(b))
		rep.each(n, g.Name+" found", found(a.Findings), found(b.Findings))
		// The second list has most names once more: for those both sides are now left out, and so equal.
		delete(was, g.Name)
		delete(is, g.Name)
	}
	rep.each(n, "hold", heldBack(x.Holds), heldBack(cand.Holds))
	// Older records do not say.
	if x.Unproven != nil && cand.Unproven != nil {
		rep.each(n, "unproven", unproven(x.Unproven), unproven(cand.Unproven))
	}
}

// each notes what is in one list and not in the other.
// They count as often as they are there: two equal findings are not one.
func (rep *replay) each(n int, what string, recorded, replayed []string) {
	for _, s := range recorded {
		if i := slices.Index(replayed, s); i >= 0 {
			replayed = slices.Delete(slices.Clone(replayed), i, i+1)
			continue
		}
		rep.differs(n, what, s, "")
	}
	for _, s := range replayed {
		rep.differs(n, what, "", s)
	}
}
