//go:build bench

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
)

// TestBench prints one table. Each figure stands beside a reference that was
// measured in the same run on the same machine; a target that is missed says
// MISS and fails nothing, since machines are shared.
func TestBench(t *testing.T) {
	fmt.Println("| name | figure | reference | ratio | target | |")
	fmt.Println("|---|--:|--:|--:|--:|---|")
	benchWarmRun(t)
	benchBox(t)
	benchPool(t)
	benchManifest(t)
	benchLedger(t)
	benchEdit(t)
	benchTypes(t)
}

// row prints one line of the table: both in seconds, the target a bound on
// figure/reference, or on figure-reference when it is absolute.
func row(name string, figure, reference time.Duration, target string, ok bool) {
	mark := "MISS"
	if ok {
		mark = "ok"
	}
	fmt.Printf("| %s | %.3f s | %.3f s | %.2f | %s | %s |\n", name, figure.Seconds(), reference.Seconds(),
		figure.Seconds()/reference.Seconds(), target, mark)
}

// median runs f n times and returns the middle time.
func median(t *testing.T, n int, f func()) time.Duration {
	t.Helper()
	var times []time.Duration
	for range n {
		started := time.Now()
		f()
		times = append(times, time.Since(started))
	}
	return middle(times)
}

// middle is the middle one of several times.
func middle(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// benchWarmRun times whole runs of the command on a small workspace whose
// entry keeps running, so that the smoke test takes its full time. The
// reference is what the smoke gate itself took.
func benchWarmRun(t *testing.T) {
	_, url := storetest.New(t)
	work := filepath.Join(t.TempDir(), "shop")
	if err := os.CopyFS(work, os.DirFS("testdata/example")); err != nil {
		t.Fatal(err)
	}
	server := "\"\"\"Serves until it is stopped.\"\"\"\n\nimport time\n\nwhile True:\n    time.sleep(1)\n"
	if err := os.WriteFile(filepath.Join(work, "main.py"), []byte(server), 0o644); err != nil {
		t.Fatal(err)
	}
	var doc run.Document
	once := func() {
		cmd := exec.Command(agentProgram, "sandbox", "run", "--workspace", work, "--patch", "testdata/patches/good.xml", "--no-promote", "--json")
		cmd.Env = append(os.Environ(), "AGENT_DATABASE_URL="+url)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("run: %v\n%s", err, out)
		}
		if err := json.Unmarshal(out, &doc); err != nil {
			t.Fatal(err)
		}
	}
	cold := median(t, 1, once)
	warm := median(t, 3, once)
	smoke := 10 * time.Second
	for _, g := range doc.Candidates[0].Gates {
		if g.Name == "smoke" {
			smoke = time.Duration(g.Seconds * float64(time.Second))
		}
	}
	row("warm run, small workspace, 10 s smoke", warm, smoke, "smoke + 2 s", warm <= 12*time.Second)
	row("first run of a workspace, baseline included", cold, smoke, "none", true)
}

// benchBox times one box from nothing to the answer of a command, beside the
// engine's own client doing the same.
func benchBox(t *testing.T) {
	ctx := t.Context()
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	ids, err := engine.ImagesLabelled(ctx, "agent.image=toolchain")
	if err != nil || len(ids) == 0 {
		t.Fatalf("no toolchain image: %v", err)
	}
	box := func(limits sandbox.Limits) {
		b, err := engine.Start(ctx, sandbox.Spec{Image: ids[0], Run: "bench", Purpose: "bench", Lease: time.Now().Add(time.Minute), Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		if res, err := b.Run(ctx, guest.Command{Args: []string{"/bin/true"}}); err != nil || res.Exit != 0 {
			t.Fatalf("true: %+v, %v", res, err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	plain := func() {
		if out, err := exec.Command("docker", "run", "--rm", "--network", "none", "--entrypoint", "/bin/true", ids[0]).CombinedOutput(); err != nil {
			t.Fatalf("docker run: %v\n%s", err, out)
		}
	}
	reference := median(t, 9, plain)
	figure := median(t, 9, func() { box(sandbox.Limits{}) })
	row("box: start, true, close; against docker run --rm true", figure, reference, "≤ 1.50", figure <= reference*3/2)
}

// benchManifest times the scan of 10,000 small files beside a walk that only
// stats them.
func benchManifest(t *testing.T) {
	dir := manyFiles(t)
	walk := median(t, 5, func() {
		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil {
				_, err = d.Info()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	scan := median(t, 5, func() {
		if _, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{}); err != nil {
			t.Fatal(err)
		}
	})
	row("manifest of 10,000 files, every byte hashed; against a stat walk", scan, walk, "none", true)
}
