package cmdline

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/run"
)

func TestPatchesAreReadFromFilesAndPipesOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := unix.Mkfifo(at("fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("dir"), 0o755); err != nil {
		t.Fatal(err)
	}
	large, err := os.Create(at("large"))
	if err != nil {
		t.Fatal(err)
	}
	defer large.Close()
	if err := large.Truncate(maxPatch + 1); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"patch": "<EDIT>", "empty": ""} {
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"patch": "", "empty": "the patch is empty", "dir": "neither a file nor a pipe", "absent": "no such file", "fifo": "empty",
		"large": "larger than 16 MiB", "/dev/zero": "neither a file nor a pipe", "": "no patch was given", "-": "",
	} {
		path := name
		if name != "" && name != "-" && !filepath.IsAbs(name) {
			path = at(name)
		}
		cmd := New(func(string) string { return "" }, strings.NewReader("from stdin"), io.Discard, io.Discard)
		data, err := cmd.ReadPatch(t.Context(), path, "give one")
		if want == "" {
			if err != nil || len(data) == 0 {
				t.Errorf("%q: %q, %v", name, data, err)
			}
			continue
		}
		if p, exit := fault.Classify(t.Context(), err); exit != run.ExitUsage || !strings.Contains(p.Message, want) || p.Next == "" {
			t.Errorf("%q: exit %d, %+v; want %q", name, exit, p, want)
		}
	}
}

func TestAPatchFromAPipeIsReadWhole(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a line of a patch\n", 20_000) // more than a pipe holds
	wrote := make(chan error, 1)
	go func() {
		_, err := io.WriteString(w, text)
		wrote <- errors.Join(err, w.Close())
	}()
	cmd := New(func(string) string { return "" }, r, io.Discard, io.Discard)
	data, err := cmd.ReadPatch(t.Context(), "-", "give one")
	if err != nil || string(data) != text {
		t.Errorf("read %d bytes of %d: %v", len(data), len(text), err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}
