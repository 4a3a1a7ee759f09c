package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
)

// editKills is the number of random instants of a write that are tried.
const editKills = 20

// The agent is killed without warning at random instants of a write of many files. After the next `agent edit`, which
// only reads, the tree is exactly as before or as after the write.
func TestAKilledEditLeavesBeforeOrAfter(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	work, patch := filepath.Join(top, "work"), filepath.Join(top, "patch.xml")
	files, text := map[string]string{}, ""
	for i := range 60 {
		name := fmt.Sprintf("d%d/f%d.txt", i%7, i)
		files[name] = fmt.Sprintf("number %d\n", i)
		text += block(name, fmt.Sprintf("number %d", i), "changed") + fmt.Sprintf("<CREATE_FILE path=\"new/%d.txt\">\nnew\n</CREATE_FILE>\n", i)
	}
	writeFiles(t, top, map[string]string{"patch.xml": text, "look.xml": block("d0/f0.txt", "nothing of this", "x")})
	restore := func() string {
		if err := os.RemoveAll(work); err != nil {
			t.Fatal(err)
		}
		writeFiles(t, work, files)
		return snapshotOf(t, work)
	}
	write := func() *exec.Cmd { return exec.Command(agentProgram, "edit", "-w", work, "--write", patch) }

	before := restore()
	started := time.Now()
	if out, err := write().CombinedOutput(); err != nil {
		t.Fatalf("an undisturbed write: %v\n%s", err, out)
	}
	whole, after := time.Since(started), snapshotOf(t, work)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d; an undisturbed write takes %v", seed, whole.Round(time.Millisecond))
	chance, ended := rand.New(rand.NewPCG(seed, 0)), map[string]int{}
	for range editKills {
		restore()
		cmd, at := write(), time.Duration(chance.Float64()*1.1*float64(whole))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(at, func() { cmd.Process.Kill() })
		cmd.Wait() // the error is the kill
		timer.Stop()
		out, err := exec.Command(agentProgram, "edit", "-w", work, filepath.Join(top, "look.xml")).CombinedOutput()
		if code := err.(*exec.ExitError).ExitCode(); code != run.ExitFail {
			t.Fatalf("the next command: exit code %d\n%s", code, out)
		}
		switch got := snapshotOf(t, work); got {
		case before:
			ended["before"]++
		case after:
			ended["after"]++
		default:
			t.Fatalf("killed after %v: the tree is neither before nor after:\n%s\n%s", at, out, got)
		}
	}
	t.Logf("the killed writes ended %v", ended)
}

// leftJournal leaves a journal in a fresh workspace, like a process that dies before the first rename.
func leftJournal(t *testing.T, id string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	writeFiles(t, dir, map[string]string{"a.txt": "one\n"})
	cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Create, Path: "b.txt", After: []byte("b\n"), Mode: 0o644}}}
	lock, err := promotion.Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Release() // as the kernel does when a process dies
	if _, err := lock.Prepare(t.Context(), cs, id, nil); err != nil {
		t.Fatal(err)
	}
	return dir
}

// edited runs `agent edit` on dir with a patch for a.txt.
func edited(t *testing.T, dir string, flags ...string) execution {
	t.Helper()
	patch := filepath.Join(t.TempDir(), "patch.xml")
	writeFiles(t, filepath.Dir(patch), map[string]string{"patch.xml": block("a.txt", "one", "1")})
	return commandIn(t, nil, append([]string{"edit", "-w", dir, patch}, flags...)...)
}

func TestAnInterruptedEditIsSettledByTheNext(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{nil, {"--write"}} {
		dir := leftJournal(t, "edit-gone")
		got := edited(t, dir, flags...)
		if got.exit != run.ExitDone || !strings.Contains(got.stderr, "cleaned up after an interrupted edit: rolled-back") {
			t.Errorf("edit %v: exit code %d\n%s", flags, got.exit, got.stderr)
		}
		if _, err := os.Stat(filepath.Join(dir, ".agent")); !os.IsNotExist(err) {
			t.Errorf("edit %v: the journal is still there: %v", flags, err)
		}
	}
}

// The journal of a run is evidence: only a command with the record may remove it, and until then nothing else is
// written.
func TestTheJournalOfARunIsLeftToTheRecord(t *testing.T) {
	t.Parallel()
	dir := leftJournal(t, "06c000000000")
	before := snapshotOf(t, dir)
	if got := edited(t, dir); got.exit != run.ExitDone || !strings.Contains(got.stdout, "+1") {
		t.Errorf("a preview ends with %d\n%s", got.exit, got.stderr)
	}
	got := edited(t, dir, "--write")
	if got.exit != run.ExitInfra || !strings.Contains(got.stderr, "run 06c000000000 was interrupted") || !strings.Contains(got.stderr, "next: run `agent runs list`") {
		t.Errorf("a write ends with %d\n%s", got.exit, got.stderr)
	}
	if now := snapshotOf(t, dir); now != before {
		t.Errorf("the workspace was\n%s\nand is\n%s", before, now)
	}
}

func TestADamagedJournalIsNoFaultOfThePatch(t *testing.T) {
	t.Parallel()
	dir := leftJournal(t, "edit-bad")
	plans, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "agent", "promotions", "*", "edit-bad", "journal.json"))
	if err != nil || len(plans) != 1 {
		t.Fatalf("the plan is at %q, %v", plans, err)
	}
	if err := os.WriteFile(plans[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := edited(t, dir)
	if got.exit != run.ExitInfra || !strings.Contains(got.stderr, "is damaged") {
		t.Errorf("exit code %d\n%s", got.exit, got.stderr)
	}
}

// A clone may bring a journal in the form of earlier versions. Here one would write a file and another delete one.
func TestAJournalInTheWorkspaceIsIgnored(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const deletes = `{"id":"edit-1","items":[{"path":"c.txt","slot":".agent/journal/edit-1/files/0","before":{"digest":"%s","mode":420}}]}`
	const writes = `{"id":"edit-2","items":[{"path":"b.txt","slot":".agent/journal/edit-2/files/0","before":{"digest":"%s","mode":420}}]}`
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	writeFiles(t, dir, map[string]string{
		"a.txt": "one\n", "c.txt": "c\n",
		".agent/journal/edit-1/journal.json": fmt.Sprintf(deletes, sum("c\n")), ".agent/journal/edit-1/state.committing": "",
		".agent/journal/edit-1/files/.keep":  "",
		".agent/journal/edit-2/journal.json": fmt.Sprintf(writes, sum("x\n")), ".agent/journal/edit-2/state.rolling-back": "",
		".agent/journal/edit-2/files/0": "x\n",
	})
	before := snapshotOf(t, dir)
	got := edited(t, dir)
	if got.exit != run.ExitDone || !strings.Contains(got.stderr, "ignored .agent/journal/edit-1, .agent/journal/edit-2") {
		t.Errorf("a preview ends with %d\n%s", got.exit, got.stderr)
	}
	if now := snapshotOf(t, dir); now != before {
		t.Errorf("the workspace was\n%s\nand is\n%s", before, now)
	}
	if got := edited(t, dir, "--write"); got.exit != run.ExitDone {
		t.Errorf("a write ends with %d\n%s", got.exit, got.stderr)
	}
	if now, want := snapshotOf(t, dir), strings.Replace(before, "one", "1", 1); now != want {
		t.Errorf("the workspace is\n%s\nwant\n%s", now, want)
	}
}

// heldAtTerminal begins a write that waits for an answer at a terminal.
func heldAtTerminal(t *testing.T) (p *person, dir string, exit chan int) {
	t.Helper()
	dir = t.TempDir()
	writeFiles(t, dir, map[string]string{"work/a.txt": "one\n", "patch.xml": block("a.txt", "one", "1") + "<CREATE_FILE path=\"go.mod\">\nmodule x\n</CREATE_FILE>\n"})
	p, exit = aPerson(t, map[string]string{"TERM": "xterm"}), make(chan int, 1)
	args := []string{"edit", "-w", filepath.Join(dir, "work"), "--write", filepath.Join(dir, "patch.xml")}
	go func() { exit <- execute(t.Context(), args, p.cmd.Getenv, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr) }()
	p.Sees(t, "Write this to the workspace?", 1)
	return p, filepath.Join(dir, "work"), exit
}

func TestAtATerminalAPersonApprovesWhatIsHeld(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]int{"zy": run.ExitDone, "n": run.ExitApproval, "\x04": run.ExitApproval, "\rn": run.ExitApproval} {
		p, dir, exit := heldAtTerminal(t)
		p.Types(t, answer)
		if got := <-exit; got != want {
			t.Errorf("%q ends with %d, want %d\n%s", answer, got, want, p.Screen())
		}
		// The question is repeated until it has an answer.
		p.Sees(t, "Write this to the workspace?", len(answer))
		_, err := os.Stat(filepath.Join(dir, "go.mod"))
		if written := err == nil; written != (want == run.ExitDone) {
			t.Errorf("after %q the file is written: %v", answer, written)
		}
	}
}

// The person changes the file while the question is open: the person's change wins.
func TestAFileThatChangedSinceIsAConflict(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(file string) error{
		"saved":      func(file string) error { return os.WriteFile(file, []byte("mine\n"), 0o644) },
		"removed":    os.Remove,
		"chmod":      func(file string) error { return os.Chmod(file, 0o700) },
		"other file": func(file string) error { return os.WriteFile(filepath.Join(filepath.Dir(file), "go.mod"), nil, 0o644) },
	} {
		p, dir, exit := heldAtTerminal(t)
		if err := change(filepath.Join(dir, "a.txt")); err != nil {
			t.Fatal(err)
		}
		before := snapshotOf(t, dir)
		p.Types(t, "y")
		if got := <-exit; got != run.ExitConflict {
			t.Errorf("%s: exit code %d, want 6\n%s", what, got, p.Screen())
		}
		if now := snapshotOf(t, dir); now != before {
			t.Errorf("%s: the workspace was\n%s\nand is\n%s", what, before, now)
		}
	}
}

// While the patch is typed, and while the question is open, something else replaces the workspace.
func TestAnEditStaysInItsDirectory(t *testing.T) {
	t.Parallel()
	for i, replace := range replacements {
		for _, late := range []bool{false, true} {
			top := t.TempDir()
			dir, aside, exit := filepath.Join(top, "work"), filepath.Join(top, "aside"), make(chan int, 1)
			if err := os.CopyFS(dir, os.DirFS(scripts)); err != nil {
				t.Fatal(err)
			}
			before := snapshotOf(t, dir)
			p := aPerson(t, map[string]string{"TERM": "xterm"})
			patch, args := "<CREATE_FILE path=\"go.mod\">\nmodule x\n</CREATE_FILE>\n", []string{"edit", "-w", dir, "--write", "--allow", "dependencies"}
			if late {
				writeFiles(t, top, map[string]string{"patch.xml": patch})
				args = append(args[:4], filepath.Join(top, "patch.xml"))
			}
			go func() { exit <- execute(t.Context(), args, p.cmd.Getenv, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr) }()
			if late {
				p.Sees(t, "Write this to the workspace?", 1)
			} else {
				p.Sees(t, "agent edit FILE", 1)
			}
			if err := errors.Join(os.Rename(dir, aside), replace(dir, aside)); err != nil {
				t.Fatal(err)
			}
			if late {
				p.Types(t, "y")
			} else {
				p.Types(t, patch+"\x04")
			}
			if got := <-exit; got != run.ExitConflict {
				t.Errorf("replacement %d, late %v: exit code %d, want 6\n%s", i, late, got, p.Screen())
			} else {
				p.Sees(t, "replaced by another directory", 1)
			}
			for _, name := range []string{dir, aside, dir + "-elsewhere"} {
				if info, err := os.Lstat(name); err == nil && info.IsDir() && snapshotOf(t, name) != before {
					t.Errorf("replacement %d, late %v: %s is\n%s", i, late, name, snapshotOf(t, name))
				}
			}
		}
	}
}

// Without a file the patch is read from the terminal, and the command says so.
func TestAPatchCanBePasted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"a.txt": "one\n"})
	p, exit := aPerson(t, map[string]string{"TERM": "xterm"}), make(chan int, 1)
	go func() {
		exit <- execute(t.Context(), []string{"edit", "-w", dir}, p.cmd.Getenv, p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr)
	}()
	p.Sees(t, "agent edit FILE", 1)
	p.Sees(t, "Ctrl-D", 1)
	p.Types(t, block("a.txt", "one", "1")+"\x04")
	if got := <-exit; got != run.ExitDone {
		t.Errorf("exit code %d\n%s", got, p.Screen())
	}
	p.Sees(t, "1 file would change", 1)
	if !strings.Contains(p.Screen(), "\x1b[32m+") {
		t.Errorf("the diff has no colours:\n%q", p.Screen())
	}
}
