package run

import (
	"context"
	"sync"
	"time"

	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
	"agent/verify"
)

const (
	// beatEvery is how often a run renews its heartbeat.
	beatEvery = 30 * time.Second
	// orphanAfter is the age of a heartbeat beyond which a run whose process cannot be looked at counts as dead: three missed beats.
	orphanAfter = 90 * time.Second
	// SettleFor is how long a cancelled run may take to record its end.
	SettleFor = 5 * time.Second
	// rescans is how many times a workspace that changes during its snapshot is scanned before the run gives up.
	rescans = 3
)

// An Execution is one run at work: its record, its lock on the workspace, and what its document will say. [Runner.Execute] makes it and
// passes it to the function that does the work.
type Execution struct {
	runner *Runner
	rec    Record
	doc    Document
	// The workspace, held open, and its lock; the lock is nil until it is taken.
	place *promotion.Place
	lock  *promotion.Lock
	// The open proposal that the run takes up or made itself; 0 for none.
	proposal int64
	// What no gate judged of the candidate that decides, or of the last one.
	unproven []verify.Unproven
	// The digest of the candidate that the checkpoint is about, "" if it is about none.
	asked string
	// What the run was given and saw; nil if nothing was frozen.
	seen *seen
	// Background work of the run, which finishes before the run's end is recorded.
	alongside sync.WaitGroup
	notifier  *Notifier
	// Makes the base from what is on disk; nil if the disk is the base.
	base func(ctx context.Context, disk *workspace.Manifest) (*workspace.Manifest, error)

	mu sync.Mutex
	// What test files held before the last promotions, by path, as far as the gates asked for it.
	earlier map[string][]byte
}

// ID returns the ID of the run.
func (x *Execution) ID() string { return x.rec.ID }

// Workspace returns the absolute path of the run's workspace, with links resolved.
func (x *Execution) Workspace() string { return x.rec.Workspace }

// Gate returns the run's gate for a request.
func (x *Execution) Gate(req Request) *gate.Gate {
	return &gate.Gate{
		Images: x.runner.Images, Verifier: x.runner.Verifier, Repairer: x.runner.Repairer, Rules: req.Rules(), Run: x.rec.ID, Alongside: &x.alongside,
		Note: func(text string) { x.Notify(Event{Note: text}) }, Earlier: x.earlierText,
	}
}

// earlierText returns what a file held before the last promotions, and remembers it: a replay has to be given the same.
func (x *Execution) earlierText(ctx context.Context, name string, now []byte) ([]byte, error) {
	if x.runner.Past == nil {
		return nil, nil
	}
	text, err := x.runner.Past.TextBefore(ctx, x.rec.Workspace, name, now)
	if err != nil || text == nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.earlier == nil {
		x.earlier = map[string][]byte{}
	}
	x.earlier[name] = text
	return text, nil
}

// Advance records that the run has entered state to, and tells the watcher.
func (x *Execution) Advance(ctx context.Context, to State, note string) error {
	if err := x.rec.State.check(to); err != nil {
		return err
	}
	note = x.runner.hide(note)
	if err := x.runner.Store.Advance(ctx, x.rec.ID, x.rec.Token, to, note, x.rec.Snapshot); err != nil {
		return err
	}
	x.rec.State = to
	detail := map[string]any{"note": note}
	if to == AwaitingApproval && x.asked != "" {
		detail["candidate"] = x.asked
	}
	Enter(ctx, Entry{Kind: StateEntry, Actor: "agent", Subject: string(to), Detail: detail})
	x.Notify(Event{State: to, Note: note})
	return nil
}

// Requested records a request that left a box, or was stopped from leaving it, as a note among the run's states. It does so even if the
// run was cancelled meanwhile.
func (x *Execution) Requested(ctx context.Context, e verify.Event) error {
	logRequest(ctx, e)
	note := x.notifier.Request(e)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SettleFor)
	defer cancel()
	return x.runner.Store.Advance(ctx, x.rec.ID, x.rec.Token, x.rec.State, note, "")
}

// Notify tells the watcher about e. It may be called from any goroutine.
func (x *Execution) Notify(e Event) { x.notifier.Notify(e) }

// Hide removes the configured secrets from a text that is to be recorded or shown.
func (x *Execution) Hide(text string) string { return x.runner.hide(text) }

// close completes the document.
func (x *Execution) close(end Ending) Document {
	end = end.hidden(x.runner.hide) // hidden once more: a failure to record the end is a new error
	x.doc.State, x.doc.Verdict, x.doc.Error, x.doc.Exit = end.State, end.Verdict, end.Error, end.Exit
	x.doc.Unproven = append([]verify.Unproven{}, end.Unproven...)
	x.Notify(Event{State: end.State})
	return x.doc
}

// seen is what a run was given and saw, for the work that follows it.
type seen struct {
	req   Request
	stage gate.Stage
}
