package loop

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Quiet are hours of each day, in the zone of a clock, in which a loop begins nothing. They may go over midnight. The zero value is none.
type Quiet struct {
	from, to int // minutes since midnight
}

// ParseQuiet reads hours such as "22:00-07:00"; "" is none.
func ParseQuiet(text string) (Quiet, error) {
	if text == "" {
		return Quiet{}, nil
	}
	from, to, ok := strings.Cut(text, "-")
	var at [2]int
	for i, s := range []string{from, to} {
		t, err := time.Parse("15:04", strings.TrimSpace(s))
		if err != nil || !ok {
			return Quiet{}, fmt.Errorf("invalid hours %q: use two times of the day, as 22:00-07:00", text)
		}
		at[i] = t.Hour()*60 + t.Minute()
	}
	if at[0] == at[1] {
		return Quiet{}, fmt.Errorf("invalid hours %q: they are none, or all of the day", text)
	}
	return Quiet{at[0], at[1]}, nil
}

// Until returns when the quiet hours end that t lies in; false where it lies in none.
func (q Quiet) Until(t time.Time) (time.Time, bool) {
	now := t.Hour()*60 + t.Minute()
	day, within := t.Day(), q.from <= now && now < q.to
	if q.from > q.to {
		within = now >= q.from || now < q.to
		if now >= q.from {
			day++
		}
	}
	return time.Date(t.Year(), t.Month(), day, 0, q.to, 0, 0, t.Location()), within
}

// quietStep is how long a loop sleeps in quiet hours before it looks at the clock again, which may have been set, or have gone on while the machine was
// suspended.
const quietStep = time.Minute

// awake returns once the quiet hours are over, at once outside them, or with the error of ctx.
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
			l.note("quiet hours: nothing is begun until " + until.Format("15:04"))
			told = until
		}
		if err := sleep(ctx, min(until.Sub(t), quietStep)); err != nil {
			return err
		}
	}
}

// sleepFor lets d pass, or returns the error of ctx when that ends before.
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
