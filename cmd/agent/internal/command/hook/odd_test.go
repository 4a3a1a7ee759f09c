package hook

import (
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/run"
)

// In every state that git knows for a repository, the hook reaches the engine, which does not answer here, or says why
// it cannot. It never stops a commit because of the state.
func TestRepositoriesInOddStates(t *testing.T) {
	t.Parallel()
	// conflict leaves the bench in the middle of a merge or a rebase with a file that both sides changed.
	conflict := func(b *bench, how ...string) {
		b.git("checkout", "-q", "-b", "topic")
		b.write("a.sh", "echo 2\n")
		b.git("commit", "-q", "-a", "-m", "two")
		b.git("checkout", "-q", "main")
		b.write("a.sh", "echo 3\n")
		b.git("commit", "-q", "-a", "-m", "three")
		b.mayFail(how...)
	}
	staged := func(b *bench) {
		b.write("b.sh", "echo 4\n")
		b.git("add", "-A")
	}
	const asked, nothing = "not judged; the commit continues", ""
	for name, c := range map[string]struct {
		prepare func(b *bench)
		says    string
	}{
		"a shallow clone": {func(b *bench) {
			staged(b)
			b.git("commit", "-q", "-m", "more")
			b.git("clone", "-q", "--depth", "1", "file://"+b.dir, "clone")
			b.dir = filepath.Join(b.dir, "clone")
			b.write("c.sh", "echo 5\n")
			b.git("add", "-A")
		}, asked},
		"a linked work tree": {func(b *bench) {
			b.git("worktree", "add", "-q", "linked")
			b.dir = filepath.Join(b.dir, "linked")
			staged(b)
		}, asked},
		"a sparse checkout": {func(b *bench) {
			staged(b)
			b.git("commit", "-q", "-m", "more")
			b.git("sparse-checkout", "set", "--no-cone", "/a.sh")
			b.write("a.sh", "echo 6\n")
			b.git("add", "a.sh")
		}, asked},
		"a merge that is resolved": {func(b *bench) {
			conflict(b, "merge", "-q", "topic")
			b.write("a.sh", "echo 5\n")
			b.git("add", "a.sh")
		}, asked},
		"a merge that is not": {func(b *bench) { conflict(b, "merge", "-q", "topic") }, "a.sh: unmerged"},
		"a rebase that is resolved": {func(b *bench) {
			conflict(b, "rebase", "-q", "topic")
			b.write("a.sh", "echo 5\n")
			b.git("add", "a.sh")
		}, asked},
		"a detached head":   {func(b *bench) { b.git("checkout", "-q", "--detach"); staged(b) }, asked},
		"nothing is staged": {func(b *bench) { b.write("a.sh", "if\n") }, nothing},
		"a bare repository": {func(b *bench) {
			bare := filepath.Join(b.TempDir(), "bare")
			b.git("clone", "-q", "--bare", ".", bare)
			b.dir = bare
		}, "a bare repository has none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			c.prepare(b)
			exit, out := b.run("pre-commit")
			if exit != 0 || (c.says == "") != (out == "") || !strings.Contains(out, c.says) {
				t.Errorf("exit %d\n%s", exit, out)
			}
			if c.says == asked && strings.Contains(out, "git ") {
				t.Errorf("git did not know what is staged:\n%s", out)
			}
			if exit, out := b.run("pre-commit", "--strict"); c.says != "" && exit != run.ExitFail {
				t.Errorf("strict: exit %d\n%s", exit, out)
			}
		})
	}
}

// mayFail runs a git command that ends in a conflict.
func (b *bench) mayFail(args ...string) { b.Helper(); b.command(args...).Run() }
