// Package journaltest defines by tests what package llm needs of a [llm.Journal] and of [llm.KeyStates]: Journal and KeyStates are
// suites that every implementation passes. Memory is the implementation for tests of code that asks models.
package journaltest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"agent/orchestrator/llm"
)

// Memory is a journal and key states in one, kept in memory. The zero Memory
// is empty and ready, and may be used by several goroutines.
type Memory struct {
	mu      sync.Mutex
	records []record // by number, from 1
	states  []llm.KeyState
}

// A record is one request, and whether its outcome has been recorded.
type record struct {
	llm.Record
	ended bool
}

// Find implements llm.Journal.
func (m *Memory) Find(ctx context.Context, run, step, digest string) (llm.Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var found *record
	for i := range m.records {
		r := &m.records[i]
		if !r.ended || r.Run != run || r.Step != step || digest != "" && r.Digest != digest {
			continue
		}
		if found == nil || r.Kind == "" || found.Kind != "" {
			found = r
		}
	}
	if found == nil {
		return llm.Record{}, false, ctx.Err()
	}
	return found.Record, true, ctx.Err()
}

// Begin implements llm.Journal.
func (m *Memory) Begin(ctx context.Context, r llm.Record) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.records = append(m.records, record{Record: r})
	return int64(len(m.records)), nil
}

// End implements llm.Journal.
func (m *Memory) End(ctx context.Context, number int64, o llm.Outcome) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if number < 1 || number > int64(len(m.records)) || m.records[number-1].ended {
		return fmt.Errorf("end record %d: it has not begun, or has already ended", number)
	}
	m.records[number-1].Outcome, m.records[number-1].ended = o, true
	return nil
}

// Spent implements llm.Journal.
func (m *Memory) Spent(ctx context.Context, run string, since time.Time) (ofRun, ofAll llm.Spent, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.records {
		if r.Run == run {
			ofRun.Add(r.Outcome)
		}
		if !r.Begun.Before(since) {
			ofAll.Add(r.Outcome)
		}
	}
	return ofRun, ofAll, ctx.Err()
}

// Load implements llm.KeyStates.
func (m *Memory) Load(ctx context.Context, vendor string) ([]llm.KeyState, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []llm.KeyState
	for _, s := range m.states {
		if s.Vendor == vendor {
			list = append(list, s)
		}
	}
	return list, ctx.Err()
}

// Save implements llm.KeyStates.
func (m *Memory) Save(ctx context.Context, s llm.KeyState) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	for i, known := range m.states {
		if known.Vendor == s.Vendor && known.Key == s.Key {
			m.states[i] = known.Merge(s)
			return nil
		}
	}
	m.states = append(m.states, s)
	return nil
}

// Records returns all records in the order in which they were begun.
func (m *Memory) Records() []llm.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []llm.Record
	for _, r := range m.records {
		list = append(list, r.Record)
	}
	return list
}

// States returns the states of all keys, in the order of their first use.
func (m *Memory) States() []llm.KeyState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.states)
}
