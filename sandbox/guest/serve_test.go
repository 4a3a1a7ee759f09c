package guest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/guest/wire"
)

// serveInput runs a server on the directory until the input ends, and returns its answers. The input must hold no
// commands: the server would wait for, and kill, processes of the host.
func serveInput(t *testing.T, work string, input []byte) (*bytes.Buffer, error) {
	t.Helper()
	var out bytes.Buffer
	s := &server{in: bytes.NewReader(input), out: &out, work: work, frames: make(chan frame), ended: make(chan struct{})}
	err := s.serve(t.Context())
	return &out, err
}

// request returns the frames of a patch and its tar.
func request(t *testing.T, p Patch, archive *bytes.Buffer) []byte {
	t.Helper()
	var b bytes.Buffer
	must(t, wire.WriteJSON(&b, wire.KindApply, p))
	w := wire.NewDataWriter(&b)
	_, err := io.Copy(w, archive)
	must(t, err)
	must(t, w.Close())
	return b.Bytes()
}

func TestServeAnswersOnePatchAfterTheOther(t *testing.T) {
	work, _ := workspaceDir(t)
	input := request(t, Patch{Delete: []string{"a.txt"}}, tarOf(t, entry{name: "one", content: "1", mode: 0o644}))
	// The second patch is refused at once, while its data are still to come; the third must not suffer.
	input = append(input, request(t, Patch{Delete: []string{"absent"}}, tarOf(t, entry{name: "two", content: strings.Repeat("2", 3<<20), mode: 0o644}))...)
	input = append(input, request(t, Patch{}, tarOf(t, entry{name: "three", content: "3", mode: 0o644}))...)
	out, err := serveInput(t, work, input)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Applied{{Deleted: 1, Written: 1}, {Problem: "absent"}, {Written: 1}} {
		var got Applied
		must(t, wire.ReadJSON(out, wire.KindApplied, MaxReady, &got))
		if got.Deleted != want.Deleted || got.Written != want.Written || !strings.Contains(got.Problem, want.Problem) ||
			(got.Problem == "") != (want.Problem == "") {
			t.Errorf("answer %d: %+v, want %+v", i, got, want)
		}
	}
	for name, exists := range map[string]bool{"one": true, "two": false, "three": true, "a.txt": false} {
		if _, err := os.Lstat(filepath.Join(work, name)); (err == nil) != exists {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServeEndsWithItsInput(t *testing.T) {
	if out, err := serveInput(t, t.TempDir(), nil); err != nil || out.Len() != 0 {
		t.Errorf("empty input: %q, %v", out, err)
	}
	for name, input := range map[string]string{
		"half a head":       "\x00\x00",
		"half a frame":      "\x00\x00\x00\x09A{}",
		"an unknown kind":   "\x00\x00\x00\x00?",
		"data out of place": "\x00\x00\x00\x00D",
		"no JSON":           "\x00\x00\x00\x01A{",
		"an endless frame":  "\xff\xff\xff\xffA",
	} {
		if _, err := serveInput(t, t.TempDir(), []byte(input)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v, want an error", name, err)
		}
	}
}

func TestServeRefusesACommandThatMakesNoSense(t *testing.T) {
	var input bytes.Buffer
	must(t, wire.WriteJSON(&input, wire.KindRun, Command{Args: []string{"relative"}}))
	out, err := serveInput(t, t.TempDir(), input.Bytes())
	must(t, err)
	var a Answer
	must(t, wire.ReadJSON(out, wire.KindEnded, MaxReady, &a))
	if !strings.Contains(a.Problem, "absolute") {
		t.Errorf("answer %+v", a)
	}
}

func TestServeStopsWhenItCannotAnswer(t *testing.T) {
	work, _ := workspaceDir(t)
	in, host := io.Pipe() // the pipe stays open, as if the host were still there
	s := &server{in: in, out: brokenWriter{}, work: work, frames: make(chan frame), ended: make(chan struct{})}
	failed := make(chan error)
	go func() { failed <- s.serve(t.Context()) }()
	if _, err := host.Write(request(t, Patch{}, tarOf(t))); err != nil {
		t.Error(err)
	}
	if err := <-failed; !errors.Is(err, os.ErrClosed) {
		t.Errorf("got error %v", err)
	}
	must(t, host.Close())
}

// A brokenWriter is an output without a reader.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestFillNamesTheGuestAndTheProblem(t *testing.T) {
	src, key := sealedDir(t, map[string]sealedFile{"f": {"1234", 0o644}})
	s := &server{work: t.TempDir()}
	ready := s.fill(src, slices.Clone(key))
	if ready.Protocol != Protocol || len(ready.Digest) != 64 || ready.Files != 1 || ready.Bytes != 4 || ready.Problem != "" {
		t.Errorf("ready: %+v", ready)
	}
	s.work = filepath.Join(s.work, "absent")
	if ready := s.fill(src, key); !strings.Contains(ready.Problem, "absent") || ready.Check() == nil {
		t.Errorf("without a workspace: %+v", ready)
	}
	if bytes.ContainsFunc(key, func(r rune) bool { return r != 0 }) {
		t.Error("the key is not wiped")
	}
}
