package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"agent/sandbox"
)

// ownerOf returns the name that process pid of this machine would have.
func ownerOf(t *testing.T, pid int, start string) string {
	t.Helper()
	part := strings.Split(sandbox.Owner(), "/")
	if len(part) != 5 {
		t.Fatalf("owner %q", sandbox.Owner())
	}
	part[3] = strconv.Itoa(pid)
	if start != "" {
		part[4] = start
	}
	return strings.Join(part, "/")
}

// startTicks returns field 22 of /proc/PID/stat for a process whose name contains no space.
func startTicks(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(text))[21]
}

func TestOwnerNamesThisProcess(t *testing.T) {
	owner := sandbox.Owner()
	if alive, known := sandbox.Alive(owner); !alive || !known {
		t.Errorf("%s: alive %v, known %v", owner, alive, known)
	}
	if owner != sandbox.Owner() {
		t.Error("the name changes")
	}
	if want := fmt.Sprintf("/%d/", os.Getpid()); !strings.Contains(owner, want) {
		t.Errorf("%s holds no %s", owner, want)
	}
}

func TestAliveTellsTheDeadFromTheUnknown(t *testing.T) {
	child := exec.Command("cat")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	pid := child.Process.Pid
	start := startTicks(t, pid)
	if alive, known := sandbox.Alive(ownerOf(t, pid, start)); !alive || !known {
		t.Errorf("a living child: alive %v, known %v", alive, known)
	}
	// A younger process has reused the number.
	if alive, known := sandbox.Alive(ownerOf(t, pid, "1")); alive || !known {
		t.Errorf("another process of that number: alive %v, known %v", alive, known)
	}
	stdin.Close()
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
	if alive, known := sandbox.Alive(ownerOf(t, pid, start)); alive || !known {
		t.Errorf("a dead child: alive %v, known %v", alive, known)
	}
	own := strings.Split(sandbox.Owner(), "/")
	for name, owner := range map[string]string{
		"another boot":          strings.Join([]string{own[0], "00000000", own[2], own[3], own[4]}, "/"),
		"another PID namespace": strings.Join([]string{own[0], own[1], "1", own[3], own[4]}, "/"),
		"nothing":               "",
		"another form":          "host/123",
		"no numbers":            strings.Join([]string{own[0], own[1], own[2], "x", own[4]}, "/"),
		"process 0":             strings.Join([]string{own[0], own[1], own[2], "0", own[4]}, "/"),
	} {
		if alive, known := sandbox.Alive(owner); alive || known {
			t.Errorf("%s: alive %v, known %v", name, alive, known)
		}
	}
}

func TestAliveTakesAZombieForDead(t *testing.T) {
	child := exec.Command("cat")
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	owner := ownerOf(t, child.Process.Pid, startTicks(t, child.Process.Pid))
	stdin.Close()
	// Its output ends shortly before the process becomes a zombie, and nothing signals that moment.
	if n, err := stdout.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Fatalf("read %d, %v", n, err)
	}
	for alive := true; alive && t.Context().Err() == nil; {
		alive, _ = sandbox.Alive(owner)
	}
	if err := child.Wait(); err != nil {
		t.Fatal(err)
	}
}
