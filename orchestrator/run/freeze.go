package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agent/images"
	"agent/orchestrator/gate"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/room"
)

// manyFiles is the number of entries above which a workspace's snapshot takes long enough to be announced.
const manyFiles = 5000

// Freeze scans the workspace and makes the snapshot on which candidates are judged. A workspace that changes while it is read is
// scanned again. scanned, if not nil, is called with every scan, since what it makes of a scan must come from the same bytes; it may
// end the run before anything is built. A nil ending means that there is a stage.
func (x *Execution) Freeze(ctx context.Context, req Request, scanned func(*workspace.Manifest) *Ending) (gate.Stage, *Ending) {
	stop := func(e Ending) (gate.Stage, *Ending) { return gate.Stage{}, &e }
	// An editor that saves during the scan is common; one that never stops is not. After the last try the change is reported as it is.
	for try := 1; ; try++ {
		base, err := x.scan(ctx, req)
		if err != nil {
			return stop(x.unread(ctx, "scan the workspace", err))
		}
		if text := gate.LeftOut(base.Skipped); text != "" && try == 1 {
			x.Notify(Event{Note: text})
		}
		if scanned != nil {
			if end := scanned(base); end != nil {
				return stop(*end)
			}
		}
		tools, err := x.runner.Images.Ensure(ctx, images.Toolchain)
		if err != nil {
			return stop(End(Failed, x.Trouble(ctx, "build the toolchain image", err)))
		}
		if n := len(base.Entries); n > manyFiles {
			x.Notify(Event{Note: fmt.Sprintf("freeze %d files; an unchanged workspace is reused", n)})
		}
		x.alongside.Go(func() { verify.Survey(base, req.Config) })
		st, err := x.Gate(req).Freeze(ctx, tools, base)
		var changed *workspace.ChangedError
		if errors.As(err, &changed) && try < rescans {
			x.Notify(Event{Note: changed.Error() + "; scanning again"})
			continue
		}
		if err != nil {
			act, cause := "freeze the workspace", err
			if step, ok := errors.AsType[*gate.StepError](err); ok {
				act, cause = step.Act, step.Err
			}
			return stop(End(Failed, x.Trouble(ctx, act, cause)))
		}
		x.seen = &seen{req, st}
		x.rec.Snapshot, x.doc.Snapshot = base.Digest(), base.Digest()
		return st, nil
	}
}

// PrepareBoxes has n boxes started on a stage before candidates are judged in them. With n = 0 it gives back those that are left.
func (x *Execution) PrepareBoxes(ctx context.Context, req Request, st gate.Stage, n int) {
	if x.runner.Boxes == nil {
		return
	}
	x.runner.Boxes.Want(ctx, sandbox.Spec{
		Image: st.Image.ID, Delta: st.Delta, Run: x.rec.ID, Lease: time.Now().Add(gate.LeaseFor), Limits: room.For(req.Config.Limits, st.Base),
		Runtime: req.Config.Runtime,
	}, n)
}

// SavePlan records what the run sets out to do, in JSON.
func (x *Execution) SavePlan(ctx context.Context, plan []byte) error {
	return x.runner.Store.SavePlan(ctx, x.rec.ID, x.rec.Token, plan)
}

// Tried reports whether a candidate of the run was judged or refused.
func (x *Execution) Tried() bool { return len(x.doc.Candidates) > 0 }
