package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/forge/forgetest"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/store/storetest"
)

// A served is a repository on a forge, served by `agent serve`.
type served struct {
	*killing
	git *forgetest.Git
	hub *forgetest.Hub
}

// newServed puts a workspace on a forge whose builds pass, with a model that adds a file in each answer.
func newServed(t *testing.T, url string) *served {
	t.Helper()
	g, dir := forgetest.NewGit(t), filepath.Join(t.TempDir(), "shop")
	if err := os.CopyFS(dir, os.DirFS(scripts)); err != nil {
		t.Fatal(err)
	}
	g.Repository(t, "shop/till", nil)
	for _, step := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "start"}, {"push", "-q", g.Bare("shop/till"), "main"}} {
		forgetest.Run(t, dir, step...)
	}
	hub := forgetest.NewHub(t, g, "shop/till")
	hub.Build(func(string) forgetest.Job {
		return forgetest.Job{Name: "test", Status: "completed", Conclusion: "success"}
	})
	var steps []llmtest.Step
	for n := range 100 { // more than are used, however often something is restarted
		steps = append(steps, llmtest.Step{Text: fmt.Sprintf("<FILE file=\"notes/%d.md\">\nNoted.\n</FILE>\n", n)})
	}
	model := llmtest.Gemini(steps...)
	t.Cleanup(model.Close)
	home := t.TempDir()
	env := append(os.Environ(),
		"AGENT_DATABASE_URL="+url, "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, "cache"), "AGENT_MODE=question", "GEMINI_API_KEY=a-secret-of-the-test-0123456789", "GEMINI_BASE_URL="+model.URL(),
		"AGENT_FORGE_URL="+g.URL, "AGENT_FORGE_KIND=github", "AGENT_FORGE_TOKEN="+forgetest.Token, "AGENT_SERVE_SECRET=")
	return &served{&killing{work: dir, env: env, tree: scripts, patch: scriptsPatch}, g, hub}
}

// serve starts the command, which queries the forge at once.
func (s *served) serve(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := s.command("serve", "--repo", "shop/till", "--poll", "10s")
	cmd.Stderr, cmd.Dir = t.Output(), s.work
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// `agent serve` is killed without warning during a job: while a change is judged, once the pull request is open but not
// yet on record, while it integrates comments, at the end of the job, and once that was answered. The next process
// continues from the record: there is one pull request, one commit, one review and one answer for each job.
func TestServeIsKilledWhileAJobRuns(t *testing.T) {
	t.Parallel()
	db, url := storetest.Warm(t)
	s := newServed(t, url)
	f := newFailpoint(t, url, "integration", "bot_job")
	start := s.git.At(t, "shop/till", "main")
	for i, place := range []string{"run_state verifying", "integration self_review", "integration reviewing", "bot_job done", "bot_job done answered"} {
		issue := 40 + i
		s.hub.AddIssue(forgetest.Issue{Number: issue, Title: fmt.Sprintf("note %d", i)})
		s.hub.SayAs("ada", issue, "", 0, "/agent run")
		f.set(t, place)
		first := s.serve(t)
		waits := f.reached(t)
		if err := first.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := first.Wait(); err == nil {
			t.Errorf("%s: it ended before it was killed", place)
		}
		f.do(t, "select pg_terminate_backend($1)", waits) // the write that it was about to make never happens
		f.lift(t)

		second := s.serve(t)
		answered := false
		for range 6000 { // far longer than a job takes
			if err := f.conn.QueryRow(t.Context(), "select count(*) = $1 and bool_and(answered) from bot_job", i+1).Scan(&answered); err != nil {
				t.Fatal(err)
			}
			if answered {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if err := second.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := second.Wait(); err != nil || !answered {
			t.Fatalf("%s: restarted, it ended with %v; answered %t", place, err, answered)
		}
		if said := s.hub.Said(issue); len(said) != 1 || !strings.Contains(said[0], "**done**") {
			t.Errorf("%s: the answers are %q", place, said)
		}
		shown := s.hub.Shown()
		if len(shown) != i+1 {
			t.Fatalf("%s: %d pull requests after %d jobs: %+v", place, len(shown), i+1, shown)
		}
		if p := shown[i]; p.Title != fmt.Sprintf("Resolve #%d: note %d", issue, i) || len(p.Comments) != 1 || !strings.HasPrefix(p.Comments[0], "## Passed") {
			t.Errorf("%s: the pull request is %+v", place, p)
		}
		if log := forgetest.Run(t, s.git.Bare("shop/till"), "log", "--format=%s", "main.."+shown[i].Head); log != fmt.Sprintf("Resolve issue %d", issue) {
			t.Errorf("%s: the commits are %q", place, log)
		}
		s.nothingLeft(t, db)
	}
	if s.git.At(t, "shop/till", "main") != start {
		t.Error("main was moved")
	}
	if out := forgetest.Run(t, s.git.Bare("shop/till"), "fsck", "--strict"); out != "" {
		t.Error(out)
	}
}
