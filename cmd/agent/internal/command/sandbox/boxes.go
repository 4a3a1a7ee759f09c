package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	imagescmd "agent/cmd/agent/internal/command/images"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/sandbox"
	"agent/sandbox/workspace/promotion"
)

// snapshotsKept returns how many of a workspace's snapshots to keep: none if the workspace is gone, and all if a run is
// at work, which may have found any of them.
func snapshotsKept(root string) int {
	lock, err := promotion.Acquire(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0
	case errors.Is(err, promotion.ErrLocked):
		return math.MaxInt
	case err == nil:
		lock.Release() // nothing was written
	}
	return imagescmd.KeptSnapshots
}

// A BoxRow is a box as `sandbox ls --json` prints it. Live tells whether the process that started it still runs; if
// that process is dead, the next command removes the box.
//
// A lease is the time until which a box is certainly needed.
type BoxRow struct {
	ID      string    `json:"id"`
	Run     string    `json:"run"`
	Purpose string    `json:"purpose"`
	State   string    `json:"state"`
	Live    bool      `json:"live"`
	Owner   string    `json:"owner"`
	Lease   time.Time `json:"lease"`
	// Kept is the workspace of a workbench that waits for another command.
	Kept string `json:"kept,omitempty"`
}

// rowOf returns the row of a box.
func rowOf(b sandbox.Leftover) BoxRow {
	r := BoxRow{ID: fmt.Sprintf("%.12s", b.ID), Run: b.Run, Purpose: b.Purpose, State: b.State, Live: b.Live, Owner: b.Owner, Lease: b.Lease}
	if b.Kept != "" {
		r.Run, r.Kept = b.Kept, b.Keep
	}
	return r
}

// sandboxList lists the boxes that remain after those of dead processes are removed, as every command does first.
func (c command) sandboxList(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	return c.With(ctx.Context, set, true, func(s *wire.Session) error {
		boxes, err := s.Engine.Boxes(ctx.Context)
		if err != nil {
			return err
		}
		rows := []BoxRow{}
		for _, b := range boxes {
			rows = append(rows, rowOf(b))
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, rows)
		}
		return c.printBoxes(rows)
	})
}

// printBoxes prints the boxes as a table. Usually there are none; stderr says so, and stdout stays empty.
func (c command) printBoxes(rows []BoxRow) error {
	if len(rows) == 0 {
		fmt.Fprintln(c.Stderr, "no box exists: boxes live only while a patch is proved")
		return nil
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "BOX\tRUN\tPURPOSE\tSTATE\tOWNER\tLEASE")
		for _, r := range rows {
			owner := "alive"
			switch {
			case !r.Live:
				owner = "dead: `agent sandbox gc` removes it"
			case r.Kept != "":
				owner = "kept for " + term.CleanLine(r.Kept)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", r.ID, term.CleanLine(r.Run), term.CleanLine(r.Purpose), r.State, owner, r.Lease.Local().Format(time.DateTime))
		}
		return t.Flush()
	})
}

// sandboxCollect removes everything without an owner. Boxes go first, while they can still be named; opening a session
// would remove them silently.
func (c command) sandboxCollect(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	s, err := c.OpenEngine(ctx.Context)
	if err != nil {
		return err
	}
	// What was removed is reported even if something else could not be removed.
	defer s.Close()
	boxes, err := s.Engine.Reap(ctx.Context)
	if ctx.Bool("kept") && err == nil {
		var kept []sandbox.Leftover
		kept, err = dropKept(ctx.Context, s)
		boxes = append(boxes, kept...)
	}
	for _, b := range boxes {
		fmt.Fprintf(c.Stdout, "removed box %.12s of run %s\n", b.ID, term.CleanLine(b.Run))
	}
	if err != nil {
		return err
	}
	return c.With(ctx.Context, set, true, func(s *wire.Session) error {
		// Only what can be made again is removed. The record, the database's volume and the images that another
		// installation may use are left alone.
		removed, err := s.Builder.PruneSnapshots(ctx.Context, snapshotsKept)
		for _, name := range removed {
			fmt.Fprintln(c.Stdout, "removed image", name)
		}
		if err == nil && len(boxes)+len(removed) == 0 {
			fmt.Fprintln(c.Stdout, "nothing to remove")
		}
		return err
	})
}
