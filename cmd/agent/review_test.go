package main

import (
	"encoding/json"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"agent/cmd/agent/internal/command/review"
	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/run"
)

// me returns the name of the user who runs the tests.
func me(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// said returns the reviews in the record, one a line.
func (h pastRuns) said(t *testing.T) string {
	t.Helper()
	return h.ask(t, run.ExitDone, "sql", "--csv", "select run, verdict, comment, reviewer = '"+me(t)+"' as mine from v_reviews where review is not null order by review").stdout
}

func TestReviewTellsProgramsWhatWaits(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.promote(t, firstRun, "price = 3\n")
	var list []review.Reviewed
	read := func(args ...string) {
		t.Helper()
		list = nil
		text := h.ask(t, run.ExitDone, append([]string{"review", "--json"}, args...)...).stdout
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	read()
	if len(list) != 2 || list[0].Run != promotedRun || list[1].Run != firstRun {
		t.Fatalf("waiting are %+v", list)
	}
	r := list[1]
	if r.Model != "patch" || r.Cost != nil || len(r.Gates) != 2 || r.Fixed != 3 || len(r.Files) != 1 || !strings.Contains(r.Diff, "+price = 3") || r.Intent != "patch 1k3c.xml" || r.Verdict != "" {
		t.Errorf("told of it is %+v", r)
	}
	termtest.Golden(t, "review-list.txt", h.timeless(h.ask(t, run.ExitDone, "review").stdout))
	termtest.Golden(t, "review-one.txt", h.timeless(h.ask(t, run.ExitDone, "review", firstRun).stdout))

	for args, why := range map[string]string{
		"review --accept": "need a run", "review --comment no": "need a run", "review zzz": "no run has a name",
		"review " + rejectedRun: "promoted nothing", "review " + rejectedRun + " --accept": "promoted nothing", "review --color blue": "auto, always",
	} {
		if got := h.ask(t, run.ExitUsage, strings.Fields(args)...); !strings.Contains(got.stderr, why) || !strings.Contains(got.stderr, "next: ") {
			t.Errorf("agent %s: %s", args, got.stderr)
		}
	}
	read(firstRun, "--accept", "--comment", "it was \x1b[31mtime")
	if len(list) != 1 || list[0].Verdict != "accepted" || list[0].Reviewer != me(t) {
		t.Errorf("the answer is %+v", list)
	}
	read("-w", h.dir)
	if len(list) != 1 || list[0].Run != promotedRun {
		t.Errorf("left are %+v", list)
	}
	h.ask(t, run.ExitDone, "review", promotedRun, "--comment", "why?")
	if got := h.said(t); got != "run,verdict,comment,mine\n"+firstRun+",accepted,it was \x1b[31mtime,true\n"+promotedRun+",commented,why?,true\n" {
		t.Errorf("the record has %q", got)
	}
	if got := h.ask(t, run.ExitDone, "review", "--all"); strings.Contains(got.stdout, "\x1b") || !strings.Contains(got.stdout, "accepted") {
		t.Errorf("all are\n%s", got.stdout)
	}
	if got := h.ask(t, run.ExitDone, "review"); !strings.Contains(got.stderr, "nothing is waiting") {
		t.Errorf("all were reviewed, yet %s", got.stderr)
	}
}

// A person reviews three promotions: comments on one, accepts one, undoes one.
func TestAPersonWalksTheReviews(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.promote(t, firstRun, strings.Repeat("price = 3\n", 200)+"the very last line\n")
	h.promote(t, secondRun, "price = 4\n")
	opened := filepath.Join(t.TempDir(), "opened")
	editor := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" > "+opened+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"EDITOR": editor + " --wait", "PAGER": "/bin/cat", "NO_COLOR": "1", "TERM": "xterm"}
	for name, value := range h.env {
		env[name] = value
	}
	p := aPerson(t, env)
	ended := make(chan int, 1)
	go func() {
		ended <- execute(t.Context(), []string{"review"}, p.cmd.Getenv, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr)
	}()
	const question = "Your review?"
	asked := 0
	says := func(text string) {
		t.Helper()
		asked++
		p.Sees(t, question, asked)
		p.Types(t, text)
	}
	says("e")
	says("h")
	says("c")
	p.Sees(t, "Your comment:", 1)
	p.Types(t, "look again\n")
	says("n")
	says("f")
	p.Sees(t, "the very last line", 1)
	says("a")
	says("u")
	p.Sees(t, "Write this to the workspace?", 1)
	p.Types(t, "n")
	says("u")
	p.Sees(t, "Write this to the workspace?", 2)
	p.Types(t, "y")
	if exit := <-ended; exit != run.ExitDone {
		t.Errorf("exit code %d\n%s", exit, p.Screen())
	}
	for _, text := range []string{"1 of 3", "3 of 3", "lint pass 0.2s", "3 findings fixed", "patch, cost unknown, approved by --yes", "was not approved", "press one of a, c, u, e, f, n, q", "nothing else is waiting"} {
		p.Sees(t, text, 1)
	}
	h.holds(t, "shop.py", strings.Repeat("price = 3\n", 200)+"the very last line\n")
	if got, err := os.ReadFile(opened); string(got) != "--wait\n"+filepath.Join(h.dir, "shop.py")+"\n" || err != nil {
		t.Errorf("the editor was given %q, %v", got, err)
	}
	if got := h.said(t); got != "run,verdict,comment,mine\n"+promotedRun+",commented,look again,true\n"+firstRun+",accepted,,true\n"+secondRun+",undone,,true\n" {
		t.Errorf("the record has %q", got)
	}
}

// Text is paged at a person's terminal, and nowhere else.
func TestATextIsPagedOnATerminal(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	pager := filepath.Join(t.TempDir(), "pager")
	if err := os.WriteFile(pager, []byte("#!/bin/sh\necho paged $1\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"PAGER": pager + " -X", "TERM": "xterm"}
	for name, value := range h.env {
		env[name] = value
	}
	for i, args := range [][]string{{"runs", "diff", promotedRun}, {"runs", "show", promotedRun}, {"blame", "shop.py", "-w", h.dir}} {
		p := aPerson(t, env)
		if exit := execute(t.Context(), args, p.cmd.Getenv, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr); exit != run.ExitDone {
			t.Fatalf("agent %v: exit code %d\n%s", args, exit, p.Screen())
		}
		p.Sees(t, "paged -X", 1)
		p.Sees(t, "price = 2", 1)
		p.Sees(t, "\x1b[", 2)
		p = aPerson(t, env)
		args = append(args, "--no-pager", "--color", "never")
		if i == 0 {
			env["TERM"] = "dumb" // such a terminal cannot show what a pager does
			args = args[:len(args)-3]
		}
		if exit := execute(t.Context(), args, p.cmd.Getenv, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr); exit != run.ExitDone {
			t.Fatalf("agent %v: exit code %d\n%s", args, exit, p.Screen())
		}
		env["TERM"] = "xterm"
		p.Sees(t, "price = 2", 1)
		if got := p.Screen(); strings.Contains(got, "paged") || strings.Contains(got, "\x1b[") {
			t.Errorf("agent %v shows %q", args, got)
		}
	}
	if got := h.ask(t, run.ExitDone, "runs", "diff", promotedRun, "--color", "always").stdout; !strings.Contains(got, "\x1b[32m+") {
		t.Errorf("colours for a program that wants them: %q", got)
	}
	if got := h.ask(t, run.ExitDone, "runs", "diff", promotedRun).stdout; got != aChange().Diff() {
		t.Errorf("for git apply: %q", got)
	}
}
