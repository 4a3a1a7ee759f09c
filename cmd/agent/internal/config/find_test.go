package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTheProjectIsFoundFromWithin(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{
		"repo/.git", "repo/a/b", "repo/part/deep", "tree/.git/x", "tree/sub", "none/deep", "home/.git", "home/me/x", "home/proj/sub", "open/in/sub", "linked/sub", "odd/agent.toml", "odd/sub",
	} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"repo/part/agent.toml", "home/proj/agent.toml", "open/in/agent.toml", "worktree.git"} {
		if err := os.WriteFile(filepath.Join(top, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/dev/null", filepath.Join(top, "linked", "agent.toml")); err != nil {
		t.Fatal(err)
	}
	// Anyone may have put a file there.
	if err := os.Chmod(filepath.Join(top, "open", "in"), 0o777); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(top, "home")
	for from, want := range map[string]string{
		"repo": "repo", "repo/a": "repo", "repo/a/b": "repo", "repo/part": "repo/part", "repo/part/deep": "repo/part",
		"tree/sub": "tree", "none/deep": "", "home": "home", "home/me/x": "", "home/proj/sub": "home/proj", "open/in/sub": "", "linked/sub": "", "odd/sub": "",
	} {
		if want != "" {
			want = filepath.Join(top, want)
		}
		if got := projectOf(filepath.Join(top, from), home); got != want {
			t.Errorf("from %s: %q, want %q", from, got, want)
		}
	}
	if got := projectOf("/", home); got != "" {
		t.Errorf("the root is the project %q", got)
	}
}
