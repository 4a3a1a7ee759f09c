//go:build soak

package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/docker/docker/client"
	"github.com/jackc/pgx/v5"

	"agent/cmd/agent/internal/cmdline"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
)

const (
	// soakRuns is the number of runs unless AGENT_SOAK is set.
	soakRuns = 200
	// lanes is the number of workspaces in use at the same time.
	lanes = 3
	// onOneRecord is the number of runs that a lane makes before it takes a new record, because each dump of a record
	// is searched as a whole.
	onOneRecord = 15
	// enough violations end the soak: further ones would be of the same kind.
	enough = 8
	// slack is the permitted variation in the counts of goroutines and descriptors.
	slack = 6
)

// A soak is many runs, each with faults at random instants, and the violations found.
type soak struct {
	seed uint64
	runs int64
	dir  string // holds every workspace, and what is kept after a violation
	next atomic.Int64
	// plans are the plans of the runs.
	plans []plan
	api   *client.Client
	// Secrets that may appear nowhere, by where they were put.
	canaries map[string]string
	search   search
	watch    *watcher
	crashing *ownPostgres

	mu         sync.Mutex // guards the following fields
	done       int
	violations int
	counts     map[string]map[string]int // of verdicts, faults and patches
	searched   map[string]bool           // images
	peak       int64                     // of a process, in bytes
}

// TestSoak makes AGENT_SOAK runs of the product with random patches, and random faults strike at random instants of
// them. After each run, the next command settles what is left, and then every promise is checked: see oracles.
//
// Run n of seed s is run 0 of seed s+n, so that each can be repeated alone.
func TestSoak(t *testing.T) {
	s := newSoak(t)
	fmt.Printf("soak: AGENT_SOAK_SEED=%d AGENT_SOAK=%d, in %s\n", s.seed, s.runs, s.dir)
	// The first run builds what all others find, including a run in this process.
	t.Run("warm", func(t *testing.T) {
		l := s.newLane(t, lanes)
		for _, way := range []string{"inside", "goal inside"} {
			p := newPlan(1)
			p.way, p.kind, p.patch, p.flags, p.faults = way, 0, kinds()[0].find("edit"), []string{"--yes"}, nil
			l.round(t, p)
		}
	})
	before := s.census(t)
	started := time.Now()
	var all sync.WaitGroup
	for n := range lanes {
		all.Go(func() {
			for batch := 1; s.more(); batch++ {
				t.Run(fmt.Sprintf("lane %d, record %d", n+1, batch), func(t *testing.T) {
					l := s.newLane(t, n)
					for range onOneRecord {
						n := s.next.Add(1) - 1
						if n >= s.runs {
							return
						}
						kept := l.round(t, s.plans[n])
						s.tell(started)
						if !kept {
							return // a violation in this record would be found again and again
						}
					}
				})
			}
		})
	}
	all.Wait()
	s.crashing.end()
	s.flat(t, before, s.census(t))
	s.print("end", time.Since(started))
	if s.violations == 0 {
		os.RemoveAll(s.dir)
	}
}

// newSoak reads the settings and prepares what all runs share.
func newSoak(t *testing.T) *soak {
	t.Helper()
	s := &soak{
		seed: uint64(time.Now().UnixNano() / 1e6), runs: soakRuns, counts: map[string]map[string]int{}, searched: map[string]bool{},
		canaries: map[string]string{},
	}
	for name, to := range map[string]func(uint64){
		"AGENT_SOAK_SEED": func(n uint64) { s.seed = n }, "AGENT_SOAK": func(n uint64) { s.runs = int64(n) },
	} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				t.Fatalf("%s: give a number: %v", name, err)
			}
			to(n)
		}
	}
	if text := os.Getenv("AGENT_SOAK_STOP"); text != "" {
		if _, err := time.ParseDuration(text); err != nil {
			t.Fatalf("AGENT_SOAK_STOP: give a time like 5m: %v", err)
		}
	}
	for seed := s.seed; int64(len(s.plans)) < s.runs; seed++ {
		// AGENT_SOAK_FAULT names a fault that every run must have.
		if p := newPlan(seed); os.Getenv("AGENT_SOAK_FAULT") == "" || p.struck(os.Getenv("AGENT_SOAK_FAULT")) {
			s.plans = append(s.plans, p)
		} else if seed > s.seed+1e6 {
			t.Fatalf("AGENT_SOAK_FAULT: no run has the fault %q", os.Getenv("AGENT_SOAK_FAULT"))
		}
	}
	var err error
	if s.dir, err = os.MkdirTemp("", "agent-soak-"); err != nil {
		t.Fatal(err)
	}
	s.dir = cmdline.Resolved(s.dir)
	if s.api, err = client.NewClientWithOpts(client.FromEnv, client.WithAPIVersionNegotiation()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.api.Close() })
	for _, place := range []string{"environment", "key", "netrc", "npmrc", "dsn", "dotenv", "git"} {
		s.canaries[place] = newCanary(place)
	}
	s.crashing = newOwnPostgres(t, s.canaries["dsn"])
	s.search = newSearch(slices.Collect(maps.Values(s.canaries)))
	s.watch = s.newWatcher(t)
	return s
}

// more reports whether another run is due.
func (s *soak) more() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.next.Load() < s.runs && s.violations < enough
}

// count counts one of a kind.
func (s *soak) count(kind, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts[kind] == nil {
		s.counts[kind] = map[string]int{}
	}
	s.counts[kind][name]++
}

// tell prints the progress of the soak, every twenty runs.
func (s *soak) tell(started time.Time) {
	s.mu.Lock()
	s.done++
	now := s.done%20 == 0
	done := s.done
	s.mu.Unlock()
	if now {
		s.print(fmt.Sprintf("%d of %d", done, s.runs), time.Since(started))
	}
}

// print prints the counts so far.
func (s *soak) print(what string, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Printf("soak: %s after %v, %d violations, %d boxes inspected (%d were gone before), peak of a process %d MiB\n",
		what, after.Round(time.Second), s.violations, s.watch.seen.Load(), s.watch.missed.Load(), s.peak>>20)
	for _, kind := range slices.Sorted(maps.Keys(s.counts)) {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(s.counts[kind])) {
			parts = append(parts, fmt.Sprintf("%s %d", name, s.counts[kind][name]))
		}
		fmt.Printf("  %s: %s\n", kind, strings.Join(parts, ", "))
	}
}

// A lane uses one workspace after the other, with its own record, engine socket and model.
type lane struct {
	*soak
	dir    string
	record *books
	engine *barrier
	model  *llmtest.Server
	env    []string
	seen   map[string]bool           // the runs of earlier rounds
	length map[string]*time.Duration // the length of an undisturbed run, by way and kind
}

// Books are a record: a schema on some server, the gate in front of it, and its names.
type books struct {
	db *store.DB
	// The address through the gate, and the direct one that no fault touches.
	url, direct string
	gate        *barrier
	// name is the name that the agent's connections give themselves.
	name string
	// crash, if not nil, kills the server and starts it after a while.
	crash func(t *testing.T, away time.Duration)
}

// newLane returns a lane that lasts as long as t.
func (s *soak) newLane(t *testing.T, n int) *lane {
	t.Helper()
	db, url := storetest.New(t)
	l := &lane{soak: s, dir: filepath.Join(s.dir, strconv.Itoa(n)), seen: map[string]bool{}, length: map[string]*time.Duration{}}
	home := filepath.Join(l.dir, "home")
	for name, text := range map[string]string{
		".netrc": "machine registry.invalid login me password " + s.canaries["netrc"] + "\n",
		".npmrc": "//registry.invalid/:_authToken=" + s.canaries["npmrc"] + "\n",
	} {
		if err := os.MkdirAll(home, 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(home, name), text)
	}
	l.record = newRecord(t, db, url)
	l.model = llmtest.Gemini()
	t.Cleanup(l.model.Close)
	socket := filepath.Join(l.dir, "engine.sock")
	l.engine = &barrier{network: "unix", server: "/var/run/docker.sock", address: socket, open: map[net.Conn]bool{}}
	l.engine.lift(t)
	t.Cleanup(l.engine.shut)
	l.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "AGENT_GUEST=" + os.Getenv("AGENT_GUEST"), "AGENT_MODEL=gemini/m",
		"GEMINI_API_KEY=" + s.canaries["key"], "GEMINI_BASE_URL=" + l.model.URL(), "AWS_SECRET_ACCESS_KEY=" + s.canaries["environment"],
		"GITHUB_TOKEN=" + s.canaries["environment"],
	}
	return l
}

// newRecord puts a gate in front of the schema at url, and gives connections through it their own name.
func newRecord(t *testing.T, db *store.DB, url string) *books {
	t.Helper()
	r := &books{db: db, direct: url, name: "soak-" + strings.ToLower(newCanary("")[:12])}
	r.gate, r.url = newGate(t, url)
	r.url += "&application_name=" + r.name
	return r
}

// endConnections ends the agent's connections, using a connection of its own.
func (r *books) endConnections(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, r.direct)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, "select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1", r.name)
	return err
}

// A census counts things that must not grow.
type census map[string]int

// census waits for what is about to go away, and counts.
func (s *soak) census(t *testing.T) census {
	t.Helper()
	s.api.Close() // closes its idle connections; it can be used again
	var c census
	for patience := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		runtime.GC()
		now := census{"goroutines": runtime.NumGoroutine(), "descriptors": len(open)}
		if c != nil && maps.Equal(c, now) || time.Now().After(patience) {
			c = now
			break
		}
		c = now
	}
	for kind, args := range map[string][]string{
		"containers": {"ps", "-aq", "--filter", "label=agent.run"}, "images of a run": {"images", "-q", "--filter", "label=agent.run"},
		"volumes": {"volume", "ls", "-q", "--filter", "label=agent.run"}, "networks": {"network", "ls", "-q", "--filter", "label=agent.run"},
	} {
		c[kind] = len(strings.Fields(s.docker(t, args...)))
	}
	return c
}

// docker runs the engine's own client.
func (s *soak) docker(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("docker", args...).CombinedOutput()
	if err != nil {
		t.Errorf("docker %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// flat compares two counts. Other programs may use the same engine, so the leftovers of the soak's own runs are looked
// for by name, after every round; here they are only printed.
func (s *soak) flat(t *testing.T, before, after census) {
	t.Helper()
	fmt.Printf("soak: before %v, after %v\n", before, after)
	for _, kind := range []string{"goroutines", "descriptors"} {
		if after[kind] > before[kind]+slack {
			t.Errorf("%s: %d before and %d after\n%s", kind, before[kind], after[kind], stacks())
		}
	}
	// Without their workspaces, all snapshots are obsolete.
	for n := range lanes + 1 {
		os.RemoveAll(filepath.Join(s.dir, strconv.Itoa(n)))
	}
	_, url := storetest.New(t)
	collect := exec.Command(agentProgram, "sandbox", "gc")
	collect.Env = append(os.Environ(), "AGENT_DATABASE_URL="+url)
	if out, err := collect.CombinedOutput(); err != nil {
		t.Errorf("collect what is left: %v\n%s", err, out)
	}
	if left := s.snapshots(t, s.dir); len(left) > 0 {
		t.Errorf("snapshots of workspaces that are gone: %v", left)
	}
}

// stacks returns the stacks of all goroutines.
func stacks() string {
	text := make([]byte, 1<<20)
	return string(text[:runtime.Stack(text, true)])
}
