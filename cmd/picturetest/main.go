// Command picturetest records what a terminal shows of two runs of the example workspace, one promoted and one refused,
// and draws the recording as docs/run.svg.
//
// The recording is kept (testdata/run.ansi), so that the picture can be remade from it, byte for byte, without an
// engine. The command decides nothing and is not part of any shipped program.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/creack/pty"
)

// Paths of the files, from the top of the repository.
const (
	recording = "cmd/picturetest/testdata/run.ansi"
	picture   = "docs/run.svg"
	example   = "cmd/agent/testdata/example"
	patches   = "cmd/agent/testdata/patches"
)

const (
	columns = 100
	rows    = 50
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := start(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// start records with the agent that args name, if they name one, and draws.
func start(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("picturetest", flag.ContinueOnError)
	agent := flags.String("record", "", "record anew with this `AGENT`, on the engine and database here")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *agent != "" {
		text, err := record(ctx, *agent)
		if err != nil {
			return err
		}
		if err := os.WriteFile(recording, text, 0o644); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(recording)
	if err != nil {
		return err
	}
	return os.WriteFile(picture, draw(string(text)), 0o644)
}

// record runs both patches in a copy of the example workspace and returns the output that a terminal received.
func record(ctx context.Context, agent string) ([]byte, error) {
	agent, err := filepath.Abs(agent)
	if err != nil {
		return nil, err
	}
	parent, err := os.MkdirTemp("", "picture-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(parent)
	shop := filepath.Join(parent, "shop")
	if err := os.CopyFS(shop, os.DirFS(example)); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, step := range []struct {
		patch, name string
		exit        int
	}{{"good.xml", "fix.xml", 0}, {"breaks-caller.xml", "shelves.xml", 1}} {
		text, err := os.ReadFile(filepath.Join(patches, step.patch))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(parent, step.name), text, 0o644); err != nil {
			return nil, err
		}
		shown, err := terminal(ctx, shop, step.exit, agent, "sandbox", "run", "../"+step.name, "--yes")
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "\x1b[1m$ agent sandbox run ../%s --yes\x1b[m\n%s\n", step.name, shorten(strings.ReplaceAll(shown, parent, "~")))
	}
	return out.Bytes(), nil
}

// terminal runs a command whose results go to a terminal, and returns them without its progress.
func terminal(ctx context.Context, dir string, exit int, words ...string) (string, error) {
	master, tty, err := pty.Open()
	if err != nil {
		return "", err
	}
	defer master.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		return "", err
	}
	var progress bytes.Buffer
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, tty, &progress
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "NO_COLOR=", "PAGER=cat")
	if err := cmd.Start(); err != nil {
		return "", errors.Join(err, tty.Close())
	}
	if err := tty.Close(); err != nil {
		return "", err
	}
	text, readErr := io.ReadAll(master)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exit {
		return "", fmt.Errorf("%s: %w; it should have ended with %d\n%s%s", strings.Join(words, " "), err, exit, &progress, text)
	}
	// Reading from a terminal whose other end was closed returns an error of its own.
	if readErr != nil && !errors.Is(readErr, syscall.EIO) {
		return "", readErr
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n"), nil
}

// shorten leaves out what does not fit into a picture: the diff, the output of programs, and all but the first
// findings.
func shorten(text string) string {
	var kept []string
	skipping, findings := false, 0
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		plain := escapes.ReplaceAllString(line, "")
		switch {
		case strings.HasPrefix(plain, "diff --git"), strings.HasPrefix(plain, "the end of what"), plain == "smoke", plain == "tests":
			skipping = true
		case strings.HasPrefix(plain, "next: "), strings.HasPrefix(plain, "patch: "):
			skipping = false
		case strings.HasPrefix(plain, "not judged"):
			continue
		}
		if strings.HasPrefix(plain, "  shop/") || strings.HasPrefix(plain, "  tests/") {
			findings++
		}
		if skipping || findings > 2 && strings.HasPrefix(plain, "  ") || plain == "" && len(kept) > 0 && kept[len(kept)-1] == "" {
			continue
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n") + "\n"
}
