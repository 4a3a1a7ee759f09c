//go:build bench

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/history"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
)

// benchHook times the pre-commit hook on a workspace with a known baseline, in two ways: without the judgement, which lasts
// from the freezing of the workspace to the last gate, and without only the tools of the gates, so that boxes count too. A
// moment in which several tools work counts once. The reference is one container of the engine's own client.
func benchHook(t *testing.T) {
	db, url := storetest.New(t)
	work := filepath.Join(t.TempDir(), "shop")
	if err := os.CopyFS(work, os.DirFS("testdata/example")); err != nil {
		t.Fatal(err)
	}
	in := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Env, cmd.Dir = append(os.Environ(), "AGENT_DATABASE_URL="+url), work
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
	}
	commit := []string{"-c", "user.name=Bench", "-c", "user.email=bench@localhost", "commit", "-q", "--no-verify", "-m", "Go on"}
	in("git", "init", "-q")
	in("git", "add", "-A")
	in("git", commit...)
	var besideGates, besideTools []time.Duration
	once := func() {
		f, err := os.OpenFile(filepath.Join(work, "shop", "stock.py"), os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteString("# More.\n")
			f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		in("git", "add", "-A")
		began := time.Now()
		in(agentProgram, "hook", "pre-commit")
		took := time.Since(began)
		in("git", commit...)
		gates, tools := gateTime(t, db)
		besideGates, besideTools = append(besideGates, took-gates), append(besideTools, took-tools)
	}
	once() // the first run makes the baseline
	besideGates, besideTools = nil, nil
	for range 7 {
		once()
	}
	image := toolchain(t)
	reference := median(t, 7, func() { in("docker", "run", "--rm", "--network", "none", "--entrypoint", "/bin/true", image) })
	figure := middle(besideGates)
	row("pre-commit, warm, beside its gates; against docker run --rm true", figure, reference, "≤ 0.300 s", figure <= 300*time.Millisecond)
	row("the same beside the tools of its gates, boxes counted", middle(besideTools), reference, "none", true)
}

// toolchain returns the image with the tools.
func toolchain(t *testing.T) string {
	t.Helper()
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	ids, err := engine.ImagesLabelled(t.Context(), "agent.image=toolchain")
	if err != nil || len(ids) == 0 {
		t.Fatalf("no toolchain image: %v", err)
	}
	return ids[0]
}

// gateTime returns how long the newest run judged, and how much of that time a tool of a gate was at work.
func gateTime(t *testing.T, db *store.DB) (gates, tools time.Duration) {
	t.Helper()
	rows, err := db.Runs(t.Context(), history.RunFilter{Limit: 1})
	if err != nil || len(rows) != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	list, err := db.Events(t.Context(), rows[0].ID, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	type span struct{ from, to time.Time }
	var spans []span
	var began, ended time.Time
	for _, e := range list {
		switch {
		case e.Kind == run.StateEntry && e.Subject == string(run.Verifying):
			began = e.At
		case e.Kind == run.GateEntry:
			ended = e.At
		case e.Kind == run.ToolEntry:
			var d struct {
				MS int64 `json:"ms"`
			}
			if err := json.Unmarshal(e.Detail, &d); err != nil {
				t.Fatal(err)
			}
			spans = append(spans, span{e.At.Add(-time.Duration(d.MS) * time.Millisecond), e.At})
		}
	}
	if began.IsZero() || !ended.After(began) || len(spans) == 0 {
		t.Fatalf("nothing was judged: %+v", list)
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from.Compare(b.from) })
	var end time.Time
	for _, s := range spans {
		if s.from.Before(end) {
			s.from = end
		}
		if s.to.After(s.from) {
			tools, end = tools+s.to.Sub(s.from), s.to
		}
	}
	return ended.Sub(began), tools
}
