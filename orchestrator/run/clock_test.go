package run

import (
	"context"
	"testing"
	"time"
)

// A kept is a store of log entries.
type kept []Entry

func (k *kept) AppendEntries(_ context.Context, entries []Entry) error {
	*k = append(*k, entries...)
	return nil
}

// An entry made after the clock was set back is not earlier than the entries before it.
func TestALogKeepsItsOrderWhereTheClockIsSetBack(t *testing.T) {
	t.Parallel()
	before := time.Now().Add(time.Hour)
	var entries kept
	l := NewLog(t.Context(), &entries, func(s string) string { return s })
	l.last = before
	l.enter("r", Entry{Kind: StateEntry})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 || entries[0].At.Before(before) {
		t.Errorf("kept as %+v", entries)
	}
}
