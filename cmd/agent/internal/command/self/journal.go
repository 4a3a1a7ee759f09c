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

// home is where the versions are kept: the state directory of the user, which no workspace holds.
// A workspace is what changes are written to; a change must reach neither the source of
// the version to go back to nor the journal that names it.
// The error is one of usage, as it is the environment that lacks something.
func home(c *cmdline.Line) (string, error) {
	dir := c.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification ignores relative paths
		user := c.Getenv("HOME")
		if user == "" {
			return "", fault.Usage("set HOME, or XDG_STATE_HOME", "there is no place for the agent's versions")
		}
		dir = filepath.Join(user, ".local", "state")
	}
	return filepath.Join(dir, "agent", "self"), nil
}

// tags is the repository of the agent's own images on the engine.
func tags(c *cmdline.Line) string {
	// Tests run on the engine of whoever develops the agent: under the common name they
	// would move the tags from which their containers start.
	if own := c.Getenv("AGENT_SELF_TAGS"); own != "" { // a test's own
		return own
	}
	return "agent"
}

// followTime bounds how long running containers are waited for.
// A container is given two minutes to end what it is at, and its successor has to start;
// there may be several, which go one after another.
const followTime = 10 * time.Minute

// journal opens the journal, which settles what a killed rebuild left, and gives it to act.
//
// The error is a fault of conflict when another process has the journal, else that of
// opening it, or those of act and of the hand-over together: that containers could not
// follow does not hide why act went wrong.
func (c command) journal(ctx context.Context, engine *sandbox.Engine, act func(*selfbuild.Journal) error) error {
	dir, err := home(c.Line)
	if err != nil {
		return err
	}
	j, err := selfbuild.Open(ctx, dir, tags(c.Line), engine)
	if errors.Is(err, selfbuild.ErrBusy) {
		// A lock that is taken is no trouble of the machine: a script may try again.
		return &fault.Error{Exit: run.ExitConflict, Kind: run.ProblemConflict, Next: "wait for it to end", Err: err}
	}
	if err != nil {
		return err
	}
	defer j.Close() // the kernel drops the lock in any case
	// Told and not refused: the next rebuild is what helps.
	if v, err := j.Lost(ctx); err == nil && v != nil {
		fmt.Fprintf(c.Stderr, "self: the image of the current version %s was removed: `agent self rebuild` makes the next\n", v.Name())
	}
	err = act(j)
	// Containers follow the tag: also after a rollback, and where a killed rebuild left them behind.
	// Without the caller's cancellation: one who pressed Ctrl-C during a trial has the
	// tags back where they were by now, and containers that were left on the refused image
	// would go on with it.
	steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), followTime)
	defer cancel()
	return errors.Join(err, engine.HandOver(steady, tags(c.Line)+":current", resumed))
}

// withJournal is journal with an engine of its own.
// It opens no database: the way back must be open while the record is out of reach, or
// was migrated by the very version that is to go.
func (c command) withJournal(ctx context.Context, act func(*selfbuild.Journal) error) error {
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		return err
	}
	defer engine.Close() // idle connections: nothing to lose
	return c.journal(ctx, engine, act)
}

// machineCertificates are those that this machine trusts, nil where there are none: the image gets the same.
// Behind a proxy that opens connections an image without them would reach no registry,
// and every proof of it would end as trouble of the machine. That there are none is
// therefore not an error here: it shows where it matters.
func (c command) machineCertificates() []byte {
	name := c.Getenv("SSL_CERT_FILE")
	if name == "" {
		// Where Debian and its kin have them.
		name = "/etc/ssl/certs/ca-certificates.crt"
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return text
}

// resumed is the command line by which a container goes on with what args began: a loop where it stood, anything else anew.
// A loop that was begun with a number of iterations has done some of them: the same
// command once more would do them all again, for the same money. What concerns how it
// works, as its models and caps, is kept word by word.
func resumed(args []string) []string {
	// A loop that was itself resumed goes on in the same words.
	resumes := func(word string) bool { name, _ := loopFlag(word); return name == "resume" }
	if len(args) < 2 || args[0] != "sandbox" || args[1] != "loop" || slices.ContainsFunc(args, resumes) {
		return args
	}
	next := []string{"sandbox", "loop", "--resume"}
	for i := 2; i < len(args); i++ {
		// A flag has its value behind "=" or in the next word, which goes with it.
		switch name, joined := loopFlag(args[i]); name {
		// The loop that is carried on has these.
		case "iterations", "n", "goal", "g", "file", "candidates", "replay":
			if !joined {
				i++
			}
		// These have no word of their own behind them. --fresh would throw away the
		// interrupted iteration, which is what is to be gone on with.
		case "fresh", "until-clean":
		default:
			next = append(next, args[i])
		}
	}
	return next
}

// loopFlag is the name of the flag that a word of the command line begins, "" for none, and whether its value is in it.
// One dash or two are the same to the parser.
func loopFlag(word string) (name string, joined bool) {
	name, _, joined = strings.Cut(word, "=")
	bare := strings.TrimPrefix(strings.TrimPrefix(name, "-"), "-")
	if bare == name {
		return "", false
	}
	return bare, joined
}
