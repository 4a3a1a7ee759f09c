package gate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// A Candidate is one changeset that was tried on a workspace.
type Candidate struct {
	Verdict verify.Verdict
	// Digest is the digest of the changeset, and Diff the changeset in git's form.
	Digest string
	Diff   string
	// Thought is what the response said about itself: untrusted text for people, never evidence.
	Thought string
	Edits   []edit.Applied
	Gates   []verify.Gate
	Skipped []verify.Skip
	Holds   []policy.Hold
	// Unproven is what no gate judged; nil if no gate was asked, or in a record from before it was kept.
	Unproven []verify.Unproven
	// Executed says how many of the changed lines ran; it is nil when Unproven is.
	Executed  []verify.Execution
	Changeset workspace.Changeset
	// Origin is what the candidate was made from, for a replay.
	Origin Origin
}

// An Origin is what a candidate was made from.
type Origin struct {
	Response []byte
	// Target is the file that a block without a name means.
	Target string
	// Onto is the digest of the changeset on top of which the response was applied, even if that is empty; "" if it was applied to the
	// workspace itself.
	Onto string
	// Asked is the digest of the changeset before the gates, "" if the response gave none.
	Asked string
}

// Wins reports whether the candidate may be promoted: it passed, and it changes something.
func (c Candidate) Wins() bool { return c.Verdict == verify.Pass && !c.Changeset.Empty() }

// Seal gives the candidate a changeset and everything that follows from it: digest, diff and holds never outlive the changeset that
// they were made from.
func (g *Gate) Seal(cand *Candidate, cs workspace.Changeset) {
	cand.seal(cs, policy.ReviewText(cs, g.Rules.Protect))
}

// seal sets the changeset and everything that follows from it.
func (c *Candidate) seal(cs workspace.Changeset, holds []policy.Hold) {
	c.Changeset, c.Digest, c.Diff, c.Holds = cs, cs.Digest(), cs.Diff(), holds
}

// Make returns the candidate of a response to the workspace itself. rejected says why no gate may judge it, as a *problem.Refusal or a
// *ForbiddenError; the candidate then has that verdict. The error comes from reading the workspace.
func (g *Gate) Make(base *workspace.Manifest, response []byte, target string) (cand Candidate, rejected, err error) {
	cand = Candidate{Thought: parse.Thought(response), Origin: Origin{Response: response, Target: target}}
	started := time.Now()
	cs, applied, err := Edit(base, response, target)
	var refusal *problem.Refusal
	var forbidden *ForbiddenError
	switch {
	case errors.As(err, &refusal):
		cand.Verdict, cand.Gates = verify.Fail, []verify.Gate{refusedGate(refusal, time.Since(started))}
		if refusesPath(refusal) {
			cand.Verdict = verify.Policy
		}
		return cand, refusal, nil
	case errors.As(err, &forbidden):
		cand.Verdict, rejected = verify.Policy, forbidden
	case err != nil:
		return cand, nil, err
	}
	cand.Edits = applied
	g.Seal(&cand, cs)
	cand.Origin.Asked = cand.Digest
	return cand, rejected, nil
}

// Take returns the candidate of a changeset that was made on base without a response, for example by a command in a box. Its response
// is the diff, from which it can be made again. rejected says why no gate may judge it, as a *ForbiddenError.
func (g *Gate) Take(base *workspace.Manifest, cs workspace.Changeset) (cand Candidate, rejected error) {
	if err := suit(base, cs); err != nil {
		cand.Verdict, rejected = verify.Policy, err
	}
	g.Seal(&cand, cs)
	cand.Origin = Origin{Response: []byte(cand.Diff), Asked: cand.Digest}
	return cand, rejected
}

// Extend applies a response to the workspace as changes leave it, and makes cand the candidate of what both do to base. rejected says
// why no gate may judge it, in words for a model; the candidate then has that verdict and no changeset. The error comes from reading
// the workspace.
func (g *Gate) Extend(cand *Candidate, base *workspace.Manifest, changes workspace.Changeset, response []byte, target string) (rejected, err error) {
	started := time.Now()
	cand.Origin = Origin{Response: response, Target: target, Onto: changes.Digest()}
	cs, applied, err := Revise(base, changes, response, target)
	var refusal *problem.Refusal
	var forbidden *ForbiddenError
	switch {
	case errors.As(err, &refusal):
		cand.Verdict, cand.Gates = verify.Fail, []verify.Gate{refusedGate(refusal, time.Since(started))}
		return refusal, nil
	case errors.As(err, &forbidden): // a path that no approval allows: the model is told, and may choose another
		cand.Verdict = verify.Policy
		cand.Gates = []verify.Gate{{Name: "edit", Verdict: verify.Policy, Seconds: time.Since(started).Seconds(), Detail: err.Error()}}
		return fmt.Errorf("nothing was applied: %w", err), nil
	case err != nil:
		return nil, err
	}
	g.Seal(cand, cs)
	cand.Edits, cand.Origin.Asked = applied, cand.Digest
	return nil, nil
}

// Hidden returns the candidate with hide applied to its texts. The diff and the bytes stay as they are: they are what is promoted, and
// what `git apply` is given.
func (c Candidate) Hidden(hide func(string) string) Candidate {
	c.Thought = hide(c.Thought)
	c.Gates, c.Skipped, c.Holds = slices.Clone(c.Gates), slices.Clone(c.Skipped), verify.HiddenHolds(c.Holds, hide)
	for i, g := range c.Gates {
		c.Gates[i] = g.Hidden(hide)
	}
	for i, s := range c.Skipped {
		c.Skipped[i] = s.Hidden(hide)
	}
	c.Unproven = verify.HiddenUnproven(c.Unproven, hide)
	return c
}

// Caveat says in a sentence what no gate judged: the first thing in full, and how many others there are. It is "" if everything was
// judged.
func Caveat(list []verify.Unproven) string {
	switch len(list) {
	case 0:
		return ""
	case 1:
		return list[0].Reason
	}
	return fmt.Sprintf("%s (and %d more)", list[0].Reason, len(list)-1)
}

// refusedGate shows a refusal as a gate, so that it is recorded, counted and printed like every other reason to reject. The advice on
// what to send instead is a line of its own in the message. How the block differs from the file is shown below the lines of the file.
func refusedGate(r *problem.Refusal, took time.Duration) verify.Gate {
	g := verify.Gate{Name: "edit", Verdict: verify.Fail, Seconds: took.Seconds(), Detail: "the patch does not apply"}
	for _, p := range r.Problems {
		f := verify.Finding{File: p.Path, Rule: p.Kind, Message: p.Reason, Source: p.Nearest + p.Differs}
		if p.Block > 0 {
			f.Message = fmt.Sprintf("block %d: %s", p.Block, p.Reason)
		}
		if p.Advice != "" {
			f.Message += "\n→ " + p.Advice
		}
		if len(p.Lines) > 0 {
			f.Line = p.Lines[0]
		}
		g.Findings = append(g.Findings, f)
	}
	return g
}
