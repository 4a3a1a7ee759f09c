package main

import (
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/history"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
)

// kills and leanKills are the numbers of random instants that are tried: of a run with every gate, and of a run with
// only what it takes to be killed, which lasts a fraction of the time.
const kills, leanKills = 4, 24

// The agent is killed without warning at random instants of a run. After the next command, whichever it is, the tree is
// exactly as before or as after, every run has ended with a state that says which, and nothing that a run made is left
// on the engine.
func TestKilledAtAnyInstantNothingHalfDoneIsLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tree, patch string
		kills       int
	}{
		"every gate": {"testdata/example", "testdata/patches/good.xml", kills},
		"scripts":    {scripts, scriptsPatch, leanKills},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, url := storetest.Warm(t)
			k := newKilling(t, url)
			k.tree, k.patch = c.tree, c.patch
			k.killed(t, db, c.kills)
		})
	}
}

// killed kills this many runs at random instants.
func (k *killing) killed(t *testing.T, db *store.DB, kills int) {
	t.Helper()
	k.restore(t)
	before := snapshotOf(t, k.work)

	// A complete run shows how long a run takes and what the tree looks like after it; the length of the second, with
	// everything warm, is the one that is sampled.
	var whole time.Duration
	for range 2 {
		k.restore(t)
		started := time.Now()
		if out, err := k.command(k.run()...).CombinedOutput(); err != nil {
			t.Fatalf("an undisturbed run: %v\n%s", err, out)
		}
		whole = time.Since(started)
	}
	after := snapshotOf(t, k.work)

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d; an undisturbed run takes %v", seed, whole.Round(time.Millisecond))
	chance := rand.New(rand.NewPCG(seed, 0))
	ended := map[run.State]int{}
	for i := range kills {
		k.restore(t)
		at := time.Duration(chance.Float64() * 1.02 * float64(whole))
		if took, ended := k.runAndKill(t, at); ended {
			whole = took // the machine has become faster: sample the shorter time
		}
		k.next(t, i)
		switch got := snapshotOf(t, k.work); got {
		case before, after:
		default:
			t.Fatalf("killed after %v: the tree is neither before nor after:\n%s", at, got)
		}
		k.nothingLeft(t, db)
		ended[k.latest(t, db)]++
	}
	t.Logf("the killed runs ended %v", ended)
}

// A killing is a workspace on which runs are killed.
type killing struct {
	work string
	env  []string
	// The directory that the workspace is a copy of, and a patch for it.
	tree, patch string
}

// scripts is a workspace with only shell scripts, and scriptsPatch changes several of its files. A box proves it as any
// other one, with gates that take a second. Where the verdict is not under test, that is enough.
const scripts, scriptsPatch = "testdata/scripts", "testdata/patches/scripts.xml"

// newKilling returns a workspace of scripts with the database at url; the workspace does not exist before restore.
func newKilling(t *testing.T, url string) *killing {
	t.Helper()
	env := append(os.Environ(), "AGENT_DATABASE_URL="+url, "GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.org", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.org")
	return &killing{work: filepath.Join(t.TempDir(), "shop"), env: env, tree: scripts, patch: scriptsPatch}
}

// run returns the command line of a run of the patch that is promoted.
func (k *killing) run() []string {
	return []string{"sandbox", "run", "--workspace", k.work, "--patch", k.patch, "--yes", "--json"}
}

func (k *killing) command(args ...string) *exec.Cmd {
	cmd := exec.Command(agentProgram, args...)
	cmd.Env = k.env
	return cmd
}

// restore replaces the workspace by a fresh copy.
func (k *killing) restore(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(k.work); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(k.work, os.DirFS(k.tree)); err != nil {
		t.Fatal(err)
	}
}

// runAndKill kills a run after at; ended reports that it was over before, in the time took.
func (k *killing) runAndKill(t *testing.T, at time.Duration) (took time.Duration, ended bool) {
	t.Helper()
	started := time.Now()
	cmd := k.command(k.run()...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(at, func() { cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Wait() // the error is the kill
	return time.Since(started), err == nil
}

// next runs one of the commands that a person may type next; each of them must settle everything.
func (k *killing) next(t *testing.T, i int) {
	t.Helper()
	args := [][]string{{"runs", "list", "--json"}, {"sandbox", "ls", "--json"}, {"sandbox", "gc"}}[i%3]
	if out, err := k.command(args...).CombinedOutput(); err != nil {
		t.Fatalf("the next command, %v: %v\n%s", args, err, out)
	}
}

// nothingLeft checks that neither the engine nor the record has anything unfinished.
func (k *killing) nothingLeft(t *testing.T, db *store.DB) {
	t.Helper()
	open, err := db.Unfinished(t.Context())
	if err != nil || len(open) != 0 {
		t.Fatalf("unfinished runs %+v, %v", open, err)
	}
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	boxes, err := engine.Boxes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Runs(t.Context(), history.RunFilter{Limit: 2 * (kills + leanKills)})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range boxes {
		own := slices.ContainsFunc(rows, func(r history.RunRow) bool { return r.ID == b.Run })
		if own && !b.Live {
			t.Errorf("box %s of run %s (%s, %s) is left", b.ID, b.Run, b.Purpose, b.State)
		}
	}
	images, err := engine.ImagesLabelled(t.Context(), "agent.run")
	if err != nil || len(images) != 0 {
		t.Errorf("images of a run are left: %v, %v", images, err)
	}
	for _, kind := range []string{"volume", "network"} {
		if left := keptOfRuns(t, kind); left != "" {
			t.Errorf("a %s of a run is left: %s", kind, left)
		}
	}
}

// keptOfRuns lists what the engine keeps of a run apart from boxes and images.
func keptOfRuns(t *testing.T, kind string) string {
	t.Helper()
	out, err := exec.Command("docker", kind, "ls", "--quiet", "--filter", "label=agent.run").Output()
	if err != nil {
		t.Fatalf("list %ss: %v", kind, err)
	}
	return strings.TrimSpace(string(out))
}

// latest returns the state of the newest run.
func (k *killing) latest(t *testing.T, db *store.DB) run.State {
	t.Helper()
	rows, err := db.Runs(t.Context(), history.RunFilter{Limit: 1})
	if err != nil || len(rows) == 0 {
		t.Fatalf("the newest run: %v, %v", rows, err)
	}
	// The log contains what the run did until then, and who settled it.
	log, err := db.Events(t.Context(), rows[0].ID, run.StateEntry, 0)
	if n := len(log); err != nil || n == 0 || log[n-1].Subject != string(rows[0].State) {
		t.Errorf("the run ended %s, its log with %+v, %v", rows[0].State, log, err)
	}
	return run.State(rows[0].State)
}

// snapshotOf describes every entry below dir with its mode and content.
func snapshotOf(t *testing.T, dir string) string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		line := info.Mode().String() + " " + rel
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			quoted, _ := json.Marshal(string(text))
			line += " " + string(quoted)
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
