package tools

import (
	"context"
	"fmt"
	"strings"
	"time"

	"agent/sandbox/workspace"
)

// A Command runs a line of shell in a box of its own, in which the draft lies over the snapshot: nothing that it leaves
// there gets out. An error is trouble of the machine.
type Command func(ctx context.Context, draft workspace.Changeset, line string, limit time.Duration) (Ran, error)

// A Ran says how a command ended.
type Ran struct {
	Exit   int
	Why    string // why it did not end by itself: "killed after 1m0s"; "" if it did
	Output string
}

// The time limits of a command.
const (
	commandTime    = time.Minute
	maxCommandTime = 5 * time.Minute
)

// runTool tries something in a box.
var runTool = Tool{
	Name: "run",
	About: "Run a line of shell in a throwaway box in which your changes lie over the workspace, at /work: a test, a script, a linter. There is no " +
		"network, and files that the command writes are thrown away: change files by edit and create.",
	Fields: []Field{
		{Name: "command", Kind: "string", About: "line for /bin/sh", Needed: true},
		{Name: "seconds", Kind: "integer", About: "time limit: 60 when left out, at most 300"},
	},
	has: func(b *Bench) bool { return b.Command != nil },
	run: func(ctx context.Context, b *Bench, args []byte) (Answer, error) {
		a := arguments[struct {
			Command string
			Seconds int
		}](args)
		if strings.TrimSpace(a.Command) == "" || strings.ContainsRune(a.Command, 0) {
			return failed("the command is empty, or holds NUL"), nil
		}
		limit := commandTime
		if a.Seconds > 0 {
			limit = min(time.Duration(a.Seconds)*time.Second, maxCommandTime)
		}
		ran, err := b.Command(ctx, b.Draft.Changes(), a.Command, limit)
		if err != nil {
			return Answer{}, err
		}
		head := fmt.Sprintf("exit status %d", ran.Exit)
		if ran.Why != "" {
			head = ran.Why
		}
		if ran.Output == "" {
			head += ", no output"
		}
		return Answer{Head: head, Text: ran.Output, Failed: ran.Why != ""}, nil
	},
}
