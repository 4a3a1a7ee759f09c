package loop_test

import (
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/loop"
	"agent/orchestrator/store/storetest"
)

func TestAnUndoBringsTheMemoryBackInLine(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	save := func(run, text string) {
		t.Helper()
		m, err := db.Memory(t.Context(), "/w")
		if err == nil {
			err = db.SaveMemory(t.Context(), "/w", run, agent.Memory{Text: text, Iteration: m.Iteration + 1, Run: run})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	undo := func(of, by string, want bool) string {
		t.Helper()
		changed, err := loop.Unlearn(t.Context(), db, "/w", of, by, []string{"a.py", "b.py"})
		if err != nil || changed != want {
			t.Fatalf("undo of %s changed the memory: %v, %v", of, changed, err)
		}
		m, err := db.Memory(t.Context(), "/w")
		if err != nil {
			t.Fatal(err)
		}
		return m.Text
	}
	save("r1", "one")
	save("r2", "one, two")
	if got := undo("r9", "u9", false); got != "one, two" {
		t.Errorf("a run that was not merged leaves %q", got)
	}
	if got := undo("r2", "u2", true); got != "one" {
		t.Errorf("the last one undone leaves %q", got)
	}
	// The undo is undone.
	if got := undo("u2", "u3", true); got != "one, two" {
		t.Errorf("the undo undone leaves %q", got)
	}
	// A memory that later ones were merged on top of cannot be removed, so a remark is added.
	if got := undo("r1", "u1", true); !strings.HasPrefix(got, "one, two\n") || !strings.Contains(got, "The change to a.py, b.py was undone") {
		t.Errorf("an earlier one undone leaves %q", got)
	}
	save("r3", strings.Repeat("x\n", agent.MaxMemory/2))
	if got := undo("r1", "u4", true); len(got) > agent.MaxMemory || !strings.Contains(got, "was undone") {
		t.Errorf("a full memory becomes %d bytes: %q", len(got), got)
	}
}
