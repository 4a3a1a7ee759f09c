package git

import (
	"os"
	"path/filepath"
	"testing"

	"agent/sandbox/workspace/internal/treetest"
)

func TestFindRepoFollowsWhatGitWrites(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{
		"plain/.git/HEAD":             "ref: refs/heads/main\n",
		"plain/a/b/f":                 "",
		"plain/a/.git/":               "",
		"other/HEAD":                  "ref: refs/heads/x\n",
		"other/commondir":             "../plain/.git\n",
		"relative/.git":               "gitdir: ../other\n",
		"broken/.git":                 "nothing that git writes",
		"nowhere/.git":                "gitdir: ../none\n",
		"linked/.git":                 "->../plain/.git",
		"plain/.git/refs/heads/main":  "1111111111111111111111111111111111111111\n",
		"plain/.git/refs/heads/x":     "2222222222222222222222222222222222222222\n",
		"plain/.git/packed-refs":      "# pack-refs\n3333333333333333333333333333333333333333 refs/heads/packed\n^4444\n",
		"packed/.git/HEAD":            "ref: refs/heads/packed\n",
		"packed/.git/commondir":       "../../plain/.git",
		"none/sub/f":                  "",
		"fifo/.git/objects/something": "",
	})
	treetest.Fill(t, dir, treetest.Files{"absolute/.git": "gitdir: " + filepath.Join(dir, "other") + "\n"})
	treetest.FIFO(t, filepath.Join(dir, "fifo/.git/HEAD"))
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	for name, want := range map[string]struct {
		repo Repo
		head string
	}{
		"plain":     {Repo{at("plain"), at("plain/.git"), at("plain/.git")}, "ref: refs/heads/main\n1111111111111111111111111111111111111111"},
		"plain/a/b": {Repo{at("plain"), at("plain/.git"), at("plain/.git")}, "ref: refs/heads/main\n1111111111111111111111111111111111111111"},
		"relative":  {Repo{at("relative"), at("other"), at("plain/.git")}, "ref: refs/heads/x\n2222222222222222222222222222222222222222"},
		"absolute":  {Repo{at("absolute"), at("other"), at("plain/.git")}, "ref: refs/heads/x\n2222222222222222222222222222222222222222"},
		"linked":    {Repo{at("linked"), at("linked/.git"), at("linked/.git")}, "ref: refs/heads/main\n1111111111111111111111111111111111111111"},
		"packed":    {Repo{at("packed"), at("packed/.git"), at("plain/.git")}, "ref: refs/heads/packed\n3333333333333333333333333333333333333333"},
	} {
		got, ok := Find(at(name))
		if !ok || got != want.repo {
			t.Errorf("%s: %+v, %v, want %+v", name, got, ok, want.repo)
		}
		if head := got.Head(); head != want.head {
			t.Errorf("%s: HEAD %q, want %q", name, head, want.head)
		}
	}
	for _, name := range []string{"broken", "nowhere", "none/sub", "fifo"} {
		if got, ok := Find(at(name)); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestHalfwayNamesWhatGitHasNotFinished(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"index.lock", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"} {
		dir := treetest.New(t, treetest.Files{".git/HEAD": "x\n"})
		r, ok := Find(dir)
		if !ok {
			t.Fatal("no repository")
		}
		if file, what := r.halfway(); file != "" || what != "" {
			t.Errorf("nothing is halfway, but %s: %s", file, what)
		}
		if err := os.Mkdir(filepath.Join(dir, ".git", name), 0o755); err != nil {
			t.Fatal(err)
		}
		if file, what := r.halfway(); file != ".git/"+name || what == "" {
			t.Errorf("%s: %s: %s", name, file, what)
		}
	}
}

func TestFirstLineReadsSmallRegularFilesOnly(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"one": "line\n", "two": "  first \nsecond\n", "open": "no end", "empty": "", "dir/": ""})
	treetest.FIFO(t, filepath.Join(dir, "fifo"))
	for name, want := range map[string]string{"one": "line", "two": "first", "open": "no end", "empty": "", "dir": "", "fifo": "", "none": ""} {
		if got := firstLine(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
