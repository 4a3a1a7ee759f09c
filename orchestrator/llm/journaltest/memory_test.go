package journaltest_test

import (
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/journaltest"
)

func TestMemoryIsAJournal(t *testing.T) {
	journaltest.Journal(t, func(*testing.T) (llm.Journal, llm.Journal) {
		m := new(journaltest.Memory)
		return m, m
	})
}

func TestMemoryKeepsKeyStates(t *testing.T) {
	journaltest.KeyStates(t, func(*testing.T) (llm.KeyStates, llm.KeyStates) {
		m := new(journaltest.Memory)
		return m, m
	})
}
