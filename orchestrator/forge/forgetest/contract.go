package forgetest

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/forge"
)

// A Subject is a driver on a repository with a branch main, and what its test can do there.
type Subject struct {
	Forge forge.Forge
	// Branch commits files to a branch, which begins at main, and returns the commit.
	Branch func(t testing.TB, name string, files map[string]string) string
	// Say makes another person comment on a line.
	Say func(t testing.TB, number int, path string, line int, text string)
	// Fail makes a job with this log fail for a commit; nil for a host on which the test cannot create jobs.
	Fail func(t testing.TB, commit, log string)
}

// Contract checks what every driver of a forge must fulfil.
func Contract(t *testing.T, s Subject) {
	t.Helper()
	ctx, f := t.Context(), s.Forge
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	if main, err := f.DefaultBranch(ctx); err != nil || main != "main" {
		t.Fatalf("%q %v", main, err)
	}
	if _, err := f.Pull(ctx, 4711); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("a pull request that is not there: %v", err)
	}
	if _, err := f.FindPull(ctx, "agent/x"); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("that of a branch without one: %v", err)
	}
	commit := s.Branch(t, "agent/x", map[string]string{"a.py": "one\ntwo\nthree\n"})
	p, err := f.OpenPull(ctx, forge.NewPull{Title: "a: add it", Body: "why", Base: "main", Head: "agent/x"})
	must(err)
	if p.Number == 0 || p.HeadCommit != commit || p.Head != "agent/x" || p.Base != "main" || p.State != forge.Open || p.Draft || p.Fork || p.URL == "" || p.Author == "" || p.Title != "a: add it" {
		t.Errorf("%+v", p)
	}
	if _, err := f.OpenPull(ctx, forge.NewPull{Title: "again", Base: "main", Head: "agent/x"}); !errors.Is(err, forge.ErrExists) {
		t.Errorf("a second one of the branch: %v", err)
	}
	if found, err := f.FindPull(ctx, "agent/x"); err != nil || found != p {
		t.Errorf("found %+v, %v", found, err)
	}
	if got, err := f.Pull(ctx, p.Number); err != nil || got != p {
		t.Errorf("read %+v, %v", got, err)
	}
	if i, err := f.Issue(ctx, p.Number); err != nil || i.Number != p.Number || i.Title != "a: add it" || i.Text != "why" || i.Author != p.Author || !i.Open {
		t.Errorf("as an issue %+v, %v", i, err)
	}
	if _, err := f.Issue(ctx, 4711); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("an issue that is not there: %v", err)
	}
	for range 2 { // adding existing labels is not an error
		must(f.Label(ctx, p.Number, []string{"agent", "proved"}))
	}
	contractDraft(t, s)
	contractReview(t, s, p)
	contractChecks(t, s, p)
	contractPeople(t, s, p)
}

// contractPeople checks who may write, and lists the comments on an issue and on all issues.
func contractPeople(t *testing.T, s Subject, p forge.Pull) {
	t.Helper()
	ctx, f := t.Context(), s.Forge
	me, err := f.Me(ctx)
	if err != nil || me == "" {
		t.Errorf("%q %v", me, err)
	}
	for name, want := range map[string]bool{"ada": true, "mallory": false, "../ada": false, "ada?x": false} {
		if may, err := f.MayWrite(ctx, name); err != nil || may != want {
			t.Errorf("%s may write: %v %v", name, may, err)
		}
	}
	if err := f.CommentIssue(ctx, p.Number, "of an issue"); err != nil {
		t.Fatal(err)
	}
	list, err := f.IssueComments(ctx, p.Number)
	if err != nil || !slices.ContainsFunc(list, func(c forge.Comment) bool { return c.Text == "of an issue" && c.Mine && c.Author == me }) {
		t.Errorf("%+v %v", list, err)
	}
	said, err := f.Said(ctx, time.Now().Add(-time.Hour))
	if err != nil || !slices.ContainsFunc(said, func(c forge.Said) bool { return c.Text == "of an issue" && c.Mine && c.Number == p.Number && c.Pull }) {
		t.Errorf("%+v %v", said, err)
	}
}

// contractDraft opens a draft.
func contractDraft(t *testing.T, s Subject) {
	t.Helper()
	s.Branch(t, "agent/draft", map[string]string{"d.py": "d\n"})
	d, err := s.Forge.OpenPull(t.Context(), forge.NewPull{Title: "unproven", Base: "main", Head: "agent/draft", Draft: true})
	if err != nil || !d.Draft {
		t.Errorf("%+v %v", d, err)
	}
}

// contractReview writes, answers and changes comments.
func contractReview(t *testing.T, s Subject, p forge.Pull) {
	t.Helper()
	ctx, f := t.Context(), s.Forge
	if list, err := f.Threads(ctx, p.Number); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}
	if err := f.Review(ctx, p.Number, p.HeadCommit, []forge.LineComment{{Path: "a.py", Line: 2, Text: "mine"}, {Path: "a.py", Line: 3, Text: "mine too"}}); err != nil {
		t.Fatal(err)
	}
	s.Say(t, p.Number, "a.py", 1, "theirs")
	list, err := f.Threads(ctx, p.Number)
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v %v", list, err)
	}
	at := func(line int) forge.Thread {
		i := slices.IndexFunc(list, func(th forge.Thread) bool { return th.Path == "a.py" && th.Line == line })
		if i < 0 {
			t.Fatalf("no thread at line %d: %+v", line, list)
		}
		return list[i]
	}
	if c := at(2).Comments[0]; c.Text != "mine" || !c.Mine || c.Author == "" || c.ID == "" {
		t.Errorf("%+v", c)
	}
	if c := at(1).Comments[0]; c.Text != "theirs" || c.Mine {
		t.Errorf("%+v", c)
	}
	if err := f.Answer(ctx, p.Number, at(2), "fixed", true); err != nil {
		t.Fatal(err)
	}
	if list, err = f.Threads(ctx, p.Number); err != nil || len(list) != 3 || len(at(2).Comments) != 2 || at(2).Comments[1].Text != "fixed" || !at(2).Comments[1].Mine {
		t.Errorf("%+v %v", list, err)
	}
	if err := f.SetComment(ctx, p.Number, "", "first"); err != nil {
		t.Fatal(err)
	}
	said, err := f.Comments(ctx, p.Number)
	i := slices.IndexFunc(said, func(c forge.Comment) bool { return c.Text == "first" && c.Mine })
	if err != nil || i < 0 {
		t.Fatalf("%+v %v", said, err)
	}
	if err := f.SetComment(ctx, p.Number, said[i].ID, "second"); err != nil {
		t.Fatal(err)
	}
	if again, err := f.Comments(ctx, p.Number); err != nil || len(again) != len(said) || again[i].Text != "second" {
		t.Errorf("%+v %v", again, err)
	}
}

// contractChecks sets statuses and reads jobs.
func contractChecks(t *testing.T, s Subject, p forge.Pull) {
	t.Helper()
	ctx, f := t.Context(), s.Forge
	for _, state := range []forge.JobState{forge.Waiting, forge.Failed, forge.Passed} {
		if err := f.SetStatus(ctx, p.HeadCommit, forge.Status{State: state, Context: "agent/gate", Text: strings.Repeat("six gates ", 13), URL: "https://example.org/run"}); err != nil {
			t.Fatal(err)
		}
		jobs, err := f.Jobs(ctx, p.HeadCommit)
		mine := slices.DeleteFunc(jobs, func(j forge.Job) bool { return j.Name != "agent/gate" })
		if err != nil || len(mine) != 1 || mine[0].State != state || mine[0].HasLog {
			t.Errorf("%s: %+v %v", state, mine, err)
		}
	}
	if _, err := f.Log(ctx, forge.Job{ID: "1"}); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("the log of a status: %v", err)
	}
	if err := f.Rerun(ctx, forge.Job{ID: "1"}); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("a status run again: %v", err)
	}
	if s.Fail == nil {
		return
	}
	s.Fail(t, p.HeadCommit, "line one\nAssertionError: 3 != 4\n")
	jobs, err := f.Jobs(ctx, p.HeadCommit)
	i := slices.IndexFunc(jobs, func(j forge.Job) bool { return j.HasLog && j.State == forge.Failed })
	if err != nil || i < 0 {
		t.Fatalf("%+v %v", jobs, err)
	}
	r, err := f.Log(ctx, jobs[i])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if text, err := io.ReadAll(r); err != nil || !strings.Contains(string(text), "AssertionError: 3 != 4") {
		t.Errorf("%q %v", text, err)
	}
	if err := f.Rerun(ctx, jobs[i]); err != nil {
		t.Error(err)
	}
}
