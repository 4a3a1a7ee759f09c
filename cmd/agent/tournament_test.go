package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/sandbox/enginetest"

	"agent/images"
	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
	"agent/orchestrator/tournament"
	"agent/sandbox"
	"agent/sandbox/turns"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A contest is a workspace of one text, judged by one gate of its own, and everything that the command assembles for a
// run, with a scripted model.
type contest struct {
	engine  *sandbox.Engine
	pool    *sandbox.Pool
	db      *store.DB
	runner  *tournament.Runner
	request run.Request
	// The candidates' versions of the text, in order, and what to wait for before the last answer.
	texts  []string
	before func(run string)

	mu sync.Mutex
	// When each state was entered.
	entered []time.Time
	states  []run.State
}

const tournamentText = "as it was\n"

// newTournament returns a contest whose gate runs this command.
func newTournament(t *testing.T, command ...string) *contest {
	t.Helper()
	program, err := os.ReadFile(os.Getenv("AGENT_GUEST"))
	if err != nil {
		t.Fatal(err)
	}
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte(tournamentText), 0o644); err != nil {
		t.Fatal(err)
	}
	m := &contest{engine: engine, pool: sandbox.NewPool(engine, sandbox.PoolConfig{}), before: func(string) {}}
	m.db, _ = storetest.Warm(t)
	m.runner = &tournament.Runner{Crew: m.crew(t), Runner: &run.Runner{
		Store: m.db, Orphans: m.db, Images: images.New(engine, program, io.Discard), Boxes: m.pool,
		Verifier: &verify.Verifier{Boxes: m.pool, Cache: m.db, Turns: turns.New()}, Emit: m.emit,
	}}
	m.request = run.Request{
		Workspace: dir, Goal: "other notes", NoPromote: true, NoInstall: true,
		Config: verify.Config{Gates: []verify.CustomGate{{Name: "own", Command: command, Timeout: time.Minute}}},
	}
	t.Cleanup(func() {
		if err := m.pool.Close(); err != nil {
			t.Error(err)
		}
		engine.Close()
	})
	return m
}

// emit records when each state was entered.
func (m *contest) emit(e run.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.State != "" {
		m.states, m.entered = append(m.states, e.State), append(m.entered, time.Now())
	}
}

// crew has an engineer who answers with the texts, and then is out of money.
func (m *contest) crew(t *testing.T) func(string, func(agent.Progress)) tournament.Crew {
	prompts, err := agent.LoadPrompts(nil)
	if err != nil {
		t.Fatal(err)
	}
	return func(id string, _ func(agent.Progress)) tournament.Crew {
		return tournament.Crew{Engineer: &agent.Engineer{Model: answering{m, id}, Prompts: prompts}, Planner: m}
	}
}

// Plan asks for a change of the text.
func (m *contest) Plan(_ context.Context, _ *workspace.Manifest, req run.Request) (tournament.Plan, error) {
	return tournament.Plan{Why: "the test", Candidates: len(m.texts), Task: agent.Task{
		Fence: agent.NewFence("5f3c9a0e7b1d2468"), Kind: agent.Implement, Brief: agent.Brief{Target: "notes.txt", Code: tournamentText, Goal: req.Goal},
	}}, nil
}

// answering is the model of one run of a tournament.
type answering struct {
	m   *contest
	run string
}

func (a answering) Ask(_ context.Context, q agent.Question) (agent.Reply, error) {
	for i, text := range a.m.texts {
		if q.Step != fmt.Sprintf("propose/%d", i+1) {
			continue
		}
		if i == len(a.m.texts)-1 {
			a.m.before(a.run)
		}
		answer := fmt.Sprintf("<EDIT file=\"notes.txt\"><SEARCH>\n%s</SEARCH><REPLACE>\n%s</REPLACE></EDIT>", tournamentText, text)
		return agent.Reply{Text: answer, Model: "script/1"}, nil
	}
	return agent.Reply{}, &agent.StopError{Budget: true, Message: "the script ends at " + q.Step, Next: "write more of it"}
}

// boxesOf lists the boxes of a run that have this state, "" for any.
func (m *contest) boxesOf(t *testing.T, run, state string) (ids []string) {
	t.Helper()
	list, err := m.engine.Boxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range list {
		if b.Run == run && (state == "" || b.State == state) {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

// TestLosersOfATournamentLeaveNothing has one candidate pass while the others, which can no longer win, would still
// work for a long time.
func TestLosersOfATournamentLeaveNothing(t *testing.T) {
	t.Parallel()
	enginetest.Need(t)
	m := newTournament(t, "sh", "-c", "case $(cat notes.txt) in slow*) sleep 1000;; esac")
	m.texts = []string{"slow and long, and longer than the other\n", "quick\n", "slow and long, and longer than both of them are\n"}
	doc := m.runner.Run(t.Context(), m.request)
	if doc.State != run.Done || doc.Exit != run.ExitDone {
		t.Fatalf("ended %s: %+v", doc.State, doc.Error)
	}
	// Only the end of the process waits for the removal.
	if err := m.pool.Close(); err != nil {
		t.Error(err)
	}
	if left := m.boxesOf(t, doc.Run, ""); len(left) > 0 {
		t.Errorf("the run left %.12q", left)
	}
	got, err := m.db.Run(t.Context(), doc.Run)
	if err != nil {
		t.Fatal(err)
	}
	var verdicts []string
	for _, c := range got.Candidates {
		verdicts = append(verdicts, fmt.Sprintf("%s %s", c.Verdict, c.Gates[0].Name))
	}
	if list := strings.Join(verdicts, ", "); got.Record.State != run.Done || list != "cancelled contest, pass own, cancelled contest" {
		t.Errorf("recorded as %s: %s", got.Record.State, list)
	}
}
