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
	"syscall"
	"testing"
	"time"

	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/sandbox/workspace"
)

// TestBench prints one table. Each figure stands next to a reference that was measured in the same run on the same
// machine. A missed target prints MISS and fails nothing, since machines are shared.
func TestBench(t *testing.T) {
	fmt.Println("| name | figure | reference | ratio | target | |")
	fmt.Println("|---|--:|--:|--:|--:|---|")
	for _, part := range []struct {
		name string
		rows func(*testing.T)
	}{
		{"start", benchStart},
		{"hook", benchHook},
		{"warmrun", benchWarmRun},
		{"box", benchBox},
		{"hardening", benchHardening},
		{"runsc", benchRunsc},
		{"pool", benchPool},
		{"delta", benchDelta},
		{"large", benchLarge},
		{"tournament", benchTournament},
		{"manifest", benchManifest},
		{"history", benchHistory},
		{"ledger", benchLedger},
		{"edit", benchEdit},
		{"types", benchTypes},
		{"witness", benchWitness},
		{"plan", benchPlan},
	} {
		t.Run(part.name, part.rows)
	}
}

// row prints one line of the table, with both times in seconds. The target is a bound on figure/reference, or on
// figure-reference if it is absolute.
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

// middle returns the median of several times.
func middle(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// benchWarmRun times whole runs of the command on a small workspace whose entry keeps running, so that the smoke test
// takes its full time. The reference is the time of the smoke gate itself.
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

// benchBox times one box from nothing to the answer of a command, against the engine's own client doing the same.
func benchBox(t *testing.T) {
	ctx := t.Context()
	engine, err := sandbox.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	image := toolchain(t)
	box := func(limits sandbox.Limits) {
		b, err := engine.Start(ctx, sandbox.Spec{Image: image, Run: "bench", Purpose: "bench", Lease: time.Now().Add(time.Minute), Limits: limits})
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
		if out, err := exec.Command("docker", "run", "--rm", "--network", "none", "--entrypoint", "/bin/true", image).CombinedOutput(); err != nil {
			t.Fatalf("docker run: %v\n%s", err, out)
		}
	}
	reference := median(t, 9, plain)
	figure := median(t, 9, func() { box(sandbox.Limits{}) })
	row("box: start, true, close; against docker run --rm true", figure, reference, "≤ 1.50", figure <= reference*3/2)
}

// benchManifest times a scan against a walk that only stats the files, alternately, so that both meet the same machine:
// first with nothing known, then with nothing changed since, then with ten files changed.
func benchManifest(t *testing.T) {
	for _, n := range []int{10_000, 100_000} {
		// A test of its own, so that the user's caches are back in use after it.
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			dir := manyFiles(t, n, ".py")
			scan := func() {
				if _, err := workspace.Rescan(t.Context(), dir, nil, workspace.Limits{}); err != nil {
					t.Fatal(err)
				}
			}
			change := func() {
				for i := range 10 {
					name := filepath.Join(dir, fmt.Sprintf("d%03d", i), fmt.Sprintf("f%05d.py", i*100))
					if err := os.WriteFile(name, []byte(time.Now().String()), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			quiet := func() {}
			beside(t, fmt.Sprintf("manifest of %d files, read at first; against a stat walk", n), 1, dir, quiet, scan, 0)
			// Files younger than two seconds are read again.
			time.Sleep(2100 * time.Millisecond)
			scan()
			beside(t, fmt.Sprintf("manifest of %d files, none changed; against a stat walk", n), 15, dir, quiet, scan, 1.5)
			beside(t, fmt.Sprintf("manifest of %d files, 10 changed; against a stat walk", n), 15, dir, change, scan, 1.5)
			fmt.Printf("| peak memory of this process, with manifests of %d files | %d MiB | 256 MiB | | ≤ 256 MiB | |\n", n, peak(t)>>20)
		})
	}
}

// manyFiles makes a workspace of n small files whose names end in end, a hundred in each directory.
func manyFiles(t *testing.T, n int, end string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i := range n {
		sub := filepath.Join(dir, fmt.Sprintf("d%03d", i/100))
		if i%100 == 0 {
			if err := os.Mkdir(sub, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%05d%s", i, end)), fmt.Appendf(nil, "x = %d\n", i), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// beside prints a row for scan, called each time after change, against a walk of dir; most bounds their ratio, 0 for no
// bound.
func beside(t *testing.T, name string, times int, dir string, change, scan func(), most float64) {
	t.Helper()
	var walks, scans []time.Duration
	for range times {
		change()
		started := time.Now()
		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil {
				_, err = d.Info()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		walks = append(walks, time.Since(started))
		started = time.Now()
		scan()
		scans = append(scans, time.Since(started))
	}
	walk, figure := middle(walks), middle(scans)
	if most == 0 {
		row(name, figure, walk, "none", true)
		return
	}
	row(name, figure, walk, fmt.Sprintf("≤ %.2f", most), figure.Seconds() <= most*walk.Seconds())
}

// peak returns the most memory that this process has held so far, in bytes.
func peak(t *testing.T) (bytes int64) {
	t.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		t.Fatal(err)
	}
	return use.Maxrss << 10
}
