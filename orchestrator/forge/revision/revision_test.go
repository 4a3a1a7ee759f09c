package revision_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/orchestrator/forge/revision"
	"agent/sandbox/workspace"
)

// A repo is a test's repository, accessed with the user's git.
type repo struct {
	t   *testing.T
	dir string
}

func newRepo(t *testing.T) repo {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := repo{t, dir}
	r.git("init", "-q", "-b", "main")
	return r
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@x", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (r repo) write(name, text string) {
	r.t.Helper()
	full := filepath.Join(r.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
		r.t.Fatal(err)
	}
}

func (r repo) commit(message string) string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
	return r.git("rev-parse", "HEAD")
}

func (r repo) open(dir string) *revision.Repository {
	r.t.Helper()
	opened, err := revision.Open(filepath.Join(r.dir, dir))
	if err != nil {
		r.t.Fatal(err)
	}
	return opened
}

func (r repo) scan(dir string) *workspace.Manifest {
	r.t.Helper()
	m, err := workspace.Scan(r.t.Context(), filepath.Join(r.dir, dir), nil, workspace.Limits{})
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

// told lists the effects of a change, and what is set apart.
func told(c revision.Change) string {
	var list []string
	for _, ch := range c.Changes.Sorted() {
		text := fmt.Sprintf("%s %s", ch.Op, ch.Path)
		if ch.From != "" {
			text += " from " + ch.From
		}
		if ch.OldMode != 0 {
			text += fmt.Sprintf(" %o", ch.Mode)
		}
		list = append(list, text)
	}
	for _, a := range c.Apart {
		list = append(list, "apart "+a.Path+": "+a.Reason)
	}
	return strings.Join(list, "; ")
}

// holds lists every file of a manifest with its content, and every link with its target.
func holds(t *testing.T, m *workspace.Manifest) string {
	t.Helper()
	var list []string
	for _, e := range m.Entries {
		switch e.Kind {
		case workspace.File:
			text, err := m.ReadFile(e.Path)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, e.Path+"="+strings.TrimSpace(string(text)))
		case workspace.Symlink:
			list = append(list, e.Path+"->"+e.Target)
		}
	}
	return strings.Join(list, " ")
}

func TestACommitIsAChangeOfItsParentWhateverIsOnDisk(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a.py", "a = 1\n")
	r.write("old/name.py", strings.Repeat("line\n", 50)+"end\n")
	r.write("gone.py", "gone\n")
	r.write("run.sh", "x\n")
	first := r.commit("first")
	r.write("a.py", "a = 2\n")
	r.git("mv", "old/name.py", "moved.py")
	r.write("moved.py", strings.Repeat("line\n", 50)+"other end\n")
	r.git("rm", "-q", "gone.py")
	r.write("new/b.py", "b = 1\n")
	r.git("update-index", "--chmod=+x", "run.sh")
	if err := os.Chmod(filepath.Join(r.dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	second := r.commit("second")
	const want = "modify a.py; rename moved.py from old/name.py; create new/b.py; modify run.sh 755"
	for _, disk := range []string{"as committed", "edited", "emptied"} {
		switch disk {
		case "edited":
			r.write("a.py", "a = 3\n")
			r.write("untracked.py", "u\n")
		case "emptied":
			for _, name := range []string{"a.py", "moved.py", "new", "run.sh", "untracked.py"} {
				if err := os.RemoveAll(filepath.Join(r.dir, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		c, err := r.open(".").Trees(t.Context(), r.scan("."), first, second)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Replace(told(c), "delete gone.py; ", "", 1); got != want {
			t.Errorf("%s: %s", disk, got)
		}
		if got := holds(t, c.Base); !strings.HasPrefix(got, "a.py=a = 1 gone.py=gone old/name.py=line") || strings.Contains(got, "untracked") {
			t.Errorf("%s: the base holds %.80s", disk, got)
		}
		after := c.Base.With(c.Changes)
		if got := holds(t, after); !strings.HasPrefix(got, "a.py=a = 2 moved.py=line") || !strings.HasSuffix(got, "new/b.py=b = 1 run.sh=x") {
			t.Errorf("%s: after it is %.60s", disk, got)
		}
	}
}

// The state after a commit has the same digest as the baseline of its child and as a clean workspace.
func TestAStateHasOneDigest(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a/b.py", "1\n")
	r.write("c.py", "c\n")
	first := r.commit("first")
	r.write("a/b.py", "2\n")
	second := r.commit("second")
	r.git("rm", "-q", "-r", "a")
	third := r.commit("third")
	disk := r.scan(".")
	one, err := r.open(".").Trees(t.Context(), disk, first, second)
	if err != nil {
		t.Fatal(err)
	}
	two, err := r.open(".").Trees(t.Context(), disk, second, third)
	if err != nil {
		t.Fatal(err)
	}
	if one.Base.With(one.Changes).Digest() != two.Base.Digest() {
		t.Error("what a commit leaves is not what the next one begins with")
	}
	if two.Base.With(two.Changes).Digest() != disk.Digest() {
		t.Error("the last commit is not what is on disk")
	}
}

func TestWhatNoChangesetHoldsIsApartAndPartOfTheBase(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	sub := newRepo(t)
	sub.write("lib.py", "1\n")
	sub.commit("lib")
	r.write("a.py", "a\n")
	r.write("big.bin", strings.Repeat("x", 3<<20))
	r.write("pic.png", "version https://git-lfs.github.com/spec/v1\noid sha256:1\n")
	r.git("submodule", "--quiet", "add", sub.dir, "sub")
	if err := os.Symlink("a.py", filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	first := r.commit("first")
	sub.write("lib.py", "2\n")
	sub.commit("more")
	r.git("-C", "sub", "pull", "-q")
	r.write("a.py", "b\n")
	r.write("big.bin", strings.Repeat("y", 3<<20))
	r.write("pic.png", "version https://git-lfs.github.com/spec/v1\noid sha256:2\n")
	r.write(".env", "KEY=1\n")
	r.write("node_modules/x.js", "1\n")
	r.write("key.pem", "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAx\n-----END RSA PRIVATE KEY-----\n")
	os.Remove(filepath.Join(r.dir, "link"))
	os.Symlink("big.bin", filepath.Join(r.dir, "link"))
	second := r.commit("second")
	c, err := r.open(".").Trees(t.Context(), r.scan("."), first, second)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"modify a.py", "apart big.bin: larger than 2 MiB", "apart link: symbolic link", "apart pic.png: stored in Git LFS", "apart key.pem: left out",
		"apart sub: submodule", "apart .env: left out", "apart node_modules/x.js: left out",
	} {
		if !strings.Contains(told(c), want) {
			t.Errorf("%q is not in %s", want, told(c))
		}
	}
	got := holds(t, c.Base)
	for _, want := range []string{"a.py=a", "link->big.bin", "sub/lib.py=2", "oid sha256:2", "big.bin=yyy"} {
		if !strings.Contains(got, want) {
			t.Errorf("the base lacks %q", want)
		}
	}
	if len(c.Changes.Changes) != 1 {
		t.Errorf("%s", told(c))
	}
	if err := os.Remove(filepath.Join(r.dir, "key.pem")); err != nil {
		t.Fatal(err)
	}
	back, err := r.open(".").Trees(t.Context(), r.scan("."), second, first)
	if err != nil || !strings.Contains(told(back), "apart sub: submodule") || !strings.Contains(told(back), "modify a.py") {
		t.Errorf("%s, %v", told(back), err)
	}
	if got := holds(t, back.Base); strings.Contains(got, "PRIVATE") {
		t.Error("a key came out of the object store into the snapshot")
	}
}

func TestAWorkspaceBelowTheTopHasItsOwnPaths(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("lib/a.py", "1\n")
	r.write("other.py", "o\n")
	first := r.commit("first")
	r.write("lib/a.py", "2\n")
	r.write("other.py", "p\n")
	r.git("mv", "lib/a.py", "lib/z.py")
	second := r.commit("second")
	r.write("lib/z.py", "3\n")
	c, err := r.open("lib").Trees(t.Context(), r.scan("lib"), first, second)
	if err != nil || told(c) != "delete a.py; create z.py" {
		t.Errorf("%s, %v", told(c), err)
	}
	c, err = r.open("lib").WorkingTree(t.Context(), r.scan("lib"), second)
	if err != nil || told(c) != "modify z.py" {
		t.Errorf("%s, %v", told(c), err)
	}
	r.git("rm", "-q", "--cached", "-r", "lib")
	third := r.commit("nothing")
	c, err = r.open("lib").Trees(t.Context(), r.scan("lib"), revision.EmptyTree, third)
	if err != nil {
		t.Errorf("%s, %v", told(c), err)
	}
}

func TestOnlyWhatIsStagedIsTheNextCommit(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a.py", "1\n")
	r.write("b.py", "1\n")
	r.commit("first")
	r.write("a.py", "2\n")
	r.git("add", "a.py")
	r.write("a.py", "3\n")
	r.write("b.py", "2\n")
	r.write("later.py", "l\n")
	r.git("add", "-N", "later.py")
	opened := r.open(".")
	tree, err := opened.StagedTree(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	c, err := opened.Trees(t.Context(), r.scan("."), "HEAD", tree)
	if err != nil || told(c) != "modify a.py" || string(c.Changes.Changes[0].After) != "2\n" {
		t.Errorf("%s, %v", told(c), err)
	}
	if got := r.git("status", "--porcelain"); got != "MM a.py\n M b.py\n A later.py" {
		t.Errorf("the index was touched: %q", got)
	}
	if _, err := opened.StagedTree(t.Context(), "/etc/passwd"); err == nil {
		t.Error("an index from elsewhere was read")
	}
}

func TestRangesAreReadAlongFirstParents(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a.py", "0\n")
	first := r.commit("first")
	r.git("checkout", "-q", "-b", "side")
	r.write("s.py", "1\n")
	side := r.commit("on the side")
	r.git("checkout", "-q", "main")
	r.write("a.py", "1\n")
	second := r.commit("second")
	empty := r.commit("empty")
	r.git("merge", "-q", "--no-ff", "-m", "merge", "side")
	opened := r.open(".")
	for expression, want := range map[string]string{
		"":                    "merge merge;",
		"HEAD":                "merge merge;",
		first + "..HEAD":      "second;empty empty;merge merge;",
		first + "..":          "second;empty empty;merge merge;",
		"main...side":         "",
		side + "..." + empty:  "second;empty empty;",
		first:                 "first root;",
		"HEAD..HEAD":          "",
		second + ".." + first: "",
	} {
		steps, err := opened.Range(t.Context(), expression)
		if err != nil {
			t.Fatalf("%s: %v", expression, err)
		}
		got := ""
		for _, s := range steps {
			got += s.Subject
			for what, is := range map[string]bool{" merge": s.Merge, " empty": s.Empty, " root": s.Parent == ""} {
				if is {
					got += what
				}
			}
			got += ";"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", expression, got, want)
		}
	}
	var none *revision.NoRevisionError
	if _, err := opened.Range(t.Context(), "nowhere..HEAD"); !errors.As(err, &none) || none.Name != "nowhere" {
		t.Errorf("%v", err)
	}
	if _, err := opened.Range(t.Context(), "--output=x"); !errors.As(err, &none) {
		t.Errorf("an option was taken: %v", err)
	}
}

func TestAShallowHistoryIsSaidToEnd(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.write("a.py", "0\n")
	first := r.commit("first")
	r.write("a.py", "1\n")
	r.commit("second")
	dir := filepath.Join(t.TempDir(), "shallow")
	r.git("clone", "-q", "--depth=1", "file://"+r.dir, dir)
	opened, err := revision.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened.Range(t.Context(), "HEAD"); err == nil || !strings.Contains(err.Error(), "^\" in this repository, which is a shallow clone") {
		t.Errorf("%v", err)
	}
	if _, err := opened.Range(t.Context(), first+"..HEAD"); err == nil || !strings.Contains(err.Error(), "shallow clone") {
		t.Errorf("%v", err)
	}
}

// TestARepositoryRunsNothing plants a program wherever reading might run one.
func TestARepositoryRunsNothing(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	sprung := filepath.Join(t.TempDir(), "sprung")
	trap := filepath.Join(r.dir, "trap.sh")
	r.write("trap.sh", "#!/bin/sh\ntouch "+sprung+"\ncat\n")
	os.Chmod(trap, 0o755)
	r.write("a.py", "1\n")
	first := r.commit("first")
	r.write("a.py", "2\n")
	r.commit("second")
	r.write(".gitattributes", "* diff=evil filter=evil merge=evil\n")
	for _, key := range []string{
		"core.fsmonitor", "core.pager", "pager.log", "gpg.program", "diff.external", "diff.evil.textconv", "diff.evil.command",
		"filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "core.sshCommand", "core.hooksPath", "uploadpack.packObjectsHook",
	} {
		r.git("config", key, trap)
	}
	r.git("config", "alias.log", "!"+trap)
	r.write("a.py", "3\n")
	opened, disk := r.open("."), r.scan(".")
	_, err := opened.Trees(t.Context(), disk, first, "HEAD")
	_, werr := opened.WorkingTree(t.Context(), disk, "HEAD")
	_, serr := opened.StagedTree(t.Context(), "")
	_, rerr := opened.Range(t.Context(), first+"..HEAD")
	if err := errors.Join(err, werr, serr, rerr); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(sprung); err == nil {
		t.Error("the repository had a program run")
	}
}

func TestWhereThereIsNoRepository(t *testing.T) {
	t.Parallel()
	if _, err := revision.Open(t.TempDir()); !errors.Is(err, revision.ErrNone) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := newRepo(t)
	r.write("a", "1")
	r.commit("first")
	if _, err := r.open(".").Commit(ctx, "HEAD"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if !r.open(".").HasObject(t.Context(), "HEAD") || r.open(".").HasObject(t.Context(), strings.Repeat("0", 40)) {
		t.Error("objects are not told apart")
	}
}

func TestWhatAPushBringsIsWhatTheRemoteLacks(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	var commits []string
	for i := range 6 {
		r.write("a.py", fmt.Sprint(i))
		commits = append(commits, r.commit(fmt.Sprint(i)))
	}
	r.git("update-ref", "refs/remotes/origin/main", commits[1])
	zero := strings.Repeat("0", 40)
	for _, c := range []struct {
		known, remote string
		most          int
		want          string
		more          bool
	}{
		{commits[3], "origin", 9, "4 5", false},
		{zero, "origin", 9, "2 3 4 5", false},
		{zero, "https://x/y?z", 9, "2 3 4 5", false},
		{strings.Repeat("1", 40), "origin", 2, "4 5", true},
		{commits[5], "origin", 9, "", false},
		{zero, "other", 9, "0 1 2 3 4 5", false},
	} {
		steps, more, err := r.open(".").Pushed(t.Context(), "main", c.known, c.remote, c.most)
		var got []string
		for _, s := range steps {
			got = append(got, s.Subject)
		}
		if err != nil || strings.Join(got, " ") != c.want || more != c.more {
			t.Errorf("%+v: %v, %t, %v", c, got, more, err)
		}
	}
}
