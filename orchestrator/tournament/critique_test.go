package tournament_test

import (
	"context"
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/critic"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/tournament"
	"agent/verify"
)

// These are answers of critics.
const (
	blocker = `{"findings":[{"severity":"blocker","file":"a.py","line":1,"text":"x is two, and three is wanted"},{"severity":"minor","file":"","line":0,"text":"no test"}]}`
	clean   = `{"findings":[]}`
)

// reviewed returns a bench with critics besides the engineer; each of them is a script.
func reviewed(t *testing.T, j runtest.Judge, answers map[string]string, agree int, critics ...map[string]string) (*runtest.Bench, *runtest.Script, []*runtest.Script) {
	t.Helper()
	b, m := runtest.Hunt(t, j, answers)
	prompts, err := agent.LoadPrompts(nil)
	if err != nil {
		t.Fatal(err)
	}
	panel, scripts := critic.Panel{Agree: agree}, []*runtest.Script{}
	for i, of := range critics {
		s := &runtest.Script{Answers: of}
		scripts = append(scripts, s)
		panel.Members = append(panel.Members, critic.Member{Name: "critic/" + string(rune('a'+i)), Engineer: &agent.Engineer{Model: s, Prompts: prompts}})
	}
	crew := b.Crew
	b.Crew = func(id string, emit func(agent.Progress)) tournament.Crew {
		c := crew(id, emit)
		c.Critics = panel
		return c
	}
	return b, m, scripts
}

// passes passes every candidate whose a.py is one of the texts.
func passes(texts ...string) runtest.Judge {
	return func(ctx context.Context, req verify.Request) (verify.Report, error) {
		got, err := req.Base.With(req.Changeset).ReadFile("a.py")
		if err != nil {
			return verify.Report{}, err
		}
		for _, text := range texts {
			if string(got) == text {
				return runtest.Wants(text)(ctx, req)
			}
		}
		return runtest.Wants("none of them")(ctx, req)
	}
}

// recorded returns the recorded outcomes of a run's reviews, and checks that the document has the same.
func recorded(t *testing.T, b *runtest.Bench, doc run.Document) string {
	t.Helper()
	d, err := b.DB.Run(t.Context(), doc.Run)
	if err != nil {
		t.Fatal(err)
	}
	words := func(list []critic.Critique) string {
		var all []string
		for _, c := range list {
			all = append(all, string(c.Outcome)+" ("+critic.Summary(c.Findings)+")")
		}
		return strings.Join(all, ", ")
	}
	if got := words(doc.Critiques); got != words(d.Critiques) {
		t.Errorf("the document says %q, the record %q", got, words(d.Critiques))
	}
	return words(d.Critiques)
}

// A critic's serious findings go back to the author once, and the answer is judged and reviewed too.
func TestFindingsGoBackOnce(t *testing.T) {
	t.Parallel()
	b, m, critics := reviewed(t, passes("x = 2\n", "x = 3\n"), map[string]string{
		"propose/1": runtest.Only("x = 1", "x = 2"), "heal/1.1": runtest.Only("x = 2", "x = 3"),
	}, 1, map[string]string{"critic/1.1": blocker, "critic/2.1": blocker})
	doc := b.Run(t.Context(), b.Goal())
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if got := b.Tree(t)["a.py"]; got != "x = 3\n" {
		t.Errorf("promoted %q", got)
	}
	if got := recorded(t, b, doc); got != "sent back (1 blocker, 1 minor), kept (1 blocker, 1 minor)" {
		t.Error(got)
	}
	if m.Steps() != "propose/1 heal/1.1" || critics[0].Steps() != "critic/1.1 critic/2.1" {
		t.Errorf("asked %s; %s", m.Steps(), critics[0].Steps())
	}
	q := m.Asked[1]
	if q.Purpose != agent.AnswerCritic || !strings.Contains(q.Text, "blocker: a.py:1: x is two, and three is wanted\nminor: no test\n") || !strings.Contains(q.Text, "x = 2") {
		t.Errorf("%s\n%s", q.Purpose, q.Text)
	}
	// The critic sees the goal, the diff, and the gates' results.
	for _, want := range []string{"make x two", "+x = 2", "lint: pass"} {
		if !strings.Contains(critics[0].Asked[0].Text, want) {
			t.Errorf("the critic was not shown %q", want)
		}
	}
}

// Whatever goes wrong after a change has passed, the change is kept.
func TestAReviewNeverCostsAChangeThatPassed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		heal   string // "" ends the script: a cap
		critic map[string]string
		want   string
	}{
		"no answer of the critic":  {"", nil, "unreviewed (nothing found)"},
		"prose":                    {"", map[string]string{"critic/1.1": "I would not merge that."}, "unreviewed (nothing found)"},
		"nothing found":            {"", map[string]string{"critic/1.1": clean}, "clean (nothing found)"},
		"only taste":               {"", map[string]string{"critic/1.1": `[{"severity":"nit","file":"a.py","line":1,"text":"a short name"}]`}, "clean (1 nit)"},
		"the author is not asked":  {"", map[string]string{"critic/1.1": blocker}, "sent back (1 blocker, 1 minor)"},
		"the author disagrees":     {"<THOUGHT>Two is wanted.</THOUGHT>\nNOTHING\n", map[string]string{"critic/1.1": blocker}, "sent back (1 blocker, 1 minor)"},
		"the answer does not pass": {runtest.Only("x = 2", "x = 4"), map[string]string{"critic/1.1": blocker}, "sent back (1 blocker, 1 minor)"},
		"the answer has no place":  {runtest.Only("y = 2", "y = 4"), map[string]string{"critic/1.1": blocker}, "sent back (1 blocker, 1 minor)"},
		"the answer is a path out": {strings.ReplaceAll(runtest.Only("x = 2", "x = 4"), "a.py", "../a.py"), map[string]string{"critic/1.1": blocker}, "sent back (1 blocker, 1 minor)"},
	} {
		answers := map[string]string{"propose/1": runtest.Only("x = 1", "x = 2")}
		if c.heal != "" {
			answers["heal/1.1"] = c.heal
		}
		b, _, _ := reviewed(t, passes("x = 2\n"), answers, 1, c.critic)
		doc := b.Run(t.Context(), b.Goal())
		b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
		if got := b.Tree(t)["a.py"]; got != "x = 2\n" {
			t.Errorf("%s: promoted %q", name, got)
		}
		if got := recorded(t, b, doc); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A machine failure while the answer to critics is judged does not affect the change that passed.
func TestTroubleWithTheAnswerIsNoTroubleOfTheRun(t *testing.T) {
	t.Parallel()
	judge := func(ctx context.Context, req verify.Request) (verify.Report, error) {
		got, err := req.Base.With(req.Changeset).ReadFile("a.py")
		if err == nil && string(got) == "x = 3\n" {
			return runtest.Says(verify.Infra)(ctx, req)
		}
		return runtest.Wants("x = 2\n")(ctx, req)
	}
	b, _, _ := reviewed(t, judge, map[string]string{
		"propose/1": runtest.Only("x = 1", "x = 2"), "heal/1.1": runtest.Only("x = 2", "x = 3"),
	}, 1, map[string]string{"critic/1.1": blocker})
	b.Ended(t, b.Run(t.Context(), b.Goal()), run.Promoted, verify.Pass, run.ExitDone)
}

// A change that did not pass is not reviewed: critics spend their time only on what may be promoted.
func TestOnlyWhatPassedIsReviewed(t *testing.T) {
	t.Parallel()
	b, _, critics := reviewed(t, passes("x = 2\n"), map[string]string{
		"propose/1": runtest.Only("x = 1", "x = 3"), "heal/1.1": runtest.Only("x = 3", "x = 2"),
	}, 1, map[string]string{"critic/1.1": clean})
	b.Ended(t, b.Run(t.Context(), b.Goal()), run.Promoted, verify.Pass, run.ExitDone)
	if critics[0].Steps() != "critic/1.1" || !strings.Contains(critics[0].Asked[0].Text, "+x = 2") {
		t.Error(critics[0].Steps())
	}
}

// As many critics must agree on a finding as the user requires.
func TestCriticsMustAgree(t *testing.T) {
	t.Parallel()
	for want, second := range map[string]string{
		"clean (1 blocker, 1 minor)":                          clean,
		"sent back (1 major, 1 minor), clean (nothing found)": `{"findings":[{"severity":"major","file":"a.py","line":1,"text":"three is wanted and x is two"}]}`,
	} {
		b, _, _ := reviewed(t, passes("x = 2\n", "x = 3\n"), map[string]string{
			"propose/1": runtest.Only("x = 1", "x = 2"), "heal/1.1": runtest.Only("x = 2", "x = 3"),
		}, 2, map[string]string{"critic/1.1": blocker, "critic/2.1": clean}, map[string]string{"critic/1.2": second, "critic/2.2": clean})
		doc := b.Run(t.Context(), b.Goal())
		b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
		if got := recorded(t, b, doc); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Of two candidates that passed, both are reviewed, and the one without serious findings is promoted.
func TestOfSeveralTheOneWithoutSeriousFindingsIsPromoted(t *testing.T) {
	t.Parallel()
	b, _, critics := reviewed(t, passes("x = 2\n", "x = 2 + 0\n"), map[string]string{
		"propose/1": runtest.Only("x = 1", "x = 2"), "propose/2": runtest.Only("x = 1", "x = 2 + 0"), "heal/1.1": "NOTHING",
	}, 1, map[string]string{"critic/1.1": blocker, "critic/2.1": clean})
	req := b.Goal()
	req.Candidates = 2
	b.Ended(t, b.Run(t.Context(), req), run.Promoted, verify.Pass, run.ExitDone)
	if got := b.Tree(t)["a.py"]; got != "x = 2 + 0\n" || critics[0].Steps() != "critic/1.1 critic/2.1" {
		t.Errorf("promoted %q after %s", got, critics[0].Steps())
	}
}

// The checkpoint shows what the critics said about the candidate, and what was not reviewed.
func TestTheCheckpointShowsTheReview(t *testing.T) {
	t.Parallel()
	b, _, _ := reviewed(t, passes("x = 2\n"), map[string]string{"propose/1": runtest.Only("x = 1", "x = 2")}, 1,
		map[string]string{"critic/1.1": clean}, nil)
	req, p := b.Goal(), runtest.Person()
	req.Approver = p
	b.Ended(t, b.Run(t.Context(), req), run.Promoted, verify.Pass, run.ExitDone)
	c := p.Seen[0].Critique
	if c == nil || c.Outcome != critic.Clean || !strings.Contains(c.NotReviewed(), "critic/b gave no review: the script ends") {
		t.Errorf("%+v", c)
	}
}

// A replay asks the run's critics, with the same amount of text shown to them.
func TestThePlanHasTheCritics(t *testing.T) {
	t.Parallel()
	b, _, _ := reviewed(t, passes("x = 2\n"), map[string]string{"propose/1": runtest.Only("x = 1", "x = 2")}, 2, map[string]string{"critic/1.1": clean}, map[string]string{"critic/1.2": clean})
	doc := b.Run(t.Context(), b.Goal())
	text, _, err := b.DB.Plan(t.Context(), doc.Run)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := tournament.RecordedPlan(text).Read()
	if err != nil || plan.Critics == nil || plan.Critics.Agree != 2 || len(plan.Critics.Members) != 2 {
		t.Fatalf("%+v, %v", plan.Critics, err)
	}
	if p := plan.Critics.Panel(nil, nil); p.Agree != 2 || p.Members[1].Name != "critic/b" || len((*critic.Seats)(nil).Panel(nil, nil).Members) != 0 {
		t.Errorf("%+v", p)
	}
}

// A person's own version of the change is reviewed like the first one, but the author is not asked again.
func TestWhatAPersonMadeOfItIsReviewed(t *testing.T) {
	t.Parallel()
	b, m, critics := reviewed(t, passes("x = 2\n", "x = 3\n"), map[string]string{
		"propose/1": runtest.Only("x = 1", "x = 2"), "heal/1.1": "NOTHING",
	}, 1, map[string]string{"critic/1.1": blocker, "critic/2.1": blocker})
	req := b.Goal()
	req.Approver = runtest.Person(run.Answer{Decision: run.Amend, By: run.ByTerminal, Response: []byte(runtest.Only("x = 2", "x = 3"))})
	b.Ended(t, b.Run(t.Context(), req), run.Promoted, verify.Pass, run.ExitDone)
	if got := b.Tree(t)["a.py"]; got != "x = 3\n" || critics[0].Steps() != "critic/1.1 critic/2.1" || m.Steps() != "propose/1 heal/1.1" {
		t.Errorf("%q, %s, %s", got, critics[0].Steps(), m.Steps())
	}
}

// exhausted is a model whose conversation ended at a cap, with a draft.
type exhausted struct{ draft string }

// Ask implements agent.Model.
func (e exhausted) Ask(context.Context, agent.Question) (agent.Reply, error) {
	return agent.Reply{}, &agent.GaveUpError{Message: "40 rounds are the most", Draft: agent.Reply{Text: e.draft, Model: "tools/1"}}
}

// The draft of an ended conversation is judged. It is promoted if it passes; otherwise it is kept for a person without further questions.
func TestADraftOfAnEndedConversationIsJudged(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]run.State{"x = 2": run.Promoted, "x = 3": run.Rejected} {
		b, _ := runtest.Hunt(t, passes("x = 2\n"), nil)
		b.Runner.Proposals = b.DB
		crew := b.Crew
		b.Crew = func(id string, emit func(agent.Progress)) tournament.Crew {
			c := crew(id, emit)
			c.Engineer.Model = exhausted{runtest.Only("x = 1", text)}
			return c
		}
		doc := b.Run(t.Context(), b.Goal())
		if doc.State != want || len(doc.Candidates) != 1 {
			t.Errorf("%s: %s with %d candidates, %+v", text, doc.State, len(doc.Candidates), doc.Error)
		}
		if want == run.Rejected && (!strings.HasPrefix(doc.Error.Message, "40 rounds are the most; judged anyway, ") || len(doc.Proposals) != 1) {
			t.Errorf("%+v, %+v", doc.Error, doc.Proposals)
		}
	}
}
