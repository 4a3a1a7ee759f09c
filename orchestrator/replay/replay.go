// Package replay judges the candidates of a recorded run again and compares the results. It rebuilds the workspace that the run saw,
// applies the recorded responses again, and has the candidates judged by the tools that are installed now.
//
// It owns the [Evidence]: everything on record that decided the verdict of a run. It refuses evidence that is not whole, asks no model,
// and writes no record.
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

// A replay is a replay in progress.
type replay struct {
	*Report
	evidence Evidence
	// Returns a content of the evidence, after comparing it with its digest.
	content func(digest string) ([]byte, error)
	base    *workspace.Manifest
	// The changesets, by digest, that responses were applied on top of. The empty one is there from the start: an answer may be applied
	// on top of no change.
	finals map[string]workspace.Changeset
	// The steps of the questions, by the digests of their answers.
	steps map[string]string
	hide  func(string) string
}

// A Replayer judges recorded runs again.
type Replayer struct {
	Images   gate.Snapshotter
	Verifier gate.Verifier
	// Emit receives progress, from several goroutines, one at a time; nil if nobody watches.
	Emit func(run.Event)
	// Hide removes the configured secrets from a text before it is compared or shown; nil hides nothing.
	Hide func(text string) string
}

// Replay judges the candidates of a recorded run again, and compares. It needs neither the workspace, which it rebuilds in dir, nor a
// model: it applies the recorded responses again. content returns what the evidence names.
//
// Tools from another image are a note, which matters if a verdict differs. Candidates that were not judged in the run, since they were
// cancelled or struck by trouble with the machine, are not judged now. The error is trouble with the machine, or an *UnfitError.
func (r *Replayer) Replay(ctx context.Context, e Evidence, dir string, content func(digest string) ([]byte, error)) (*Report, error) {
	t := &run.Notifier{Run: run.NewID(time.Now()), Emit: r.Emit, Hide: r.Hide}
	rep := &replay{
		Report:   &Report{Run: e.Run, Recorded: e.Settings.Toolchain, Verdicts: []Verdict{}, Differs: []Difference{}, Notes: []string{}},
		evidence: e, hide: t.Hidden, finals: map[string]workspace.Changeset{workspace.Changeset{}.Digest(): {}}, steps: map[string]string{},
	}
	// Checked on every read, whoever checked before: what content reads may have changed since.
	rep.content = func(digest string) ([]byte, error) {
		data, err := content(digest)
		if err == nil && workspace.Digest(data) != digest {
			err = &UnfitError{e.Run, "the content " + digest + " does not match its digest"}
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
	// The contents were compared one by one; this compares names, modes and what is absent.
	if rep.Snapshot = rep.base.Digest(); rep.Snapshot != e.Snapshot {
		return nil, &UnfitError{e.Run, "the rebuilt workspace is " + rep.Snapshot + ", not the one that was judged"}
	}
	if err := rep.run(ctx, r, t); err != nil {
		return nil, err
	}
	rep.conclude()
	rep.Identical = len(rep.Differs) == 0
	return rep.Report, nil
}

// run has all candidates judged, in their order, since later ones build on earlier ones. The settings that decide a verdict are those
// of the evidence, not the local ones: the caller must check beforehand whether they are allowed.
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

// conclude compares the run's own verdict with the new verdicts of its candidates.
//
// A run that passed, or was promoted, has a candidate that passes. Which one it took is not recorded, and the best of several need not
// be the last. Other verdicts cannot be read from the candidates, since they come from people and policy too. A replay that judged
// nothing proves nothing. A difference within a candidate is reported there, and not repeated.
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

// differs notes a difference, if there is one. n is 0 for the run. Neither side is cleaned for a terminal here.
func (rep *replay) differs(n int, what, recorded, replayed string) {
	if recorded != replayed {
		rep.Differs = append(rep.Differs, Difference{n, what, recorded, replayed})
	}
}

// stage makes the snapshot of the rebuilt workspace on the local tools, under the name of its directory, so that it can be
// distinguished from those of the workspace itself. An image with the recorded ID may no longer exist, and is not asked for: the tools
// are built from what this program knows. A difference between them is therefore a note, which a reader needs if a verdict differs.
func (rep *replay) stage(ctx context.Context, g *gate.Gate) (st gate.Stage, err error) {
	tools, err := g.Images.Ensure(ctx, images.Toolchain)
	if err != nil {
		return st, fmt.Errorf("build the toolchain image: %w", err)
	}
	recorded := rep.evidence.Settings
	if rep.Toolchain = tools.ID; rep.Toolchain != recorded.Toolchain {
		rep.Notes = append(rep.Notes, "the toolchain image differs from the recorded one: "+versionsApart(recorded.Versions, tools.Versions))
	}
	if recorded.Definitions != verify.Definitions {
		rep.Notes = append(rep.Notes, fmt.Sprintf("the gates have definitions %s, but %s was recorded", verify.Definitions, recorded.Definitions))
	}
	// Dependencies come from a registry or the cache, by the lock files in the snapshot. If one was withdrawn there, the replay ends
	// with trouble, not with a difference.
	if st, err = g.FreezeWhole(ctx, tools, rep.base); err != nil {
		return st, err
	}
	if st.Image.Installed != recorded.Installed {
		rep.Notes = append(rep.Notes, "the installed dependencies differ from the recorded ones")
	}
	return st, nil
}

// versionsApart names the tools whose versions differ, for people. It does not name tools that are missing here: the gate that used
// them is reported as left out.
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

// judge replays candidate n. After an error it leaves a verdict in the list, but the report is then not returned.
func (rep *replay) judge(ctx context.Context, g *gate.Gate, t *run.Notifier, st gate.Stage, n int, x Exhibit) error {
	v := Verdict{Step: rep.steps[x.Response], Recorded: x.Verdict}
	defer func() { rep.Verdicts = append(rep.Verdicts, v) }()
	recorded, err := rep.changeset(x)
	if err != nil {
		return err
	}
	// Later answers were applied on top of the recorded changes, whatever the gates make of them today: otherwise one formatter of
	// another version would make every later candidate differ.
	rep.finals[x.Digest] = recorded
	v.Tree = rep.base.With(recorded).Digest()
	cand, applied, err := rep.apply(g, x)
	if err != nil {
		return err
	}
	if rep.differs(n, "response", x.Asked, cand.Origin.Asked); x.Asked != cand.Origin.Asked {
		return nil // something else would be judged
	}
	if x.Verdict == verify.Cancelled || x.Verdict == verify.Infra {
		rep.Notes = append(rep.Notes, fmt.Sprintf("candidate %d was not judged in the recorded run (%s), and is not judged now", n, x.Verdict))
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

// apply makes the candidate of an exhibit again. applied is false if the candidate ended there. The same code as in a run reads the
// answer, so that a change in how answers are read shows as a difference.
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
		return cand, false, &UnfitError{rep.Run, "a candidate builds on a changeset that no other candidate has"}
	}
	rejected, err := g.Extend(&cand, rep.base, onto, response, x.Target)
	return cand, err == nil && rejected == nil, err
}

// changeset assembles the recorded changes of an exhibit. A candidate that was refused before it had a changeset has no digest to
// compare.
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

// compare notes how a candidate that was judged again differs. Seconds, memory and outputs are not compared: they differ between two
// runs on one machine.
func (rep *replay) compare(n int, x Exhibit, cand gate.Candidate) {
	rep.differs(n, "verdict", string(x.Verdict), string(cand.Verdict))
	// Other secrets may have been configured at the run than now.
	x.Gates, cand = gate.Candidate{Gates: x.Gates}.Hidden(rep.hide).Gates, cand.Hidden(rep.hide)
	was, is := byName(x.Gates), byName(cand.Gates)
	for _, g := range slices.Concat(x.Gates, cand.Gates) {
		a, b := was[g.Name], is[g.Name]
		rep.differs(n, g.Name, gateVerdict(a), gateVerdict(b))
		rep.each(n, g.Name+" found", found(a.Findings), found(b.Findings))
		// Most names occur again in the second list: by then both sides lack them, and so are equal.
		delete(was, g.Name)
		delete(is, g.Name)
	}
	rep.each(n, "hold", heldBack(x.Holds), heldBack(cand.Holds))
	// Older records do not say what was unproven.
	if x.Unproven != nil && cand.Unproven != nil {
		rep.each(n, "unproven", unproven(x.Unproven), unproven(cand.Unproven))
	}
}

// each notes what is in only one of two lists. Repeated entries count: two equal findings are not one.
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
