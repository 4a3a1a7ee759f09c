package selfbuild

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/sandbox/enginetest"

	"github.com/google/go-cmp/cmp"

	"agent/images"
	"agent/sandbox"
)

// text is a source with one file.
type text string

func (x text) Digest() string { return fmt.Sprintf("%x000000000000", string(x)) }

func (x text) Files() []images.File {
	return []images.File{{Path: "main.go", Mode: 0o644, Size: int64(len(x)), Digest: x.Digest()}}
}

func (x text) Open(string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(string(x))), nil
}

// A setting is a journal's directory with a repository of tags on the real engine.
type setting struct {
	t      testing.TB
	dir    string
	name   string
	engine *sandbox.Engine
}

// setup returns a setting for the test, whose tags are removed at its end.
func setup(t testing.TB) *setting {
	t.Helper()
	enginetest.Need(t)
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &setting{t, t.TempDir(), fmt.Sprintf("agent-selftest-%d-%d", os.Getpid(), time.Now().UnixNano()), engine}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		for _, x := range []text{"a", "b", "c"} {
			if id := s.tagged(x.Digest()[:12]); id != "" {
				err = errors.Join(err, engine.RemoveImage(ctx, id))
			}
		}
		if err := errors.Join(err, engine.RemoveImage(ctx, s.name+":current"), engine.RemoveImage(ctx, s.name+":previous"), engine.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// tagged returns the ID of the image with a tag, or "" if there is none.
func (s *setting) tagged(tag string) string {
	s.t.Helper()
	ctx := context.WithoutCancel(s.t.Context())
	id, _, err := s.engine.ImageLabels(ctx, s.name+":"+tag)
	if err != nil {
		s.t.Fatal(err)
	}
	return id
}

// open opens the journal.
func (s *setting) open() *Journal {
	s.t.Helper()
	j, err := Open(s.t.Context(), s.dir, s.name, s.engine)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { j.Close() })
	return j
}

// work returns work that builds an image with only its source, which proves healthy.
func (s *setting) work(x text) Work {
	return Work{
		Source: x, Every: time.Millisecond,
		Build: func(ctx context.Context, ref string) (images.Build, error) {
			var root bytes.Buffer
			w := tar.NewWriter(&root)
			_ = addFile(w, x, x.Files()[0]) // writing to memory cannot fail
			_ = w.Close()
			if err := s.engine.ImportImage(ctx, &root, ref); err != nil {
				return images.Build{}, err
			}
			id, _, err := s.engine.ImageLabels(ctx, ref)
			return images.Build{ID: id, Source: x.Digest(), Program: "p" + string(x)}, err
		},
		Canary:  func(context.Context, string) (map[string]string, error) { return expected(), nil },
		Healthy: func(context.Context) error { return nil },
	}
}

// rebuild performs a complete attempt.
func rebuild(ctx context.Context, j *Journal, w Work) error {
	return j.Attempt(ctx, "a test", func() error {
		if err := j.Prove(ctx, w); err != nil {
			return err
		}
		return j.Take(ctx, w)
	}, func(err error) error { return err })
}

func TestAnAttemptThatMadeNoImageHasACause(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.must("a")
	j := s.open()
	defer j.Close()
	why := func(error) error { return errors.New("there was no change") }
	if err := j.Attempt(t.Context(), "nothing", func() error { return nil }, why); err != nil {
		t.Fatal(err)
	}
	if past := s.whole("a").Past[0]; past.Cause != "there was no change" || j.Succeeded() {
		t.Errorf("recorded is %+v", past)
	}
}

// must rebuilds, and requires the version to be current afterwards.
func (s *setting) must(x text) {
	s.t.Helper()
	j := s.open()
	defer j.Close()
	if err := rebuild(s.t.Context(), j, s.work(x)); err != nil {
		s.t.Fatal(err)
	}
	s.whole(x)
}

// whole checks that a version is current in the journal and on the engine, that its source is kept, and that no attempt is in progress.
func (s *setting) whole(x text) State {
	s.t.Helper()
	state, err := Read(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	if state.Attempt != nil || state.Current == nil || state.Current.Source != x.Digest() {
		s.t.Fatalf("the journal names %+v with the attempt %+v, not %q", state.Current, state.Attempt, x)
	}
	if id := s.tagged("current"); id == "" || id != state.Current.Image || id != s.tagged(state.Current.Name()) {
		s.t.Errorf("the tag current names %q, the journal %q", id, state.Current.Image)
	}
	previous := ""
	if state.Previous != nil {
		previous = state.Previous.Image
	}
	if id := s.tagged("previous"); id != previous {
		s.t.Errorf("the tag previous names %q, the journal %q", id, previous)
	}
	if same, err := differences(archived(s.dir, *state.Current), x); err != nil || len(same) != 1 { // the digest of text is not a SHA-256
		s.t.Errorf("the source that is kept differs in %v (%v)", same, err)
	}
	return state
}

func TestANewImageIsCurrentAndTheOldOneKept(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.must("a")
	s.must("b")
	state := s.whole("b")
	if state.Previous.Source != text("a").Digest() || len(state.Past) != 2 {
		t.Errorf("the state is %+v", state)
	}
	// Rebuilding the same source does not create another version.
	s.must("b")
	if state := s.whole("b"); state.Previous.Source != text("a").Digest() {
		t.Errorf("the previous version of b is %+v", state.Previous)
	}
	list, err := Versions(s.dir)
	if err != nil || len(list) != 2 {
		t.Errorf("kept are %+v (%v)", list, err)
	}
	j := s.open()
	if err := j.Rollback(t.Context(), "asked for"); err != nil {
		t.Fatal(err)
	}
	j.Close()
	if state := s.whole("a"); state.Previous.Source != text("b").Digest() || state.Past[0].Cause != "asked for" {
		t.Errorf("rolled back: %+v", state)
	}
}

func TestWhatBreaksLeavesTheOldImageCurrentAndIsRecorded(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.must("a")
	broken := errors.New("it broke")
	soft := expected()
	soft[battery[4].name] = "0 pass"
	asked := 0
	for phase, spoil := range map[Phase]func(*Work){
		Build: func(w *Work) {
			w.Build = func(context.Context, string) (images.Build, error) { return images.Build{}, broken }
		},
		Canary: func(w *Work) {
			w.Canary = func(context.Context, string) (map[string]string, error) { return soft, nil }
		},
		Swap: func(w *Work) { w.HandOver = func(context.Context) error { return broken } },
		Trial: func(w *Work) {
			w.Period = time.Hour
			w.Healthy = func(context.Context) error {
				if asked++; asked < 3 {
					return nil
				}
				if s.tagged("current") == s.tagged(text("a").Digest()[:12]) {
					t.Error("the old image is on trial")
				}
				return broken
			}
		},
	} {
		w := s.work("b")
		spoil(&w)
		j := s.open()
		if err := rebuild(t.Context(), j, w); err == nil {
			t.Errorf("%s: no error", phase)
		}
		j.Close()
		state := s.whole("a")
		past := state.Past[0]
		if past.Phase != phase || !strings.Contains(past.Cause, string(phase)+": ") {
			t.Errorf("%s: recorded is %+v", phase, past)
		}
		if phase == Canary && !strings.Contains(past.Cause, battery[4].name) {
			t.Errorf("the case is not named: %s", past.Cause)
		}
		if _, err := os.Stat(filepath.Join(s.dir, "versions", text("b").Digest()[:12])); !errors.Is(err, fs.ErrNotExist) || s.tagged(text("b").Digest()[:12]) != "" {
			t.Errorf("%s: the refused version is kept: %v", phase, err)
		}
	}
	if asked != 3 {
		t.Errorf("the image on trial was asked %d times", asked)
	}
}

// TestKilledAttempt is not a test in itself: it is the process that TestAKillLeavesAWorkingCurrentImage kills.
func TestKilledAttempt(t *testing.T) {
	point, dir, name := os.Getenv("SELF_POINT"), os.Getenv("SELF_DIR"), os.Getenv("SELF_NAME")
	if point == "" {
		return
	}
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := &setting{t, dir, name, engine}
	j := s.open()
	j.reached = func(at string) {
		if at == point {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
	}
	if err := rebuild(t.Context(), j, s.work("b")); err != nil {
		t.Fatal(err)
	}
}

func TestAKillLeavesAWorkingCurrentImage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.must("a")
	a := s.tagged("current")
	// These are the points of an attempt, in order; from "ended" on, the new version counts.
	points := []string{"gate", "build", "canary", "swap", "tagged previous", "tagged current", "trial", "settled", "ended", "followed current"}
	for _, point := range points {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledAttempt$")
		cmd.Env = append(os.Environ(), "SELF_POINT="+point, "SELF_DIR="+s.dir, "SELF_NAME="+s.name)
		out, err := cmd.CombinedOutput()
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
			t.Fatalf("%s: the process was not killed: %v\n%s", point, err, out)
		}
		// Before anything is recovered, the tag names an image that was proved.
		now := s.tagged("current")
		moved := slices.Index(points, point) >= slices.Index(points, "tagged current")
		if b := s.tagged(text("b").Digest()[:12]); now == "" || moved && now != b || !moved && now != a {
			t.Errorf("killed at %s the tag current names %q; a is %q and b %q", point, now, a, b)
		}
		j := s.open()
		if point == "ended" || point == "followed current" {
			s.whole("b")
			if err := j.Rollback(t.Context(), "for the next case"); err != nil {
				t.Fatal(err)
			}
		} else if past := s.whole("a").Past[0]; !strings.HasPrefix(past.Cause, "its process was killed") || past.Intent != "a test" {
			t.Errorf("killed at %s: recorded is %+v", point, past)
		}
		j.Close()
	}
}

func TestOnlyOneProcessRebuilds(t *testing.T) {
	t.Parallel()
	s := setup(t)
	j := s.open()
	if _, err := Open(t.Context(), s.dir, s.name, s.engine); !errors.Is(err, ErrBusy) {
		t.Errorf("a second one: %v", err)
	}
	if err := j.Prove(t.Context(), s.work("a")); err == nil {
		t.Error("something is proved that was not begun")
	}
	if err := j.Rollback(t.Context(), ""); err == nil {
		t.Error("there is nothing to go back to")
	}
	j.Close()
	s.open().Close()
	if err := os.WriteFile(filepath.Join(s.dir, "state.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), s.dir, s.name, s.engine); err == nil {
		t.Error("a journal that cannot be read is taken for an empty one")
	}
}

func TestACancelledTrialGoesBack(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.must("a")
	ctx, cancel := context.WithCancel(t.Context())
	w := s.work("b")
	w.Period, w.Every = time.Hour, time.Hour
	w.Healthy = func(context.Context) error { cancel(); return nil }
	var told []Phase
	w.Tell = func(p Phase) { told = append(told, p) }
	handed := 0
	w.HandOver = func(context.Context) error { handed++; return nil }
	j := s.open()
	if err := rebuild(ctx, j, w); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	j.Close()
	s.whole("a")
	if diff := cmp.Diff([]Phase{Build, Canary, Swap, Trial}, told); diff != "" || handed != 2 {
		t.Errorf("handed over %d times; phases (-want +got):\n%s", handed, diff)
	}
	// If the journal cannot be written after the trial, containers still follow the tags back.
	handed, w = 0, s.work("b")
	w.HandOver = func(context.Context) error { handed++; return nil }
	j, file := s.open(), filepath.Join(s.dir, "state.json")
	j.reached = func(at string) {
		if at == string(Settled) {
			if err := errors.Join(os.Rename(file, file+".kept"), os.MkdirAll(filepath.Join(file, "in the way"), 0o700)); err != nil {
				t.Error(err)
			}
		}
	}
	if err := rebuild(t.Context(), j, w); err == nil || handed != 2 {
		t.Errorf("settled without a journal: handed over %d times, %v", handed, err)
	}
	j.Close()
	if err := errors.Join(os.RemoveAll(file), os.Rename(file+".kept", file)); err != nil {
		t.Fatal(err)
	}
	s.open().Close()
	s.whole("a")
}

func TestAFailedRebuildKeepsTheVersionsOfItsSource(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, x := range []text{"a", "b", "c"} {
		s.must(x)
	}
	kept, err := Versions(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []text{"a", "c"} { // one that is only kept, and the current one
		w := s.work(x)
		w.Healthy = func(context.Context) error { return errors.New("it broke") }
		j := s.open()
		if err := rebuild(t.Context(), j, w); err == nil {
			t.Error("no error")
		}
		j.Close()
	}
	s.whole("c")
	now, err := Versions(s.dir)
	if diff := cmp.Diff(kept, now); diff != "" || err != nil {
		t.Errorf("kept (-before +after), %v:\n%s", err, diff)
	}
	for _, v := range now {
		if id := s.tagged(v.Name()); id != v.Image {
			t.Errorf("the tag of %s names %q and not %q", v.Name(), id, v.Image)
		}
	}
	// The remains of a refused version after a kill are removed when the journal is next opened.
	left := (&Journal{dir: s.dir}).pod("0123456789ab")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	s.open().Close()
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a source without a version stays: %v", err)
	}
}

func TestALostImageBlocksNothing(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.must("a")
	s.must("b")
	before := s.whole("b")
	for _, tag := range []string{"previous", before.Previous.Name()} {
		if err := s.engine.RemoveImage(t.Context(), s.name+":"+tag); err != nil {
			t.Fatal(err)
		}
	}
	j := s.open()
	if err := j.Rollback(t.Context(), "asked for"); err == nil || j.State().Current.Source != before.Current.Source {
		t.Errorf("rolled back to an image that is gone: %v", err)
	}
	j.Close()
	if err := errors.Join(s.engine.RemoveImage(t.Context(), s.name+":current"), s.engine.RemoveImage(t.Context(), s.name+":"+before.Current.Name())); err != nil {
		t.Fatal(err)
	}
	j = s.open()
	if v, err := j.Lost(t.Context()); err != nil || v == nil || v.Source != before.Current.Source {
		t.Errorf("lost is %+v (%v)", v, err)
	}
	if err := rebuild(t.Context(), j, s.work("c")); err != nil {
		t.Error(err)
	}
	j.Close()
}

// patient is an engine that requires its errands to be bounded.
type patient struct{ t *testing.T }

func (p patient) Errand(ctx context.Context, x sandbox.Errand) (sandbox.ErrandEnd, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		p.t.Errorf("%v may hang for ever", x.Args)
	}
	return sandbox.ErrandEnd{Stdout: []byte("aaaaaaaaaaaa")}, nil
}

func TestAnImageThatHangsIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	p := Prover{Errands: patient{t}}
	if err := p.Healthy(t.Context(), "image", "aaaaaaaaaaaa"); err != nil {
		t.Error(err)
	}
}

// listening is an engine that records its errands.
type listening struct{ asked *[]sandbox.Errand }

func (l listening) Errand(_ context.Context, x sandbox.Errand) (sandbox.ErrandEnd, error) {
	*l.asked = append(*l.asked, x)
	return sandbox.ErrandEnd{Stdout: []byte("aaaaaaaaaaaa")}, nil
}

// Passwords are passed in a file, because the engine shows a container's environment to everyone who may inspect it.
func TestAnImageGetsPasswordsByAFile(t *testing.T) {
	t.Parallel()
	var asked []sandbox.Errand
	p := Prover{Errands: listening{&asked}, Env: []string{"AGENT_DATABASE_URL=postgres://me@h/d"}, Passwords: []byte("*:*:*:*:secret\n")}
	if err := p.Healthy(t.Context(), "image", "aaaaaaaaaaaa"); err != nil || len(asked) != 2 {
		t.Fatalf("%d errands, %v", len(asked), err)
	}
	for _, x := range asked {
		file := ""
		for _, e := range x.Env {
			if name, ok := strings.CutPrefix(e, "PGPASSFILE="); ok {
				file = name
			}
		}
		if string(x.Files[file]) != "*:*:*:*:secret\n" || strings.Contains(fmt.Sprint(x.Env, x.Args), "secret") {
			t.Errorf("%v is given %q and the files %q", x.Args, x.Env, x.Files)
		}
	}
}

func TestWhatJudgesIsProtected(t *testing.T) {
	t.Parallel()
	held := []string{
		"verify/gates.go", "VERIFY/gates.go", "./sandbox/box.go", "images/steps/agent.sh", "migrations/008_x.sql", "orchestrator/selfbuild/battery.go",
		"orchestrator/run/promote.go", "orchestrator/gate/gate.go", "orchestrator/tournament/tournament.go", "orchestrator/loop/loop.go", "orchestrator/survey/scan.go", "orchestrator/replay/replay.go", "orchestrator/export/export.go", "cmd/agent/internal/checkpoint/send.go", "cmd/agent/internal/command/edit/write.go", "cmd/agent/internal/command/undo/undo.go", "cmd/agent/internal/command/review/review.go", "orchestrator/undo/undo.go", "orchestrator/llm/vendors/vendors.go", "orchestrator/llm/gemini/row.go", "orchestrator/llm/ollama/row.go", "orchestrator/llm/openai/row.go", "orchestrator/llm/anthropic/row.go", "orchestrator/llm/compatible/row.go", "orchestrator/llm/vendor.go", "cmd/agent/internal/command/self/rebuild.go", "cmd/agent/internal/command/sandbox/attempt.go", "cmd/agent/internal/checkpoint/approve.go", "go.mod", "Makefile", ".ci/run", "agent.toml", "cmd/agent.toml", "verify",
		"vendor/modules.txt", "compose.yaml", "compose.override.yaml", "docker-compose.yml", "cmd/agent/main.go", "cmd/agent/internal/cmdline/exit.go", "cmd/agent/selfish.go", "cmd/agent/internal/term/terminal.go",
		"cmd/agent/internal/config/settings.go", "cmd/agent/internal/fault/fault.go", "cmd/agent/internal/wire/asker.go",
	}
	if diff := cmp.Diff(held, Protected(held...)); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	free := []string{"README.md", "orchestrator/edit/plan.go", "verifyx/a.go", "cmd/agent/board.go", "docs/verify/a.md"}
	if got := Protected(free...); got != nil {
		t.Errorf("%v are held", got)
	}
}

// Each protected path must exist, because a path that has moved protects nothing.
func TestWhatIsProtectedIsThere(t *testing.T) {
	t.Parallel()
	// These may be absent: they count once a change adds them.
	absent := []string{"go.work", "agent.toml", "vendor/", ".github/"}
	for _, name := range protected {
		if _, err := os.Stat(filepath.Join("../..", name)); err != nil && !slices.Contains(absent, name) {
			t.Errorf("%s is protected and not there: %v", name, err)
		}
	}
}

func TestDifferencesAreThoseOfFiles(t *testing.T) {
	t.Parallel()
	j := &Journal{dir: t.TempDir()}
	v := Version{Source: text("a").Digest()}
	if err := j.keepSource(v, text("a")); err != nil {
		t.Fatal(err)
	}
	for x, want := range map[images.Tree][]string{
		summed{"main.go", 0o644, "a"}: nil,
		summed{"main.go", 0o755, "a"}: {"main.go"},
		summed{"main.go", 0o644, "b"}: {"main.go"},
		summed{"more.go", 0o644, "a"}: {"more.go", "main.go"},
	} {
		got, err := differences(archived(j.dir, v), x)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (%v): -want +got:\n%s", x, err, diff)
		}
	}
}

// summed is a source of one file with a correct digest.
type summed struct {
	path string
	mode fs.FileMode
	text string
}

func (x summed) Digest() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(x.path+x.text))) }

func (x summed) Files() []images.File {
	return []images.File{{Path: x.path, Mode: x.mode, Size: int64(len(x.text)), Digest: fmt.Sprintf("%x", sha256.Sum256([]byte(x.text)))}}
}

func (x summed) Open(string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(x.text)), nil
}
