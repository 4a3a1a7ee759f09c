package quiet_test

import (
	"testing"
	"time"

	"agent/orchestrator/loop/quiet"
)

func TestQuietHours(t *testing.T) {
	t.Parallel()
	at := func(text string) time.Time {
		tm, err := time.ParseInLocation("2006-01-02 15:04", text, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		return tm
	}
	for _, c := range []struct{ hours, now, until string }{
		{"", "2026-03-01 12:00", ""},
		{"22:00-07:00", "2026-03-01 21:59", ""},
		{"22:00-07:00", "2026-03-01 22:00", "2026-03-02 07:00"},
		{"22:00-07:00", "2026-12-31 23:30", "2027-01-01 07:00"},
		{"22:00-07:00", "2026-03-01 06:59", "2026-03-01 07:00"},
		{"22:00-07:00", "2026-03-01 07:00", ""},
		{"09:00 - 17:30", "2026-03-01 09:00", "2026-03-01 17:30"},
		{"09:00-17:30", "2026-03-01 17:30", ""},
	} {
		q, err := quiet.Parse(c.hours)
		until, quiet := q.Until(at(c.now))
		if err != nil || quiet != (c.until != "") || quiet && !until.Equal(at(c.until)) {
			t.Errorf("%q at %s: %s, %v, %v", c.hours, c.now, until, quiet, err)
		}
	}
	for _, bad := range []string{"22:00", "22-7", "25:00-07:00", "07:00-07:00", "-", "22:00-07:00-09:00", "nights"} {
		if q, err := quiet.Parse(bad); err == nil {
			t.Errorf("%q is %+v", bad, q)
		}
	}
}
