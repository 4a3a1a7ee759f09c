//go:build soak

package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/jackc/pgx/v5"

	"agent/orchestrator/run"
	"agent/orchestrator/store"
)

// A mishap is something that happens to a run. The table of mishaps lists all of them.
type mishap struct {
	name string
	// fits, if not nil, reports which plans it can strike.
	fits func(plan) bool
	// exits are the additional exit codes that it may cause; a signal's own exit code needs no entry.
	exits []int
	// early mishaps strike before the run is over or not at all.
	early bool
	// files says that the mishap needs the workspace's files in their place, or changes them; alone says that it shares
	// no round with a mishap that does.
	files, alone bool
	// strike carries it out and returns when it is over, or when r is.
	strike func(r *round, p planned)
	// heal, if not nil, removes the mishap before the next command.
	heal func(r *round)
}

func outside(p plan) bool { return !p.inside() }
func inGit(p plan) bool   { return p.git != "" }

// mishaps returns the mishaps that are possible on one machine.
func mishaps() []mishap {
	infra, conflict, cancelled := []int{run.ExitInfra}, []int{run.ExitConflict}, []int{run.ExitCancelled}
	return []mishap{
		{name: "kill agent", fits: outside, strike: (*round).killAgent},
		{name: "signal", exits: cancelled, strike: func(r *round, p planned) { r.signal(p, 1) }},
		{name: "two signals", fits: outside, exits: cancelled, strike: func(r *round, p planned) { r.signal(p, 2) }},
		{name: "remove box", exits: infra, strike: func(r *round, p planned) {
			r.boxes(p, func(ctx context.Context, id string) error {
				return r.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true})
			})
		}},
		{name: "kill box", exits: infra, strike: func(r *round, p planned) {
			r.boxes(p, func(ctx context.Context, id string) error { return r.api.ContainerKill(ctx, id, "KILL") })
		}},
		{name: "pause box", strike: (*round).pauseBox},
		{name: "remove image", exits: infra, strike: (*round).removeImage},
		{name: "end connections", exits: infra, strike: (*round).endConnections},
		{name: "database away", exits: infra, strike: func(r *round, p planned) {
			r.record.gate.shut()
			r.sleep(4 * p.long)
			r.record.gate.lift(r.t)
		}},
		{name: "database killed", fits: outside, exits: infra, strike: func(r *round, p planned) {
			r.record.crash(r.t, time.Duration(2*p.long*float64(time.Second)))
		}},
		{name: "engine away", fits: outside, exits: infra, strike: func(r *round, p planned) {
			r.engine.shut()
			r.sleep(1.5 * p.long)
			r.engine.lift(r.t)
		}},
		{name: "edit", files: true, exits: conflict, strike: func(r *round, p planned) { r.edit(r.plan.patch.first(), p.long < 0.5) }},
		{name: "edit of another", files: true, exits: conflict, strike: func(r *round, p planned) { r.edit("other.txt", p.long < 0.5) }},
		{name: "new file", files: true, strike: func(r *round, _ planned) { r.edit("fresh.txt", false) }},
		{name: "switch branch", files: true, fits: func(p plan) bool { return p.git == "clean" }, exits: conflict, strike: (*round).switchBranch},
		{
			name: "index lock", files: true, fits: inGit, exits: conflict,
			strike: func(r *round, _ planned) { r.ownGit(func() { r.put(".git/index.lock", "") }) },
		},
		{name: "no writing", files: true, exits: infra, strike: func(r *round, _ planned) { r.immutable("+i") }, heal: func(r *round) { r.immutable("-i") }},
		{name: "full disk", files: true, exits: infra, strike: (*round).fillDisk, heal: func(r *round) {
			// A promotion is settled even on a full disk; another promotion needs space.
			if r.plan.goal() {
				os.Remove(filepath.Join(r.work, ballast))
			}
		}},
		{
			name: "directory swapped", alone: true, fits: func(p plan) bool { return !p.goal() }, exits: conflict,
			strike: (*round).swap, heal: (*round).swapBack,
		},
		{
			name: "journal planted", alone: true, fits: func(p plan) bool { return !p.goal() },
			strike: (*round).plant, heal: (*round).unplant,
		},
		{name: "stop", fits: outside, exits: stopExits(), strike: (*round).stop},
		{name: "full state", fits: outside, exits: infra, strike: (*round).fillState, heal: func(r *round) {
			os.Remove(filepath.Join(r.stateDir(), ballast))
		}},
		{name: "second run", files: true, exits: conflict, early: true, strike: func(r *round, _ planned) { r.start(false, side()) }},
	}
}

// first returns one file that a patch changes.
func (p patch) first() string {
	names := []string{"notes.txt"}
	for name := range p.files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names[len(names)-1]
}

// sleep waits for this many seconds, or until the round is over.
func (r *round) sleep(seconds float64) bool {
	select {
	case <-r.over:
		return false
	case <-time.After(time.Duration(seconds * float64(time.Second))):
		return true
	}
}

// struck waits for the instant of p, strikes, and counts the fault if it came in time.
func (r *round) struck(p planned) {
	r.first.Wait()
	first := r.processes()[0]
	seconds := p.at * r.usual().Seconds()
	if p.marker != "" {
		if !first.told.await(p.marker, first.done) {
			return
		}
		seconds = 0.05 * p.at
	}
	if !r.sleep(seconds) {
		return
	}
	r.count("faults", p.mishap.name)
	p.mishap.strike(r, p)
}

// one chooses a running process, or nil if none runs.
func (r *round) one(p planned) *process {
	alive := slices.DeleteFunc(r.processes(), func(x *process) bool { return x.ended() || x.cmd == nil && x.cancel == nil })
	if len(alive) == 0 {
		return nil
	}
	return alive[int(p.long*997)%len(alive)]
}

func (r *round) killAgent(p planned) {
	if x := r.one(p); x != nil && x.cmd != nil {
		x.cmd.Process.Kill()
	}
}

// signal sends n signals; the second follows within 300 ms.
func (r *round) signal(p planned, n int) {
	x := r.one(p)
	if x == nil {
		return
	}
	if x.cmd == nil {
		x.cancel()
		return
	}
	for range n {
		x.cmd.Process.Signal([]syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[int(p.long*991)%2])
		r.sleep(0.3 * p.long)
	}
}

// boxes applies act to one box of the round, waiting for one if necessary.
func (r *round) boxes(p planned, act func(context.Context, string) error) (hit string) {
	ctx := context.WithoutCancel(r.t.Context())
	for range 40 {
		list := r.boxesLeft()
		if len(list) > 0 {
			id := list[int(p.long*983)%len(list)]
			if act(ctx, id) == nil {
				return id
			}
		}
		if !r.sleep(0.03) {
			return ""
		}
	}
	return ""
}

func (r *round) pauseBox(p planned) {
	id := r.boxes(p, r.api.ContainerPause)
	if id != "" {
		r.sleep(1.5 * p.long)
		_ = r.api.ContainerUnpause(context.WithoutCancel(r.t.Context()), id) // it may be gone
	}
}

// removeImage removes the snapshots of the workspace.
func (r *round) removeImage(planned) {
	for _, id := range r.snapshots(r.t, r.work) {
		_, _ = r.api.ImageRemove(context.WithoutCancel(r.t.Context()), id, image.RemoveOptions{Force: true}) // a running box keeps it
	}
}

// endConnections ends every connection of the agent, five times a second. It reconnects each time, because the server
// may be killed in the same round.
func (r *round) endConnections(p planned) {
	for range 1 + int(12*p.long) {
		if err := r.record.endConnections(r.t.Context()); err != nil && !r.plan.struck("database killed") {
			r.t.Errorf("end connections: %v", err)
		}
		if !r.sleep(0.2) {
			return
		}
	}
}

// edit adds a line to a file as a person does: in place, or by replacing the file with a new one.
func (r *round) edit(path string, replace bool) {
	const line = "# by hand\n"
	name := filepath.Join(r.work, path)
	var err error
	if replace {
		var text []byte
		if text, err = os.ReadFile(name); err == nil {
			beside := filepath.Join(r.place, "edited")
			if r.plan.tmpfs {
				beside = filepath.Join(r.work, ".edited~")
			}
			if err = os.WriteFile(beside, append(text, line...), 0o644); err == nil {
				err = os.Rename(beside, name)
			}
			os.Remove(beside)
		}
	} else {
		var f *os.File
		if f, err = os.OpenFile(name, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644); err == nil {
			if _, err = f.WriteString(line); err != nil && path == "fresh.txt" {
				os.Remove(name)
			}
			f.Close()
		}
	}
	if err == nil { // on a full disk, or where nothing can be written, a person cannot write either
		r.edited(path, line)
	}
}

// switchBranch switches the branch as a person does. Git may refuse; on a full disk it fails after it has changed
// files.
func (r *round) switchBranch(planned) {
	const there = "on side\n"
	r.ownGit(func() {
		_ = exec.Command("git", "-C", r.work, "switch", "-q", "side").Run() // the content of the file tells
		if text, err := os.ReadFile(filepath.Join(r.work, "branch.txt")); err == nil && string(text) == there {
			r.edited("branch.txt", there)
		}
	})
}

// immutable makes a directory one in which nothing can be created or renamed, or reverts that.
func (r *round) immutable(flag string) {
	dir := r.work
	if r.plan.patch.name == "many" {
		dir = filepath.Join(dir, "sub")
	}
	if out, err := exec.Command("chattr", flag, dir).CombinedOutput(); err != nil && flag == "-i" {
		if _, gone := os.Stat(dir); gone == nil {
			r.t.Errorf("chattr %s %s: %v\n%s", flag, dir, err, out)
		}
	}
}

// fillDisk fills the file system of the workspace to the last byte.
func (r *round) fillDisk(planned) { fill(r.work) }

// fillState fills the file system of the user's state, which holds the journals of promotions.
func (r *round) fillState(planned) { fill(r.stateDir()) }

// stateDir is where the processes of the round keep the user's state; when it is filled, it is a small file system of its own.
func (r *round) stateDir() string { return filepath.Join(r.lane.dir, "home", ".local", "state") }

func fill(dir string) {
	f, err := os.Create(filepath.Join(dir, ballast))
	if err != nil {
		return
	}
	defer f.Close()
	for page := make([]byte, 4096); err == nil; {
		_, err = f.Write(page)
	}
}

// ballast is the file that fills a disk.
const ballast = "ballast.bin"

// An ownPostgres is the soak's own server, started when the first run wants to kill it. One run at a time uses it.
type ownPostgres struct {
	top            *testing.T // lasts as long as the server
	mu             sync.Mutex
	name, password string
	record         *books
}

// newOwnPostgres returns a server that ends with t at the latest.
func newOwnPostgres(t *testing.T, password string) *ownPostgres {
	o := &ownPostgres{top: t, name: "agent-soak-" + strconv.Itoa(os.Getpid()), password: password}
	t.Cleanup(o.end)
	return o
}

// end removes the server and its volume.
func (o *ownPostgres) end() {
	if o.record == nil {
		return
	}
	o.record.gate.shut()
	o.record.db.Close()
	o.record = nil
	for _, args := range [][]string{{"rm", "-f", o.name}, {"volume", "rm", o.name}} {
		if out, err := exec.Command("docker", args...).CombinedOutput(); err != nil {
			o.top.Errorf("remove the soak's Postgres: %v\n%s", err, out)
		}
	}
}

// take gives the caller the record on the server; the caller unlocks it.
func (o *ownPostgres) take(t *testing.T) *books {
	t.Helper()
	o.mu.Lock()
	ok := false
	defer func() {
		if !ok {
			o.mu.Unlock()
		}
	}()
	if o.record != nil {
		ok = true
		return o.record
	}
	port := freePort(t)
	images, err := exec.Command("docker", "images", "-q", "--filter", "label=agent.image=postgres").Output()
	newest, _, _ := strings.Cut(strings.TrimSpace(string(images)), "\n")
	if err == nil {
		var out []byte
		out, err = exec.Command("docker", "run", "-d", "--name", o.name, "-v", o.name+":/var/lib/postgresql", "--tmpfs", "/run/postgresql:uid=10002,gid=10002",
			"-e", "AGENT_POSTGRES_PASSWORD="+o.password, "-p", fmt.Sprintf("127.0.0.1:%d:5432", port), newest).CombinedOutput()
		if err != nil {
			t.Fatalf("start a Postgres: %v\n%s", err, out)
		}
	}
	u := url.URL{Scheme: "postgres", User: url.UserPassword("agent", o.password), Host: fmt.Sprintf("127.0.0.1:%d", port), Path: "/agent", RawQuery: "sslmode=disable"}
	o.answer(t, u.String(), "create schema soak")
	u.RawQuery += "&search_path=soak"
	db, err := store.Open(o.top.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	o.record = newRecord(o.top, db, u.String())
	o.record.crash = func(t *testing.T, away time.Duration) {
		if out, err := exec.Command("docker", "kill", o.name).CombinedOutput(); err != nil {
			t.Errorf("kill Postgres: %v\n%s", err, out)
		}
		time.Sleep(away)
		if out, err := exec.Command("docker", "start", o.name).CombinedOutput(); err != nil {
			t.Errorf("start Postgres: %v\n%s", err, out)
		}
		o.answer(t, o.record.direct, "select 1")
	}
	ok = true
	return o.record
}

// answer waits until the server executes the statement.
func (o *ownPostgres) answer(t *testing.T, dsn, statement string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	for {
		conn, err := pgx.Connect(ctx, dsn)
		if err == nil {
			_, err = conn.Exec(ctx, statement)
			conn.Close(ctx)
		}
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Errorf("the soak's Postgres does not answer: %v", err)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// boxesLeft returns the containers of the round's runs and processes.
func (r *round) boxesLeft() (ids []string) {
	list, err := r.api.ContainerList(context.WithoutCancel(r.t.Context()), container.ListOptions{All: true, Filters: filters.NewArgs(filters.Arg("label", "agent.run"))})
	if err != nil {
		r.t.Errorf("list boxes: %v", err)
		return nil
	}
	if r.plan.inside() {
		r.refresh()
	}
	r.mu.Lock()
	runs := slices.Clone(r.runs)
	r.mu.Unlock()
	var pids []string
	for _, x := range r.processes() {
		if x.cmd != nil {
			pids = append(pids, strconv.Itoa(x.cmd.Process.Pid))
		}
	}
	for _, c := range list {
		// The form is host/boot/space/pid/start.
		owner := strings.Split(c.Labels["agent.owner"], "/")
		if len(owner) == 5 && slices.Contains(pids, owner[3]) || slices.Contains(runs, c.Labels["agent.run"]) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// snapshots returns the images of workspaces below dir.
func (s *soak) snapshots(t *testing.T, dir string) (ids []string) {
	t.Helper()
	list, err := s.api.ImageList(context.WithoutCancel(t.Context()), image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", "agent.workspace"))})
	if err != nil {
		t.Errorf("list snapshots: %v", err)
	}
	for _, i := range list {
		if strings.HasPrefix(i.Labels["agent.workspace"]+"/", dir+"/") {
			ids = append(ids, i.ID)
		}
	}
	return ids
}
