package wire

import (
	"context"
	"errors"
	"testing"

	"agent/orchestrator/llm"
)

// A broken journal cannot begin an exchange.
type brokenJournal struct {
	llm.Journal
	err error
}

func (j brokenJournal) Begin(context.Context, llm.Record) (int64, error) { return 0, j.err }

// An exchange that is not in the journal is not in the log either, and nothing of it stays in memory.
func TestAnExchangeThatIsNotOnRecordIsNotInTheLog(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	j := &loggedJournal{Journal: brokenJournal{err: gone}, open: map[int64]llm.Record{}}
	if _, err := j.Begin(t.Context(), llm.Record{}); !errors.Is(err, gone) || len(j.open) != 0 {
		t.Errorf("open are %v, %v", j.open, err)
	}
}
