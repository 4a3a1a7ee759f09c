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

// explores reports whether the models of set are given tools to look around with: where the
// user says so, or leaves it to the models and all of them have calls of their own, by [tools] or as
// is known of them, since a question with tools is put to no fallback that cannot.
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

// workbenches returns who makes the workbenches of one iteration; with a replay their calls are
// answered from the record of that name alone. only are the tools that the model's role has, nil for all, and caps those
// of each conversation.
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
			w.Start = nothingRuns // what was found then is on record
			return w, nil
		}
		var err error
		// The planner has brought it up to date.
		w.Symbols, err = s.Analyst().Recall(ctx, base.Root)
		return w, err
	}
}

// startBench starts a box for one command of a model.
func (s *Session) startBench(ctx context.Context, spec sandbox.Spec) (workbench.Box, error) {
	box, err := s.Boxes().Start(ctx, spec)
	if err != nil {
		return nil, err // a nil *Box in the interface would not be a nil interface
	}
	return box, nil
}

// nothingRuns stands for the boxes of a replay, which has the tools of the recorded run and
// carries none out.
func nothingRuns(context.Context, sandbox.Spec) (workbench.Box, error) {
	return nil, llm.ErrNotRecorded
}
