package loop

import (
	"context"
	"time"
)

// quietStep is how long a loop sleeps in quiet hours before it looks at the clock again. The clock may have been set, or have gone on
// while the machine was suspended.
const quietStep = time.Minute

// awake returns when the quiet hours are over, which is at once outside them, or with the error of ctx.
func (l *Loop) awake(ctx context.Context) error {
	now, sleep := time.Now, sleepFor
	if l.Now != nil {
		now = l.Now
	}
	if l.Sleep != nil {
		sleep = l.Sleep
	}
	told := time.Time{}
	for {
		t := now()
		until, quiet := l.Quiet.Until(t)
		if !quiet {
			return ctx.Err()
		}
		if !until.Equal(told) {
			l.note("quiet hours: nothing starts until " + until.Format("15:04"))
			told = until
		}
		if err := sleep(ctx, min(until.Sub(t), quietStep)); err != nil {
			return err
		}
	}
}

// sleepFor waits for d, or returns the error of ctx if that ends first.
func sleepFor(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
