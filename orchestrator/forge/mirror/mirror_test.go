package mirror_test

import (
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/forge/forgetest"
	"agent/orchestrator/forge/mirror"
	"agent/sandbox/workspace/git"
)

// opened returns a server with the repository shop/till and a mirror of it.
func opened(t *testing.T, files map[string]string) (*forgetest.Git, *mirror.Mirror, string) {
	t.Helper()
	g := forgetest.NewGit(t)
	url := g.Repository(t, "shop/till", files)
	dir := filepath.Join(t.TempDir(), "m.git")
	m, err := mirror.Open(t.Context(), dir, git.Remote{URL: url, User: "x-access-token", Token: forgetest.Token})
	if err != nil {
		t.Fatal(err)
	}
	return g, m, dir
}

// fetched fetches one branch and returns its commit.
func fetched(t *testing.T, m *mirror.Mirror, ref string) string {
	t.Helper()
	at, err := m.Fetch(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return at[0]
}

func TestABranchIsFetchedChangedAndPushed(t *testing.T) {
	t.Parallel()
	g, m, dir := opened(t, map[string]string{"a.py": "one\n", "b.py": "two\n", "run.sh": "#!/bin/sh\n"})
	branches, main, err := m.Heads(t.Context())
	if err != nil || main != "main" || branches["main"] != g.At(t, "shop/till", "main") {
		t.Fatalf("%v %q %v", branches, main, err)
	}
	base := fetched(t, m, "refs/heads/main")
	c := mirror.NewCommit{
		Parent: base, Message: "a: three\n\nAgent-Run: 1\n", By: mirror.Person{Name: "a <b>", Email: "a@example.org"}, At: time.Unix(1_700_000_000, 0),
		Changes: []mirror.Change{{Path: "a.py", Content: []byte("three\n")}, {Path: "b.py"}, {Path: `new/"q" é.py`, Content: []byte{}, Mode: 0o755}},
	}
	head, err := m.Make(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.Make(t.Context(), c); err != nil || again != head {
		t.Errorf("the same commit is %s, then %s, %v", head, again, err)
	}
	for range 2 { // the second time changes nothing
		if err := m.Push(t.Context(), head, "agent/x"); err != nil || g.At(t, "shop/till", "agent/x") != head {
			t.Fatalf("%v", err)
		}
	}
	diff, err := m.Diff(t.Context(), base, head, "")
	if err != nil || !strings.Contains(string(diff), "-one\n+three\n") || !strings.Contains(string(diff), "deleted file") {
		t.Errorf("%s %v", diff, err)
	}
	if inner, err := m.Diff(t.Context(), base, head, "new"); err != nil || strings.Contains(string(inner), "a.py") || strings.Contains(string(inner), "new/") {
		t.Errorf("%s %v", inner, err)
	}
	if list, err := m.Between(t.Context(), base, head); err != nil || len(list) != 1 || list[0].Subject != "a: three" || list[0].Body != "Agent-Run: 1" {
		t.Errorf("%+v %v", list, err)
	}
	if same, err := m.Same(t.Context(), base, head); err != nil || same {
		t.Errorf("%v %v", same, err)
	}
	if got, mode, ok := m.File(t.Context(), head, "a.py"); string(got) != "three\n" || mode != 0o644 || !ok {
		t.Errorf("%q %v %v", got, mode, ok)
	}
	if _, mode, ok := m.File(t.Context(), head, `new/"q" é.py`); mode != 0o755 || !ok {
		t.Errorf("%v %v", mode, ok)
	}
	for _, name := range []string{"b.py", "new", "*"} {
		if _, _, ok := m.File(t.Context(), head, name); ok {
			t.Errorf("%s is a file", name)
		}
	}
	if out := forgetest.Run(t, g.Bare("shop/till"), "fsck", "--full", "--strict"); out != "" {
		t.Error(out)
	}
	forgetest.Run(t, dir, "fsck", "--full")
}

// What people have pushed stays, whoever pushes afterwards.
func TestABranchIsNeverRewritten(t *testing.T) {
	t.Parallel()
	g, m, _ := opened(t, map[string]string{"a.py": "one\n"})
	base := fetched(t, m, "refs/heads/main")
	mine, err := m.Make(t.Context(), mirror.NewCommit{Parent: base, Message: "m", By: mirror.Person{Name: "n"}, At: time.Unix(1, 0), Changes: []mirror.Change{{Path: "a.py", Content: []byte("mine\n")}}})
	if err != nil {
		t.Fatal(err)
	}
	theirs := g.Commit(t, "shop/till", "agent/x", "by hand", map[string]string{"a.py": "theirs\n"})
	var rejected *mirror.RejectedError
	if err := m.Push(t.Context(), mine, "agent/x"); !errors.As(err, &rejected) || rejected.Branch != "agent/x" || rejected.Reason == "" {
		t.Errorf("%v", err)
	}
	if g.At(t, "shop/till", "agent/x") != theirs {
		t.Error("a person's commit is gone")
	}
	// A protected branch refuses a push in the same way.
	hook := filepath.Join(g.Bare("shop/till"), "hooks", "pre-receive")
	if err := errors.Join(os.MkdirAll(filepath.Dir(hook), 0o755), os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := m.Push(t.Context(), mine, "main"); !errors.As(err, &rejected) || !strings.Contains(rejected.Reason, "hook declined") {
		t.Errorf("%v", err)
	}
}

func TestWhereHistoriesMeetIsFoundBehindWhatWasFetched(t *testing.T) {
	t.Parallel()
	g, m, _ := opened(t, map[string]string{"a.py": "one\n"})
	base := g.At(t, "shop/till", "main")
	g.Commit(t, "shop/till", "feature", "f", map[string]string{"f.py": "f\n"})
	bare := g.Bare("shop/till")
	tip := base
	for range 60 { // deeper than the first fetch
		tip = forgetest.Run(t, bare, "commit-tree", "-p", tip, "-m", "more", base+"^{tree}")
	}
	forgetest.Run(t, bare, "update-ref", "refs/heads/main", tip)
	if _, err := m.Fetch(t.Context(), "refs/heads/main", "refs/heads/feature"); err != nil {
		t.Fatal(err)
	}
	got, err := m.MergeBase(t.Context(), "refs/heads/main", "refs/heads/feature")
	if err != nil || got != base {
		t.Fatalf("%q %v", got, err)
	}
	if !m.Contains(t.Context(), tip, base) || m.Contains(t.Context(), base, tip) {
		t.Error("what a commit contains")
	}
	alone := forgetest.Run(t, bare, "commit-tree", "-m", "alone", base+"^{tree}")
	forgetest.Run(t, bare, "update-ref", "refs/heads/alone", alone)
	if _, err := m.Fetch(t.Context(), "refs/heads/alone"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.MergeBase(t.Context(), "refs/heads/main", "refs/heads/alone"); !errors.Is(err, mirror.ErrUnrelated) {
		t.Errorf("%v", err)
	}
}

func TestATreeIsWrittenAsItIs(t *testing.T) {
	t.Parallel()
	lfs := "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
	g, m, dir := opened(t, map[string]string{"a/b.py": "x\n", ".gitattributes": "*.py text eol=crlf\na/** export-ignore\n*.bin filter=lfs\n", "big.bin": lfs, "$Id$.txt": "$Id$\n"})
	bare := g.Bare("shop/till")
	tree := forgetest.Run(t, bare, "ls-tree", "main")
	link := forgetest.Run(t, bare, "hash-object", "-w", filepath.Join(bare, "HEAD"))
	tree += "\n160000 commit " + strings.Repeat("1", 40) + "\tsub\n120000 blob " + link + "\tlink\n100755 blob " + link + "\trun.sh\n"
	cmd := exec.Command("git", "mktree")
	cmd.Dir, cmd.Stdin = bare, strings.NewReader(tree)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	commit := forgetest.Run(t, bare, "commit-tree", "-p", "main", "-m", "odd", strings.TrimSpace(string(out)))
	forgetest.Run(t, bare, "update-ref", "refs/heads/odd", commit)
	to := filepath.Join(dir, "..", "tree")
	left, err := m.Export(t.Context(), fetched(t, m, "refs/heads/odd"), to)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(left, mirror.Omission{Path: "big.bin", Why: "content in LFS"}) || !slices.ContainsFunc(left, func(o mirror.Omission) bool { return o.Path == "sub" }) || len(left) != 2 {
		t.Errorf("%+v", left)
	}
	for name, want := range map[string]string{"a/b.py": "x\n", "big.bin": lfs, "$Id$.txt": "$Id$\n"} {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	if target, err := os.Readlink(filepath.Join(to, "link")); err != nil || !strings.HasPrefix(target, "ref: ") {
		t.Errorf("%q %v", target, err)
	}
	if info, err := os.Stat(filepath.Join(to, "run.sh")); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(to, "sub")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a submodule is there")
	}
}

// A tree may contain names that no checkout would create.
func TestATreeWritesNothingElsewhere(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"..", ".git", ".GIT"} {
		g, m, dir := opened(t, map[string]string{"a.py": "one\n"})
		bare := g.Bare("shop/till")
		blob := forgetest.Run(t, bare, "hash-object", "-w", filepath.Join(bare, "HEAD"))
		tree := "100644 " + name + "\x00"
		for i := 0; i < len(blob); i += 2 {
			tree += string([]byte{hex(blob[i])<<4 | hex(blob[i+1])})
		}
		cmd := exec.Command("git", "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
		cmd.Dir, cmd.Stdin = bare, strings.NewReader(tree)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		commit := forgetest.Run(t, bare, "commit-tree", "-m", "odd", strings.TrimSpace(string(out)))
		forgetest.Run(t, bare, "update-ref", "refs/heads/odd", commit)
		if _, err := m.Export(t.Context(), fetched(t, m, "refs/heads/odd"), filepath.Join(dir, "..", "tree")); err == nil || !strings.Contains(err.Error(), "not a place for a file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, m, _ := opened(t, map[string]string{"a.py": "one\n"})
	if _, err := m.Make(t.Context(), mirror.NewCommit{Parent: "HEAD", Changes: []mirror.Change{{Path: "../x", Content: []byte("x")}}}); err == nil {
		t.Error("a commit of a path outside was made")
	}
}

func hex(c byte) byte {
	if c >= 'a' {
		return c - 'a' + 10
	}
	return c - '0'
}

func TestWhatARepositoryLacksIsTold(t *testing.T) {
	t.Parallel()
	g, m, _ := opened(t, nil)
	if _, _, err := m.Heads(t.Context()); !errors.Is(err, mirror.ErrEmpty) {
		t.Errorf("%v", err)
	}
	g.Commit(t, "shop/till", "main", "c", map[string]string{"a": "a"})
	if _, err := m.Fetch(t.Context(), "refs/heads/nonesuch"); !errors.Is(err, mirror.ErrNoBranch) {
		t.Errorf("%v", err)
	}
	g.Deny()
	if _, err := m.Fetch(t.Context(), "refs/heads/main"); err == nil || !strings.Contains(err.Error(), "requires another token") {
		t.Errorf("%v", err)
	}
}

func TestALocalCommitIsTakenIn(t *testing.T) {
	t.Parallel()
	g, m, _ := opened(t, map[string]string{"a.py": "one\n"})
	fetched(t, m, "refs/heads/main")
	work := t.TempDir()
	forgetest.Run(t, work, "clone", "-q", g.Bare("shop/till"), ".")
	if err := os.WriteFile(filepath.Join(work, "a.py"), []byte("local\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	forgetest.Run(t, work, "commit", "-qam", "local")
	commit := forgetest.Run(t, work, "rev-parse", "HEAD")
	// The work tree's own configuration has no effect.
	forgetest.Run(t, work, "config", "core.fsmonitor", "/bin/false")
	if err := m.Import(t.Context(), filepath.Join(work, ".git", "objects"), commit); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := m.File(t.Context(), commit, "a.py"); string(got) != "local\n" {
		t.Errorf("%q", got)
	}
	if at, err := m.Meet(t.Context(), commit, g.At(t, "shop/till", "main")); err != nil || at != g.At(t, "shop/till", "main") {
		t.Errorf("%q %v", at, err)
	}
}

// Git configuration in the repository's files, on the machine and in the environment is never executed, and the token is in no file and
// no argument.
func TestNothingPlantedRunsAndTheTokenIsNowhere(t *testing.T) {
	g, m, dir := opened(t, map[string]string{
		"a.py": "one\n", ".gitattributes": "* filter=evil diff=evil\n", ".gitmodules": "[submodule \"s\"]\n\tpath = s\n\turl = ext::touch CANARY\n",
	})
	canary := filepath.Join(t.TempDir(), "canary")
	trap := filepath.Join(t.TempDir(), "trap.sh")
	if err := os.WriteFile(trap, []byte("#!/bin/sh\ntouch "+canary+"\nps -ef >>"+canary+".args\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"GIT_SSH_COMMAND": trap, "GIT_ASKPASS": trap, "SSH_ASKPASS": trap, "GIT_PROXY_COMMAND": trap, "GIT_EXTERNAL_DIFF": trap, "GIT_PAGER": trap, "GIT_EXEC_PATH": filepath.Dir(trap),
		"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": trap, "GIT_CONFIG_KEY_1": "url.ext::" + trap + ".insteadOf", "GIT_CONFIG_VALUE_1": g.URL,
		"GIT_TEMPLATE_DIR": filepath.Dir(trap),
	} {
		t.Setenv(name, value)
	}
	// This holds even if somebody has written to the mirror, which nobody should.
	hooks := filepath.Join(dir, "hooks")
	if err := os.MkdirAll(hooks, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, hook := range []string{"pre-push", "post-checkout", "reference-transaction", "post-commit", "pre-auto-gc", "post-index-change"} {
		if err := os.Symlink(trap, filepath.Join(hooks, hook)); err != nil {
			t.Fatal(err)
		}
	}
	config, err := os.OpenFile(filepath.Join(dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"[core]\nsshCommand", "[core]\nfsmonitor", "[core]\naskPass", "[credential]\nhelper", "[diff]\nexternal", "[diff \"evil\"]\ntextconv", "[filter \"evil\"]\nsmudge", "[gpg]\nprogram", "[core]\nhooksPath", "[core]\nalternateRefsCommand"} {
		value := trap
		if strings.HasSuffix(key, "hooksPath") {
			value = hooks
		}
		if _, err := config.WriteString(key + " = " + value + "\n"); err != nil {
			t.Fatal(err)
		}
	}
	config.Close()

	base := fetched(t, m, "refs/heads/main")
	head, err := m.Make(t.Context(), mirror.NewCommit{Parent: base, Message: "m", By: mirror.Person{Name: "n"}, At: time.Unix(1, 0), Changes: []mirror.Change{{Path: "a.py", Content: []byte("two\n")}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Push(t.Context(), head, "agent/x"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Export(t.Context(), head, filepath.Join(dir, "..", "tree")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Diff(t.Context(), base, head, ""); err != nil {
		t.Fatal(err)
	}
	if found, _ := filepath.Glob(canary + "*"); len(found) > 0 {
		t.Errorf("a program was run: %v", found)
	}
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + forgetest.Token))
	err = filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		for _, secret := range []string{forgetest.Token, basic, base64.StdEncoding.EncodeToString([]byte(forgetest.Token))} {
			if strings.Contains(string(text), secret) {
				t.Errorf("%s holds the token", path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A repository with an address of another protocol is not contacted.
func TestOnlyHTTPIsSpoken(t *testing.T) {
	t.Parallel()
	canary := filepath.Join(t.TempDir(), "canary")
	for _, url := range []string{"ext::touch " + canary, "file:///", "ssh://-oProxyCommand=touch " + canary + "/x", "/", "--upload-pack=touch " + canary} {
		m, err := mirror.Open(t.Context(), filepath.Join(t.TempDir(), "m.git"), git.Remote{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := m.Heads(t.Context()); err == nil {
			t.Errorf("%s answers", url)
		}
	}
	if _, err := os.Stat(canary); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a program was run")
	}
}
