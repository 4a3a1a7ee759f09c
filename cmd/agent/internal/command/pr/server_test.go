//go:build forge

package pr

import (
	"context"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"agent/orchestrator/forge/forgetest"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
	"agent/verify"
)

// workflow tests the program on the machine of the runner; it is the test's own.
const workflow = `name: ci
on: [pull_request]
jobs:
  test:
    runs-on: host
    steps:
      - run: |
          git init -q . && git fetch -q --depth 1 "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY" "$GITHUB_SHA" && git checkout -q FETCH_HEAD
          grep -q ONE till.py || { echo "AssertionError: till.py lacks ONE"; exit 1; }
`

// onGitea is a bench on a real Gitea with a runner.
func onGitea(t *testing.T) (*bench, *forgetest.Gitea) {
	t.Helper()
	built := os.Getenv("AGENT_TEST_FORGE")
	if built == "" {
		t.Fatal("AGENT_TEST_FORGE names no directory: run it by `make test-forge`")
	}
	if err := forgetest.BuildGitea(t.Context(), built); err != nil {
		t.Fatal(err)
	}
	g := forgetest.StartGitea(t, built)
	g.Repository(t, "till", map[string]string{"till.py": "one\ntwo\nthree\n", ".gitea/workflows/ci.yml": workflow}, true)
	b := &bench{t: t, dir: filepath.Join(t.TempDir(), "till")}
	forgetest.Run(t, t.TempDir(), "-c", "credential.helper=", "clone", "-q", strings.Replace(g.URL, "://", "://ada:ada-password-1@", 1)+"/bot/till.git", b.dir)
	forgetest.Run(t, b.dir, "remote", "set-url", "origin", g.URL+"/bot/till.git")
	db, url := storetest.New(t)
	home := t.TempDir()
	t.Setenv("DOCKER_HOST", "unix://"+home+"/docker.sock")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	b.db = db
	b.env = map[string]string{"HOME": home, "AGENT_DATABASE_URL": url, "AGENT_FORGE_URL": g.URL, "AGENT_FORGE_KIND": "gitea", "AGENT_FORGE_TOKEN": g.Token}
	return b, g
}

// pulls are those of the server.
func pulls(t *testing.T, g *forgetest.Gitea) []*sdk.PullRequest {
	t.Helper()
	list, _, err := g.Admin.ListRepoPullRequests("bot", "till", sdk.ListPullRequestsOptions{State: sdk.StateAll})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A pull request's life on a real server: opened, its build red, reviewed, fixed by a person, merged.
// Every command is given twice, as after a kill: nothing is there twice.
func TestThePathOfAPullRequestOnARealServer(t *testing.T) {
	b, g := onGitea(t)
	patient := func(context.Context, time.Duration) error { time.Sleep(time.Second); return nil }
	id := b.promoted("count on", "till.py", "one\ntwo\nthree\n", "one\nTWO\nthree\n", verify.Unproven{Gate: "tests", Kind: "no-tests", Reason: "no test ran"})
	for i := range 2 {
		o := b.opened("--label", "agent", "--label", "proved")
		if o.Number != 1 || o.Existed != (i == 1) || !o.Draft || o.Head != "agent/"+id {
			t.Errorf("%+v", o)
		}
	}
	list := pulls(t, g)
	if len(list) != 1 || list[0].Title != "WIP: count on" || len(list[0].Labels) != 2 || !strings.Contains(list[0].Body, "- `no test ran`") {
		t.Fatalf("%+v", list)
	}

	// The build is red: the runner's own log says why, after a second try.
	b.sleep = patient
	w, exit := b.watch("--interval", "1s", "--timeout", "1m", "1")
	if exit != run.ExitFail || w.Outcome != "failed" || !slices.ContainsFunc(w.Jobs, func(j WatchedJob) bool { return strings.Contains(j.Log, "AssertionError: till.py lacks ONE") }) {
		t.Errorf("%+v, exit code %d", w, exit)
	}

	// Reviewed, and once more.
	failed := verify.Gate{Name: "tests", Verdict: verify.Fail, Findings: []verify.Finding{{File: "till.py", Line: 2, Rule: "one", Message: "till.py lacks ONE"}}}
	b.judges(verdict(verify.Fail, run.ExitFail, nil, failed))
	for i := range 2 {
		if d, exit := b.reviewed("1"); exit != run.ExitFail || d.Posted != 1-i || d.Known != i {
			t.Errorf("%+v, exit code %d", d, exit)
		}
	}
	// A person fixes it on the branch, which stays as they left it.
	fixed := g.Commit(t, "till", "agent/"+id, "by hand", map[string]string{"till.py": "ONE\nTWO\nthree\n"})
	b.judges(verdict(verify.Pass, run.ExitDone, nil))
	for i := range 2 {
		if d, exit := b.reviewed("1"); exit != run.ExitDone || d.Fixed != 1-i || d.Commit != fixed {
			t.Errorf("%+v, exit code %d", d, exit)
		}
	}
	if w, exit = b.watch("--interval", "1s", "--timeout", "1m", "1"); exit != run.ExitDone || w.Outcome != "passed" || w.Commit != fixed {
		t.Errorf("%+v, exit code %d", w, exit)
	}
	said, _, err := g.Admin.ListIssueComments("bot", "till", 1, sdk.ListIssueCommentOptions{})
	if err != nil || len(said) != 1 || !strings.HasPrefix(said[0].Body, "## Passed") {
		t.Errorf("%+v %v", said, err)
	}
	status, _, err := g.Admin.GetCombinedStatus("bot", "till", fixed)
	if err != nil || !slices.ContainsFunc(status.Statuses, func(s *sdk.Status) bool { return s.Context == "agent/gate" && s.State == sdk.StatusSuccess }) {
		t.Errorf("%+v %v", status, err)
	}

	title := "count on"
	if _, _, err := g.Ada.EditPullRequest("bot", "till", 1, sdk.EditPullRequestOption{Title: title}); err != nil {
		t.Fatal(err)
	}
	g.Merge(t, "till", 1)
	if w, exit = b.watch("1"); exit != run.ExitDone || w.Outcome != "merged" {
		t.Errorf("%+v, exit code %d", w, exit)
	}
	b.refused(run.ExitUsage, "is merged", "review", "1")
	b.tokenIsNowhere(g.Token)
}

// watch is `pr watch --json` with the bench's clock.
func (b *bench) watch(args ...string) (w Watched, exit int) {
	b.t.Helper()
	sleep := b.sleep
	w, exit, _, _ = b.watched(func(int) { _ = sleep(b.t.Context(), time.Second) }, args...)
	b.sleep = sleep
	return w, exit
}

// tokenIsNowhere looks for the token, in any form that git or HTTP give it, in all that the commands
// left: cache, state, the clone and its remotes.
func (b *bench) tokenIsNowhere(token string) {
	b.t.Helper()
	forms := []string{token, base64.StdEncoding.EncodeToString([]byte("agent:" + token)), base64.StdEncoding.EncodeToString([]byte(token))}
	files := 0
	for _, dir := range []string{b.env["HOME"], b.dir} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			files++
			text, err := os.ReadFile(path)
			for _, form := range forms {
				if strings.Contains(string(text), form) {
					b.t.Errorf("%s holds the token", path)
				}
			}
			return err
		})
		if err != nil {
			b.t.Error(err)
		}
	}
	if files < 10 {
		b.t.Errorf("only %d files were looked at", files)
	}
}
