package sandbox_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"agent/sandbox/boxtest"
	"agent/sandbox/guest"
)

func TestABoxOffersNoSurface(t *testing.T) {
	t.Parallel()
	box := boxtest.Start(t, boxtest.Engine(t), boxtest.Spec(t))
	r := boxtest.Run(t, box, "surface")
	var attempts map[string]string
	if err := json.Unmarshal(r.Stdout.Bytes(), &attempts); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	if len(attempts) < 40 {
		t.Errorf("only %d attempts were made", len(attempts))
	}
	for what, outcome := range attempts {
		switch {
		case strings.HasPrefix(what, "write "):
			if outcome != "read-only file system" && outcome != "permission denied" && outcome != "no such file or directory" {
				t.Errorf("%s: %s", what, outcome)
			}
		case strings.HasPrefix(what, "connect "):
			// An address of version 6 is refused for want of one of our own.
			if !strings.Contains(outcome, "network is unreachable") && !strings.Contains(outcome, "cannot assign requested address") {
				t.Errorf("%s: %s", what, outcome)
			}
		case outcome != "operation not permitted": // not "no such …", which a newer kernel might allow
			t.Errorf("%s: %s", what, outcome)
		}
	}
}

func TestABoxHasNoCapabilityAndOnlyTheLoopback(t *testing.T) {
	t.Parallel()
	box := boxtest.Start(t, boxtest.Engine(t), boxtest.Spec(t))
	status := string(boxtest.Run(t, box, "read", "/proc/self/status").Stdout.Head)
	_, uid, _ := strings.Cut(status, "Uid:\t")
	uid, _, _ = strings.Cut(uid, "\t")
	if n, err := strconv.Atoi(uid); err != nil || n < 20_000 || n >= 21_000 {
		t.Errorf("the user is %q", uid)
	}
	for _, want := range []string{
		"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
		"CapBnd:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2",
		strings.ReplaceAll("Uid:\tN\tN\tN\tN\n", "N", uid), strings.ReplaceAll("Gid:\tN\tN\tN\tN\n", "N", uid), "Groups:\t" + uid + " \n",
	} {
		if !strings.Contains(status, want) && !strings.Contains(status, strings.Replace(want, uid+" \n", " \n", 1)) {
			t.Errorf("%q is not in /proc/self/status:\n%s", want, status)
		}
	}
	devices := strings.Split(strings.TrimSpace(string(boxtest.Run(t, box, "read", "/proc/net/dev").Stdout.Head)), "\n")
	if len(devices) != 3 || !strings.Contains(devices[2], "lo:") { // two lines are headings
		t.Errorf("network devices:\n%s", strings.Join(devices, "\n"))
	}
	for path, want := range map[string]string{
		"/proc/self/oom_score_adj": "1000\n",
		"/proc/1/oom_score_adj":    "0\n",
	} {
		var got string
		// The guest takes its own score back when the program runs already.
		for range 20 {
			if got = string(boxtest.Run(t, box, "read", path).Stdout.Head); got == want {
				break
			}
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	// A fork bomb takes every process ID; the guest needs no new thread then.
	guestStatus := string(boxtest.Run(t, box, "read", "/proc/1/status").Stdout.Head)
	_, threads, _ := strings.Cut(guestStatus, "Threads:\t")
	if n, err := strconv.Atoi(strings.SplitN(threads, "\n", 2)[0]); err != nil || n < 16 {
		t.Errorf("the guest has %d threads, %v", n, err)
	}
	limits := string(boxtest.Run(t, box, "read", "/proc/self/limits").Stdout.Head)
	for _, name := range []string{"Max core file size", "Max open files", "Max file size"} {
		if strings.Contains(limits, name+"  unlimited") || !strings.Contains(limits, name) {
			t.Errorf("%s has no limit:\n%s", name, limits)
		}
	}
}

func TestABoxKeepsItsLimits(t *testing.T) {
	t.Parallel()
	box := boxtest.Start(t, boxtest.Engine(t), boxtest.Spec(t))
	tests := []struct {
		args []string
		want string
		// What the guest says of it; a file system that is full stays so.
		reached []string
	}{
		{[]string{"fill", "/dev/shm/x"}, "8 no space left on device", nil},
		{[]string{"fill", "/work/x"}, "16 file too large", nil}, // the program lives on
		{[]string{"fill", "/tmp/x"}, "8 no space left on device", []string{guest.ReachedTmp}},
		{[]string{"fill", "/work/y"}, "no space left on device", []string{guest.ReachedWork, guest.ReachedTmp}},
	}
	for _, test := range tests {
		r := boxtest.Run(t, box, test.args...)
		if !strings.Contains(string(r.Stdout.Head), test.want) || r.Killed || r.OOM || !slices.Equal(r.Reached, test.reached) {
			t.Errorf("%v: %q %q, want %q; reached %q", test.args, r.Stdout.Head, r.Stderr.Head, test.want, r.Reached)
		}
	}
}

func TestABoxKeepsItsInodeLimit(t *testing.T) {
	t.Parallel()
	box := boxtest.Start(t, boxtest.Engine(t), boxtest.Spec(t))
	r := boxtest.Run(t, box, "inodes", "/work")
	var made int
	if err := json.Unmarshal([]byte(strings.Fields(string(r.Stdout.Head))[0]), &made); err != nil || made >= 2000 || made < 1900 {
		t.Errorf("2000 inodes: made %d files, %v: %s", made, err, r.Stdout.Head)
	}
	if !strings.HasSuffix(string(r.Stdout.Head), "no space left on device") {
		t.Errorf("ended with %q", r.Stdout.Head)
	}
	if !slices.Equal(r.Reached, []string{guest.ReachedWorkFiles}) {
		t.Errorf("reached %q", r.Reached)
	}
}

func TestASparseFileOverTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	box := boxtest.Start(t, boxtest.Engine(t), boxtest.Spec(t))
	r := boxtest.RunCommand(t, box, guest.Command{
		Args: []string{boxtest.Probe, "sparse", "/work/hole", "10240"}, Collect: []string{"/work/hole"},
	})
	if r.Exit == 0 && r.Signal == "" || len(r.Files["/work/hole"]) != 0 {
		t.Errorf("10 GiB: exit %d %s, %d bytes collected", r.Exit, r.Signal, len(r.Files["/work/hole"]))
	}
}

func TestASecondBoxWorksBesideABusyOne(t *testing.T) {
	t.Parallel()
	engine := boxtest.Engine(t)
	busy := boxtest.Start(t, engine, boxtest.Spec(t))
	ended := make(chan guest.Result)
	go func() {
		r, err := busy.Run(t.Context(), guest.Command{Args: []string{boxtest.Probe, "spin", "8", "2000"}})
		if err != nil {
			t.Error(err)
		}
		ended <- r
	}()
	box := boxtest.Start(t, engine, boxtest.Spec(t))
	r := boxtest.RunCommand(t, box, guest.Command{Args: []string{boxtest.Probe, "exit", "0"}, Timeout: 20 * time.Second})
	if r.Exit != 0 || r.TimedOut {
		t.Errorf("beside eight busy threads: %+v", r)
	}
	if r := <-ended; r.Exit != 0 || r.CPU <= 0 {
		t.Errorf("the busy box: %+v", r)
	}
}

func TestABoxThatDiesOfMemoryIsToldSo(t *testing.T) {
	t.Parallel()
	spec := boxtest.Spec(t)
	// The guest itself cannot live with what is left once /work is full.
	spec.Limits.Memory, spec.Limits.Work, spec.Limits.MaxFile = 24<<20, 512<<20, 512<<20
	box := boxtest.Start(t, boxtest.Engine(t), spec)
	r, err := box.Run(t.Context(), guest.Command{Args: []string{boxtest.Probe, "fill", "/work/x"}})
	if err != nil {
		t.Fatal(err)
	}
	if !r.OOM {
		t.Errorf("files larger than the memory: %+v", r)
	}
}
