package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace/internal/treetest"

	"github.com/google/go-cmp/cmp"
)

func repoWant() []string {
	return []string{
		".gitignore", "a.py", "forced", "forced/in.txt", "keep.log", "local", "some", "src", "src/out", "src/out/x",
		"star*.txt", "sub", "sub/.gitignore", "sub/other",
	}
}

func TestScanLeavesOutWhatGitIgnoresButNotWhatItTracks(t *testing.T) {
	t.Parallel()
	dir := treetest.Repo(t)
	check := func(what, dir string, want []string) {
		t.Helper()
		if got := paths(scan(t, dir)); !slices.Equal(got, want) {
			t.Errorf("%s: %s", what, cmp.Diff(want, got))
		}
	}
	check("repository", dir, repoWant())

	treetest.Fill(t, dir, treetest.Files{".git/info/exclude": "private.txt\n", "private.txt": ""})
	check("repository with an exclude file", dir, repoWant())

	treetest.Git(t, dir, "worktree", "add", "-q", filepath.Join(dir+"-tree"))
	t.Cleanup(func() { os.RemoveAll(dir + "-tree") })
	treetest.Fill(t, dir+"-tree", treetest.Files{"x.log": "", "private.txt": "", "forced/out.txt": ""})
	check("further work tree", dir+"-tree", []string{
		".gitignore", "a.py", "forced", "forced/in.txt", "keep.log", "local", "src", "src/out", "src/out/x", "star*.txt",
		"sub", "sub/.gitignore", "sub/other",
	})

	treetest.Git(t, dir, "update-index", "--split-index")
	check("repository with a split index", dir, repoWant())
	check("repository with long object names", treetest.Repo(t, "--object-format=sha256"), repoWant())

	plain := treetest.New(t, treetest.RepoFiles())
	check("no repository", plain, slices.DeleteFunc(repoWant(), func(s string) bool { return strings.HasPrefix(s, "forced") }))
}

func TestScanOfADirectoryInsideARepositoryKnowsTheRulesAround(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{
		".gitignore": "*.log\n/service/tmp\nvendored/\n", "service/a.py": "", "service/a.log": "", "service/tmp": "", "service/forced.log": "",
		"vendored/project/x.log": "", "vendored/project/y": "",
	})
	treetest.Git(t, dir, "init", "-q")
	treetest.Git(t, dir, "add", "-f", "service/forced.log")
	if got, want := paths(scan(t, filepath.Join(dir, "service"))), []string{"a.py", "forced.log"}; !slices.Equal(got, want) {
		t.Errorf("paths %q, want %q", got, want)
	}
	// A directory that is itself ignored is treated as a project of its own.
	if got, want := paths(scan(t, filepath.Join(dir, "vendored/project"))), []string{"x.log", "y"}; !slices.Equal(got, want) {
		t.Errorf("paths in an ignored directory %q, want %q", got, want)
	}
}

func TestScanAsksANestedRepositoryAboutItself(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{".gitignore": "*.log\n", "lib/.gitignore": "*.o\n", "lib/a.o": "", "lib/b.o": "", "lib/c": "", "lib/d.log": "", "e.o": ""})
	treetest.Git(t, dir, "init", "-q")
	treetest.Git(t, filepath.Join(dir, "lib"), "init", "-q")
	treetest.Git(t, filepath.Join(dir, "lib"), "add", "-f", "b.o")
	want := []string{".gitignore", "e.o", "lib", "lib/.gitignore", "lib/b.o", "lib/c", "lib/d.log"}
	if got := paths(scan(t, dir)); !slices.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

// C11.
func TestScanRunsNothingThatTheRepositoryConfigures(t *testing.T) {
	t.Parallel()
	dir := treetest.Repo(t)
	proof := filepath.Join(t.TempDir(), "ran")
	script := filepath.Join(dir, "evil.sh")
	treetest.Fill(t, dir, treetest.Files{
		"evil.sh":                      "0755 #!/bin/sh\ntouch " + proof + "\n",
		".gitattributes":               "* filter=evil diff=evil\n",
		"included":                     "[core]\n\tfsmonitor = " + script + "\n",
		".git/hooks/post-index-change": "0755 #!/bin/sh\ntouch " + proof + "\n",
	})
	for key, value := range map[string]string{
		"core.fsmonitor": script, "core.hooksPath": dir, "core.sshCommand": script, "core.pager": script, "core.editor": script,
		"filter.evil.clean": script, "filter.evil.smudge": script, "filter.evil.process": script, "diff.external": script,
		"alias.ls-files": "!" + script, "core.excludesFile": filepath.Join(dir, "star*.txt"), "core.worktree": "/",
		"include.path": filepath.Join(dir, "included"), "submodule.evil.url": "--upload-pack=" + script, "protocol.ext.allow": "always",
	} {
		treetest.Git(t, dir, "config", "--file", filepath.Join(dir, ".git/config"), key, value)
	}
	before := treetest.OnDisk(t, filepath.Join(dir, ".git"))
	m := scan(t, dir)
	if _, err := os.Stat(proof); !errors.Is(err, os.ErrNotExist) {
		t.Error("the scan ran a program of the workspace")
	}
	treetest.Same(t, ".git after the scan", before, treetest.OnDisk(t, filepath.Join(dir, ".git")))
	if _, ok := m.Lookup("a.py"); !ok || skipped(m)["a.log"] != "ignored by git" {
		t.Errorf("the scan went wrong: %q", paths(m))
	}
}

func TestScanWithoutGitIsRefusedOnlyWhereGitMatters(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if got := paths(scan(t, treetest.New(t, treetest.Files{"a": "", "b/c": ""}))); !slices.Equal(got, []string{"a", "b", "b/c"}) {
		t.Errorf("paths %q", got)
	}
	for _, tree := range []treetest.Files{{".gitignore": "x"}, {"sub/.gitignore": "x"}, {".git/HEAD": "ref: refs/heads/main\n"}} {
		if _, err := Scan(t.Context(), treetest.New(t, tree), nil, Limits{}); err == nil || !strings.Contains(err.Error(), "install git") {
			t.Errorf("%v: %v", tree, err)
		}
	}
}

func TestHeadNamesBranchAndCommit(t *testing.T) {
	t.Parallel()
	dir := treetest.Repo(t)
	commit := strings.TrimSpace(treetest.Git(t, dir, "rev-parse", "HEAD"))
	head := func() string { return scan(t, dir).Head }
	if got, want := head(), "ref: refs/heads/main\n"+commit; got != want {
		t.Errorf("on a branch: %q, want %q", got, want)
	}
	treetest.Git(t, dir, "pack-refs", "--all")
	if got, want := head(), "ref: refs/heads/main\n"+commit; got != want {
		t.Errorf("with packed references: %q, want %q", got, want)
	}
	treetest.Git(t, dir, "checkout", "-q", "--detach")
	if got := head(); got != commit {
		t.Errorf("detached: %q, want %q", got, commit)
	}
	treetest.Git(t, dir, "checkout", "-q", "--orphan", "fresh")
	if got, want := head(), "ref: refs/heads/fresh"; got != want {
		t.Errorf("before the first commit: %q, want %q", got, want)
	}
	treetest.Git(t, dir, "worktree", "add", "-q", dir+"-tree", "main")
	t.Cleanup(func() { os.RemoveAll(dir + "-tree") })
	if got, want := scan(t, dir+"-tree").Head, "ref: refs/heads/main\n"+commit; got != want {
		t.Errorf("in a further work tree: %q, want %q", got, want)
	}
	if got := scan(t, treetest.New(t, nil)).Head; got != "" {
		t.Errorf("outside a repository: %q", got)
	}
}

// A key that a repository ships for its tests is not the secret of someone with a copy, and the tests need it. A key
// that git does not have, has with other content, or has outside of tests is a secret.
func TestKeysOfTestsThatGitHasAreTakenIn(t *testing.T) {
	t.Parallel()
	const key = "-----BEGIN PRIVATE KEY-----\n"
	kept := []string{"a/test/tls/ca.key", "testdata/rsa.pem", "tests/x.pem", "tests/fixtures/.npmrc"}
	left := []string{"deploy/x.pem", "tests/changed.pem", "tests/mine.pem", "tests/ignored.key"}
	tree := treetest.Files{".gitignore": "ignored.key\n"}
	for _, name := range append(slices.Clone(kept), left...) {
		tree[name] = key
	}
	tree["tests/fixtures/.npmrc"] = "//registry.example.com/:_authToken=abc\n"
	dir := treetest.New(t, tree)
	if got := skipped(scan(t, dir)); len(got) != len(kept)+len(left) {
		t.Errorf("without a repository %v", got)
	}
	treetest.Git(t, dir, "init", "-q")
	treetest.Git(t, dir, append([]string{"add", "-f", "deploy/x.pem", "tests/changed.pem"}, kept...)...)
	if err := os.WriteFile(filepath.Join(dir, "tests/changed.pem"), []byte(key+key), 0o644); err != nil {
		t.Fatal(err)
	}
	m := scan(t, dir)
	for _, name := range kept {
		if _, ok := m.Lookup(name); !ok {
			t.Errorf("%s is left out", name)
		}
	}
	got := skipped(m)
	for _, name := range left {
		if got[name] != "secret!" && got[name] != "ignored by git" {
			t.Errorf("%s: %q", name, got[name])
		}
	}
	// The same holds for a work tree below the top.
	if _, ok := scan(t, filepath.Join(dir, "a")).Lookup("test/tls/ca.key"); !ok {
		t.Error("below the top it is left out")
	}
}
