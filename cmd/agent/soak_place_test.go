//go:build soak

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"agent/orchestrator/run"
)

// impostor is the content of the directory that replaces the workspace.
var impostor = map[string]string{"notes.txt": "one\ntwo\nthree\n", "shared.txt": "ours\nand theirs\n", "README.md": "Another directory.\n"}

// aside is where the workspace is meanwhile.
func (r *round) aside() string { return filepath.Join(r.place, "aside") }

// swap moves the workspace away and puts a directory, or a link to one, in its place; sometimes it puts it back while
// the run continues. Until the run prints something, the directory that is there counts as the one that it was given.
func (r *round) swap(p planned) {
	if first := r.processes()[0]; !first.told.await(markers[0], first.done) {
		return
	}
	if err := os.Rename(r.work, r.aside()); err != nil {
		r.t.Errorf("swap: %v", err)
		return
	}
	dir := r.work
	if int(p.long*997)%3 == 0 {
		dir = filepath.Join(r.place, "impostor")
	}
	for name, text := range impostor {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			r.t.Fatal(err)
		}
		writeFile(r.t, filepath.Join(dir, name), text)
	}
	if dir != r.work {
		if err := os.Symlink(dir, r.work); err != nil {
			r.t.Fatal(err)
		}
	}
	r.swapped, r.stranger = look(r.t, dir), dir
	if int(p.long*991)%3 == 0 && r.sleep(2*p.long) {
		r.swapBack()
	}
}

// swapBack puts the workspace back. The replacement must be unchanged.
func (r *round) swapBack() {
	if r.swapped == nil {
		return // it was never moved, or is already back
	}
	for _, text := range differences(r.swapped, look(r.t, r.stranger)) {
		r.wrong = append(r.wrong, violation{"O2", "in the directory that took the workspace's place: " + text})
	}
	r.swapped = nil
	for _, act := range []func() error{
		func() error { return os.RemoveAll(r.work) }, func() error { return os.RemoveAll(r.stranger) },
		func() error { return os.Rename(r.aside(), r.work) },
	} {
		if err := act(); err != nil {
			r.t.Fatalf("swap back: %v", err)
		}
	}
}

// plantedFiles is a journal that would delete other.txt and create another file, in a form that earlier versions
// accepted from the workspace. The digest is that of other.txt.
func plantedFiles() map[string]string {
	const digest = "0967b63182a9178fa55b1b6b6f3db64bb615bc8ed4457d69ceb99faeecbf8ed7"
	plan := `{"id":"edit-1","items":[{"path":"other.txt","slot":".agent/journal/edit-1/files/0","before":{"digest":"` + digest + `","mode":420}},` +
		`{"path":"sub/more/evil.txt","slot":".agent/journal/edit-1/files/1","after":{"digest":"` + digest + `","mode":420}}]}`
	return map[string]string{
		".agent/journal/edit-1/journal.json": plan, ".agent/journal/edit-1/state.committing": "",
		".agent/journal/edit-1/files/0": "", ".agent/journal/edit-1/files/1": "untouched\n",
	}
}

// plant puts a journal into the workspace, as a clone may do.
func (r *round) plant(planned) {
	for name, text := range plantedFiles() {
		file := filepath.Join(r.work, name)
		if os.MkdirAll(filepath.Dir(file), 0o755) == nil {
			_ = os.WriteFile(file, []byte(text), 0o644) // impossible on a full disk
		}
	}
}

// unplant removes the journal, after a command that might carry it out. It must be unchanged.
func (r *round) unplant() {
	r.command("sandbox", "gc")
	for name, text := range plantedFiles() {
		got, err := os.ReadFile(filepath.Join(r.work, name))
		if _, none := os.Stat(filepath.Join(r.work, ".agent/journal")); none == nil && (err != nil || string(got) != text) {
			r.wrong = append(r.wrong, violation{"O1", name + ", which was planted, is another"})
		}
	}
	if err := os.RemoveAll(filepath.Join(r.work, ".agent", "journal")); err != nil {
		r.t.Errorf("take the planted journal away: %v", err)
	}
	_ = os.Remove(filepath.Join(r.work, ".agent")) // the run may have created it too
}

// orphaned is the time after which other processes consider a run dead.
const orphaned = 90 * time.Second

// stopFor is how long a process is stopped: AGENT_SOAK_STOP, or 0 for some seconds.
func stopFor() time.Duration {
	d, _ := time.ParseDuration(os.Getenv("AGENT_SOAK_STOP")) // newSoak reports an invalid value
	return d
}

// stopExits are the exit codes of a run that was stopped. A run stopped for too long is settled by other processes.
func stopExits() []int {
	if stopFor() < orphaned {
		return nil
	}
	return []int{run.ExitInfra, run.ExitConflict}
}

// stop stops a process, as closing a laptop does. During a long stop another command finds the process.
func (r *round) stop(p planned) {
	x := r.one(p)
	if x == nil || x.cmd == nil || x.cmd.Process.Signal(syscall.SIGSTOP) != nil {
		return
	}
	if d := stopFor(); d > 0 {
		r.sleep(d.Seconds())
		r.command("sandbox", "gc")
	} else {
		r.sleep(4 * p.long)
	}
	_ = x.cmd.Process.Signal(syscall.SIGCONT) // it is gone if it was killed while it was stopped
}

// clashes reports whether m cannot share a round with the faults planned so far.
func (p plan) clashes(m mishap) bool {
	for _, f := range p.faults {
		if m.alone && (f.mishap.files || f.mishap.alone) || f.mishap.alone && m.files {
			return true
		}
	}
	return false
}

// mountState gives the user's state its own small file system.
func (r *round) mountState() {
	if err := os.MkdirAll(r.stateDir(), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", r.stateDir(), "tmpfs", 0, "size=256k,mode=0700"); err != nil {
		r.t.Fatal(err)
	}
}

// unmountState removes that file system, with whatever is left in it.
func (r *round) unmountState() {
	if err := unmount(r.stateDir()); err != nil && !strings.Contains(err.Error(), "invalid argument") {
		r.t.Errorf("unmount %s: %v", r.stateDir(), err)
	}
}
