package cmdline

import (
	"context"
	"time"
)

// Pause lets d pass. The error is that of ctx, where it ended before.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
