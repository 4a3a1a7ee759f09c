// Package workbench puts together where a model works on one line of candidates: the draft
// over the snapshot, the tools and the record of what they did.
//
// It owns nothing of its own but what is remembered from one conversation to the next. What
// comes out of it is a response like any other, and is judged elsewhere.
package workbench

import (
	"agent/orchestrator/agent"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/agent/draft"
	"agent/orchestrator/agent/tools"
	"agent/orchestrator/gate"
	"agent/orchestrator/ledger"
	"agent/sandbox/workspace"
)

// A Workbench is for one line of candidates. It implements tournament.Workbench.
type Workbench struct {
	Model  conversation.Model
	Record conversation.Record
	Fence  agent.Fence
	// Symbols are what is known of the workspace; nil for nothing.
	Symbols *ledger.Ledger
	// Tell takes what is called; nil for nobody.
	Tell func(conversation.Progress)

	bench tools.Bench
}

// On returns the conversation about the workspace of base. There is one at a time.
func (w *Workbench) On(base *workspace.Manifest, _ gate.Stage, _ *gate.Gate) agent.Model {
	w.bench.Draft, w.bench.Symbols = draft.New(base), w.Symbols
	return &conversation.Conversation{Model: w.Model, Record: w.Record, Bench: &w.bench, Fence: w.Fence, Tell: w.Tell}
}
