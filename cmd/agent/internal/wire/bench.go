package wire

import (
	"context"
	"fmt"

	"agent/cmd/agent/internal/config"
	"agent/orchestrator/agent"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/catalog"
	"agent/orchestrator/llm/vendors"
	"agent/orchestrator/tournament"
	"agent/orchestrator/workbench"
	"agent/sandbox"
	"agent/sandbox/turns"
	"agent/sandbox/workspace"
)

// explores reports whether the models of set get tools to look around with. They do if the user says so. If the user
// leaves it to the models, all of them must have native tool calls, according to [tools] or the catalog, since a
// question with tools goes to no fallback that lacks them.
func (s *Session) explores(set config.Settings) (bool, error) {
	switch set["mode"].Text {
	case "tools":
		return true, nil
	case "question":
		return false, nil
	}
	all, err := links(vendors.All(), set)
	for _, l := range all {
		known, _ := catalog.Find(l.Provider.Vendor(), l.Model)
		if own := set.Tools(l.Provider.Vendor(), l.Model); own != llm.NativeTools && (own != "" || !known.Tools) {
			return false, err
		}
	}
	return len(all) > 0, err
}

// workbenches returns a function that makes the workbenches of one iteration. With a replay, the record of that name
// alone answers their calls. only lists the tools of the model's role, nil for all; caps are the caps of each
// conversation.
func (s *Session) workbenches(model *asker, replay string, only []string, caps conversation.Caps) func(context.Context, *workspace.Manifest, agent.Task) (tournament.Workbench, error) {
	shared := turns.New()
	return func(ctx context.Context, base *workspace.Manifest, task agent.Task) (tournament.Workbench, error) {
		w := &workbench.Workbench{
			Model: model, Record: s.DB.Workbench(model.run, replay), Fence: task.Fence, Window: task.Window,
			Start: s.startBench, Tools: only, Caps: caps, Turn: func(ctx context.Context) (func(), error) { return shared.Take(ctx, 0) }, Hide: s.Hide,
			Tell: func(p conversation.Progress) {
				model.emit(agent.Progress{Step: fmt.Sprintf("%s/r%d", p.Step, p.Round), Stage: agent.Called, Text: p.About})
			},
		}
		if replay != "" {
			w.Start = nothingRuns // the results of that time are on record
			return w, nil
		}
		var err error
		// The planner has brought the ledger up to date.
		w.Symbols, err = s.Analyst().Recall(ctx, base.Root)
		return w, err
	}
}

// startBench starts a box for a single command of a model.
func (s *Session) startBench(ctx context.Context, spec sandbox.Spec) (workbench.Box, error) {
	box, err := s.Boxes().Start(ctx, spec)
	if err != nil {
		return nil, err // a nil *Box in the interface would not be a nil interface
	}
	return box, nil
}

// nothingRuns stands for the boxes of a replay, which has the tools of the recorded run and executes none of them.
func nothingRuns(context.Context, sandbox.Spec) (workbench.Box, error) {
	return nil, llm.ErrNotRecorded
}
