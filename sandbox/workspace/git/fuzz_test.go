package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzConfigured reads arbitrary text as git's listing of a configuration: each name that results is absolute and clean.
func FuzzConfigured(f *testing.F) {
	f.Add("file:.git/config\x00core.hookspath\nhooks\x00file:/etc/gitconfig\x00include.path\n~/x\x00")
	f.Add("file:a\x00includeif.gitdir:/x.path\n../../y\x00")
	f.Add("\x00\x00\x00core.hookspath\n\x00")
	r := Repo{Top: "/nowhere/top", dir: "/nowhere/top/.git", common: "/nowhere/top/.git"}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range r.configured(text) {
			if !filepath.IsAbs(name) || filepath.Clean(name) != name {
				t.Errorf("%q out of %q", name, text)
			}
		}
	})
}

// FuzzRepository reads arbitrary files as those of a repository, without git. The repository's directories are
// absolute, and the text about HEAD is bounded.
func FuzzRepository(f *testing.F) {
	f.Add([]byte("ref: refs/heads/main\n"), []byte("../x\n"), []byte("# pack-refs\n1111 refs/heads/main\n"), "rebase-merge")
	f.Add([]byte("1111111111111111111111111111111111111111\n"), []byte("\x00"), []byte("a b c\n"), "MERGE_HEAD")
	f.Add([]byte("ref: ../../../../etc/passwd"), []byte("/dev/zero"), []byte{}, "index.lock")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, head, commondir, packed []byte, name string) {
		place := filepath.Join(dir, ".git")
		os.RemoveAll(place)
		if err := os.Mkdir(place, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string][]byte{"HEAD": head, "commondir": commondir, "packed-refs": packed} {
			if err := os.WriteFile(filepath.Join(place, file), text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if filepath.IsLocal(name) && !strings.ContainsAny(name, "/\x00") && utf8.ValidString(name) {
			_ = os.Mkdir(filepath.Join(place, name), 0o755) // it may fail: the name may be too long, or exist
		}
		if r, ok := repoAt(dir); ok && (!filepath.IsAbs(r.dir) || !filepath.IsAbs(r.common)) {
			t.Errorf("%+v", r)
		}
		if text := Head(dir); len(text) > 2*(8<<10)+bufferedLine {
			t.Errorf("%d bytes of HEAD", len(text))
		}
		Halfway(dir)
	})
}

// bufferedLine is the length of the longest line of packed-refs that is read.
const bufferedLine = 64 << 10
