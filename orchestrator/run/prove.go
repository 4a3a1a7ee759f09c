package run

import (
	"context"
	"fmt"

	"agent/orchestrator/edit/parse"
	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
	"agent/verify"
)

// Run takes the patch of a request through the gate. The document is complete whatever happens; its Exit is the exit code.
func (r *Runner) Run(ctx context.Context, req Request) Document {
	rec := Record{Intent: "patch " + req.PatchName, Patch: req.Patch}
	return r.Start(ctx, req, rec, func(ctx context.Context, x *Execution) Ending {
		return x.SettleProposal(ctx, req, x.prove(ctx, req))
	})
}

// Start does work as the run rec, in the workspace of a request. If the workspace does not exist, no run is recorded: there is nothing
// that a record could name or a lock could protect.
func (r *Runner) Start(ctx context.Context, req Request, rec Record, work func(context.Context, *Execution) Ending) Document {
	place := req.Place
	if place == nil {
		var problem *Problem
		if place, problem = Resolve(req.Workspace); problem != nil {
			return r.unstarted(req.Workspace, problem)
		}
		defer place.Close()
	}
	rec.Runtime = req.Config.Runtime
	if req.Base == nil {
		return r.Execute(ctx, rec, place, work)
	}
	return r.execute(ctx, rec, place, func(ctx context.Context, x *Execution) Ending {
		x.base = req.Base
		return work(ctx, x)
	})
}

// unstarted returns the document of a run that has no record.
func (r *Runner) unstarted(workspace string, p *Problem) Document {
	x := &Execution{runner: r, notifier: r.notifier(""), doc: Document{Workspace: workspace, Candidates: []gate.Document{}}}
	return x.close(End(Failed, p))
}

// Resolve opens a workspace. The problem says why dir is not one.
//
// Locks, journals and the record all use the name that the place has, so two ways to write one directory must give the same name.
func Resolve(dir string) (*promotion.Place, *Problem) {
	place, err := promotion.Hold(dir)
	if err != nil {
		return nil, &Problem{Kind: ProblemUsage, Message: "workspace " + dir + ": " + err.Error(), Next: "name a directory with --workspace"}
	}
	return place, nil
}

// prove brings the patch to a judged candidate, then to the checkpoint.
func (x *Execution) prove(ctx context.Context, req Request) Ending {
	if err := x.Advance(ctx, Analyzing, "scan the workspace"); err != nil {
		return End(Failed, x.Trouble(ctx, "record the run", err))
	}
	return x.proveScanned(ctx, req)
}

// proveScanned makes the candidate from the patch and has it judged.
func (x *Execution) proveScanned(ctx context.Context, req Request) Ending {
	// The candidate is made anew from every scan, so that what is judged and what the edits were found in are the same bytes.
	var cand gate.Candidate
	st, end := x.Freeze(ctx, req, func(base *workspace.Manifest) (end *Ending) {
		cand, end = x.edit(ctx, req, base)
		return end
	})
	if end != nil {
		return *end
	}
	return x.judgeAndAsk(ctx, req, st, cand)
}

// ProveTaken takes a changeset that a command made on a stage through the gate and to the checkpoint. Its diff serves as the patch. The
// messages of the commits made there are recorded as the candidate's thought.
func (x *Execution) ProveTaken(ctx context.Context, req Request, st gate.Stage, cs workspace.Changeset) Ending {
	cand, rejected := x.Gate(req).Take(st.Base, cs)
	if x.doc.Command != nil {
		cand.Thought = CommitText(x.doc.Command.Commits)
	}
	if rejected != nil {
		_, end := x.reject(ctx, cand, rejection(rejected))
		return *end
	}
	x.noteCollisions(st.Base, cand)
	req.Patch = cand.Origin.Response
	return x.judgeAndAsk(ctx, req, st, cand)
}

// judgeAndAsk has a candidate judged, asks about it, and goes on with what a person makes of it at the checkpoint.
func (x *Execution) judgeAndAsk(ctx context.Context, req Request, st gate.Stage, cand gate.Candidate) Ending {
	if err := x.Advance(ctx, Verifying, Count(len(cand.Changeset.Changes), "file")+" changed"); err != nil {
		return End(Failed, x.Trouble(ctx, "record the run", err))
	}
	// What passed last, and what a person made of it since; nil for nothing.
	var asked Proposal
	var edit *Answer
	for {
		if err := x.Judge(ctx, x.Gate(req), st, &cand, 0, gate.Watch{}); err != nil {
			return End(Failed, x.Trouble(ctx, "verify the patch", err))
		}
		if problem := x.Save(ctx, cand); problem != nil {
			return End(Failed, problem)
		}
		lost := unproved(cand, st.Base)
		switch {
		case lost == nil:
			asked = Proposal{Candidate: cand, Response: req.Patch}
		case edit == nil:
			return *lost
		default: // the person keeps the candidate that passed before, and the text
			asked.Failed = &FailedEdit{Answer: *edit, Why: lost.Error.Message}
			req.Patch = asked.Response
		}
		var given Answer
		var end *Ending
		if given, cand, end = x.ask(ctx, &req, asked, st.Base); end != nil {
			return *end
		}
		edit = &given
	}
}

// unproved returns the ending of a judged candidate that may not be promoted, nil for one that may.
func unproved(cand gate.Candidate, base *workspace.Manifest) *Ending {
	var end Ending
	switch {
	case cand.Verdict != verify.Pass:
		end = Lacking(Judged(cand), cand.Absent(base.With(cand.Changeset)), cand)
	case cand.Changeset.Empty(): // the formatter put everything back
		end = End(Rejected, &Problem{
			Kind: ProblemPatch, Message: "the patch changes nothing once it is formatted",
			Next: "nothing was written, and nothing needs to be",
		})
	default:
		return nil
	}
	return &end
}

// ask has the checkpoint decide on a proven candidate until a person makes another one to be judged. An edit that does not apply is
// reported and asked about again: nothing that a person typed is thrown away.
func (x *Execution) ask(ctx context.Context, req *Request, p Proposal, base *workspace.Manifest) (Answer, gate.Candidate, *Ending) {
	for {
		answer, end := x.Checkpoint(ctx, *req, p, base)
		if end != nil {
			return answer, gate.Candidate{}, end
		}
		if err := x.Advance(ctx, Verifying, "edited by hand"); err != nil {
			end := End(Failed, x.Trouble(ctx, "record the run", err))
			return answer, gate.Candidate{}, &end
		}
		was := req.Patch
		cand, end := x.revise(ctx, req, answer, p.Candidate.Changeset, base)
		if end == nil || end.State == Failed {
			return answer, cand, end
		}
		req.Patch, p.Failed = was, &FailedEdit{Answer: answer, Why: end.Error.Message}
	}
}

// revise makes the next candidate from what a person changed at the checkpoint: a response in place of the one in req, or one on top of
// changes.
func (x *Execution) revise(ctx context.Context, req *Request, a Answer, changes workspace.Changeset, base *workspace.Manifest) (gate.Candidate, *Ending) {
	if a.Decision == Reword {
		// A whole new response starts from the frozen workspace, not from the previous candidate.
		req.Patch = a.Response
		return x.edit(ctx, *req, base)
	}
	cand := gate.Candidate{Thought: parse.Thought(req.Patch)}
	rejected, err := x.Gate(*req).Extend(&cand, base, changes, a.Response, req.Target)
	if err != nil {
		end := End(Failed, x.Trouble(ctx, "read the workspace", err))
		return cand, &end
	}
	if rejected != nil {
		kind := ProblemPatch
		if cand.Verdict == verify.Policy {
			kind = ProblemPolicy
		}
		return x.reject(ctx, cand, &Problem{Kind: kind, Message: "the edited code does not apply: " + rejected.Error(), Next: "run again; nothing was written"})
	}
	return cand, nil
}

// Judge has a gate judge a candidate, and logs what the gates do. number tells the candidate from others that are judged at the same
// time, 0 if there are none. The error is trouble with the machine or with ctx.
func (x *Execution) Judge(ctx context.Context, g *gate.Gate, st gate.Stage, cand *gate.Candidate, number int, w gate.Watch) error {
	watcher := w.Event
	w.Event = func(e verify.Event) error {
		if e.Request != nil {
			return x.Requested(ctx, e)
		}
		logGate(ctx, e, number)
		x.Notify(Event{Gate: &e, Candidate: number})
		if watcher != nil {
			return watcher(e)
		}
		return nil
	}
	err := g.Judge(ctx, st, cand, w)
	if err == nil {
		x.Notify(Event{Candidate: number, Verdict: cand.Verdict})
	}
	return err
}

// edit turns the patch into a changeset that is allowed to be written.
func (x *Execution) edit(ctx context.Context, req Request, base *workspace.Manifest) (gate.Candidate, *Ending) {
	cand, rejected, err := x.Gate(req).Make(base, req.Patch, req.Target)
	if err != nil {
		end := End(Failed, x.Trouble(ctx, "read the workspace", err))
		return cand, &end
	}
	if rejected != nil {
		return x.reject(ctx, cand, rejection(rejected))
	}
	x.noteCollisions(base, cand)
	return cand, nil
}

// noteCollisions reports new paths that some file systems take for other paths.
func (x *Execution) noteCollisions(base *workspace.Manifest, cand gate.Candidate) {
	for name, other := range base.Collisions(cand.Changeset) {
		x.Notify(Event{Note: name + " is the same as " + other + " on file systems that fold names"})
	}
}

// reject records a candidate that never reached a box.
//
// It is recorded like one that did, since a person must be able to look at what was refused. If the store does not take it, the run
// fails instead: a rejection without a record cannot be shown.
func (x *Execution) reject(ctx context.Context, cand gate.Candidate, p *Problem) (gate.Candidate, *Ending) {
	end := End(Rejected, p)
	if problem := x.Save(ctx, cand); problem != nil {
		end = End(Failed, problem)
	}
	return cand, &end
}

// Save records a judged candidate, in the store and in the document.
func (x *Execution) Save(ctx context.Context, cand gate.Candidate) *Problem {
	cand = cand.Hidden(x.runner.hide)
	// The document gets it even if the store is not there: it is what the caller has at the end.
	x.doc.Candidates = append(x.doc.Candidates, cand.Document())
	x.unproven = cand.Unproven
	logHolds(ctx, cand)
	logUnproven(ctx, cand)
	if err := x.runner.Store.SaveCandidate(ctx, x.rec.ID, x.rec.Token, cand); err != nil {
		return x.Trouble(ctx, "record the candidate", err)
	}
	return nil
}

// Count says how many there are, for people: "1 file", "2 files".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
