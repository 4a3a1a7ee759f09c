package agent_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"agent/orchestrator/agent"
)

func engineer(t *testing.T, answers ...string) (*agent.Engineer, *scripted) {
	t.Helper()
	m := &scripted{answers: answers}
	return &agent.Engineer{Model: m, Prompts: load(t, nil)}, m
}

func task() agent.Task {
	return agent.Task{
		Fence: agent.NewFence(word), Kind: agent.Implement,
		Brief: agent.Brief{Goal: "round up", Target: "a.py", Language: "python", Code: "x = 1\n", Memory: "m"},
	}
}

func TestAProposalIsAskedForUnderItsStep(t *testing.T) {
	e, m := engineer(t, "one", "two")
	for n := 1; n <= 2; n++ {
		if _, _, err := e.Propose(t.Context(), task(), agent.Variant{N: n, Of: 2}, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range m.asked {
		if q.Purpose != agent.Implement || len(q.Digest) != 64 || !strings.HasPrefix(q.Step, "propose/") || !strings.Contains(q.Text, "round up") {
			t.Errorf("%+v", q)
		}
	}
	if m.asked[0].Step == m.asked[1].Step || m.asked[0].Temperature == m.asked[1].Temperature {
		t.Error("two candidates are asked for alike")
	}
}

func TestARepairHoldsGoalFailureAndBrokenCode(t *testing.T) {
	e, m := engineer(t, "", "")
	x := agent.Breakage{
		Failure: agent.Failure{Gate: "lint", Text: "F821 y"}, Said: "I used y.", Target: "a.py", Language: "python", Code: "x = y\n",
		Tried: []agent.Attempt{{N: 1, Gate: "lint", Why: "lint: F821", Diff: "+x = y"}}, Variant: agent.Variant{N: 1, Of: 1}, N: 1,
	}
	if _, _, err := e.Heal(t.Context(), task(), x); err != nil {
		t.Fatal(err)
	}
	x.Tried, x.N = append(x.Tried, agent.Attempt{N: 2, Gate: "lint", Diff: "+x = z"}), 2
	if _, _, err := e.Heal(t.Context(), task(), x); err != nil {
		t.Fatal(err)
	}
	first, second := m.asked[0], m.asked[1]
	if first.Purpose != agent.FixLint || second.Purpose != agent.Repair || first.Step != "heal/1.1" || second.Step != "heal/1.2" {
		t.Errorf("%s as %s, %s as %s", first.Purpose, first.Step, second.Purpose, second.Step)
	}
	for _, want := range []string{"round up", "F821 y", "x = y\n", "I used y."} {
		if !strings.Contains(first.Text, want) {
			t.Errorf("the repair does not hold %q:\n%s", want, first.Text)
		}
	}
	if strings.Contains(first.Text, "x = 1\n") {
		t.Error("the repair shows the code before the change")
	}
}

// A feature is first asked for in words, then implemented in a step of its own. Its repairs name it, because they have no goal from a
// person.
func TestAFeatureIsNamedInItsRepairs(t *testing.T) {
	e, m := engineer(t, "", "", "")
	feature := task()
	feature.Brief.Goal = ""
	if _, _, err := e.Feature(t.Context(), feature); err != nil {
		t.Fatal(err)
	}
	feature.Brief.Feature, feature.Brief.Cascade = "warn when stock runs out", "level has a new argument"
	if _, _, err := e.Propose(t.Context(), feature, agent.Variant{N: 1, Of: 1}, 1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.Heal(t.Context(), feature, agent.Breakage{Failure: agent.Failure{Gate: "lint"}, N: 1}); err != nil {
		t.Fatal(err)
	}
	want := []struct {
		step    string
		purpose agent.Purpose
	}{{"feature/1", agent.Feature}, {"implement/1.1", agent.Implement}, {"heal/1.1", agent.FixLint}}
	for i, q := range m.asked {
		if q.Step != want[i].step || q.Purpose != want[i].purpose {
			t.Errorf("question %d is %s as %s", i, q.Step, q.Purpose)
		}
		if i > 0 && (!strings.Contains(q.Text, "warn when stock runs out") || !strings.Contains(q.Text, "level has a new argument")) {
			t.Errorf("%s does not hold the feature and the change that it follows:\n%s", q.Step, q.Text)
		}
	}
}

// A review has one target file and a goal may have several: only existing ones, and not too many.
func TestTargetsAreFilesThatAreThere(t *testing.T) {
	many := "f0.py\nf1.py\nf2.py\nf3.py\nf4.py\nf5.py\nf6.py\nf7.py"
	e, m := engineer(t, "b.py", "c.py", "a.py\nb.py", "- `b.py`: for the rate\n- a.py", many)
	choose := task()
	choose.Brief.Files = []string{"a.py", "b.py"}
	for i, c := range []struct{ goal, want string }{{"", "[b.py]"}, {"", "[]"}, {"", "[]"}, {"g", "[b.py a.py]"}, {"g", "[f0.py f1.py f2.py f3.py f4.py f5.py]"}} {
		choose.Brief.Goal = c.goal
		got, err := e.Targets(t.Context(), choose, "target", func(p string) bool { return p[0] == 'f' && len(p) == 5 })
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("answer %d: %v, %v, want %s", i, got, err, c.want)
		}
	}
	if q := m.asked[3].Text; !strings.HasPrefix(q, "Which files of this project must change for this goal?") || !strings.HasSuffix(q, "Which files must change for: g\n") {
		t.Errorf("asked\n%s", q)
	}
}

func TestAPersonMayAlterOrStopAQuestion(t *testing.T) {
	e, m := engineer(t, "x", "x")
	e.Before = func(_ context.Context, q agent.Question) (agent.Question, error) {
		q.Text += "and hurry"
		return q, nil
	}
	if _, _, err := e.Propose(t.Context(), task(), agent.Variant{}, 0); err != nil || !strings.HasSuffix(m.asked[0].Text, "and hurry") {
		t.Errorf("%v", err)
	}
	stop := errors.New("skipped")
	e.Before = func(context.Context, agent.Question) (agent.Question, error) { return agent.Question{}, stop }
	if _, _, err := e.Propose(t.Context(), task(), agent.Variant{}, 0); !errors.Is(err, stop) || len(m.asked) != 1 {
		t.Errorf("%v after %d questions", err, len(m.asked))
	}
}

func TestATaskTooLargeIsNotAsked(t *testing.T) {
	e, m := engineer(t, "x")
	e.Budget = 100
	big := task()
	big.Brief.Code = lines("code", 100)
	if _, _, err := e.Propose(t.Context(), big, agent.Variant{}, 0); err == nil || len(m.asked) != 0 {
		t.Errorf("%v after %d questions", err, len(m.asked))
	}
}

func TestTheSameTaskAsksTheSameQuestion(t *testing.T) {
	a, _, err := (&agent.Engineer{Prompts: load(t, nil)}).Question(agent.Patch, "s", full(), agent.NewFence(word))
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := (&agent.Engineer{Prompts: load(t, nil)}).Question(agent.Patch, "s", full(), agent.NewFence(word))
	if err != nil || !reflect.DeepEqual(a, b) {
		t.Errorf("%+v and %+v, %v", a, b, err)
	}
}
