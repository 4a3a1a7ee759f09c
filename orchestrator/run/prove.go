package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/edit"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// Run takes one patch through the gate. The document is complete whatever
// happened; its Exit is the exit code.
func (r *Runner) Run(ctx context.Context, req Request) Document {
	// A workspace that is not there has no run in the record: there is nothing
	// that a record could name or a lock could protect.
	dir, problem := resolve(req.Workspace)
	if problem != nil {
		f := &flight{Runner: r, doc: Document{Workspace: req.Workspace, Candidates: []DocumentCandidate{}}}
		return f.close(endWith(Failed, problem))
	}
	if req.Patch == nil {
		rec := Record{Workspace: dir, Intent: intent(req), Iteration: req.Iteration, Runtime: req.Config.Runtime}
		return r.launch(ctx, rec, func(ctx context.Context, f *flight) Ending {
			f.protect = req.Protect
			return f.pursue(ctx, req)
		})
	}
	rec := Record{Workspace: dir, Intent: "patch " + req.PatchName, Patch: req.Patch, Runtime: req.Config.Runtime}
	return r.launch(ctx, rec, func(ctx context.Context, f *flight) Ending {
		f.protect = req.Protect
		return f.settleProposal(ctx, req, f.prove(ctx, req))
	})
}

// intent says what a run without a patch is for.
func intent(req Request) string {
	if p := req.Proposal; p != nil {
		return strings.TrimSpace(fmt.Sprintf("proposal %d %s", p.ID, p.Goal))
	}
	if req.Goal != "" {
		return "goal " + req.Goal
	}
	return "review " + strings.Join(append(slices.Clone(req.Scope), "the workspace")[:1], "")
}

// resolve returns the absolute path of a workspace with its links resolved.
//
// Locks, journals and the record all go by this name, so two ways to write one
// directory must come out as one.
func resolve(dir string) (string, *Problem) {
	usage := func(err error) *Problem {
		return &Problem{Kind: "usage", Message: "workspace " + dir + ": " + err.Error(), Next: "name a directory with --workspace"}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", usage(err)
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", usage(err)
	}
	// EvalSymlinks is content with a file, too.
	info, err := os.Stat(abs)
	if err != nil {
		return "", usage(err)
	}
	if !info.IsDir() {
		return "", usage(errors.New("not a directory"))
	}
	return abs, nil
}

// prove brings the patch to a judged candidate, then to the checkpoint.
func (f *flight) prove(ctx context.Context, req Request) Ending {
	if err := f.enter(ctx, Analyzing, "scan the workspace"); err != nil {
		return endWith(Failed, f.trouble(ctx, "record the run", err))
	}
	// The candidate is made of every scan anew, so that what is judged and what
	// the edits were found in are the same bytes.
	var cand Candidate
	st, end := f.freeze(ctx, req, func(base *workspace.Manifest) (end *Ending) {
		cand, end = f.edit(ctx, req, base)
		return end
	})
	if end != nil {
		return *end
	}
	f.rec.Snapshot, f.doc.Snapshot = st.base.Digest(), st.base.Digest()
	for {
		if err := f.enter(ctx, Verifying, count(len(cand.Changeset.Changes), "file")+" changed"); err != nil {
			return endWith(Failed, f.trouble(ctx, "record the run", err))
		}
		if err := f.verify(ctx, req, st, &cand, watched{}); err != nil {
			return endWith(Failed, f.trouble(ctx, "verify the patch", err))
		}
		if problem := f.save(ctx, cand); problem != nil {
			return endWith(Failed, problem)
		}
		switch {
		case cand.Verdict != verify.Pass:
			return lacking(judged(cand), absent(cand, st.base.With(cand.Changeset)), cand.Holds)
		case cand.Changeset.Empty(): // the formatter put everything back
			return endWith(Rejected, &Problem{
				Kind: "patch", Message: "the patch changes nothing once it is formatted",
				Next: "nothing was written, and nothing needs to be",
			})
		}
		answer, end := f.checkpoint(ctx, req, Proposal{Candidate: cand, Response: req.Patch}, st.base)
		if end != nil {
			return *end
		}
		if cand, end = f.revise(ctx, &req, answer, cand.Changeset, st.base); end != nil {
			return *end
		}
	}
}

// revise makes the next candidate of what a person changed at the checkpoint:
// a response in place of the one in req, or one on top of changes.
func (f *flight) revise(ctx context.Context, req *Request, a Answer, changes workspace.Changeset, base *workspace.Manifest) (Candidate, *Ending) {
	if a.Decision == Reword {
		// A whole new response starts from the frozen workspace again, not from
		// the candidate before.
		req.Patch = a.Response
		return f.edit(ctx, *req, base)
	}
	cand := Candidate{Thought: parse.Thought(req.Patch)}
	applied, failure, err := f.revised(&cand, base, changes, a.Response, req.Target)
	if err != nil {
		end := endWith(Failed, f.trouble(ctx, "read the workspace", err))
		return cand, &end
	}
	if failure != nil {
		return f.reject(ctx, cand, &Problem{Kind: "patch", Message: "the edited code does not apply: " + failure.Text, Next: "run again; nothing was written"})
	}
	f.seal(&cand, applied)
	return cand, nil
}

// revised applies a response to the workspace as changes leave it, for cand,
// and returns what both do to it. A response that cannot be applied, or may not
// be, is a candidate that failed at its first gate: failure says why, for the
// model.
func (f *flight) revised(cand *Candidate, base *workspace.Manifest, changes workspace.Changeset, response []byte, target string) (workspace.Changeset, *agent.Failure, error) {
	started := time.Now()
	cand.Origin = Origin{Response: response, Target: target, Onto: changes.Digest()}
	cs, applied, err := edit.Apply(editable{base.With(changes)}, response, target)
	var refusal *problem.Refusal
	switch {
	case errors.As(err, &refusal):
		cand.Verdict, cand.Gates = verify.Fail, []verify.Gate{refusedGate(refusal, time.Since(started))}
		return cs, &agent.Failure{Gate: "edit", Text: refusal.Error()}, nil
	case err != nil:
		return cs, nil, fmt.Errorf("read the workspace: %w", err)
	}
	// One changeset from the host to the end of both: the gates and the promotion
	// know of no steps in between.
	if cs, err = changes.Then(cs); err == nil {
		err = suit(base, cs)
	}
	if err != nil { // a path that no approval allows: the model is told, and may choose another
		cand.Verdict = verify.Policy
		cand.Gates = []verify.Gate{{Name: "edit", Verdict: verify.Policy, Seconds: time.Since(started).Seconds(), Detail: err.Error()}}
		return cs, &agent.Failure{Gate: "edit", Text: "nothing was applied: " + err.Error()}, nil
	}
	cand.Edits, cand.Origin.Asked = applied, cs.Digest()
	return cs, nil, nil
}

// watched says how a candidate is judged among others, and who watches. The zero
// value is for one alone.
type watched struct {
	// n tells it from others that are judged at the same time, 0 when there are none.
	n int
	// rank is its place among those that want boxes.
	rank int
	// Not nil where somebody wants to know of the final bytes and of each gate.
	settled func(workspace.Changeset)
	told    func(verify.Event)
}

// verify judges a candidate on a stage and fills in the judgement.
func (f *flight) verify(ctx context.Context, req Request, st stage, cand *Candidate, w watched) error {
	// A patch that changes what is to be installed is judged with that installed.
	// Where this did not succeed the candidate has its verdict already.
	patched, ok, err := f.reinstall(ctx, req, st, cand)
	if err != nil || !ok {
		return err
	}
	var lost error // of what has to be recorded before anything is judged
	report, err := f.Verifier.Verify(ctx, verify.Request{
		Run: f.rec.ID, Lease: time.Now().Add(leaseFor), Snapshot: st.image.ID, Delta: st.delta, Installed: st.image.Installed, Patched: patched,
		Toolchain: st.tools.ID, Versions: st.tools.Versions, Base: st.base, Changeset: cand.Changeset, Config: req.Config,
		Rank: w.rank, Settled: w.settled,
	}, func(e verify.Event) {
		if e.Request != nil {
			lost = cmp.Or(lost, f.request(ctx, e))
			return
		}
		logGate(ctx, e, w.n)
		f.emit(Event{Gate: &e, Candidate: w.n})
		if w.told != nil {
			w.told(e)
		}
	})
	if err = cmp.Or(err, lost); err != nil {
		return err
	}
	if report.Keep != nil {
		f.beside.Go(func() { f.keepJudged(ctx, report) })
	}
	// The format gate may have changed the files: the changeset that counts from
	// here on is the one of the report.
	cand.Verdict, cand.Gates, cand.Skipped, cand.Unproven = report.Verdict, report.Gates, report.Skipped, report.Unproven
	f.seal(cand, report.Changeset)
	// What only the whole workspace tells is asked of what may be promoted.
	cand.Holds = policy.Review(ctx, st.base, report.Changeset, f.protect, report.Holds)
	return ctx.Err()
}

// keepJudged keeps what only the next run will ask for, beside what follows, and does not
// give it up because that is done sooner.
func (f *flight) keepJudged(ctx context.Context, report verify.Report) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleFor)
	defer cancel()
	if err := report.Keep(ctx); err != nil {
		f.emit(Event{Note: err.Error()})
	}
}

// edit turns the patch into a changeset that may be written at all.
func (f *flight) edit(ctx context.Context, req Request, base *workspace.Manifest) (Candidate, *Ending) {
	cand, p, err := f.made(base, req.Patch, req.Target)
	if err != nil {
		end := endWith(Failed, f.trouble(ctx, "read the workspace", err))
		return cand, &end
	}
	if p != nil {
		return f.reject(ctx, cand, p)
	}
	for name, other := range base.Collisions(cand.Changeset) {
		f.emit(Event{Note: name + " is the same as " + other + " on file systems that fold names"})
	}
	return cand, nil
}

// made is the candidate of a response to the workspace itself. The problem is why it is
// rejected before any gate.
func (f *flight) made(base *workspace.Manifest, response []byte, target string) (cand Candidate, p *Problem, err error) {
	cand = Candidate{Thought: parse.Thought(response), Origin: Origin{Response: response, Target: target}}
	started := time.Now()
	cs, applied, err := Edit(base, response, target)
	var r *problem.Refusal
	var no *ForbiddenError
	switch {
	case errors.As(err, &r):
		p, cand.Gates = refused(r), []verify.Gate{refusedGate(r, time.Since(started))}
		cand.Verdict = kinds[p.Kind].verdict
		return cand, p, nil
	case errors.As(err, &no):
		p = forbidden(no.Err)
		cand.Verdict = kinds[p.Kind].verdict
	case err != nil:
		return cand, nil, err
	}
	cand.Edits = applied
	f.seal(&cand, cs)
	cand.Origin.Asked = cand.Digest
	return cand, p, nil
}

// seal sets everything that follows from the candidate's changeset.
//
// Digest, diff and holds never outlive the changeset that they were made from.
// Whoever changes one goes through here.
func (f *flight) seal(cand *Candidate, cs workspace.Changeset) {
	cand.Changeset, cand.Digest, cand.Diff = cs, cs.Digest(), cs.Diff()
	cand.Holds = policy.ReviewText(cs, f.protect)
}

// reject records a candidate that never reached a box.
//
// It is recorded like one that did: what was refused must be there to look at. A
// store that does not take it makes the run fail instead, since a rejection
// without a record cannot be shown.
func (f *flight) reject(ctx context.Context, cand Candidate, p *Problem) (Candidate, *Ending) {
	cand.Verdict = kinds[p.Kind].verdict
	end := endWith(Rejected, p)
	if problem := f.save(ctx, cand); problem != nil {
		end = endWith(Failed, problem)
	}
	return cand, &end
}

// save records a judged candidate, in the store and in the document.
func (f *flight) save(ctx context.Context, cand Candidate) *Problem {
	cand = cand.hidden(f.hide)
	// The document is told even when the store is not there: it is what the
	// caller has in hand at the end.
	f.doc.Candidates = append(f.doc.Candidates, cand.Document())
	f.unproven = cand.Unproven
	logHolds(ctx, cand)
	logUnproven(ctx, cand)
	if err := f.Store.SaveCandidate(ctx, f.rec.ID, f.rec.Token, cand); err != nil {
		return f.trouble(ctx, "record the candidate", err)
	}
	return nil
}

// refusedGate shows a refusal as a gate, so that it is recorded, counted and
// printed like every other reason to reject. What to send instead is a line of
// its own in the message, and how the block differs from the file stands below
// the lines of the file.
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

// judged is the ending of a candidate that did not pass.
func judged(cand Candidate) Ending {
	switch cand.Verdict {
	case verify.Infra:
		return endWith(Failed, &Problem{
			Kind: "infra", Message: "not judged: " + because(cand, verify.Infra),
			Next: "run `agent doctor`; the patch was not blamed and the workspace is untouched",
		})
	case verify.Policy:
		return endWith(Rejected, &Problem{
			Kind: "policy", Message: "held by policy: " + because(cand, verify.Policy),
			Next: "take that change out of the patch, or make it by hand",
		})
	}
	end := endWith(Rejected, &Problem{
		Kind: "patch", Message: "the patch failed: " + because(cand, cand.Verdict),
		Next: "mend the patch and run again; the workspace is untouched",
	})
	// Fail is the verdict of the kind; the candidate may have a nearer one.
	end.Verdict = cand.Verdict
	return end
}

// because names the gates that gave verdict v, with what they said.
func because(cand Candidate, v verify.Verdict) string {
	text := ""
	for _, g := range cand.Gates {
		if g.Verdict != v {
			continue
		}
		if text != "" {
			text += "; "
		}
		text += g.Name
		switch {
		case len(g.Findings) == 1:
			text += ": " + g.Findings[0].Message
		case len(g.Findings) > 1:
			text += fmt.Sprintf(": %d findings", len(g.Findings))
		case g.Detail != "":
			text += ": " + g.Detail
		}
	}
	return text
}

// count says how many, for people.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// keepModes gives every changed file the permission bits that it has on the
// host; an edit may only add or take the execute bits.
func keepModes(base *workspace.Manifest, cs workspace.Changeset) {
	for i, c := range cs.Changes {
		from := c.Path
		if c.Op == workspace.Rename {
			from = c.From
		}
		old, ok := base.Lookup(from)
		if !ok || c.Op == workspace.Create {
			continue
		}
		// A changeset knows two modes, as git does. What the group or others may
		// do is the host's, and an edit must not open or close it.
		mode := old.Mode.Perm()
		wants := c.Mode&0o111 != 0
		switch {
		case c.Op == workspace.Delete, wants == (mode&0o111 != 0):
		case wants:
			// Whoever may read it may run it, and nobody else.
			mode |= mode & 0o444 >> 2
			cs.Changes[i].OldMode = old.Mode.Perm()
		default:
			mode &^= 0o111
			cs.Changes[i].OldMode = old.Mode.Perm()
		}
		cs.Changes[i].Mode = mode
	}
}

// placeable reports the first path that cannot be a file in this workspace: it
// is a directory or a link there, or something above it is no directory.
func placeable(base *workspace.Manifest, cs workspace.Changeset) error {
	gone := map[string]bool{}
	for _, c := range cs.Changes {
		switch c.Op {
		case workspace.Delete:
			gone[c.Path] = true
		case workspace.Rename:
			gone[c.From] = true
		}
	}
	for _, c := range cs.Changes {
		if c.Op == workspace.Delete {
			continue
		}
		if e, ok := base.Lookup(c.Path); ok && e.Kind == workspace.Symlink {
			return &fs.PathError{Op: "write", Path: c.Path, Err: errors.New("is a symbolic link")}
		} else if ok && e.Kind == workspace.Dir && !emptied(base, c.Path, gone) {
			return &fs.PathError{Op: "write", Path: c.Path, Err: errors.New("is a directory")}
		}
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			if e, ok := base.Lookup(dir); ok && e.Kind != workspace.Dir && !gone[dir] {
				return &fs.PathError{Op: "write", Path: c.Path, Err: fmt.Errorf("%s is a %s", dir, e.Kind)}
			}
		}
	}
	return nil
}

// emptied reports whether the changeset takes every file below dir away, and
// there is one: a directory that was empty before is not a patch's to replace.
func emptied(base *workspace.Manifest, dir string, gone map[string]bool) bool {
	taken := false
	for _, e := range base.Entries {
		if e.Kind == workspace.Dir || !strings.HasPrefix(e.Path, dir+"/") {
			continue
		}
		if !gone[e.Path] {
			return false
		}
		taken = true
	}
	return taken
}
