package wire

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"agent/cmd/agent/internal/config"
	"agent/images"
	"agent/orchestrator/agent"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/chat"
	"agent/orchestrator/gate"
	"agent/orchestrator/llm/vendors"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/workbench"
	"agent/sandbox/turns"
	"agent/sandbox/workspace"
)

// fetchTime bounds how long fetching a web page may take.
const fetchTime = 30 * time.Second

// Sees reports whether a model that may be asked accepts pictures.
func Sees(set config.Settings) (bool, error) {
	all, err := links(vendors.All(), set)
	for _, l := range all {
		if l.Sees {
			return true, err
		}
	}
	return false, err
}

// Chat returns a conversation with a user, not resumed yet. req is the request that its draft would be judged by. emit
// receives the progress of questions, and tell anything else that the user should know.
func (s *Session) Chat(set config.Settings, req run.Request, c chat.Chat, emit func(agent.Progress), tell func(string)) (*chat.Session, error) {
	prompts, err := LoadPrompts(set["workspace"].Text, s.home)
	if err != nil {
		return nil, err
	}
	if err := checkAllowed(prompts, s.home); err != nil {
		return nil, err
	}
	chain, err := s.newChain(set, "conversation", "")
	if err != nil {
		return nil, err
	}
	explores, err := s.explores(set)
	if err != nil {
		return nil, err
	}
	model := &asker{chain: chain, run: c.Run(), emit: emit}
	budget, window := QuestionBudget(set).Bytes, Window(set)
	w := &workbench.Workbench{
		Model: model, Record: s.DB.Workbench(model.run, ""), Fence: agent.NewFence(c.Fence), Window: window.Tokens, Hide: s.Hide,
		Tell: func(p conversation.Progress) {
			emit(agent.Progress{Step: p.Step, Stage: agent.Called, Text: p.About})
		},
	}
	if hosts := set.Fetched(); len(hosts) > 0 {
		w.Fetch = hosts.Client(fetchTime).Do
	}
	if !explores {
		w.Tools = []string{}
	}
	if s.Engine != nil {
		shared := turns.New()
		w.Start, w.Turn = s.startBench, func(ctx context.Context) (func(), error) { return shared.Take(ctx, 0) }
	}
	return &chat.Session{
		Chat: c, Book: s.DB.Chats(), Tell: tell, Hide: s.Hide, Engineer: &agent.Engineer{Prompts: prompts, Window: window, Budget: budget},
		Scan: func(ctx context.Context) (*workspace.Manifest, error) {
			return workspace.Rescan(ctx, c.Workspace, req.Exclude, workspace.Limits{})
		},
		Rules: func(base *workspace.Manifest) (string, error) { return loop.Rules(base, budget) },
		Open: func(ctx context.Context, base *workspace.Manifest) (talk *conversation.Chat, err error) {
			if w.Symbols, err = s.Analyst().Recall(ctx, base.Root); err != nil {
				return nil, err
			}
			return w.Chat(base, s.frozen(req, base, fmt.Sprintf("chat-%d", c.ID), tell)), nil
		},
	}, nil
}

// frozen returns a function that makes the stage of a base, once, and the gate that judges on it.
func (s *Session) frozen(req run.Request, base *workspace.Manifest, name string, tell func(string)) func(context.Context) (gate.Stage, *gate.Gate, error) {
	var (
		mu   sync.Mutex // held while the stage is made
		g    *gate.Gate
		made gate.Stage
	)
	return func(ctx context.Context) (gate.Stage, *gate.Gate, error) {
		mu.Lock()
		defer mu.Unlock()
		if g != nil {
			return made, g, nil
		}
		if err := s.Settle(ctx, &req.Config, io.Discard); err != nil {
			return made, nil, err
		}
		tools, err := s.Builder.Ensure(ctx, images.Toolchain)
		if err != nil {
			return made, nil, fmt.Errorf("build the toolchain image: %w", err)
		}
		by := &gate.Gate{Images: s.Builder, Verifier: s.Runner(nil).Verifier, Rules: req.Rules(), Run: name, Note: tell}
		by.Rules.Model = true
		if made, err = by.Freeze(ctx, tools, base); err != nil {
			return made, nil, err
		}
		g = by
		return made, g, nil
	}
}
