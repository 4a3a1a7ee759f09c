package pr

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/forge/forgetest"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/history"
	"agent/orchestrator/store/storetest"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A bench is a forge with the repository shop/till, a clone of it, and a record.
type bench struct {
	t    *testing.T
	git  *forgetest.Git
	hub  *forgetest.Hub
	db   *store.DB
	dir  string // the clone
	env  map[string]string
	runs int
	// These replace the gates and the clock; nil means the real ones.
	prove func(ctx *cli.Context, s *wire.Session, of comparison, intent string) (run.Document, error)
	find  func(ctx *cli.Context, s *wire.Session, o order) (run.Document, error)
	sleep func(ctx context.Context, d time.Duration) error
	carry func(ctx *cli.Context, s *wire.Session, o order) (builder.Result, error)
}

func newBench(t *testing.T, files map[string]string) *bench {
	t.Helper()
	b := &bench{t: t, git: forgetest.NewGit(t), dir: filepath.Join(t.TempDir(), "till")}
	remote := b.git.Repository(t, "shop/till", files)
	b.hub = forgetest.NewHub(t, b.git, "shop/till")
	forgetest.Run(t, t.TempDir(), "clone", "-q", b.git.Bare("shop/till"), b.dir)
	forgetest.Run(t, b.dir, "remote", "set-url", "origin", remote)
	db, url := storetest.New(t)
	b.db = db
	home := t.TempDir()
	t.Setenv("DOCKER_HOST", "unix://"+home+"/docker.sock")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache"))
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	b.env = map[string]string{"HOME": home, "AGENT_DATABASE_URL": url, "AGENT_FORGE_URL": b.git.URL, "AGENT_FORGE_KIND": "github", "AGENT_FORGE_TOKEN": forgetest.Token}
	return b
}

// promoted records a run that was proved on the clone in its current state, and writes after to a file.
func (b *bench) promoted(intent, name, before, after string, unproven ...verify.Unproven) string {
	b.t.Helper()
	return b.promotedIn(b.dir, intent, name, before, after, unproven...)
}

// promotedIn is like promoted, in another directory.
func (b *bench) promotedIn(dir, intent, name, before, after string, unproven ...verify.Unproven) string {
	b.t.Helper()
	must := func(err error) {
		b.t.Helper()
		if err != nil {
			b.t.Fatal(err)
		}
	}
	seen, err := workspace.Scan(b.t.Context(), dir, nil, workspace.Limits{})
	must(err)
	b.runs++
	id := "0k" + string(rune('0'+b.runs))
	ctx := b.t.Context()
	cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: name, Before: []byte(before), After: []byte(after), Mode: 0o644}}}
	must(b.db.Create(ctx, run.Record{ID: id, Workspace: cmdline.Resolved(dir), Intent: intent, Owner: "o", Started: time.Now()}))
	must(b.db.Advance(ctx, id, 1, run.Analyzing, "", seen.Digest()))
	must(b.db.SaveCandidate(ctx, id, 1, gate.Candidate{
		Verdict: verify.Pass, Changeset: cs, Digest: cs.Digest(), Diff: cs.Diff(), Unproven: unproven,
		Gates: []verify.Gate{{Name: "lint", Verdict: verify.Pass}, {Name: "tests", Verdict: verify.Pass, Detail: "12 passed"}},
	}))
	p := run.Promotion{Status: run.Committed, Approved: "--yes", Changeset: cs}
	must(b.db.SavePromotion(ctx, id, 1, p))
	must(b.db.Finish(ctx, id, 1, run.Ending{State: run.Promoted, Verdict: verify.Pass, Unproven: unproven}))
	must(os.WriteFile(filepath.Join(dir, name), []byte(after), 0o644))
	return id
}

// agent runs a command in the clone.
func (b *bench) agent(args ...string) (stdout, stderr string, err error) {
	b.t.Helper()
	var out, told bytes.Buffer
	line := cmdline.New(func(k string) string { return b.env[k] }, strings.NewReader(""), &out, &told)
	group := Command(line)
	if b.prove != nil || b.sleep != nil || b.find != nil || b.carry != nil {
		group = command{Line: line, prove: b.prove, find: b.find, carry: b.carry, sleep: b.sleep}.group()
	}
	app := &cli.App{Name: "agent", DisableSliceFlagSeparator: true, ExitErrHandler: func(*cli.Context, error) {}, Commands: []*cli.Command{group}}
	err = app.RunContext(b.t.Context(), append([]string{"agent", "pr", args[0], "--workspace", b.dir}, args[1:]...))
	return out.String(), told.String(), err
}

// opened returns the document of `pr open --json`.
func (b *bench) opened(args ...string) (o Opened) {
	b.t.Helper()
	out, _, err := b.agent(append([]string{"open", "--json"}, args...)...)
	if err != nil {
		b.t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(out), &o); err != nil {
		b.t.Fatalf("%v\n%s", err, out)
	}
	return o
}

// refused runs a command that must fail with this exit code, and with says in its message.
func (b *bench) refused(exit int, says string, args ...string) {
	b.t.Helper()
	_, _, err := b.agent(args...)
	if err == nil {
		b.t.Errorf("%q works", args)
		return
	}
	p, code := fault.Classify(b.t.Context(), err)
	if code != exit || !strings.Contains(p.Message, says) || p.Next == "" || strings.Contains(p.Message+p.Next, forgetest.Token) {
		b.t.Errorf("%q: exit code %d, %s (next: %s), want %d, %s", args, code, p.Message, p.Next, exit, says)
	}
}

var till = map[string]string{"till.py": "one\ntwo\nthree\nfour\nfive\n", ".github/pull_request_template.md": "## Checklist\n"}

func TestARunBecomesAPullRequestOnce(t *testing.T) {
	b := newBench(t, till)
	id := b.promoted("round prices up", "till.py", till["till.py"], "ONE\ntwo\nthree\nfour\nfive\n")
	dry := b.opened("--dry-run")
	if dry.Number != 0 || !dry.DryRun || dry.Head != "agent/"+id || dry.Base != "main" || dry.Draft {
		t.Errorf("%+v", dry)
	}
	if w := b.git.Writes(); len(w) > 0 {
		t.Errorf("--dry-run wrote: %q", w)
	}
	first := b.opened("--label", "agent")
	if first.Number != 1 || first.Existed || first.Commit != dry.Commit || first.Commits[0].Run != id || first.Commits[0].Again != "" {
		t.Errorf("%+v", first)
	}
	again := b.opened("--label", "agent")
	if again.Number != 1 || !again.Existed || again.Commit != first.Commit {
		t.Errorf("%+v", again)
	}
	shown := b.hub.Shown()
	if len(shown) != 1 || shown[0].Title != "round prices up" || shown[0].Draft || strings.Join(shown[0].Labels, " ") != "agent" {
		t.Fatalf("%+v", shown)
	}
	for _, want := range []string{"## Checklist\n", "| `tests` | pass | `12 passed` |", "Nothing that the gates know of", "Run `" + id + "`"} {
		if !strings.Contains(shown[0].Body, want) {
			t.Errorf("no %q in %s", want, shown[0].Body)
		}
	}
	bare := b.git.Bare("shop/till")
	if got := forgetest.Run(t, bare, "log", "--format=%an <%ae>%n%B", "main..agent/"+id); !strings.HasPrefix(got, "agent <agent@localhost>\nround prices up\n") || !strings.Contains(got, "Agent-Run: "+id+"\nAgent-Verdict: pass") {
		t.Error(got)
	}
	if got := forgetest.Run(t, bare, "show", "agent/"+id+":till.py"); got != "ONE\ntwo\nthree\nfour\nfive" {
		t.Error(got)
	}
	if out := forgetest.Run(t, bare, "fsck", "--strict"); out != "" {
		t.Error(out)
	}
	b.namesThePull(id)
	// The output is text for people, and the working tree is unchanged.
	out, _, err := b.agent("open")
	if err != nil || !strings.Contains(out, "pull request 1 already exists: "+b.git.URL) || !strings.Contains(out, "round prices up (run "+id+")") {
		t.Errorf("%s %v", out, err)
	}
	if got := forgetest.Run(t, b.dir, "status", "--short", "--branch"); !strings.Contains(got, "main") || !strings.Contains(got, "M till.py") {
		t.Error(got)
	}
}

// namesThePull checks that `agent review` and `agent blame` name a run's pull request, and the review that it was made for.
func (b *bench) namesThePull(id string) {
	b.t.Helper()
	ctx := b.t.Context()
	list, err := b.db.Promotions(ctx, history.ReviewFilter{Run: id, All: true})
	if err != nil || len(list) != 1 || list[0].Pull != "shop/till#1" {
		b.t.Errorf("%+v %v", list, err)
	}
	here := store.Repository{Host: strings.TrimPrefix(b.git.URL, "http://"), Slug: "shop/till"}
	said := store.ReviewComment{Thread: "1", Comment: "2", Author: "ada", State: store.CommentAnswered, Run: id, FixCommit: "c"}
	if err := b.db.SaveReviewComment(ctx, here, 1, said); err != nil {
		b.t.Fatal(err)
	}
	past, err := b.db.FileHistory(ctx, cmdline.Resolved(b.dir), "till.py")
	if err != nil || len(past) != 1 || past[0].Pull != "shop/till#1; shop/till#1, comment by ada" {
		b.t.Errorf("%+v %v", past, err)
	}
}

func TestSeveralRunsAreSeveralCommitsAndPeoplesStay(t *testing.T) {
	b := newBench(t, till)
	one := b.promoted("first", "till.py", till["till.py"], "ONE\ntwo\nthree\nfour\nfive\n")
	// The person commits nothing in between, so the second run was proved on files that equal those after the first
	// commit only where the clone is unchanged.
	two := b.promoted("second", "till.py", "ONE\ntwo\nthree\nfour\nfive\n", "ONE\ntwo\nthree\nfour\nFIVE\n", verify.Unproven{Gate: "tests", Kind: "no-tests", Reason: "no test ran"})
	o := b.opened("--run", one, "--run", two, "--head", "prices", "--title", "Both")
	if len(o.Commits) != 2 || o.Head != "prices" || o.Title != "Both" || !o.Draft || !b.hub.Shown()[0].Draft {
		t.Errorf("%+v", o)
	}
	person := b.git.Commit(t, "shop/till", "prices", "by hand", map[string]string{"more.py": "x\n"})
	if again := b.opened("--run", one, "--run", two, "--head", "prices"); !again.Existed || again.Commit != person {
		t.Errorf("%+v", again)
	}
	if b.git.At(t, "shop/till", "prices") != person {
		t.Error("a person's commit is gone")
	}
	// A branch with that name belongs to someone else.
	b.git.Commit(t, "shop/till", "theirs", "by hand", map[string]string{"more.py": "x\n"})
	b.refused(run.ExitApproval, "holds no commit of run "+one, "open", "--run", one, "--head", "theirs")
	// The name of a run in a message does not make a commit that of the run if other files or other lines came with it.
	b.git.Commit(t, "shop/till", "more", "round up\n\nAgent-Run: "+one, map[string]string{"till.py": "ONE\ntwo\nthree\nfour\nfive\n", "more.py": "x\n"})
	b.refused(run.ExitApproval, "holds no commit of run "+one, "open", "--run", one, "--head", "more")
	b.git.Commit(t, "shop/till", "other", "round up\n\nAgent-Run: "+one, map[string]string{"till.py": "EVIL\ntwo\nthree\nfour\nfive\n"})
	b.refused(run.ExitApproval, "holds no commit of run "+one, "open", "--run", one, "--head", "other")
}

func TestAKilledOpeningIsTakenUp(t *testing.T) {
	b := newBench(t, till)
	id := b.promoted("round up", "till.py", till["till.py"], "ONE\ntwo\nthree\nfour\nfive\n")
	// The process died after the push of the branch; main has moved since.
	dry := b.opened("--dry-run")
	forgetest.Run(t, b.git.Bare("shop/till"), "fetch", "-q", filepath.Join(os.Getenv("XDG_CACHE_HOME"), "agent", "forge", strings.ReplaceAll(strings.TrimPrefix(b.git.URL, "http://"), ":", "_"), "shop/till/objects.git"), dry.Commit+":refs/heads/agent/"+id)
	b.git.Commit(t, "shop/till", "main", "moved", map[string]string{"other.py": "x\n"})
	o := b.opened()
	if o.Number != 1 || o.Existed || o.Commit != dry.Commit || len(b.hub.Shown()) != 1 {
		t.Errorf("%+v", o)
	}
}

func TestWhatCannotBeOpenedIsTold(t *testing.T) {
	b := newBench(t, till)
	b.refused(run.ExitUsage, "no run of", "open")
	id := b.promoted("round up", "till.py", till["till.py"], "ONE\ntwo\nthree\nfour\nfive\n")
	b.refused(run.ExitUsage, "mutually exclusive", "open", "--run", id, "--branch", "x")
	b.refused(run.ExitUsage, `no branch "nonesuch"`, "open", "--base", "nonesuch")
	b.refused(run.ExitUsage, `no branch "nonesuch"`, "open", "--branch", "nonesuch")
	b.refused(run.ExitUsage, "already contains all of main", "open", "--branch", "main")
	b.refused(run.ExitUsage, "on https://evil.example", "open", "--repo", "https://evil.example/shop/till")
	b.refused(run.ExitUsage, "not the address of a repository", "open", "--repo", "ext::sh -c id")
	b.refused(run.ExitUsage, "not found", "open", "--repo", "shop/other")

	// The base moved outside the change: the change must be judged again, which needs an engine.
	b.git.Commit(t, "shop/till", "main", "moved", map[string]string{"other.py": "x\n"})
	b.refused(run.ExitInfra, "needs a container engine, and none answers", "open")
	if o := b.opened("--dry-run"); !strings.Contains(o.Commits[0].Again, "it would be judged again") {
		t.Errorf("%+v", o)
	}
	// The base changed the same lines.
	b.git.Commit(t, "shop/till", "main", "moved", map[string]string{"till.py": "uno\ntwo\nthree\nfour\nfive\n"})
	b.refused(run.ExitConflict, "does not have the lines that the change was made for in till.py", "open")
	// The base already has the change.
	b.git.Commit(t, "shop/till", "main", "moved", map[string]string{"till.py": "ONE\ntwo\nthree\nfour\nfive\n"})
	b.refused(run.ExitUsage, "already has the change of run "+id, "open")

	for name, value := range map[string]string{"AGENT_FORGE_KIND": "bitbucket", "AGENT_FORGE_TOKEN": "", "AGENT_FORGE_URL": "http://git.example.org"} {
		was := b.env[name]
		b.env[name] = value
		exit, says := run.ExitUsage, map[string]string{"AGENT_FORGE_KIND": "bitbucket", "AGENT_FORGE_TOKEN": "there is no token for", "AGENT_FORGE_URL": "the configured forge is http://git.example.org"}[name]
		b.refused(exit, says, "open")
		b.env[name] = was
	}
	b.env["AGENT_FORGE_URL"] = "http://git.example.org"
	b.refused(run.ExitApproval, "unencrypted", "open", "--repo", "shop/till")
	b.env["AGENT_FORGE_URL"] = b.git.URL
	b.git.Deny()
	b.refused(run.ExitUsage, "does not accept the token", "open")
	if len(b.hub.Shown()) != 0 || len(b.git.Writes()) != 0 {
		t.Errorf("%+v %q", b.hub.Shown(), b.git.Writes())
	}
	forgetest.Run(t, b.dir, "remote", "remove", "origin")
	b.refused(run.ExitUsage, "no remote origin", "open")
	if err := os.RemoveAll(filepath.Join(b.dir, ".git")); err != nil {
		t.Fatal(err)
	}
	b.refused(run.ExitUsage, "is not in a git repository", "open")
}

func TestAnEmptyRepositoryIsTold(t *testing.T) {
	b := newBench(t, till)
	b.promoted("round up", "till.py", till["till.py"], "ONE\ntwo\nthree\nfour\nfive\n")
	bare := b.git.Bare("shop/till")
	forgetest.Run(t, bare, "update-ref", "-d", "refs/heads/main")
	b.refused(run.ExitUsage, "is empty", "open")
}

// If no token is configured, the user's own credential helper provides one; the repository's helper is not asked.
func TestTheUsersOwnCredentialHelper(t *testing.T) {
	b := newBench(t, till)
	b.promoted("round up", "till.py", till["till.py"], "ONE\ntwo\nthree\nfour\nfive\n")
	b.env["AGENT_FORGE_TOKEN"] = ""
	canary := filepath.Join(t.TempDir(), "canary")
	forgetest.Run(t, b.dir, "config", "credential.helper", "!touch "+canary+"; echo username=x; echo password="+forgetest.Token)
	b.refused(run.ExitUsage, "there is no token for", "open")
	if _, err := os.Stat(canary); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the repository's helper was asked")
	}
	helper := "[credential]\n\thelper = \"!f() { echo username=ada; echo password=" + forgetest.Token + "; }; f\"\n[user]\n\tname = Ada\n\temail = ada@example.org\n"
	if err := os.WriteFile(filepath.Join(b.env["HOME"], ".gitconfig"), []byte(helper), 0o644); err != nil {
		t.Fatal(err)
	}
	if o := b.opened(); o.Number != 1 {
		t.Errorf("%+v", o)
	}
	if got := forgetest.Run(t, b.git.Bare("shop/till"), "log", "-1", "--format=%an", "agent/0k1"); got != "Ada" {
		t.Error(got)
	}
}
