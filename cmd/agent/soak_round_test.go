//go:build soak

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/run"
	"agent/orchestrator/store/history"
)

// hang is the time limit of a command, whatever strikes it; no fault lasts nearly as long.
const hang = 4 * time.Minute

// A round carries out one plan.
type round struct {
	*lane
	t    *testing.T
	plan plan
	// place contains the workspace and, next to it, the victim.
	place, work, victim string
	record              *books
	before, away        tree // the original workspace and victim
	over                chan struct{}
	first               sync.WaitGroup // waits for the first process
	asked, called       int            // requests to the model, and recorded requests, before the round
	begun               int            // iterations on record before the round

	// What replaced the workspace, and where it lies; nil if nothing did. Only the fault and its heal use them.
	swapped  tree
	stranger string
	filled   bool        // the user's state has its own file system
	wrong    []violation // found by healing a fault

	atGit sync.Mutex // serialises access to the repository

	mu      sync.Mutex // guards the following fields
	list    []*process
	runs    []string // of this round
	rows    []history.RunRow
	edits   map[string]string // by path: the text that a person added, or wrote
	gitTree tree              // the content of .git since the person's change
}

// A process is one running command, as a separate process or inside this one.
type process struct {
	args      []string
	patch     patch
	isRun     bool // else the next command, which nothing disturbs
	out, told *tape
	cmd       *exec.Cmd
	cancel    context.CancelFunc
	done      chan struct{}
	exit      int // -1 after a signal
	rss       int64
}

func (x *process) ended() bool {
	select {
	case <-x.done:
		return true
	default:
		return false
	}
}

// A tape keeps what is written to it, and lets callers wait for a text.
type tape struct {
	mu   sync.Mutex
	text strings.Builder
	grew chan struct{} // closed by the next write
}

func newTape() *tape { return &tape{grew: make(chan struct{})} }

func (t *tape) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.grew)
	t.grew = make(chan struct{})
	return t.text.Write(p)
}

func (t *tape) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// await waits until a line begins with marker, or until over is closed.
func (t *tape) await(marker string, over <-chan struct{}) bool {
	for {
		t.mu.Lock()
		text, grew := t.text.String(), t.grew
		t.mu.Unlock()
		if strings.Contains("\n"+text, "\n"+marker) {
			return true
		}
		select {
		case <-over:
			return false
		case <-grew:
		}
	}
}

// round carries out p and reports whether every promise was kept. A violation is reported with everything needed to
// repeat it, and the directory is kept.
func (l *lane) round(t *testing.T, p plan) bool {
	t.Helper()
	return len(l.examine(t, p, nil)) == 0
}

// examine carries out a round; sabotage, if not nil, is called before the promises are checked. It returns the
// violations, and reports them if there is no sabotage.
func (l *lane) examine(t *testing.T, p plan, sabotage func(*round)) []violation {
	t.Helper()
	k := kinds()[p.kind]
	r := &round{
		lane: l, t: t, plan: p, record: l.record, over: make(chan struct{}), edits: map[string]string{},
		work: filepath.Join(l.dir, k.name, "work"), victim: filepath.Join(l.dir, k.name, "victim"), asked: len(l.model.Requests()),
	}
	if p.struck("database killed") {
		r.record = l.crashing.take(t)
		defer l.crashing.mu.Unlock()
	}
	r.called, r.begun = r.calls(), r.iterations()
	r.refresh()
	for _, id := range r.runs {
		l.seen[id] = true
	}
	r.runs = nil
	r.furnish(k)
	defer r.strip()
	r.before, r.away = look(t, r.work), look(t, r.victim)
	l.model.Choose(func(q llmtest.Request) llmtest.Step {
		text := q.Messages[len(q.Messages)-1].Text
		if strings.HasPrefix(text, "Merge") || strings.HasPrefix(text, "Compress") {
			return llmtest.Step{Text: "- notes.txt counts to three\n"}
		}
		return llmtest.Step{Text: p.patch.text, Delay: 50 * time.Millisecond}
	})

	// The run, and the faults that strike it.
	var striking sync.WaitGroup
	r.first.Add(1)
	for _, f := range p.faults {
		striking.Go(func() { r.struck(f) })
	}
	started := time.Now()
	r.start(true, p.patch)
	r.first.Done()
	r.waitAll()
	close(r.over)
	striking.Wait()
	r.waitAll() // a second run may have started at the last moment
	if len(p.faults) == 0 {
		r.learnLength(time.Since(started))
	}
	for _, f := range p.faults {
		if f.mishap.heal != nil {
			f.mishap.heal(r)
		}
	}
	r.settle()
	if sabotage != nil {
		sabotage(r)
	}
	found := r.judge()
	if len(found) == 0 && p.again && len(r.edits) == 0 && p.patch.good() && len(p.flags) == 1 && r.promoted(p.patch) == 0 && !p.tmpfs {
		found = r.repeat()
	}
	r.count("ways", p.way)
	r.count("patches", p.patch.name)
	for _, x := range r.processes() {
		if x.isRun {
			r.count("exits", fmt.Sprint(x.exit))
		}
	}
	for _, row := range r.rows {
		r.count("states", string(row.State))
	}
	if sabotage == nil && len(found) > 0 {
		r.report(found)
	}
	return found
}

// furnish creates the workspace, its repository and the victim next to it.
func (r *round) furnish(k kind) {
	r.t.Helper()
	must := func(err error) {
		if err != nil {
			r.t.Fatal(err)
		}
	}
	r.place = filepath.Dir(r.work)
	must(os.RemoveAll(r.place))
	must(os.MkdirAll(r.work, 0o755))
	must(os.MkdirAll(filepath.Join(r.victim, "deeper"), 0o755))
	if r.plan.tmpfs {
		must(syscall.Mount("tmpfs", r.work, "tmpfs", 0, "size=768k"))
	}
	for name, text := range map[string]string{"treasure.txt": "treasure\n", "deeper/more.txt": "more\n", "linked.txt": k.files["shared.txt"]} {
		writeFile(r.t, filepath.Join(r.victim, name), text)
	}
	for name, text := range k.files {
		must(os.MkdirAll(filepath.Dir(filepath.Join(r.work, name)), 0o755))
		if name == "shared.txt" && !r.plan.tmpfs {
			must(os.Link(filepath.Join(r.victim, "linked.txt"), filepath.Join(r.work, name)))
			continue
		}
		writeFile(r.t, filepath.Join(r.work, name), text)
	}
	must(os.Symlink("../victim/treasure.txt", filepath.Join(r.work, "escape")))
	must(os.Symlink("../victim", filepath.Join(r.work, "away")))
	r.put("salt.txt", strings.Repeat("salt\n", r.plan.salt))
	r.put(".env", "SECRET="+r.canaries["dotenv"]+"\n")
	if r.plan.git != "" {
		r.repository()
	}
	config := filepath.Join(r.lane.dir, "home", ".config", "agent")
	must(os.MkdirAll(config, 0o700))
	text := ""
	if r.plan.inFile {
		text = fmt.Sprintf("database_url = %q\n", r.record.url)
	}
	writeFile(r.t, filepath.Join(config, "config.toml"), text)
	if r.filled = r.plan.struck("full state"); r.filled {
		r.mountState()
	}
	for _, q := range append(k.patches, side()) {
		writeFile(r.t, filepath.Join(r.place, q.name+".xml"), q.text)
	}
}

// put writes a file of the workspace.
func (r *round) put(name, text string) { writeFile(r.t, filepath.Join(r.work, name), text) }

// repository makes the workspace a repository with the branches main and side.
func (r *round) repository() {
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-C", r.work, "-c", "user.name=t", "-c", "user.email=t@invalid", "-c", "init.defaultBranch=main"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			r.t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "--template=")
	r.put(".gitignore", ".env\n")
	git("add", "-A")
	git("commit", "-q", "-m", "one")
	git("switch", "-q", "-c", "side")
	r.put("branch.txt", "on side\n")
	git("commit", "-q", "-a", "-m", "two")
	git("switch", "-q", "main")
	git("config", "remote.origin.url", "https://me:"+r.canaries["git"]+"@registry.invalid/shop")
	if r.plan.git == "dirty" {
		r.put("notes.txt", "one\ntwo\nthree\n\n")
		r.put("notes.txt", kinds()[r.plan.kind].files["notes.txt"])
		r.put("branch.txt", "not committed\n")
		r.put("untracked.txt", "of a person\n")
	}
}

// strip removes whatever prevents the removal of a directory.
func (r *round) strip() {
	if r.plan.struck("no writing") {
		r.immutable("-i")
	}
	if r.filled {
		r.unmountState()
	}
	if r.plan.tmpfs {
		if err := unmount(r.work); err != nil {
			r.t.Errorf("unmount %s: %v", r.work, err)
		}
	}
}

// unmount unmounts a file system. On a busy machine a killed program, or one that looks through the directory, may use
// it for a moment longer. If one stays, the file system is detached, because later rounds make the directory again.
func unmount(dir string) (err error) {
	for range 100 {
		if err = syscall.Unmount(dir, 0); !errors.Is(err, syscall.EBUSY) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.Join(err, syscall.Unmount(dir, syscall.MNT_DETACH))
}

// start starts a run of a patch, the first one in the way of the plan.
func (r *round) start(first bool, q patch) {
	args := append([]string{"sandbox", "run", "--workspace", r.work, "--json"}, r.plan.flags...)
	if first && r.plan.goal() {
		args = append(args, "--goal", "mend "+q.name, "--file", q.first())
	} else {
		args = append(args, "--patch", filepath.Join(r.place, q.name+".xml"))
	}
	r.launch(&process{args: args, patch: q, isRun: true}, first && r.plan.inside())
}

// launch starts a process, or a command inside this one.
func (r *round) launch(x *process, inside bool) *process {
	x.out, x.told, x.done = newTape(), newTape(), make(chan struct{})
	env := slices.Clone(r.env)
	if !r.plan.inFile {
		env = append(env, "AGENT_DATABASE_URL="+r.record.url)
	}
	if r.plan.struck("engine away") {
		env = append(env, "DOCKER_HOST=unix://"+r.engine.address)
	}
	if inside {
		r.inside(x, env)
	} else {
		x.cmd = exec.Command(agentProgram, x.args...)
		x.cmd.Env, x.cmd.Stdout, x.cmd.Stderr = env, x.out, x.told
		if err := x.cmd.Start(); err != nil {
			r.t.Fatal(err)
		}
		go func() {
			defer close(x.done)
			slow := time.AfterFunc(hang+stopFor(), func() { x.cmd.Process.Signal(syscall.SIGQUIT) }) // Go prints where it hangs
			defer slow.Stop()
			_ = x.cmd.Wait() // the exit code reports the result
			x.exit = x.cmd.ProcessState.ExitCode()
			x.rss = x.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
		}()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, x)
	return x
}

// inside runs a command in this process.
func (r *round) inside(x *process, env []string) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.t.Context()))
	x.cancel = cancel
	vars := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	go func() {
		defer close(x.done)
		defer cancel()
		x.exit = execute(ctx, x.args, func(k string) string { return vars[k] }, strings.NewReader(""), x.out, x.told)
	}()
}

// processes returns the processes so far.
func (r *round) processes() []*process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.list)
}

// waitAll waits until every process has ended.
func (r *round) waitAll() {
	for _, x := range r.processes() {
		select {
		case <-x.done:
		case <-time.After(hang + stopFor() + time.Minute):
			r.t.Fatalf("%v hangs\n%s", r.plan, stacks())
		}
	}
}

// usual returns how long a run of this kind takes.
func (r *round) usual() time.Duration {
	if d := r.length[r.plan.way+kinds()[r.plan.kind].name]; d != nil {
		return *d
	}
	return 2500 * time.Millisecond
}

// learnLength records the duration of an undisturbed run.
func (r *round) learnLength(d time.Duration) {
	if r.plan.patch.good() {
		r.length[r.plan.way+kinds()[r.plan.kind].name] = &d
	}
}

// command runs a command that nothing disturbs; it must succeed.
func (r *round) command(args ...string) *process {
	x := r.launch(&process{args: args}, false)
	<-x.done
	return x
}

// settle runs a command that a person may type next, and then collects what is left.
func (r *round) settle() {
	switch {
	case r.plan.goal():
		// An iteration of this process counts as alive as long as the process: no other one may take it up.
		x := &process{args: []string{"sandbox", "loop", "--resume", "--yes", "--json", "--rest", "0s", "--workspace", r.work}}
		<-r.launch(x, r.plan.inside()).done
	case r.plan.next == 1:
		r.command("runs", "list", "--all", "--json")
	case r.plan.next == 2:
		r.command("sandbox", "ls", "--json")
	}
	r.command("sandbox", "gc")
	r.refresh()
}

// repeat makes the same run once more; this time it must succeed.
func (r *round) repeat() []violation {
	r.count("ways", "once more")
	r.plan.faults, r.plan.way = nil, "patch" // the mishaps are healed
	x := &process{args: []string{"sandbox", "run", "--workspace", r.work, "--json", "--yes", "--patch", filepath.Join(r.place, r.plan.patch.name+".xml")}, patch: r.plan.patch, isRun: true}
	os.Remove(filepath.Join(r.work, ".git/index.lock"))
	delete(r.before, ".git/index.lock")
	if r.gitTree != nil {
		delete(r.gitTree, "index.lock")
	}
	r.list, r.wrong = nil, nil
	<-r.launch(x, false).done
	r.command("sandbox", "gc")
	r.refresh()
	found := r.judge()
	if x.exit != run.ExitDone || r.promoted(r.plan.patch) != 1 {
		found = append(found, violation{"O4", fmt.Sprintf("the same run once more ends with %d\n%s%s", x.exit, x.out, x.told)})
	}
	return found
}

// refresh reads the runs of the round.
func (r *round) refresh() {
	rows, err := r.record.db.Runs(context.WithoutCancel(r.t.Context()), history.RunFilter{Limit: 1000})
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		return // the oracles read them again
	}
	r.rows, r.runs = nil, nil
	for _, row := range rows {
		if !r.seen[row.ID] {
			r.rows, r.runs = append(r.rows, row), append(r.runs, row.ID)
		}
	}
}

// promoted counts the promotions of a patch in this round.
func (r *round) promoted(q patch) (n int) {
	for _, row := range r.rows {
		if row.Promoted && (strings.HasSuffix(row.Intent, "/"+q.name+".xml") || strings.HasSuffix(row.Intent, "goal mend "+q.name)) {
			n++
		}
	}
	return n
}

// edited records what a person wrote.
func (r *round) edited(path, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.edits[path] += text
}

// ownGit changes the repository; after that its content must stay the same.
func (r *round) ownGit(act func()) {
	r.atGit.Lock()
	defer r.atGit.Unlock()
	act()
	now := look(r.t, filepath.Join(r.work, ".git"))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gitTree = now
}

// report prints the violations, and keeps the directory.
func (r *round) report(found []violation) {
	r.t.Helper()
	kept := filepath.Join(r.soak.dir, fmt.Sprintf("kept-%d", r.plan.seed))
	text := fmt.Sprintf("AGENT_SOAK_SEED=%d AGENT_SOAK=1 (run %d of seed %d)\n%v\nkept in %s\n", r.plan.seed, r.plan.seed-r.seed, r.seed, r.plan, kept)
	all := "" // what is too long to print
	for _, v := range found {
		text += "VIOLATION of " + v.oracle + ": " + v.text + "\n"
	}
	for _, x := range r.processes() {
		text += fmt.Sprintf("agent %v: %d\n%s", x.args, x.exit, x.told)
		all += fmt.Sprintf("agent %v: %d\n%s%s", x.args, x.exit, x.out, x.told)
	}
	if err := errors.Join(exec.Command("cp", "-a", r.place, kept).Run(), os.WriteFile(filepath.Join(kept, "violation.txt"), []byte(text+all), 0o644)); err != nil {
		r.t.Errorf("keep the directory: %v", err)
	}
	r.soak.mu.Lock()
	r.violations++
	r.soak.mu.Unlock()
	// The record is dropped with its lane.
	ctx := context.WithoutCancel(r.t.Context())
	if conn, err := pgx.Connect(ctx, r.record.direct); err == nil {
		tables, _ := dump(ctx, conn) // as far as it could be read
		for name, rows := range tables {
			_ = os.WriteFile(filepath.Join(kept, "table-"+name+".txt"), []byte(rows), 0o600)
		}
		conn.Close(ctx)
	}
	fmt.Print(text) // printed at once: a test's own log appears only after its end
	r.t.Errorf("seed %d: %v", r.plan.seed, found)
}

// freePort returns a port on which nothing listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
