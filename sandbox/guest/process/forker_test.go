package process

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// runShell runs a script in a fresh directory, and returns its output and its exit status.
func runShell(t *testing.T, f *Forker, script string) (string, unix.WaitStatus) {
	t.Helper()
	dir := t.TempDir()
	out, err := os.OpenFile(filepath.Join(t.TempDir(), "out"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	pid, err := f.Start("/bin/sh", []string{"sh", "-ec", script}, &syscall.ProcAttr{Dir: dir, Env: os.Environ(), Files: []uintptr{0, out.Fd(), out.Fd()}})
	if err != nil {
		t.Fatal(err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text), status
}

// openForker opens a Forker for a test.
func openForker(t *testing.T) *Forker {
	t.Helper()
	f, err := OpenForker()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// A program writes as usual where it may, and nothing through /proc. What it starts is confined too, and so is the next program.
func TestAProgramWritesNothingThroughProc(t *testing.T) {
	if version, err := landlockVersion(); err != nil || version < sinceTruncates {
		t.Fatalf("the kernel's Landlock is %d, %v", version, err)
	}
	f := openForker(t)
	for range 2 {
		out, status := runShell(t, f, `
			mkdir a b
			echo one >a/f; echo two >>a/f
			mv a/f b/g; ln b/g a/h; mv b c
			: >c/g; truncate -s 3 c/g
			echo quiet >/dev/null; echo told >>/dev/stderr; echo said >>/dev/stdout
			for file in comm mem oom_score_adj; do
				if (: >>/proc/self/$file) 2>/dev/null; then echo "$file is written"; fi
				if sh -c ": >>/proc/$$/$file" 2>/dev/null; then echo "its parent's $file is written"; fi
			done
			cat /proc/self/oom_score_adj; stat -c %s a/h`)
		if status.ExitStatus() != 0 || out != "told\nsaid\n1000\n3\n" {
			t.Errorf("%d: %s", status.ExitStatus(), out)
		}
	}
	// The test process itself is as free as before, and keeps its own score.
	if err := os.WriteFile("/proc/self/comm", []byte("tests"), 0); err != nil {
		t.Error(err)
	}
	if score, err := os.ReadFile("/proc/self/oom_score_adj"); err != nil || string(score) != "0\n" {
		t.Errorf("the score is %q, %v", score, err)
	}
}

func TestAProgramThatIsNotThereIsNotStarted(t *testing.T) {
	if pid, err := openForker(t).Start("/no/such/program", []string{"x"}, &syscall.ProcAttr{}); err == nil {
		t.Errorf("process %d", pid)
	}
}
