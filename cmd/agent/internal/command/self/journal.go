package self

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/run"
	"agent/orchestrator/selfbuild"
	"agent/sandbox"
)

type command struct{ *cmdline.Line }

// home returns where the versions are kept: the user's state directory, which is in no workspace. Changes are written
// to a workspace; no change may reach the source of the version to go back to, nor the journal that names it. The error
// is a usage error, since the environment lacks something.
func home(c *cmdline.Line) (string, error) {
	dir := c.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification ignores relative paths
		user := c.Getenv("HOME")
		if user == "" {
			return "", fault.Usage("set HOME, or XDG_STATE_HOME", "there is no directory for the agent's versions")
		}
		dir = filepath.Join(user, ".local", "state")
	}
	return filepath.Join(dir, "agent", "self"), nil
}

// tags returns the repository of the agent's own images on the engine.
func tags(c *cmdline.Line) string {
	// Tests run on the engine of the developer: under the common name they would move the tags from which the
	// developer's containers start.
	if own := c.Getenv("AGENT_SELF_TAGS"); own != "" { // a test's own
		return own
	}
	return "agent"
}

// followTime bounds how long to wait for running containers. A container gets two minutes to finish its work, and its
// successor must start. There may be several, which go one after another.
const followTime = 10 * time.Minute

// journal opens the journal, which settles what a killed rebuild left, and passes it to act.
//
// The error is a conflict if another process has the journal. Otherwise it is the error of opening it, or the joined
// errors of act and of the hand-over: containers that could not follow must not hide why act failed.
func (c command) journal(ctx context.Context, engine *sandbox.Engine, act func(*selfbuild.Journal) error) error {
	dir, err := home(c.Line)
	if err != nil {
		return err
	}
	j, err := selfbuild.Open(ctx, dir, tags(c.Line), engine)
	if errors.Is(err, selfbuild.ErrBusy) {
		// A taken lock is not an infrastructure problem: a script may try again.
		return &fault.Error{Exit: run.ExitConflict, Kind: run.ProblemConflict, Next: "wait for it to end", Err: err}
	}
	if err != nil {
		return err
	}
	defer j.Close() // the kernel drops the lock in any case
	// This is reported but no reason to refuse: the next rebuild is the remedy.
	if v, err := j.Lost(ctx); err == nil && v != nil {
		fmt.Fprintf(c.Stderr, "self: the image of the current version %s was removed: `agent self rebuild` makes the next\n", v.Name())
	}
	err = act(j)
	// Containers follow the tag, even after a rollback, or if a killed rebuild left them behind. This ignores the
	// caller's cancellation. After Ctrl-C during a trial the tags are back where they were, and containers left on the
	// refused image would continue with it.
	steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), followTime)
	defer cancel()
	return errors.Join(err, engine.HandOver(steady, tags(c.Line)+":current", resumed))
}

// withJournal is journal with an engine of its own. It opens no database: the way back must work even if the record
// cannot be reached, or was migrated by the very version that is to go.
func (c command) withJournal(ctx context.Context, act func(*selfbuild.Journal) error) error {
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		return err
	}
	defer engine.Close() // idle connections: nothing to lose
	return c.journal(ctx, engine, act)
}

// machineCertificates returns the certificates that this machine trusts, or nil: the image gets the same. Behind a
// proxy that intercepts TLS, an image without them would reach no registry, and every proof of it would end as an
// infrastructure problem. A machine without any is therefore no error here: it shows where it matters.
func (c command) machineCertificates() []byte {
	name := c.Getenv("SSL_CERT_FILE")
	if name == "" {
		// The location on Debian and its derivatives.
		name = "/etc/ssl/certs/ca-certificates.crt"
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return text
}

// resumed returns the command line with which a container continues what args began: a loop where it was, anything else
// from the start. A loop with a number of iterations has done some of them: the same command would do them all again,
// for the same money. Everything about how it works, such as its models and caps, is kept verbatim.
func resumed(args []string) []string {
	// A loop that was itself resumed continues with the same words.
	resumes := func(word string) bool { name, _ := loopFlag(word); return name == "resume" }
	if len(args) < 2 || args[0] != "sandbox" || args[1] != "loop" || slices.ContainsFunc(args, resumes) {
		return args
	}
	next := []string{"sandbox", "loop", "--resume"}
	for i := 2; i < len(args); i++ {
		// A flag has its value after "=" or in the next word, which goes with it.
		switch name, joined := loopFlag(args[i]); name {
		// The resumed loop has these on record.
		case "iterations", "n", "goal", "g", "file", "candidates", "replay":
			if !joined {
				i++
			}
		// These have no separate value. --fresh would discard the interrupted iteration, which is the one to continue.
		case "fresh", "until-clean":
		default:
			next = append(next, args[i])
		}
	}
	return next
}

// loopFlag returns the name of the flag that a word of the command line begins, "" for none, and whether the word
// includes its value. One dash or two make no difference to the parser.
func loopFlag(word string) (name string, joined bool) {
	name, _, joined = strings.Cut(word, "=")
	bare := strings.TrimPrefix(strings.TrimPrefix(name, "-"), "-")
	if bare == name {
		return "", false
	}
	return bare, joined
}
