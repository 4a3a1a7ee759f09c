package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// shell returns a program that runs scripts in place of the agent's commands.
func shell() *program { return &program{path: "/bin/sh", env: []string{"PATH=" + os.Getenv("PATH")}} }

func TestACommandIsToldOfAsItGoes(t *testing.T) {
	t.Parallel()
	var told []string
	ended, err := shell().Run(t.Context(), []string{"-c", "cat; echo one >&2; echo two >&2; exit 4"}, "the patch", func(line string) { told = append(told, line) })
	if err != nil || ended.Exit != 4 || ended.Stdout != "the patch" {
		t.Errorf("%+v %v", ended, err)
	}
	if !slices.Equal(told, []string{"one", "two"}) || ended.Stderr != "one\ntwo\n" {
		t.Errorf("told %q, kept %q", told, ended.Stderr)
	}
}

// A flood on either stream neither fills the memory nor blocks the command.
func TestAFloodIsBounded(t *testing.T) {
	t.Parallel()
	ended, err := shell().Run(t.Context(), []string{"-c", "yes progress | head -n 20000 >&2; echo done"}, "", func(string) {})
	if err != nil || ended.Stdout != "done\n" || len(ended.Stderr) > mostTold || !strings.HasSuffix(ended.Stderr, "progress\n") {
		t.Errorf("%d bytes kept of standard error, %q, %v", len(ended.Stderr), ended.Stdout, err)
	}
	endless := fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x >&2; echo done", 3*longestLine)
	if ended, err := shell().Run(t.Context(), []string{"-c", endless}, "", func(string) {}); err != nil || ended.Stdout != "done\n" {
		t.Errorf("a line without end: %q %v", ended.Stdout, err)
	}
	large := fmt.Sprintf("head -c %d /dev/zero", mostPrinted+1)
	if _, err := shell().Run(t.Context(), []string{"-c", large}, "", func(string) {}); err == nil || !strings.Contains(err.Error(), "printed more than") {
		t.Errorf("a document without end: %v", err)
	}
}

func TestABoundedBufferKeepsWhatFits(t *testing.T) {
	t.Parallel()
	b := &bounded{most: 4}
	for _, text := range []string{"ab", "cde", "cd"} {
		if n, err := b.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%q: %d %v", text, n, err)
		}
	}
	if b.kept.String() != "abcd" || !b.over {
		t.Errorf("kept %q, over %v", b.kept.String(), b.over)
	}
}

// The end of a call interrupts the command, which may still restore everything.
func TestACancelledCommandIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cleaned := filepath.Join(t.TempDir(), "cleaned")
	script := "trap 'touch " + cleaned + "; exit 130' INT; echo ready >&2; while :; do sleep 0.05; done"
	ended, err := shell().Run(ctx, []string{"-c", script}, "", func(line string) {
		if line == "ready" {
			cancel()
		}
	})
	if _, missing := os.Stat(cleaned); missing != nil {
		t.Errorf("it was not interrupted: %+v %v", ended, err)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A command cannot ask anyone: it has no terminal, not even by name.
func TestACommandHasNoTerminal(t *testing.T) {
	t.Parallel()
	ended, err := shell().Run(t.Context(), []string{"-c", "if (: < /dev/tty) 2>/dev/null; then echo asks; else echo alone; fi"}, "", func(string) {})
	if err != nil || ended.Stdout != "alone\n" {
		t.Errorf("%q %v", ended.Stdout, err)
	}
}

func TestAProgramThatIsNotThereIsTrouble(t *testing.T) {
	t.Parallel()
	p := &program{path: filepath.Join(t.TempDir(), "absent")}
	if _, err := p.Run(t.Context(), []string{"runs"}, "", func(string) {}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A command does not inherit a general yes, settings that change the documents, or the server's own token.
func TestACommandGetsNobodysYes(t *testing.T) {
	t.Parallel()
	all := []string{"PATH=/bin", "AGENT_YES=true", "AGENT_JSON=1", "AGENT_WORKSPACE=/elsewhere", tokenVariable + "=secret", "AGENT_DATABASE_URL=postgres://x", "AGENT_YESTERDAY=1"}
	got := environment(all, "/shop")
	want := []string{"PATH=/bin", "AGENT_DATABASE_URL=postgres://x", "AGENT_YESTERDAY=1", "AGENT_WORKSPACE=/shop"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if all[1] != "AGENT_YES=true" {
		t.Error("the caller's list was changed")
	}
}

// No command leaves a goroutine behind in this process.
func TestMain(m *testing.M) {
	// The clock of the expressions that colour a diff runs on for a while.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
}
