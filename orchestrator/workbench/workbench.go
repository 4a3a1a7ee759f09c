// Package workbench assembles the place where a model works on one line of candidates: the draft over the snapshot, the tools, the
// boxes in which it tries things, and the record of what they did.
//
// Each command has a box of its own from the pool, in which the draft lies over the snapshot as a candidate does. Nothing leaves the
// box except what the command wrote to its streams, and no gate ever sees it. The result of a workbench is a response like any other.
package workbench

import (
	"context"
	"fmt"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/agent/draft"
	"agent/orchestrator/agent/tools"
	"agent/orchestrator/gate"
	"agent/orchestrator/ledger"
	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/node"
	"agent/verify/room"
)

// A Box is where one command runs. *sandbox.Box implements it.
type Box interface {
	Apply(ctx context.Context, cs workspace.Changeset) error
	Run(ctx context.Context, cmd guest.Command) (guest.Result, error)
	Close() error
}

// A Workbench is for one line of candidates. It implements tournament.Workbench.
type Workbench struct {
	Model  conversation.Model
	Record conversation.Record
	Fence  agent.Fence
	// Window is how many tokens the smallest model holds, 0 if unknown; see [conversation.Conversation].
	Window int
	// Symbols is what is known about the workspace; nil for nothing.
	Symbols *ledger.Ledger
	// Tell receives what is called; nil if nobody watches.
	Tell func(conversation.Progress)
	// Start starts a box, and Turn waits until it may work. Without them there are no tools that need a box.
	Start func(ctx context.Context, spec sandbox.Spec) (Box, error)
	Turn  func(ctx context.Context) (give func(), err error)
	// Fetch asks web servers; nil if the user allows none.
	Fetch tools.Fetch
	// Tools lists the tools that the role of the model has; nil for all.
	Tools []string
	// Caps bound each conversation.
	Caps conversation.Caps
	// Hide removes the configured secrets from what tools answer; nil hides nothing.
	Hide func(string) string

	bench tools.Bench
}

// On returns the conversation about the workspace of a stage, as changes leave it. There is only one at a time.
func (w *Workbench) On(changes workspace.Changeset, st gate.Stage, g *gate.Gate) agent.Model {
	c := w.on(st.Base, changes, func(context.Context) (gate.Stage, *gate.Gate, error) { return st, g, nil })
	return &c
}

// Chat returns a conversation with a person about a workspace, without a draft yet. frozen makes the stage that boxes are started on,
// when the first box is wanted.
func (w *Workbench) Chat(base *workspace.Manifest, frozen func(context.Context) (gate.Stage, *gate.Gate, error)) *conversation.Chat {
	return &conversation.Chat{Conversation: w.on(base, workspace.Changeset{}, frozen)}
}

// on assembles a conversation.
func (w *Workbench) on(base *workspace.Manifest, changes workspace.Changeset, frozen func(context.Context) (gate.Stage, *gate.Gate, error)) conversation.Conversation {
	w.bench.Draft, w.bench.Symbols, w.bench.Only = draft.New(base.With(changes)), w.Symbols, w.Tools
	w.bench.Fetch, w.bench.Hide = w.Fetch, w.Hide
	if w.Start != nil {
		p := place{w, changes, frozen}
		w.bench.Command, w.bench.Check = p.command, p.check
	}
	return conversation.Conversation{Model: w.Model, Record: w.Record, Bench: &w.bench, Fence: w.Fence, Window: w.Window, Caps: w.Caps, Tell: w.Tell}
}

// A place is where drafts are tried on top of changes.
type place struct {
	*Workbench
	changes workspace.Changeset
	frozen  func(context.Context) (gate.Stage, *gate.Gate, error)
}

// maxOutput bounds what is kept of one stream of a command, in bytes; the model is shown less.
const maxOutput = 64 << 10

// command implements [tools.Command].
func (p place) command(ctx context.Context, draft workspace.Changeset, line string, limit time.Duration) (ran tools.Ran, err error) {
	whole, err := p.changes.Then(draft)
	if err != nil {
		return ran, err
	}
	st, g, err := p.frozen(ctx)
	if err != nil {
		return ran, err
	}
	give, err := p.Turn(ctx)
	if err != nil {
		return ran, err
	}
	defer give()
	conf := g.Rules.Config
	box, err := p.Start(ctx, sandbox.Spec{
		Image: st.Image.ID, Delta: st.Delta, Run: g.Run, Purpose: "workbench", Lease: time.Now().Add(gate.LeaseFor),
		Limits: room.For(conf.Limits, st.Base), Runtime: conf.Runtime,
	})
	if err != nil {
		return ran, fmt.Errorf("start a box: %w", err)
	}
	defer func() {
		if failed := box.Close(); failed != nil && err == nil {
			err = fmt.Errorf("remove a box: %w", failed)
		}
	}()
	if err := box.Apply(ctx, whole); err != nil {
		return ran, fmt.Errorf("put the draft into a box: %w", err)
	}
	result, err := box.Run(ctx, guest.Command{Args: []string{"/bin/sh", "-c", line}, Env: node.Environment(nil, st.Base), Timeout: limit, MaxOutput: maxOutput})
	if err != nil {
		return ran, fmt.Errorf("run a command: %w", err)
	}
	return p.told(result, limit), nil
}

// told says how a command ended, in words for a model.
func (p place) told(r guest.Result, limit time.Duration) tools.Ran {
	ran := tools.Ran{Exit: r.Exit}
	switch {
	case r.OOM:
		ran.Why = "killed: it used more memory than a box has"
	case r.TimedOut:
		ran.Why = fmt.Sprintf("killed: it was still running after %v", limit)
	case r.Signal != "":
		ran.Why = "ended by " + r.Signal
	case r.Killed:
		ran.Why = "its box broke"
	}
	for _, s := range []struct {
		name string
		out  guest.Output
	}{{"", r.Stdout}, {"standard error:\n", r.Stderr}} {
		text := string(s.out.Head)
		if s.out.Dropped > 0 {
			text += fmt.Sprintf("\n[%d bytes left out]\n", s.out.Dropped) + string(s.out.Tail)
		}
		if text != "" {
			ran.Output += s.name + text
		}
	}
	return ran
}

// check implements [tools.Check].
func (p place) check(ctx context.Context, draft workspace.Changeset) (bool, string, error) {
	whole, err := p.changes.Then(draft)
	if err != nil {
		return false, "", err
	}
	st, g, err := p.frozen(ctx)
	if err != nil {
		return false, "", err
	}
	var cand gate.Candidate
	g.Seal(&cand, whole)
	if err := g.Judge(ctx, st, &cand, gate.Watch{}); err != nil {
		return false, "", err
	}
	report := cand.Report()
	if cand.Verdict == verify.Infra {
		report = "the gates could not judge it: " + cand.Because(cand.Verdict)
	}
	return cand.Verdict == verify.Pass, report, nil
}
