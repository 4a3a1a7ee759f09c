package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"agent/orchestrator/agent"
	"agent/orchestrator/llm"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

// A patience says how long a question on a terminal waits, and what
// follows when nobody answers.
type patience struct {
	time time.Duration // 0 for ever
	stop bool          // rather than to proceed
}

// patience returns how long questions wait; settings has checked it.
func (s settings) patience() patience {
	d, err := parseCountdown(s["countdown"].text)
	return patience{time: d, stop: err != nil || s["expiry"].text != "proceed"}
}

// errExpired is what question gives when nobody answered in time.
var errExpired = errors.New("nobody answered in time")

// question asks once and returns the line that was typed. The error is
// errExpired, io.EOF when the terminal went away, or that of ctx.
//
//	Write this to the workspace? [a]pply, [f]ull diff, …
//	185 s remaining | You:
func (c *cmdline) question(ctx context.Context, what, choices string, wait time.Duration) (string, error) {
	fmt.Fprintf(c.stderr, "%s %s\n", c.palette(c.stderr).bold(what), choices)
	// The countdown is a deadline of its own, told apart from the caller's
	// end by asking both.
	timed := ctx
	if wait > 0 {
		fmt.Fprintf(c.stderr, "%4.0f s remaining | ", wait.Seconds())
		var cancel context.CancelFunc
		timed, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	fmt.Fprint(c.stderr, "You: ")
	// The clock stops before anything else is written.
	stop := c.countdown(timed)
	line, err := readLine(timed, c.stdin)
	stop()
	if err == nil {
		return line, nil
	}
	// No line ended on the screen.
	fmt.Fprintln(c.stderr)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case timed.Err() != nil:
		return "", errExpired
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO): // EIO: the terminal itself went away
		return "", io.EOF
	}
	return "", fmt.Errorf("read the answer: %w", err)
}

// countdown shows the seconds that are left until ctx ends, at the start
// of the line; the returned function ends it. The cursor is put back to
// where the person types.
func (c *cmdline) countdown(ctx context.Context) (stop func()) {
	// Where nothing can be redrawn, the seconds of the prompt must do.
	end, timed := ctx.Deadline()
	if !timed || !c.rich(c.stderr) {
		return func() {}
	}
	done := make(chan struct{})
	var showing sync.WaitGroup
	showing.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
				fmt.Fprintf(c.stderr, "\x1b7\r%4.0f\x1b8", time.Until(end).Seconds())
			}
		}
	})
	return func() { close(done); showing.Wait() }
}

// forgetTyped drops what was typed before a question was seen: an Enter
// pressed out of impatience must not be its answer.
func (c *cmdline) forgetTyped() {
	if tty := terminal(c.stdin); tty != nil {
		// A terminal that cannot forget is asked all the same.
		_ = unix.IoctlSetInt(int(tty.Fd()), unix.TCFLSH, unix.TCIFLUSH)
	}
}

// normal is an answer as it is compared: EDIT_CODE is "edit code".
func normal(typed string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(typed), "_", " "))
}

// oneOf reports whether word is one of words.
func oneOf(word string, words ...string) bool { return slices.Contains(words, word) }

// editResponse has the user edit the response that made a candidate; nil
// when that changed nothing.
func (c *cmdline) editResponse(ctx context.Context, response []byte) []byte {
	// The name gives editors their colours.
	edited := c.editTexts(ctx, map[string][]byte{"edits.xml": response})
	return edited["edits.xml"]
}

// editCode has the user edit the files as a candidate leaves them, and
// returns what that changed as a diff; nil for nothing.
func (c *cmdline) editCode(ctx context.Context, cs workspace.Changeset) []byte {
	// A deleted file has no code; whoever wants it back skips the patch.
	files, modes := map[string][]byte{}, map[string]workspace.Change{}
	for _, ch := range cs.Changes {
		if ch.Op != workspace.Delete {
			files[ch.Path], modes[ch.Path] = ch.After, ch
		}
	}
	// What changed goes back as any patch does, and is judged as one: the
	// editor is no way around the gate.
	var more workspace.Changeset
	for name, text := range c.editTexts(ctx, files) {
		more.Changes = append(more.Changes, workspace.Change{
			Op: workspace.Modify, Path: name, Before: files[name], After: text, Mode: modes[name].Mode,
		})
	}
	if more.Empty() {
		return nil
	}
	return []byte(more.Diff())
}

// editTexts gives texts to the user's editor under their names, in a
// directory of its own, and returns those that changed. What goes wrong
// is told, and leaves all as it was.
func (c *cmdline) editTexts(ctx context.Context, files map[string][]byte) map[string][]byte {
	changed, err := c.runEditor(ctx, files)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		fmt.Fprintln(c.stderr, "agent:", err)
		return nil
	case len(changed) == 0:
		fmt.Fprintln(c.stderr, "nothing was changed")
	}
	return changed
}

// editor returns the words of $VISUAL or $EDITOR, else nano or vi.
func (c *cmdline) editor() ([]string, error) {
	// No shell: the variables name a program and its flags.
	for _, text := range []string{c.getenv("VISUAL"), c.getenv("EDITOR"), "nano", "vi"} {
		if words := strings.Fields(text); len(words) > 0 {
			if _, err := exec.LookPath(words[0]); err == nil {
				return words, nil
			}
		}
	}
	return nil, errors.New("there is no editor: set EDITOR")
}

// runEditor runs the user's editor on the terminal.
func (c *cmdline) runEditor(ctx context.Context, files map[string][]byte) (map[string][]byte, error) {
	words, err := c.editor()
	if err != nil {
		return nil, err
	}
	// A directory of its own: an editor leaves backups beside its files,
	// which must not get into the workspace.
	dir, err := os.MkdirTemp("", "agent-edit-")
	if err != nil {
		return nil, fmt.Errorf("make a place for the editor: %w", err)
	}
	defer os.RemoveAll(dir) // what stays is the user's own text, in the user's own directory
	var names []string
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("make a place for the editor: %w", err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, fmt.Errorf("give %s to the editor: %w", name, err)
		}
		names = append(names, path)
	}
	slices.Sort(names)
	// The person sees all files at once, in the order of their names.
	if err := c.onTerminal(ctx, append(words, names...), c.stdin); err != nil {
		return nil, fmt.Errorf("editor %s: %w", words[0], err)
	}
	// Files that the editor made besides are of no interest.
	changed := map[string][]byte{}
	for name, before := range files {
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return nil, fmt.Errorf("read what was edited: %w", err)
		}
		if string(text) != string(before) {
			changed[name] = text
		}
	}
	return changed, nil
}

// A sender is the checkpoint before a question is sent to a model. It
// has a person look at it, when one is there.
type sender struct {
	*cmdline
	wait  patience
	board *board
}

// before asks whether to send q. The answer is the question, perhaps
// altered, or agent.ErrSkipped. Nobody's answer sends it, since only
// what comes of it can do anything.
func (s *sender) before(ctx context.Context, q agent.Question) (agent.Question, error) {
	// The board would draw over what is typed.
	defer s.board.yield()()
	s.forgetTyped()
	for {
		// Measured anew each time: editing changes it.
		size := llm.Estimate(q.System, q.Text).N
		what := fmt.Sprintf("\nSend %s (%s, about %d tokens)?", q.Step, q.Purpose, size)
		typed, err := s.question(ctx, what, "[Enter] send, [v]iew, [e]dit prompt, [u] augment, [s]kip", s.wait.time)
		switch {
		case errors.Is(err, errExpired) && s.wait.stop, errors.Is(err, io.EOF):
			return q, enterAnswer(ctx, q, "nobody", agent.ErrSkipped)
		case errors.Is(err, errExpired):
			return q, enterAnswer(ctx, q, "countdown", nil)
		case err != nil:
			return q, err
		}
		// The letters of the prompt, and the words of old habit.
		switch word := normal(typed); {
		case word == "" || oneOf(word, "send", "y", "yes"):
			return q, enterAnswer(ctx, q, run.ByTerminal, nil)
		case oneOf(word, "s", "skip", "n", "no"):
			return q, enterAnswer(ctx, q, run.ByTerminal, agent.ErrSkipped)
		case oneOf(word, "v", "view"):
			hidden, _ := hideSecrets(q) // as it would leave
			s.pageText(ctx, clean(hidden.Text), "less -R")
		case oneOf(word, "e", "edit", "edit prompt"):
			if text := s.editTexts(ctx, map[string][]byte{"prompt.md": []byte(q.Text)})["prompt.md"]; text != nil {
				q.Text = string(text)
			}
		case oneOf(word, "u", "augment", "augment prompt"):
			if q, err = s.augment(ctx, q); err != nil {
				return q, err
			}
		default:
			fmt.Fprintln(s.stderr, "please answer with one of the letters, or press Enter")
		}
	}
}

// augment adds a line that the person types to the question.
func (s *sender) augment(ctx context.Context, q agent.Question) (agent.Question, error) {
	// No countdown here: who began to type is there.
	fmt.Fprint(s.stderr, "Add to the prompt: ")
	line, err := readLine(ctx, s.stdin)
	switch {
	case ctx.Err() != nil:
		return q, ctx.Err()
	case err != nil && !errors.Is(err, io.EOF):
		return q, fmt.Errorf("read what to add: %w", err)
	}
	// The heading tells the model that a person added this.
	if line = strings.TrimSpace(line); line != "" {
		q.Text = strings.TrimRight(q.Text, "\n") + "\n\n### User Augmentation\n" + line + "\n"
	}
	return q, nil
}
