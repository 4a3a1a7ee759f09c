package promotion

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"agent/sandbox/workspace"

	"agent/sandbox/workspace/internal/treetest"
)

// TestAWriterThatRacesWithCommitLosesNothing lets a user write to a file at any moment of a promotion, hundreds of
// times for each way in which programs write. C24.
func TestAWriterThatRacesWithCommitLosesNothing(t *testing.T) {
	t.Parallel()
	inPlace := func(name, content string) error { return os.WriteFile(name, []byte(content), 0o644) }
	byRename := func(name, content string) error {
		return errors.Join(os.WriteFile(name+".tmp", []byte(content), 0o644), os.Rename(name+".tmp", name))
	}
	newFile := func(name, content string) error {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return os.WriteFile(name, []byte(content), 0o644)
	}
	for _, test := range []struct {
		name   string
		cs     workspace.Changeset
		write  func(name, content string) error
		plain  bool
		rounds int
	}{
		{"modify, in place", modify("f", "base", "ours"), inPlace, false, 1000},
		{"modify, by rename", modify("f", "base", "ours"), byRename, false, 1000},
		{"modify, made anew", modify("f", "base", "ours"), newFile, false, 300},
		{"modify, by rename, plain", modify("f", "base", "ours"), byRename, true, 300},
		{"delete, in place", remove("f", "base"), inPlace, false, 300},
		{"delete, by rename", remove("f", "base"), byRename, false, 300},
		{"create, by rename", create("f", "ours"), byRename, false, 300},
		{"create, in place", create("f", "ours"), inPlace, false, 300},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			outcomes := map[string]int{}
			for round := range test.rounds {
				outcomes[raceOnce(t, test.cs, test.write, test.plain, round)]++
			}
			if outcomes["conflict"] == 0 || outcomes["promoted"] == 0 {
				t.Errorf("outcomes %v: the race is always won by one side", outcomes)
			}
		})
	}
}

// raceOnce runs one promotion with one concurrent write.
func raceOnce(t *testing.T, cs workspace.Changeset, write func(name, content string) error, plain bool, round int) string {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		if dir, err = os.MkdirTemp("/dev/shm", "workspace-test-"); err != nil {
			t.Fatal(err)
		}
	}
	defer os.RemoveAll(dir)
	tree := treetest.Files{"other": "base"}
	if cs.Changes[0].Op != workspace.Create {
		tree["f"] = "base"
	}
	treetest.Fill(t, dir, tree)
	cs = workspace.Changeset{Changes: append([]workspace.Change{cs.Changes[0]}, modify("other", "base", "ours").Changes...)}
	p, err := prepareIn(t.Context(), dir, cs, "run-1", nil, func(j *journal) { j.tree.Plain = plain })
	if err != nil {
		t.Fatal(err)
	}
	user := fmt.Sprintf("user %d", round)
	start, written := make(chan struct{}), make(chan error)
	go func() {
		<-start
		for range rand.IntN(40) {
			runtime.Gosched()
		}
		written <- write(filepath.Join(dir, "f"), user)
	}()
	// The writer starts at one of the first steps, so that all of them are met.
	steps := rand.IntN(6)
	p.j.step = func(string) {
		if steps--; steps == -1 {
			close(start)
		}
		runtime.Gosched()
	}
	err = p.Commit(t.Context())
	if steps >= 0 {
		close(start)
	}
	if werr := <-written; werr != nil {
		t.Fatalf("the user's write: %v", werr)
	}
	closed := p.Close()
	var kept *KeptError
	if closed != nil && !errors.As(closed, &kept) {
		t.Fatalf("round %d: close: %v", round, closed)
	}
	return raceEnd(t, dir, user, err)
}

// raceEnd checks the state that a race left.
func raceEnd(t *testing.T, dir, user string, err error) string {
	t.Helper()
	got := treetest.OnDisk(t, dir)
	var all strings.Builder
	for name, text := range got {
		if name == "f" || strings.HasPrefix(name, "f.kept") {
			all.WriteString(text)
		}
	}
	if !strings.Contains(all.String(), fmt.Sprintf("%q", user)) {
		t.Fatalf("the user's bytes are lost: %v, commit: %v", got, err)
	}
	if got[".agent"] != "" {
		t.Fatalf("a journal is left: %v", got)
	}
	outcome, want := "promoted", `"ours"`
	var conflict *ConflictError
	if errors.As(err, &conflict) {
		outcome, want = "conflict", `"base"`
	} else if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(got["other"], want) {
		t.Fatalf("%s, and the other file is %s", outcome, got["other"])
	}
	return outcome
}
