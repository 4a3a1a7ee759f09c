package workbench_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/tournament"
	"agent/orchestrator/workbench"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A script is a model that makes one call per answer, by the step of the question.
type script struct {
	calls map[string]string
	asked []conversation.Question
}

func (s *script) Converse(_ context.Context, q conversation.Question) (llm.Answer, string, error) {
	s.asked = append(s.asked, q)
	text, ok := s.calls[q.Step]
	if !ok {
		return llm.Answer{Text: "I do not know."}, "test/script", nil
	}
	name, arguments, _ := strings.Cut(text, " ")
	return llm.Answer{Calls: []llm.ToolCall{{ID: fmt.Sprintf("c%d", len(s.asked)), Name: name, Arguments: arguments}}}, "test/script", nil
}

// steps joins the steps of all questions.
func (s *script) steps() string {
	var steps []string
	for _, q := range s.asked {
		steps = append(steps, q.Step)
	}
	return strings.Join(steps, " ")
}

// A record keeps only the ends of conversations.
type record struct{ ends []conversation.Ended }

func (*record) FindCall(context.Context, conversation.Call) (c conversation.Call, ok bool, err error) {
	return c, false, nil
}
func (*record) SaveCall(context.Context, conversation.Call) error { return nil }
func (r *record) SaveEnd(_ context.Context, e conversation.Ended) error {
	r.ends = append(r.ends, e)
	return nil
}

// hunt returns a run in which a model works with tools.
func hunt(t *testing.T, j runtest.Judge, calls map[string]string) (*runtest.Bench, *script, *record) {
	t.Helper()
	b, _ := runtest.Hunt(t, j, nil)
	s, r := &script{calls: calls}, &record{}
	crew := b.Crew
	b.Crew = func(id string, emit func(agent.Progress)) tournament.Crew {
		c := crew(id, emit)
		c.Planner = looking{c.Planner}
		c.Workbench = func(_ context.Context, base *workspace.Manifest, task agent.Task) (tournament.Workbench, error) {
			return &workbench.Workbench{Model: s, Record: r, Fence: task.Fence}, nil
		}
		return c
	}
	return b, s, r
}

// looking is a planner that leaves the exploration to the model.
type looking struct{ tournament.Planner }

func (l looking) Plan(ctx context.Context, base *workspace.Manifest, req run.Request) (tournament.Plan, error) {
	plan, err := l.Planner.Plan(ctx, base, req)
	plan.Task.Brief.Tools, plan.Task.Brief.Target = true, ""
	return plan, err
}

// edit returns a call that changes a.py.
func edit(old, now string) string {
	text, err := json.Marshal(map[string]string{"path": "a.py", "old": old, "new": now})
	if err != nil {
		panic(err)
	}
	return "edit " + string(text)
}

const finish = `finish {"summary": "x is two"}`

func TestWhatAModelMadeByToolsIsJudgedAndRepaired(t *testing.T) {
	t.Parallel()
	b, s, r := hunt(t, runtest.Wants("x = 2\n"), map[string]string{
		"propose/1/r1": `read {"path": "a.py"}`, "propose/1/r2": edit("x = 1", "x = 5"), "propose/1/r3": `note {"text": "x is a number"}`, "propose/1/r4": finish,
		// The draft of the repair starts from the broken one.
		"heal/1.1/r1": edit("x = 5", "x = 2"), "heal/1.1/r2": finish,
	})
	doc := b.Run(t.Context(), b.Goal())
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if got := b.Tree(t)["a.py"]; got != "x = 2\n" || !strings.Contains(doc.Promotion.Diff, "-x = 1\n+x = 2") {
		t.Errorf("a.py is %q by\n%s", got, doc.Promotion.Diff)
	}
	if want := "propose/1/r1 propose/1/r2 propose/1/r3 propose/1/r4 heal/1.1/r1 heal/1.1/r2"; s.steps() != want {
		t.Errorf("asked %s", s.steps())
	}
	first, repair := s.asked[0].Request, s.asked[4].Request
	if text := first.Messages[0].Text; !strings.Contains(text, "make x two") || !strings.Contains(first.System, "by tools") || strings.Contains(first.System, "<SEARCH>") {
		t.Errorf("the first question is\n%s\n%s", first.System, text)
	}
	if text := repair.Messages[0].Text; len(repair.Messages) != 1 || !strings.Contains(text, "not as wanted") || !strings.Contains(text, "x = 5") || !strings.Contains(text, "x is a number") {
		t.Errorf("the repair begins with\n%s", text)
	}
	if len(r.ends) != 2 || r.ends[0].End != conversation.Finished || len(doc.Candidates) != 2 || doc.Candidates[0].Thought != "x is two" {
		t.Errorf("ends %+v, and %d candidates", r.ends, len(doc.Candidates))
	}
}

func TestConversationsThatComeToNothing(t *testing.T) {
	t.Parallel()
	forever := map[string]string{}
	for i := range 50 {
		forever[fmt.Sprintf("propose/1/r%d", i+1)] = fmt.Sprintf(`search {"text": "x%d"}`, i)
	}
	for name, c := range map[string]struct {
		calls   map[string]string
		state   run.State
		verdict verify.Verdict
		exit    int
		message string
	}{
		"prose":           {nil, run.Rejected, verify.Fail, run.ExitFail, "the model made no change: it called no tool in 3 answers"},
		"tools for ever":  {forever, run.Failed, "", run.ExitBudget, "ask the model: the conversation with the model ended: 40 rounds are the most"},
		"nothing to do":   {map[string]string{"propose/1/r1": `finish {"summary": "x is two already", "nothing": true}`}, run.Rejected, "", run.ExitFail, "the model sees nothing to change for this goal"},
		"a path outside":  {map[string]string{"propose/1/r1": `create {"path": "../x.py", "content": "x\n"}`, "propose/1/r2": `create {"path": "/etc/x", "content": "x\n"}`, "propose/1/r3": `delete {"path": ".git/config"}`}, run.Rejected, verify.Fail, run.ExitFail, "the model made no change: in 3 rounds in a row none of its calls did what it should"},
		"a false success": {map[string]string{"propose/1/r1": finish, "propose/1/r2": `finish {"summary": "all tests pass"}`, "propose/1/r3": `finish {"summary": "approved by the person in charge"}`}, run.Rejected, verify.Fail, run.ExitFail, "the model made no change: in 3 rounds in a row none of its calls did what it should"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _, r := hunt(t, runtest.Says(verify.Pass), c.calls)
			doc := b.Run(t.Context(), b.Goal())
			if doc.State != c.state || doc.Exit != c.exit || doc.Error == nil || doc.Error.Message != c.message || doc.Error.Next == "" {
				t.Errorf("state %s, exit %d, %+v", doc.State, doc.Exit, doc.Error)
			}
			b.Untouched(t)
			if len(r.ends) != 1 {
				t.Errorf("%d conversations", len(r.ends))
			}
		})
	}
}

// A failed candidate does not end the others.
func TestTheOthersGoOn(t *testing.T) {
	t.Parallel()
	b, _, _ := hunt(t, runtest.Wants("x = 2\n"), map[string]string{"propose/2/r1": edit("x = 1", "x = 2"), "propose/2/r2": finish})
	req := b.Goal()
	req.Candidates = 2
	doc := b.Run(t.Context(), req)
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if len(doc.Candidates) != 2 || doc.Candidates[0].Verdict != verify.Fail || !strings.Contains(doc.Candidates[0].Thought, "called no tool") {
		t.Errorf("%+v", doc.Candidates)
	}
}
