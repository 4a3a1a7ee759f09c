//go:build bench

package main

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/run"
)

// benchTournament times the judgement of 64 candidates, each by a gate that needs 100 ms of a processor, including its
// own start, from the moment when all have been proposed until all are recorded. Their boxes start while the last one
// is being proposed. All candidates fail, so that none is cancelled. The reference is the time of the gates alone, on
// as many processors as there are.
func benchTournament(t *testing.T) {
	const candidates, each = 64, 100 * time.Millisecond
	m := newTournament(t, "python3", "-c", fmt.Sprintf(
		"import os, time\nwhile time.process_time() < %g: pass\nos._exit(open('notes.txt').read() != %q)", each.Seconds(), tournamentText))
	once := func(n int) time.Duration {
		m.texts, m.states, m.entered = nil, nil, nil
		for i := range n {
			m.texts = append(m.texts, strings.Repeat("other ", i+1)+"\n")
		}
		doc := m.runner.Run(t.Context(), m.request)
		for i, state := range m.states {
			if state == run.Verifying && len(doc.Candidates) == n {
				return m.entered[i+1].Sub(m.entered[i])
			}
		}
		t.Fatalf("ended %s with %d candidates: %+v", doc.State, len(doc.Candidates), doc.Error)
		return 0
	}
	once(1) // after this the baseline is known
	m.before = func(run string) {
		for len(m.boxesOf(t, run, "running")) < candidates {
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Second) // meanwhile they fill /work
	}
	var times []time.Duration
	for range 3 {
		times = append(times, once(candidates))
	}
	figure, reference := middle(times), candidates*each/time.Duration(runtime.NumCPU())
	row("64 candidates of a gate of 100 ms each, in boxes started ahead; against the gates alone", figure, reference,
		"≤ 1.15", figure.Seconds() <= 1.15*reference.Seconds())
}
