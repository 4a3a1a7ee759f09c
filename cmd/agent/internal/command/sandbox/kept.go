package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/exec"
	"agent/orchestrator/store/database"
	"agent/sandbox"
	"agent/verify"
)

// keptBoxes returns the workbenches that wait for another command.
func keptBoxes(ctx context.Context, engine *sandbox.Engine) ([]sandbox.Leftover, error) {
	boxes, err := engine.Boxes(ctx)
	return slices.DeleteFunc(boxes, func(b sandbox.Leftover) bool { return b.Kept == "" || !b.Live }), err
}

// settleKept returns the kept workbench of a name, for the command of w, and puts the recorded state of the workbench
// into w. It returns nil for no name. It refuses to keep more workbenches than permitted.
func settleKept(ctx context.Context, s *wire.Session, name, workspace string, w *exec.Work) (*sandbox.Leftover, error) {
	if name == "" && !w.Keep {
		return nil, nil
	}
	boxes, err := keptBoxes(ctx, s.Engine)
	if err != nil {
		return nil, err
	}
	if name == "" {
		if len(boxes) >= exec.MostKept {
			return nil, fault.Usage("continue in one with --in, or remove them: agent sandbox gc --kept", "%d workbenches are already kept, each in memory", len(boxes))
		}
		return nil, nil
	}
	i := slices.IndexFunc(boxes, func(b sandbox.Leftover) bool { return len(name) >= 4 && strings.HasPrefix(b.ID, name) })
	if i < 0 {
		return nil, fault.Usage("see `agent sandbox ls`; a workbench is kept for 8 hours", "no workbench is kept as %q", name)
	}
	box := boxes[i]
	if box.Keep != workspace {
		return nil, fault.Usage("name that workspace with --workspace", "workbench %s belongs to workspace %s", name, term.CleanLine(box.Keep))
	}
	w.Timeout = min(w.Timeout, time.Until(box.Lease)) // the rest of its lease
	w.In = &exec.Held{Run: box.Kept}
	d, err := s.DB.Run(ctx, box.Kept)
	if err == nil {
		w.In.Promoted = d.Promoted
		w.In.Changes, err = s.DB.LastChange(ctx, d.ID)
	}
	if errors.Is(err, database.ErrNotFound) {
		if d.ID != "" && d.Verdict == verify.Pass { // its command had changed nothing
			return &box, nil
		}
		return nil, fault.Usage("begin with a fresh one: omit --in", "the content of workbench %s is not on record", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the content of workbench %s: %w", name, err)
	}
	return &box, nil
}

// dropKept removes every workbench that waits for another command.
func dropKept(ctx context.Context, s *wire.Session) (dropped []sandbox.Leftover, err error) {
	boxes, err := keptBoxes(ctx, s.Engine)
	for _, b := range boxes {
		dropErr := s.Engine.Drop(ctx, sandbox.Kept{Kind: sandbox.KeptContainer, ID: b.ID})
		if err = errors.Join(err, dropErr); dropErr == nil {
			dropped = append(dropped, b)
		}
	}
	return dropped, err
}
