package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/sandbox/workspace/internal/dirfd"

	"agent/sandbox/workspace/internal/treetest"

	"github.com/google/go-cmp/cmp"
)

// skipped maps the paths that a manifest left out to their reasons, those that are not quiet with a "!".
func skipped(m *Manifest) map[string]string {
	list := map[string]string{}
	for _, s := range m.Skipped {
		list[s.Path] = s.Reason
		if !s.Quiet {
			list[s.Path] += "!"
		}
	}
	return list
}

func TestScanListsFilesDirectoriesAndLinks(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{
		"b.txt": "0640 bee\n", "a/x.sh": "0755 #!", "a/b/": "0700 ", "a.txt": "", "to-b": "->b.txt", "é": "accent",
		"loop": "->loop", "up": "->..", "dangling": "->nowhere/at all",
	})
	m := scan(t, dir)
	want := []string{"a", "a.txt", "a/b", "a/x.sh", "b.txt", "dangling", "loop", "to-b", "up", "é"}
	if got := paths(m); !slices.Equal(got, want) {
		t.Errorf("paths %q, want %q", got, want)
	}
	if m.Root != dir {
		t.Errorf("root %q, want %q", m.Root, dir)
	}
	info, err := os.Stat(filepath.Join(dir, "b.txt"))
	if err != nil {
		t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	wantFile := Entry{
		Path: "b.txt", Kind: File, Mode: 0o640, Size: 4, MTime: info.ModTime().UnixNano(), CTime: st.Ctim.Nano(), Inode: st.Ino, Device: st.Dev,
		Digest: "85bc2efb6d25ff2fd1f6da31d0d3e4d4953ae5d4d52b3f95ca4bdae6a4cf1e4e",
	}
	wantFile.Digest = Digest([]byte("bee\n"))
	if got, _ := m.Lookup("b.txt"); got != wantFile {
		t.Errorf("file: %s", cmp.Diff(wantFile, got))
	}
	if got, _ := m.Lookup("dangling"); got.Kind != Symlink || got.Target != "nowhere/at all" || got.Digest != Digest([]byte("nowhere/at all")) {
		t.Errorf("link: %+v", got)
	}
	if got, _ := m.Lookup("a/b"); got.Kind != Dir || got.Mode != 0o700 || got.Digest != "" || got.Size != 0 {
		t.Errorf("directory: %+v", got)
	}
	if _, ok := m.Lookup("a/none"); ok {
		t.Error("an absent path is found")
	}
}

func TestScanLeavesOutWhatNobodyWrote(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{
		"src/main.py": "", ".git/config": "", "sub/.git": "gitdir: elsewhere\n", "sub/f": "",
		".agent/HISTORY.md": "", "deep/.agent/stays": "",
		"node_modules/x/index.js": "", "web/node_modules/y": "", "src/__pycache__/main.pyc": "", "src/old.pyc": "",
		".mypy_cache/a": "", ".ruff_cache/a": "", ".pytest_cache/a": "", ".tox/a": "", ".nox/a": "", ".cache/a": "",
		".vscode/settings.json": "{}", ".idea/x": "", ".DS_Store": "", "autovenv/x": "",
		".venv/pyvenv.cfg": "", ".venv/lib/x.py": "", "venv/bin/activate": "", "custom/pyvenv.cfg": "", "env/Scripts/activate": "",
		"tools/env/config.py": "kept", "dist/kept": "", "build/kept": "", "code/kept": "", "venv2/kept": "",
		".agent-slot-run-1-3": "",
	})
	m := scan(t, dir)
	want := []string{
		"build", "build/kept", "code", "code/kept", "deep", "deep/.agent", "deep/.agent/stays", "dist", "dist/kept",
		"src", "src/main.py", "sub", "sub/f", "tools", "tools/env", "tools/env/config.py", "venv2", "venv2/kept", "web",
	}
	if got := paths(m); !slices.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	for _, s := range m.Skipped {
		if !s.Quiet {
			t.Errorf("%+v is not quiet", s)
		}
	}
	if got := skipped(m); got[".venv"] != "virtual environment" || got["sub/.git"] != "git" {
		t.Errorf("reasons: %v", got)
	}
}

func TestScanNeverTakesSecretsIn(t *testing.T) {
	t.Parallel()
	secret := []string{
		".env", ".env.production", "app/.env.local", ".netrc", "_netrc", ".pypirc", ".pgpass", ".git-credentials", "id_rsa", "k/id_ed25519",
		"cert.p12", "cert.PFX", "store.jks", "a.keystore", ".ssh", ".aws", "x/.gnupg", ".kube", ".docker/config.json", ".npmrc", "tls/server.pem", "tls/server.key",
	}
	tree := treetest.Files{
		".ssh/known_hosts": "h", ".aws/credentials": "c", "x/.gnupg/ring": "r", ".kube/config": "c",
		".npmrc":         "//registry.example.com/:_authToken=abc\n",
		"tls/server.pem": "-----BEGIN CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\n", "tls/server.key": "-----BEGIN PRIVATE KEY-----\n",
		"tls/ca.pem": "-----BEGIN CERTIFICATE-----\n", "fr.key": "hello = bonjour\n", "web/.npmrc": "save-exact=true\n",
		".env.example": "A=\n", ".env.sample": "", "x/.env.template": "", ".env.dist": "", "id_rsa.pub": "ssh-rsa", "config.json": "{}", "environment": "",
	}
	for _, name := range secret {
		if _, ok := tree[name]; !ok && !strings.HasSuffix(name, ".ssh") && !strings.HasSuffix(name, ".aws") && !strings.HasSuffix(name, ".gnupg") && !strings.HasSuffix(name, ".kube") {
			tree[name] = "secret"
		}
	}
	m := scan(t, treetest.New(t, tree))
	got := skipped(m)
	slices.Sort(secret)
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, secret) {
		t.Error(cmp.Diff(secret, names))
	}
	for name, reason := range got {
		if reason != "secret!" {
			t.Errorf("%s: %s", name, reason)
		}
	}
	for _, name := range []string{".env.example", ".env.dist", "tls/ca.pem", "fr.key", "web/.npmrc", "id_rsa.pub", "config.json"} {
		if _, ok := m.Lookup(name); !ok {
			t.Errorf("%s is left out", name)
		}
	}
}

// C08.
func TestScanSkipsSpecialFilesAndOddNamesWithoutBlocking(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"ok": "", "d/ok": ""})
	treetest.FIFO(t, filepath.Join(dir, "pipe"))
	treetest.FIFO(t, filepath.Join(dir, "d", "key.pem"))
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.WriteFile(filepath.Join(dir, "d", "caf\xe9"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mknod(filepath.Join(dir, "null"), syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
		t.Fatal(err)
	}
	m := scan(t, dir)
	want := map[string]string{"pipe": "fifo!", "d/key.pem": "fifo!", "s": "socket!", "null": "device!", `d/"caf\xe9"`: "name is not UTF-8!"}
	if diff := cmp.Diff(want, skipped(m)); diff != "" {
		t.Error(diff)
	}
	if got := paths(m); !slices.Equal(got, []string{"d", "d/ok", "ok"}) {
		t.Errorf("paths %q", got)
	}
}

func TestScanExcludesByPatternWithExceptions(t *testing.T) {
	t.Parallel()
	tree := treetest.Files{"data/big/1": "", "data/big/keep.txt": "", "data/2": "", "src/a.gen.py": "", "src/a.py": "", "other/big/1": ""}
	for _, test := range []struct{ patterns, want []string }{
		{nil, []string{"data", "data/2", "data/big", "data/big/1", "data/big/keep.txt", "other", "other/big", "other/big/1", "src", "src/a.gen.py", "src/a.py"}},
		{[]string{"data"}, []string{"other", "other/big", "other/big/1", "src", "src/a.gen.py", "src/a.py"}},
		{[]string{"**/big", "**/*.gen.py"}, []string{"data", "data/2", "other", "src", "src/a.py"}},
		{[]string{"data", "other", "!data/big/keep.txt"}, []string{"data", "data/big", "data/big/keep.txt", "src", "src/a.gen.py", "src/a.py"}},
	} {
		m := scan(t, treetest.New(t, tree), test.patterns...)
		if got := paths(m); !slices.Equal(got, test.want) {
			t.Errorf("exclude %q: %s", test.patterns, cmp.Diff(test.want, got))
		}
		if slices.Contains(test.patterns, "other") && skipped(m)["other"] != "excluded" {
			t.Errorf("exclude %q: %v", test.patterns, m.Skipped)
		}
		if test.patterns != nil && len(m.Skipped) == 0 {
			t.Errorf("exclude %q: nothing is said to be skipped", test.patterns)
		}
	}
	if _, err := Scan(t.Context(), treetest.New(t, tree), []string{"[a"}, Limits{}); err == nil || !strings.Contains(err.Error(), "agent.toml") {
		t.Errorf("a bad pattern: %v", err)
	}
}

// C19.
func TestScanBeyondTheLimitsNamesTheLargestDirectories(t *testing.T) {
	t.Parallel()
	tree := treetest.Files{"a.txt": "1"}
	for i := range 30 {
		tree[fmt.Sprintf("data/raw/%02d", i)] = strings.Repeat("x", 1000)
	}
	dir := treetest.New(t, tree)
	_, err := Scan(t.Context(), dir, nil, Limits{Files: 20})
	var big *TooLargeError
	if !errors.As(err, &big) || big.Files != 21 || big.Largest[0].Path != "data/raw" {
		t.Fatalf("too many files: %v", err)
	}
	if text := err.Error(); !strings.Contains(text, "data/raw") || !strings.Contains(text, "exclude in agent.toml") || !strings.Contains(text, "20") {
		t.Errorf("message: %s", text)
	}
	_, err = Scan(t.Context(), dir, nil, Limits{Bytes: 10_000})
	if !errors.As(err, &big) || big.Bytes < 10_000 || big.Largest[0].Path != "data/raw" {
		t.Errorf("too many bytes: %v", err)
	}
	if _, err := Scan(t.Context(), dir, []string{"data"}, Limits{Files: 20}); err != nil {
		t.Errorf("with the large directory excluded: %v", err)
	}
}

func TestScanRefusesWhatIsNoDirectory(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"f": ""})
	for _, name := range []string{"f", "none"} {
		_, err := Scan(t.Context(), filepath.Join(dir, name), nil, Limits{})
		if err == nil || !strings.Contains(err.Error(), filepath.Join(dir, name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if m := scan(t, treetest.New(t, nil)); len(m.Entries) != 0 {
		t.Errorf("an empty workspace has %v", m.Entries)
	}
	if err := os.Symlink(dir, dir+".link"); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(dir + ".link")
	if m := scan(t, dir+".link"); m.Root != dir {
		t.Errorf("root through a link: %q", m.Root)
	}
}

func TestScanOfAnUnreadableFileSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for name, tree := range map[string]treetest.Files{
		"a/shut.txt": {"a/shut.txt": "0000 x"},
		"a/shut":     {"a/shut/": "0000 "},
	} {
		dir := treetest.New(t, tree)
		treetest.OpenParents(t, dir)
		out, err := treetest.AsNobody(second(t, dir)).CombinedOutput()
		if err == nil || !strings.Contains(string(out), name) || !strings.Contains(string(out), "chmod") || !strings.Contains(string(out), "agent.toml") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

func TestScanStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Scan(ctx, treetest.New(t, treetest.Files{"f": ""}), nil, Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestDigestDependsOnContentAlone(t *testing.T) {
	t.Parallel()
	tree := treetest.Files{"a": "1", "b/c": "0755 2", "l": "->a"}
	dir := treetest.New(t, tree)
	first := scan(t, dir).Digest()
	if other := scan(t, treetest.New(t, tree)).Digest(); other != first {
		t.Error("an equal tree elsewhere has another digest")
	}
	then := time.Unix(1, 0)
	if err := os.Chtimes(filepath.Join(dir, "a"), then, then); err != nil {
		t.Fatal(err)
	}
	if scan(t, dir).Digest() != first {
		t.Error("a touch changes the digest")
	}
	seen := map[string]string{first: "the tree"}
	for _, tree := range []treetest.Files{
		{"a": "2", "b/c": "0755 2", "l": "->a"},
		{"a": "1", "b/c": "2", "l": "->a"},
		{"a": "1", "b/c": "0755 2", "l": "->b"},
		{"a": "1", "b/c": "0755 2", "l": "a"},
		{"a": "1", "b/c": "0755 2"},
		{"a": "1", "b/c": "0755 2", "l": "->a", "d/": ""},
		{"a": "1", "b/c": "0755 2", "l": "->a", "b/": "0700 "},
	} {
		d := scan(t, treetest.New(t, tree)).Digest()
		if seen[d] != "" {
			t.Errorf("%v has the digest of %s", tree, seen[d])
		}
		seen[d] = fmt.Sprint(tree)
	}
}

func TestScanSeesAnEditOfEqualSizeWithTheOldTime(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"f": "before"})
	name := filepath.Join(dir, "f")
	m := scan(t, dir)
	e, _ := m.Lookup("f")
	if err := os.WriteFile(name, []byte("behind"), 0o644); err != nil {
		t.Fatal(err)
	}
	then := time.Unix(0, e.MTime)
	if err := os.Chtimes(name, then, then); err != nil {
		t.Fatal(err)
	}
	if scan(t, dir).Digest() == m.Digest() {
		t.Error("the edit is not seen")
	}
}

func TestAFileThatChangesUnderTheReaderIsReadAgainThenRefused(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"f": strings.Repeat("x", 100)})
	tr, err := dirfd.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	// hashFile calls the context's Err at each read, so the context can play a writer that interferes.
	ctx := &meddler{Context: t.Context(), name: filepath.Join(dir, "f"), times: 3}
	e := Entry{Path: "f", Kind: File}
	if _, err := hashFile(ctx, tr, &e, make([]byte, 64)); err != nil {
		t.Fatalf("a file that comes to rest: %v", err)
	}
	content, err := os.ReadFile(ctx.name)
	if err != nil {
		t.Fatal(err)
	}
	if e.Digest != Digest(content) || e.Size != int64(len(content)) {
		t.Errorf("the digest is not that of the last content: %+v", e)
	}
	ctx = &meddler{Context: t.Context(), name: ctx.name, times: 1000}
	var changed *ChangedError
	if _, err := hashFile(ctx, tr, &e, make([]byte, 64)); !errors.As(err, &changed) || changed.Path != "f" {
		t.Errorf("a file that never rests: %v", err)
	}
}

func TestAnOverwriteOfEqualSizeUnderTheReaderIsNoticed(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"f": strings.Repeat("x", 100)})
	name := filepath.Join(dir, "f")
	// The file system's clock may be coarse: the file is old, so that any write shows.
	then := time.Unix(1, 0)
	if err := os.Chtimes(name, then, then); err != nil {
		t.Fatal(err)
	}
	ctx := &acting{Context: t.Context(), act: map[int]func() error{2: func() error {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt([]byte("yyyy"), 10)
		return errors.Join(err, f.Close())
	}}}
	e := Entry{Path: "f", Kind: File}
	if _, err := hashFile(ctx, newHandle(t, dir), &e, make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	if want := Digest([]byte(treetest.Content(t, name))); e.Digest != want {
		t.Errorf("the digest is %s, that of the content is %s", e.Digest, want)
	}
}

// An acting context does something at the n-th call of its Err.
type acting struct {
	context.Context
	asked int
	act   map[int]func() error
}

func (a *acting) Err() error {
	a.asked++
	if act := a.act[a.asked]; act != nil {
		return act()
	}
	return nil
}

func TestAFileThatGoesAwayBetweenListingAndReadingIsForgotten(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"gone": "x", "d/x": "y"})
	// Scan calls Err once at first and once before each directory: by the third call it has listed the root.
	ctx := &acting{Context: t.Context(), act: map[int]func() error{3: func() error { return os.Remove(filepath.Join(dir, "gone")) }}}
	m, err := Scan(ctx, dir, nil, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(m); !slices.Equal(got, []string{"d", "d/x"}) {
		t.Errorf("paths %q", got)
	}
	// A file that keeps going away is refused in the end.
	remake := func() error { return os.WriteFile(filepath.Join(dir, "gone"), nil, 0o644) }
	away := func() error { return os.Remove(filepath.Join(dir, "gone")) }
	ctx = &acting{Context: t.Context(), act: map[int]func() error{1: remake, 3: away, 4: remake, 6: away, 7: remake, 9: away}}
	var changed *ChangedError
	if _, err := Scan(ctx, dir, nil, Limits{}); !errors.As(err, &changed) || changed.Path != "gone" {
		t.Errorf("got %v", err)
	}
}

// A meddler appends to a file at each call of its Err.
type meddler struct {
	context.Context
	name  string
	times int
}

func (m *meddler) Err() error {
	if m.times--; m.times < 0 {
		return nil
	}
	f, err := os.OpenFile(m.name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString("y")
	return err
}

func TestAFileThatVanishesDuringTheScanIsNotAnError(t *testing.T) {
	t.Parallel()
	dir := treetest.New(t, treetest.Files{"stays": ""})
	stop := make(chan struct{})
	done := make(chan error)
	go func() {
		name := filepath.Join(dir, "comes-and-goes")
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if err := errors.Join(os.WriteFile(name, []byte("x"), 0o644), os.Remove(name)); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 50 {
		m, err := Scan(t.Context(), dir, nil, Limits{})
		var changed *ChangedError
		if err != nil && !errors.As(err, &changed) {
			t.Errorf("scan: %v", err)
		} else if err == nil && !slices.Contains(paths(m), "stays") {
			t.Errorf("scan finds %q", paths(m))
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func BenchmarkScan10000SmallFiles(b *testing.B) {
	tree := treetest.Files{}
	for i := range 10_000 {
		tree[fmt.Sprintf("d%02d/e%d/f%d.py", i%50, i%7, i)] = strings.Repeat("line of code\n", 40+i%100)
	}
	dir := treetest.New(b, tree)
	for b.Loop() {
		scan(b, dir)
	}
}
