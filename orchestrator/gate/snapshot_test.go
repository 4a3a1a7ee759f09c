package gate_test

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/images"
	"agent/images/imagestest"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify"
)

// listing prints the content of a box, one entry per line: path, kind, mode and digest.
const listing = `
import hashlib, os
for top, dirs, files in os.walk("/work"):
    for path in (os.path.join(top, name) for name in dirs + files):
        mode = os.lstat(path).st_mode
        if os.path.islink(path):
            kind, content = "symlink", os.readlink(path).encode()
        elif os.path.isdir(path):
            kind, content = "dir", None
        else:
            kind, content = "file", open(path, "rb").read()
        print(path[6:], kind, oct(mode & 0o777), "" if content is None else hashlib.sha256(content).hexdigest())
`

// A nearby is a workspace with real snapshots; nothing is judged on them.
type nearby struct {
	*runtest.Bench
	lab  imagestest.Setup
	last verify.Request // of the latest run
	had  []string       // the content of one of its boxes
	req  run.Request
}

// newNearby creates a workspace of n files. Its snapshots are removed after the test.
func newNearby(t *testing.T, n int) *nearby {
	t.Helper()
	l := imagestest.Open(t)
	s := &nearby{lab: l}
	s.Bench = runtest.Setup(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		s.last, s.had = req, s.list(t, req)
		return runtest.Says(verify.Pass)(ctx, req)
	})
	s.Runner.Images = l.Builder
	s.req = s.Request()
	s.req.NoPromote = true
	for i := range n {
		s.Write(t, fmt.Sprintf("f%03d", i), fmt.Sprintln(i))
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		ids, err := l.Engine.ImagesLabelled(ctx, "agent.workspace="+s.Dir)
		for _, id := range ids {
			err = errors.Join(err, l.Engine.RemoveImage(ctx, id))
		}
		if err != nil {
			t.Error(err)
		}
	})
	return s
}

// list lists the content of a request's box, and compares it with the manifest.
func (s *nearby) list(t *testing.T, req verify.Request) []string {
	box, err := s.lab.Engine.Start(t.Context(), sandbox.Spec{
		Image: req.Snapshot, Delta: req.Delta, Run: req.Run, Purpose: "list", Lease: time.Now().Add(time.Minute),
	})
	if err != nil {
		t.Error(err)
		return nil
	}
	defer box.Close()
	res, err := box.Run(t.Context(), guest.Command{Args: []string{"/usr/bin/python3", "-I", "-c", listing}})
	if err != nil || res.Exit != 0 {
		t.Errorf("%v: %s", err, res.Stderr.Head)
	}
	got := strings.Split(strings.TrimSuffix(string(res.Stdout.Head), "\n"), "\n")
	slices.Sort(got)
	var want []string
	for _, e := range req.Base.Entries {
		mode := e.Mode.Perm() | 0o444
		if e.Kind == workspace.Dir {
			mode = 0o755
		}
		want = append(want, fmt.Sprintf("%s %s 0o%o %s", e.Path, e.Kind, mode, e.Digest))
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("a box has not what the manifest says (-want +got):\n%s", diff)
	}
	return got
}

// run performs a run and returns how many files its boxes get in addition to the image, or -1 if they get none.
func (s *nearby) run(t *testing.T) (files int) {
	t.Helper()
	s.last = verify.Request{}
	if doc := s.Run(t.Context(), s.req); doc.Exit != run.ExitDone {
		t.Fatalf("exit %d: %+v", doc.Exit, doc.Error)
	}
	if s.last.Delta == nil {
		return -1
	}
	return len(s.last.Delta.Changes)
}

// stir makes a few random changes to the files.
func (s *nearby) stir(t *testing.T, r *rand.Rand) {
	t.Helper()
	for range 1 + r.IntN(9) {
		name := filepath.Join(s.Dir, fmt.Sprintf("d%d/e%d", r.IntN(2), r.IntN(2)), fmt.Sprintf("g%d", r.IntN(3)))
		var err error
		switch r.IntN(6) {
		case 0:
			err = os.RemoveAll(filepath.Dir(filepath.Dir(name)))
		case 1:
			err = os.RemoveAll(name)
		default:
			mode := []os.FileMode{0o600, 0o644, 0o755}[r.IntN(3)]
			err = errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, fmt.Appendf(nil, "%d\n", r.IntN(3)), mode), os.Chmod(name, mode))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// wholly creates every snapshot from scratch.
type wholly struct{ *images.Builder }

func (wholly) Near(context.Context, images.Image, images.Tree, string, func() images.Tree) (images.Image, images.Delta, error) {
	return images.Image{}, images.Delta{}, images.ErrAbsent
}

// Whatever happens to a workspace, the boxes of the next run contain its current state, exactly as they would with a snapshot of their
// own.
func TestBoxesHaveThePresentWorkspaceWhateverTheirImage(t *testing.T) {
	t.Parallel()
	s := newNearby(t, 3)
	if n := s.run(t); n != -1 {
		t.Errorf("the first snapshot lacks %d files", n)
	}
	r := rand.New(rand.NewPCG(7, 7))
	near := 0
	for round := range 6 {
		s.stir(t, r)
		s.Write(t, "f001", fmt.Sprintln("round", round))
		if s.run(t) > 0 {
			near++
		}
		if round%3 != 2 {
			continue
		}
		had := s.had
		s.Runner.Images = wholly{s.lab.Builder}
		if n := s.run(t); n != -1 || !slices.Equal(had, s.had) {
			t.Errorf("of a whole snapshot a box has another workspace: %d\n%v\n%v", n, had, s.had)
		}
		s.Runner.Images = s.lab.Builder
	}
	if near < 4 { // a directory may have become empty
		t.Errorf("%d of 6 runs started from an earlier snapshot", near)
	}
}

// unfrozen returns a manifest for the workspace at root that no snapshot on the engine contains, of any workspace.
func unfrozen(t *testing.T, root string) *workspace.Manifest {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "only"), []byte(crand.Text()), 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	m.Root = root
	return m
}

func TestAnEarlierSnapshotServesOnlyWhereItMay(t *testing.T) {
	t.Parallel()
	s := newNearby(t, 70)
	edit := func(n int, text string) func() {
		return func() {
			for i := range n {
				s.Write(t, fmt.Sprintf("f%03d", i), text)
			}
		}
	}
	snapshots := map[string]bool{}
	for _, step := range []struct {
		what  string
		do    func()
		files int // -1 for a snapshot of its own
		fresh bool
	}{
		{"the first run", func() {}, -1, true},
		{"nothing changed", func() {}, -1, false},
		{"one file", edit(1, "one\n"), 1, false},
		{"a file that is left out", func() { s.req.Exclude = []string{"f069"} }, -1, true},
		{"a file more", edit(3, "three\n"), 3, false},
		{"a manifest of no snapshot", func() { unfrozen(t, s.Dir).KeepFrozen() }, -1, true},
		{"many files", func() { edit(66, "many\n")(); s.Runner.AfterRun = runtest.AtOnce{} }, 66, false},
		{"after many files", func() {}, -1, true},
	} {
		step.do()
		if n := s.run(t); n != step.files || snapshots[s.last.Snapshot] == step.fresh {
			t.Errorf("%s: %d files beside image %.19s", step.what, n, s.last.Snapshot)
		}
		snapshots[s.last.Snapshot] = true
	}
}
