package verify

import (
	"context"
	"errors"
	"time"

	"agent/sandbox"
)

// enginePatience is how long a judgement waits for an engine that went away: a
// restart takes some seconds.
const enginePatience = 30 * time.Second

// awaitEngine waits until the engine starts boxes again, and reports whether it does.
func (v *Verifier) awaitEngine(ctx context.Context, req Request) bool {
	var away *sandbox.UnavailableError
	for wait := time.Second; ; wait *= 2 {
		box, err := v.Boxes.Start(ctx, sandbox.Spec{Image: req.Toolchain, Run: req.Run, Purpose: "engine", Lease: req.Lease, Runtime: req.Config.Runtime})
		if err == nil {
			return box.Close() == nil
		}
		if !errors.As(err, &away) || wait > enginePatience/2 {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
	}
}
