package runtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/orchestrator/tournament"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A Script answers questions by their step; a step that it does not have ends the run. It keeps what was asked.
type Script struct {
	mu sync.Mutex
	// Answers are the texts, by step.
	Answers map[string]string
	// Asked are the questions so far.
	Asked []agent.Question
	// Before, if not nil, is called before a question is sent.
	Before func(context.Context, agent.Question) (agent.Question, error)
}

// Ask implements agent.Model.
func (s *Script) Ask(_ context.Context, q agent.Question) (agent.Reply, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Asked = append(s.Asked, q)
	text, ok := s.Answers[q.Step]
	if !ok {
		return agent.Reply{}, &agent.StopError{Budget: true, Message: "the script ends at " + q.Step, Next: "write more of it"}
	}
	return agent.Reply{Text: text, Model: "script/1"}, nil
}

// checkpoint does what the test wants before a question is sent, if anything.
func (s *Script) checkpoint(ctx context.Context, q agent.Question) (agent.Question, error) {
	if s.Before == nil {
		return q, nil
	}
	return s.Before(ctx, q)
}

// Steps lists the steps of the questions so far.
func (s *Script) Steps() string {
	var steps []string
	for _, q := range s.Asked {
		steps = append(steps, q.Step)
	}
	return strings.Join(steps, " ")
}

// Plans gives every run the same plan.
type Plans tournament.Plan

// Plan implements tournament.Planner.
func (p Plans) Plan(_ context.Context, base *workspace.Manifest, req run.Request) (tournament.Plan, error) {
	text, err := base.ReadFile("a.py")
	p.Task.Brief.Code, p.Task.Brief.Goal = string(text), req.Goal
	plan := tournament.Plan(p)
	if req.Proposal != nil {
		plan.Aim(*req.Proposal)
	}
	return plan, err
}

// Only returns an answer with one edit of a.py.
func Only(from, to string) string {
	return fmt.Sprintf("<THOUGHT>%s to %s</THOUGHT><EDIT file=\"a.py\"><SEARCH>\n%s\n</SEARCH><REPLACE>\n%s\n</REPLACE></EDIT>", from, to, from, to)
}

// Hunt returns a bench whose engineer works by a Script.
func Hunt(t *testing.T, j Judge, answers map[string]string) (*Bench, *Script) {
	t.Helper()
	b, m := Setup(t, j), &Script{Answers: answers}
	prompts, err := agent.LoadPrompts(nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := Plans{Why: "the test", Task: agent.Task{
		Fence: agent.NewFence("5f3c9a0e7b1d2468"), Kind: agent.Implement, Brief: agent.Brief{Target: "a.py", Language: "python"},
	}}
	b.Crew = func(string, func(agent.Progress)) tournament.Crew {
		return tournament.Crew{Engineer: &agent.Engineer{Model: m, Prompts: prompts, Before: m.checkpoint}, Planner: plan}
	}
	return b, m
}

// Goal returns a request to make x two.
func (b *Bench) Goal() run.Request {
	return run.Request{Workspace: b.Dir, Goal: "make x two", Approver: Decide(run.Apply)}
}

// Wants passes a candidate whose a.py is text.
func Wants(text string) Judge {
	return func(_ context.Context, req verify.Request) (verify.Report, error) {
		gate := verify.Gate{Name: "lint", Verdict: verify.Pass}
		got, err := req.Base.With(req.Changeset).ReadFile("a.py")
		if string(got) != text {
			gate.Verdict, gate.Findings = verify.Fail, []verify.Finding{{File: "a.py", Line: 1, Rule: "X1", Message: "not as wanted"}}
		}
		return verify.Report{Verdict: gate.Verdict, Gates: []verify.Gate{gate}, Changeset: req.Changeset}, err
	}
}

// Answers are what a person says at successive checkpoints; the last one is repeated.
type Answers struct {
	List []run.Answer
	// Seen is what was asked about so far.
	Seen []run.Proposal
}

// Approve implements run.Approver.
func (a *Answers) Approve(_ context.Context, p run.Proposal) (run.Answer, error) {
	a.Seen = append(a.Seen, p)
	return a.List[min(len(a.Seen), len(a.List))-1], nil
}

// Person returns the answers of a person at a terminal: those in list, then Apply.
func Person(list ...run.Answer) *Answers {
	return &Answers{List: append(list, run.Answer{Decision: run.Apply, By: run.ByTerminal})}
}
