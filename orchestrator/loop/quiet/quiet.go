// Package quiet reads the hours of the day in which a loop starts nothing.
package quiet

import (
	"fmt"
	"strings"
	"time"
)

// Hours are times of each day, in the zone of a clock, in which a loop starts nothing. They may span midnight. The zero value has none.
type Hours struct {
	from, to int // minutes since midnight
}

// Parse reads hours such as "22:00-07:00"; "" means none.
func Parse(text string) (Hours, error) {
	if text == "" {
		return Hours{}, nil
	}
	from, to, ok := strings.Cut(text, "-")
	var at [2]int
	for i, s := range []string{from, to} {
		t, err := time.Parse("15:04", strings.TrimSpace(s))
		if err != nil || !ok {
			return Hours{}, fmt.Errorf("hours %q: use two times of day such as 22:00-07:00", text)
		}
		at[i] = t.Hour()*60 + t.Minute()
	}
	if at[0] == at[1] {
		return Hours{}, fmt.Errorf("hours %q: the two times are the same", text)
	}
	return Hours{at[0], at[1]}, nil
}

// Until returns the end of the quiet hours that contain t; false if there are none.
func (q Hours) Until(t time.Time) (time.Time, bool) {
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
