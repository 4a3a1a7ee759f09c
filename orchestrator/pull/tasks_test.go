package pull_test

import (
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/forge"
	"agent/orchestrator/pull"
	"agent/verify"
	"agent/verify/policy"
)

func spoke(id, author, text string) forge.Comment {
	return forge.Comment{ID: id, Author: author, Text: text, Mine: author == "agent"}
}

func TestWhatWaitsForAnAnswer(t *testing.T) {
	t.Parallel()
	open := forge.Thread{ID: "1", Path: "a.py", Line: 3, Comments: []forge.Comment{spoke("1", "ada", "name it x"), spoke("2", "agent", "why?"), spoke("3", "grace", "yes, do")}}
	threads := []forge.Thread{
		open,
		{ID: "4", Path: "a.py", Comments: []forge.Comment{spoke("4", "ada", "old"), spoke("5", "agent", "done")}},
		{ID: "6", Path: "a.py", Resolved: true, Comments: []forge.Comment{spoke("6", "ada", "settled")}},
		{ID: "7", Path: "b.py", Comments: []forge.Comment{spoke("7", "agent", "**major** · lint")}},
	}
	whole := []forge.Comment{spoke("8", "agent", "## Passed"), spoke("9", "bot", "coverage fell"), spoke("10", "ada", " \n")}
	list := pull.Tasks(threads, whole, nil)
	if len(list) != 2 || list[0].Thread != "1" || list[0].Comment != "3" || list[0].Author != "grace" || list[1].Thread != "all 9" || list[1].Path != "" {
		t.Fatalf("%+v", list)
	}
	if want := "ada wrote:\nname it x\n\nagent (the agent) wrote:\nwhy?\n\ngrace wrote:\nyes, do\n\n"; list[0].Text != want {
		t.Errorf("%q", list[0].Text)
	}
	if got := pull.Tasks(threads, whole, []string{"bot"}); len(got) != 1 || got[0].Author != "bot" {
		t.Errorf("%+v", got)
	}
	// The agent's own answer counts wherever it is; somebody else's does not.
	answer := list[0].Answer("0123456789abcdef", "it is x now @ada", "")
	if got := pull.Tasks(threads, append(whole, spoke("11", "agent", answer)), nil); len(got) != 1 || got[0].Thread != "all 9" {
		t.Errorf("%+v", got)
	}
	if got := pull.Tasks(threads, append(whole, spoke("11", "mallory", answer)), nil); len(got) != 3 {
		t.Errorf("%+v", got)
	}
	// A further comment in the thread is a new task.
	threads[0].Comments = append(slices.Clone(open.Comments), spoke("12", "agent", answer), spoke("13", "ada", "not there"))
	if got := pull.Tasks(threads, whole, nil); len(got) != 2 || got[0].Comment != "13" {
		t.Errorf("%+v", got)
	}
}

func TestCommentsAreBounded(t *testing.T) {
	t.Parallel()
	th := forge.Thread{ID: "1"}
	for range 100 {
		th.Comments = append(th.Comments, spoke("2", "ada", strings.Repeat("é", 10_000)+"\xff"))
	}
	list := pull.Tasks([]forge.Thread{th}, nil, nil)
	if n := len(list[0].Text); n > 20*(9<<10) || n < 20*(8<<10) || !strings.Contains(list[0].Text, "…") {
		t.Errorf("%d bytes", n)
	}
}

func TestAnAnswerSaysWhatWasDone(t *testing.T) {
	t.Parallel()
	task := pull.Task{Thread: "1", Comment: "2", Author: "ada\nEvil", Path: "a.py", Line: 3}
	for _, c := range []struct{ commit, said, why, want string }{
		{"0123456789abcdef", "", "", "Done in 0123456789ab, which passed the gates.\n\n<!-- agent:answer "},
		{"0123456789abcdef", "renamed, @ada", "", "the gates.\n\n`renamed, @ada`\n\n<!--"},
		{"", "", "no candidate <b>passed", "Nothing was changed: `no candidate <b>passed`\n\n<!--"},
		{"", "it is right as it is", "nothing", "Nothing was changed: `nothing`\n\n`it is right as it is`\n\n<!--"},
	} {
		if got := task.Answer(c.commit, c.said, c.why); !strings.Contains(got, c.want) {
			t.Errorf("%q lacks %q", got, c.want)
		}
	}
	if got := pull.Subject(task.Subject()); got != "Address a comment by ada" {
		t.Errorf("%q", got)
	}
	task.Author = "ada"
	if got := pull.Subject(task.Subject()); got != "Address a comment by ada on a.py" {
		t.Errorf("%q", got)
	}
	if g := task.Goal(); !strings.Contains(g, "shown first, line 3") || strings.Contains(g, "a.py") {
		t.Errorf("%q", g)
	}
	if g := (pull.Task{}).Goal(); !strings.Contains(g, "as a whole") {
		t.Errorf("%q", g)
	}
}

func TestAFailureIsToldWithWhatIsKnown(t *testing.T) {
	t.Parallel()
	jobs := []pull.FailedJob{{Name: "test\nEvil", Log: "b.py:3: error\nin a.py"}, {Name: "lint"}}
	got := pull.Failure(jobs, "tests b.py:3\n", []string{"+x"})
	if want := "Job test Evil failed.\nb.py:3: error\nin a.py\n\nJob lint failed.\n\n\nThe gates here say of the branch:\ntests b.py:3\n\n\nAttempt 1 did not help:\n+x\n"; got != want {
		t.Errorf("%q", got)
	}
	if got := pull.Named(jobs, []string{"a.py", "b.py", "c.py", ""}, 3); !slices.Equal(got, []string{"b.py", "a.py"}) {
		t.Errorf("%q", got)
	}
	if got := pull.Named(jobs, []string{"a.py", "b.py"}, 1); !slices.Equal(got, []string{"b.py"}) {
		t.Errorf("%q", got)
	}
}

func TestWhetherTheGatesShowAFailure(t *testing.T) {
	t.Parallel()
	found := []pull.Finding{{Gate: "policy", Rule: policy.CI, Path: "ci.yml"}, {Gate: "tests", Rule: "test_one", Path: "a.py", Line: 3, Message: "3 != 4"}}
	for _, c := range []struct {
		findings   []pull.Finding
		verdict    verify.Verdict
		shown, why string
	}{
		{found, verify.Fail, "tests a.py:3 test_one 3 != 4\n", ""},
		{found[:1], verify.Fail, "", "no gate says where"},
		{nil, verify.Pass, "", "the gates here pass"},
		{found, verify.Policy, "", "verdict policy"},
		{found, verify.Infra, "", "could not be judged here"},
		{nil, "", "", "could not be judged here"},
	} {
		shown, why := pull.Reproduced(c.findings, c.verdict)
		if shown != c.shown || (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: %q %q", c.verdict, shown, why)
		}
	}
	many := make([]pull.Finding, 1000)
	for i := range many {
		many[i] = pull.Finding{Gate: "lint"}
	}
	if shown, _ := pull.Reproduced(many, verify.Fail); strings.Count(shown, "\n") != 50 {
		t.Errorf("%d lines", strings.Count(shown, "\n"))
	}
}
