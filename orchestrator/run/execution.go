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
	// orphanAfter is the age of a heartbeat beyond which a run whose process
	// cannot be looked at counts as dead: three beats missed.
	orphanAfter = 90 * time.Second
	// SettleFor is how long a run that was cancelled may take to record its end.
	SettleFor = 5 * time.Second
	// rescans is how often a workspace that changes during its snapshot is
	// scanned anew before the run gives up.
	rescans = 3
)

// An Execution is one run at work: its record, its lock on the workspace, and
// what its document will say. [Runner.Execute] makes it and gives it to the one
// who does the work.
type Execution struct {
	runner *Runner
	rec    Record
	doc    Document
	// The workspace, held open, and locked; nil before that.
	place *promotion.Place
	lock  *promotion.Lock
	// The open proposal that the run takes up, or made itself; 0 for none.
	proposal int64
	// What no gate judged of the candidate that decides, or came last.
	unproven []verify.Unproven
	// The digest of the candidate that the checkpoint is about, "" where it is about none.
	asked string
	// What the run was given and saw; nil where nothing was frozen.
	seen *seen
	// Work in the background of the run, which ends before its end is recorded.
	alongside sync.WaitGroup
	notifier  *Notifier
	// Makes the base of what is on disk; nil where disk is the base.
	base func(ctx context.Context, disk *workspace.Manifest) (*workspace.Manifest, error)

	mu sync.Mutex
	// What test files held before the last promotions, by path, as far as the gates asked.
	earlier map[string][]byte
}

// ID is the name of the run.
func (x *Execution) ID() string { return x.rec.ID }

// Workspace is the absolute path of the run's workspace, links resolved.
func (x *Execution) Workspace() string { return x.rec.Workspace }

// Gate returns the gate of the run for a request.
func (x *Execution) Gate(req Request) *gate.Gate {
	return &gate.Gate{
		Images: x.runner.Images, Verifier: x.runner.Verifier, Repairer: x.runner.Repairer, Rules: req.Rules(), Run: x.rec.ID, Alongside: &x.alongside,
		Note: func(text string) { x.Notify(Event{Note: text}) }, Earlier: x.earlierText,
	}
}

// earlierText tells what a file held before the last promotions, and remembers it: a replay has to be told the same.
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

// Advance records that the run is in state to, and tells the watcher.
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

// Requested records a request that left a box, as a note among the states of the run;
// also that of a run that was cancelled meanwhile.
func (x *Execution) Requested(ctx context.Context, e verify.Event) error {
	logRequest(ctx, e)
	note := x.notifier.Request(e)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), SettleFor)
	defer cancel()
	return x.runner.Store.Advance(ctx, x.rec.ID, x.rec.Token, x.rec.State, note, "")
}

// Notify tells the watcher of e. It may be called from any goroutine.
func (x *Execution) Notify(e Event) { x.notifier.Notify(e) }

// Hide takes the configured secrets out of a text that is to be recorded or shown.
func (x *Execution) Hide(text string) string { return x.runner.hide(text) }

// close completes the document.
func (x *Execution) close(end Ending) Document {
	end = end.hidden(x.runner.hide) // the record may not have taken it, which is another error
	x.doc.State, x.doc.Verdict, x.doc.Error, x.doc.Exit = end.State, end.Verdict, end.Error, end.Exit
	x.doc.Unproven = append([]verify.Unproven{}, end.Unproven...)
	x.Notify(Event{State: end.State})
	return x.doc
}

// seen is what a run was given and saw, for what follows it.
type seen struct {
	req   Request
	stage gate.Stage
}
