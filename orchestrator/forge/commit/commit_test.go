package commit_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/forge/commit"
	"agent/orchestrator/forge/revision"
	"agent/sandbox/workspace"
)

var ann = commit.Identity{Name: "Ann", Email: "ann@example.org"}

// A bench is a repository with a.py = 1 and b.py = 1 in its first commit.
type bench struct {
	*testing.T
	dir  string
	repo *revision.Repository
}

func newBench(t *testing.T, commits bool) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{T: t, dir: dir}
	b.git("init", "-q", "-b", "main")
	b.write("a.py", "1\n")
	b.write("b.py", "1\n")
	if commits {
		b.git("add", "-A")
		b.git("commit", "-q", "-m", "first")
	}
	b.repo, err = revision.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) git(args ...string) string {
	b.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@x"}, args...)...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimRight(string(out), "\n")
}

func (b *bench) write(name, text string) {
	b.Helper()
	full := filepath.Join(b.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
		b.Fatal(err)
	}
}

// order returns an order that changes a.py and creates new/c.py.
func (b *bench) order() commit.Order {
	b.Helper()
	disk, err := workspace.Scan(b.Context(), b.dir, nil, workspace.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	before, _ := disk.ReadFile("a.py")
	return commit.Order{
		Run: "r1", By: ann, Disk: disk, Message: func([]string) string {
			return commit.Message("Round up", [][2]string{{"Agent-Run", "r1"}, {"Agent-Model", ""}, {"Agent-Verdict", "pass"}})
		},
		Changes: workspace.Changeset{Changes: []workspace.Change{
			{Op: workspace.Modify, Path: "a.py", Before: before, After: []byte("2\n"), Mode: 0o644},
			{Op: workspace.Create, Path: "new/c.py", After: []byte("c\n"), Mode: 0o755},
		}},
	}
}

// promote writes the changes of the order, as a promotion does.
func (b *bench) promote() {
	b.Helper()
	b.write("a.py", "2\n")
	b.write("new/c.py", "c\n")
	if err := os.Chmod(filepath.Join(b.dir, "new/c.py"), 0o755); err != nil {
		b.Fatal(err)
	}
}

// clean checks that no reference is left behind and that the repository is intact.
func (b *bench) clean() {
	b.Helper()
	if got := b.git("for-each-ref", "refs/agent"); got != "" {
		b.Errorf("left behind: %s", got)
	}
	b.git("fsck", "--strict", "--no-dangling")
}

func TestAPromotionBecomesACommit(t *testing.T) {
	t.Parallel()
	b := newBench(t, true)
	// The user's state: one file staged, one edited, one stashed.
	b.write("stashed.py", "s\n")
	b.git("add", "stashed.py")
	b.git("stash", "-q")
	b.write("staged.py", "s\n")
	b.git("add", "staged.py")
	b.write("b.py", "edited\n")
	stash, old := b.git("rev-parse", "refs/stash"), b.git("rev-parse", "HEAD")
	c, err := commit.Prepare(t.Context(), b.repo, b.order())
	if err != nil {
		t.Fatal(err)
	}
	if b.git("rev-parse", "HEAD") != old || strings.Join(c.Besides, " ") != "b.py staged.py" {
		t.Errorf("the branch moved before the files did, or beside it are %v", c.Besides)
	}
	b.promote()
	if err := errors.Join(c.Place(t.Context()), c.Finish(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := b.git("show", "-s", "--format=%an <%ae> %cn|%P|%B", "HEAD"); got != "Ann <ann@example.org> Ann|"+old+"|Round up\n\nAgent-Run: r1\nAgent-Verdict: pass" {
		t.Errorf("%q", got)
	}
	if got := b.git("log", "-1", "--format=%(trailers:key=Agent-Verdict,valueonly)"); strings.TrimSpace(got) != "pass" {
		t.Errorf("%q", got)
	}
	if got := b.git("status", "--porcelain"); got != " M b.py\nA  staged.py" {
		t.Errorf("%q", got)
	}
	if got := b.git("ls-tree", "-r", "HEAD"); !strings.Contains(got, "100755 blob") || strings.Contains(got, "staged") {
		t.Errorf("%s", got)
	}
	if b.git("rev-parse", "refs/stash") != stash || b.git("symbolic-ref", "HEAD") != "refs/heads/main" {
		t.Error("the stash or the branch is another")
	}
	b.clean()
}

// Nothing that a repository names is run: a program is planted wherever committing with git would run one.
func TestNoProgramOfTheRepositoryIsRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, true)
	sprung := filepath.Join(t.TempDir(), "sprung")
	trap := filepath.Join(b.dir, ".git", "trap.sh")
	script := "#!/bin/sh\necho $0 >>" + sprung + "\ncat\n"
	for _, name := range []string{"pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction", "post-index-change", "pre-auto-gc", "post-rewrite"} {
		b.write(".git/hooks/"+name, script)
		os.Chmod(filepath.Join(b.dir, ".git/hooks", name), 0o755)
	}
	b.write(".git/trap.sh", script)
	os.Chmod(trap, 0o755)
	for _, key := range []string{"core.fsmonitor", "gpg.program", "gpg.ssh.program", "filter.evil.clean", "filter.evil.process", "core.editor", "core.pager", "sequence.editor"} {
		b.git("config", key, trap)
	}
	b.git("config", "commit.gpgSign", "true")
	b.git("config", "core.hooksPath", filepath.Join(b.dir, ".git", "hooks"))
	os.Remove(sprung)
	c, err := commit.Prepare(t.Context(), b.repo, b.order())
	if err != nil {
		t.Fatal(err)
	}
	b.promote()
	if err := errors.Join(c.Place(t.Context()), c.Finish(t.Context())); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(sprung); err == nil {
		t.Errorf("run: %s", text)
	}
	// A filter is not run either, because what it would store was not judged.
	b.write(".gitattributes", "*.py filter=evil\n")
	o := b.order()
	o.Run, o.Changes.Changes = "r2", o.Changes.Changes[:1]
	o.Changes.Changes[0].After = []byte("3\n")
	var refused *commit.RefusedError
	if _, err := commit.Prepare(t.Context(), b.repo, o); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "filter=evil") {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(sprung); err == nil {
		t.Errorf("run: %s", text)
	}
}

func TestWhatACommitWouldTakeAlongIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(*bench, *commit.Order)
		says    string
	}{
		"edits": {func(b *bench, o *commit.Order) { b.write("a.py", "mine\n"); *o = b.order() }, "uncommitted edits"},
		"staged": {func(b *bench, o *commit.Order) {
			b.write("a.py", "mine\n")
			b.git("add", "a.py")
			b.write("a.py", "1\n")
			*o = b.order()
		}, "staged changes"},
		"a merge":      {func(b *bench, _ *commit.Order) { b.write(".git/MERGE_HEAD", "x") }, "a merge is in progress"},
		"a rebase":     {func(b *bench, _ *commit.Order) { b.write(".git/rebase-merge/x", "x") }, "a rebase is in progress"},
		"a lock":       {func(b *bench, _ *commit.Order) { b.write(".git/index.lock", "") }, "git is running"},
		"a branch":     {func(b *bench, o *commit.Order) { o.Branch = "main" }, "already exists"},
		"a bad branch": {func(b *bench, o *commit.Order) { o.Branch = "-x..y" }, "is not a branch name"},
		"line endings": {func(b *bench, o *commit.Order) {
			b.git("config", "core.autocrlf", "true")
			o.Changes.Changes[0].After = []byte("2\r\n")
		}, "other line endings"},
		"an identifier": {func(b *bench, o *commit.Order) { b.write(".gitattributes", "a.py ident\n"); *o = b.order() }, "ident=set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, true)
			o := b.order()
			c.prepare(b, &o)
			old := b.git("rev-parse", "HEAD")
			var refused *commit.RefusedError
			if _, err := commit.Prepare(t.Context(), b.repo, o); !errors.As(err, &refused) || !strings.Contains(refused.Reason, c.says) || refused.Next == "" {
				t.Errorf("%v", err)
			}
			if b.git("rev-parse", "HEAD") != old || b.git("for-each-ref", "refs/agent") != "" {
				t.Error("something was written")
			}
		})
	}
}

func TestABranchGetsTheCommitAndTheWorkTreeNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, true)
	o := b.order()
	o.Branch = "agent/round-up"
	b.write(".git/MERGE_HEAD", b.git("rev-parse", "HEAD")) // irrelevant for another branch
	c, err := commit.Prepare(t.Context(), b.repo, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Place(t.Context()), c.Finish(t.Context())); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(b.dir, ".git/MERGE_HEAD"))
	if got := b.git("status", "--porcelain") + b.git("show", "agent/round-up:a.py"); got != "2" || c.Ref != "refs/heads/agent/round-up" {
		t.Errorf("%q, %s", got, c.Ref)
	}
	b.clean()
}

func TestDetachedUnbornAndLinkedWorkTrees(t *testing.T) {
	t.Parallel()
	unborn := newBench(t, false)
	linked := newBench(t, true)
	other := filepath.Join(t.TempDir(), "other")
	linked.git("worktree", "add", "-q", other)
	linked.dir = other
	repo, err := revision.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	linked.repo = repo
	detached := newBench(t, true)
	detached.git("checkout", "-q", "--detach")
	for name, b := range map[string]*bench{"unborn": unborn, "linked": linked, "detached": detached} {
		o := b.order()
		if name == "unborn" { // every file counts as an uncommitted edit
			o.Changes.Changes = o.Changes.Changes[1:]
		}
		c, err := commit.Prepare(t.Context(), b.repo, o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b.promote()
		if err := errors.Join(c.Place(t.Context()), c.Finish(t.Context())); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := b.git("show", "--name-only", "--format=", "HEAD"); !strings.HasSuffix(got, "new/c.py") {
			t.Errorf("%s: %s", name, got)
		}
		want := ""
		if name == "unborn" {
			want = "?? a.py\n?? b.py"
		}
		if got := b.git("status", "--porcelain"); got != want {
			t.Errorf("%s: %q", name, got)
		}
		b.clean()
	}
}

// Files left out by a sparse checkout are not treated as deleted: the commit contains them, and the index still does.
func TestASparseCheckoutKeepsWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	b := newBench(t, true)
	b.write("far/d.py", "1\n")
	b.git("add", "-A")
	b.git("commit", "-q", "-m", "second")
	b.git("sparse-checkout", "set", "near")
	if _, err := os.Stat(filepath.Join(b.dir, "far")); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("far is checked out: %v", err)
	}
	c, err := commit.Prepare(t.Context(), b.repo, b.order())
	if err != nil {
		t.Fatal(err)
	}
	b.promote()
	if err := errors.Join(c.Place(t.Context()), c.Finish(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := b.git("show", "--name-status", "--format=", "HEAD"); got != "M\ta.py\nA\tnew/c.py" {
		t.Errorf("the commit has %q", got)
	}
	if got := b.git("show", "HEAD:far/d.py"); got != "1" || strings.Join(c.Besides, " ") != "far/d.py" { // it was judged without that file
		t.Errorf("left out were %q, besides %q", got, c.Besides)
	}
	if got := b.git("status", "--porcelain"); got != "" {
		t.Errorf("status: %s", got)
	}
	b.clean()
}

func TestABranchThatMovedKeepsItsCommits(t *testing.T) {
	t.Parallel()
	b := newBench(t, true)
	c, err := commit.Prepare(t.Context(), b.repo, b.order())
	if err != nil {
		t.Fatal(err)
	}
	b.git("commit", "-q", "--allow-empty", "-m", "meanwhile")
	var refused *commit.RefusedError
	if err := c.Place(t.Context()); !errors.As(err, &refused) || !strings.Contains(refused.Reason, "main has moved") {
		t.Errorf("%v", err)
	}
	if err := c.Withdraw(t.Context()); err != nil || b.git("show", "-s", "--format=%s", "HEAD") != "meanwhile" {
		t.Errorf("%v", err)
	}
	b.clean()
}

// A process may die anywhere: Settle finishes or withdraws its commit, depending on whether the files were promoted.
func TestWhatAKillLeavesIsSettled(t *testing.T) {
	t.Parallel()
	const prepared, placed = "prepared", "placed"
	for _, died := range []string{prepared, placed} {
		for _, promoted := range []bool{true, false} {
			for _, how := range []string{"main", "detached", "branch"} {
				b := newBench(t, true)
				o := b.order()
				switch how {
				case "detached":
					b.git("checkout", "-q", "--detach")
				case "branch":
					o.Branch = "side"
				}
				old := b.git("rev-parse", "HEAD")
				c, err := commit.Prepare(t.Context(), b.repo, o)
				if err != nil {
					t.Fatal(err)
				}
				if promoted && how != "branch" {
					b.promote()
				}
				if died == placed {
					if err := c.Place(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				for range 2 { // and once more
					if err := commit.Settle(t.Context(), b.dir, "r1", promoted); err != nil {
						t.Fatal(err)
					}
				}
				is := b.git("rev-parse", "HEAD")
				if want := map[bool]string{true: c.ID, false: old}[promoted && how != "branch"]; is != want {
					t.Errorf("%s, promoted %t, %s: HEAD is %s, want %s", died, promoted, how, is, want)
				}
				if got := b.git("status", "--porcelain"); got != "" {
					t.Errorf("%s, promoted %t, %s: %q", died, promoted, how, got)
				}
				b.clean()
			}
		}
	}
	if err := commit.Settle(t.Context(), t.TempDir(), "r1", true); err != nil {
		t.Errorf("where there is no repository: %v", err)
	}
}

// If the user has moved on, Settle changes nothing.
func TestWhatTheUserDidSinceStays(t *testing.T) {
	t.Parallel()
	b := newBench(t, true)
	if _, err := commit.Prepare(t.Context(), b.repo, b.order()); err != nil {
		t.Fatal(err)
	}
	b.promote()
	b.git("commit", "-q", "-a", "-m", "mine")
	if err := commit.Settle(t.Context(), b.dir, "r1", true); err != nil || b.git("show", "-s", "--format=%s", "HEAD") != "mine" {
		t.Errorf("%v", err)
	}
	b.clean()
	b.git("checkout", "-q", "--detach")
	o := b.order()
	o.Changes.Changes = o.Changes.Changes[:1]
	o.Changes.Changes[0].After = []byte("3\n")
	if _, err := commit.Prepare(t.Context(), b.repo, o); err != nil {
		t.Fatal(err)
	}
	b.git("checkout", "-q", "main")
	if err := commit.Settle(t.Context(), b.dir, "r1", true); err != nil || b.git("show", "-s", "--format=%s", "HEAD") != "mine" {
		t.Errorf("%v", err)
	}
	b.clean()
}

func TestWhoCommitsIsWhomGitNames(t *testing.T) {
	t.Parallel()
	b := newBench(t, true)
	home := t.TempDir()
	env := map[string]string{"HOME": home}
	ask := func() (commit.Identity, error) {
		return commit.WhoCommits(t.Context(), b.repo, func(k string) string { return env[k] })
	}
	if _, err := os.Stat("/etc/gitconfig"); err != nil {
		if _, err := ask(); err == nil || !strings.Contains(err.Error(), "is not set in git") {
			t.Errorf("%v", err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = Ben\n\temail = ben@x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(); err != nil || got != (commit.Identity{Name: "Ben", Email: "ben@x"}) {
		t.Errorf("%v, %v", got, err)
	}
	b.git("config", "user.email", "work@x")
	env["GIT_AUTHOR_NAME"] = "Cy\nD"
	if got, err := ask(); err != nil || got != (commit.Identity{Name: "Cy D", Email: "work@x"}) {
		t.Errorf("%v, %v", got, err)
	}
	delete(env, "GIT_AUTHOR_NAME")
	env["GIT_CONFIG_GLOBAL"] = filepath.Join(home, "none")
	if _, err := os.Stat("/etc/gitconfig"); err != nil {
		if got, err := ask(); err == nil {
			t.Errorf("%v", got)
		}
	}
}

func TestAMessageEndsWithItsTrailers(t *testing.T) {
	t.Parallel()
	got := commit.Message(" Subject\r\n\r\nBody\n", [][2]string{{"Agent-Run", "r1"}, {"Agent-Unproven", "no\ntest ran"}, {"Agent-Model", " "}})
	if got != "Subject\n\nBody\n\nAgent-Run: r1\nAgent-Unproven: no test ran\n" {
		t.Errorf("%q", got)
	}
}
