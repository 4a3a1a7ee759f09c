package guest_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox"
	"agent/sandbox/boxtest"
	"agent/sandbox/guest"
	"agent/sandbox/workbench"
)

// These tests run the guest where it belongs: as the first process of a real box.

// newBox starts a box for one test.
func newBox(t *testing.T) *sandbox.Box {
	t.Helper()
	return boxtest.Start(t, boxtest.Engine(t), boxtest.Spec(t))
}

// brief returns a command with a short timeout.
func brief(args ...string) guest.Command {
	return guest.Command{
		Args: append([]string{boxtest.Probe}, args...), Timeout: 1500 * time.Millisecond, Grace: 300 * time.Millisecond,
	}
}

// mustBeEmpty fails the test if a process is left in the box or the guest no longer answers.
func mustBeEmpty(t *testing.T, box *sandbox.Box) {
	t.Helper()
	if r := boxtest.Run(t, box, "processes"); string(r.Stdout.Head) != "0" {
		t.Errorf("processes left in the box: %s%s", r.Stdout.Head, r.Stderr.Head)
	}
}

// B04, B21.
func TestRunTellsHowTheCommandEnded(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	tests := []struct {
		args   []string
		exit   int
		signal string
	}{
		{[]string{"exit", "0"}, 0, ""},
		{[]string{"exit", "3"}, 3, ""},
		{[]string{"exit", "255"}, 255, ""},
		{[]string{"raise", "9"}, -1, "SIGKILL"},
		{[]string{"raise", "11"}, 2, ""}, // Go turns it into its own crash
		{[]string{"raise", "31"}, 2, ""},
	}
	for _, test := range tests {
		r := boxtest.Run(t, box, test.args...)
		if r.Exit != test.exit || r.Signal != test.signal || r.TimedOut || r.OOM || r.Killed || r.Survivors != 0 {
			t.Errorf("%v: %+v, want exit %d, signal %q", test.args, r, test.exit, test.signal)
		}
		// gVisor counts processor time in ticks of 10 ms, and reports no peak.
		if r.Wall <= 0 || (r.CPU <= 0 || r.PeakBytes <= 0) && !boxtest.OwnKernel() {
			t.Errorf("%v: wall %v, CPU %v, peak %d: want all above 0", test.args, r.Wall, r.CPU, r.PeakBytes)
		}
	}
}

func TestRunGivesEachStreamItsOutput(t *testing.T) {
	t.Parallel()
	r := boxtest.Run(t, newBox(t), "say", "to out", "to err")
	if got := string(r.Stdout.Bytes()) + "|" + string(r.Stderr.Bytes()); got != "to out|to err" {
		t.Errorf("output %q", got)
	}
}

// TestWatchSeesWhatListens runs its cases in one box: a port of one case must not show up in the next.
func TestWatchSeesWhatListens(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	const fine, trouble = "HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.0 503 Soon\r\n\r\n"
	for name, test := range map[string]struct {
		act     []string
		watch   guest.Watch
		settled bool
		ports   []guest.Port
		says    string
	}{
		"a server":              {act: []string{"serve", "127.0.0.1:8001", fine}, settled: true, ports: []guest.Port{{Port: 8001, Status: 204}}, says: "GET / HTTP/1.1"},
		"on every address":      {act: []string{"serve", ":8002", fine}, settled: true, ports: []guest.Port{{Port: 8002, Status: 204}}},
		"a path":                {act: []string{"serve", ":8003", fine}, watch: guest.Watch{Path: "/up?x=1"}, settled: true, ports: []guest.Port{{Port: 8003, Status: 204}}, says: "GET /up?x=1 HTTP/1.1"},
		"that has to warm up":   {act: []string{"serve", ":8004", trouble, fine}, settled: true, ports: []guest.Port{{Port: 8004, Status: 204}}},
		"in trouble":            {act: []string{"serve", ":8005", trouble}, ports: []guest.Port{{Port: 8005, Status: 503}}},
		"that hangs up":         {act: []string{"serve", ":8006", "-"}, ports: []guest.Port{{Port: 8006}}},
		"of something else":     {act: []string{"serve", ":8007", "220 mail\r\n"}, ports: []guest.Port{{Port: 8007}}},
		"on another port":       {act: []string{"serve", ":8008", fine}, watch: guest.Watch{Port: 80}},
		"nothing":               {act: []string{"sleep", "60000"}},
		"a text in two pieces":  {act: []string{"announce", "re", "ady", "x"}, watch: guest.Watch{Text: "ready"}, settled: true},
		"a text that is split":  {act: []string{"announce", "re", "a", "d"}, watch: guest.Watch{Text: "ready"}},
		"a text, and not asked": {act: []string{"serve", ":8009", fine}, watch: guest.Watch{Text: "GET"}, ports: []guest.Port{{Port: 8009}}},
		"ends while it settles": {act: []string{"sleep", "150"}},
	} {
		c := brief(test.act...)
		if c.Timeout = 700 * time.Millisecond; test.settled {
			c.Timeout = 10 * time.Second // more than enough
		}
		test.watch.Settle = 200 * time.Millisecond
		c.Watch = &test.watch
		r := boxtest.RunCommand(t, box, c)
		for i := range r.Ports {
			if r.Ports[i].Status != 0 && r.Ports[i].Latency <= 0 {
				t.Errorf("%s: an answer in no time", name)
			}
			r.Ports[i].Latency = 0
		}
		ended := name == "ends while it settles"
		if r.Settled != test.settled || r.TimedOut == (test.settled || ended) || !slices.Equal(r.Ports, test.ports) || !strings.Contains(string(r.Stdout.Head), test.says) {
			t.Errorf("%s: settled %v, timed out %v, ports %+v, said %s%s", name, r.Settled, r.TimedOut, r.Ports, r.Stdout.Head, r.Stderr.Head)
		}
	}
	mustBeEmpty(t, box)
}

// If Look is set, a program that listens on nothing is not watched until its timeout; one that listens is.
func TestWatchLeavesAloneWhatListensOnNothing(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	for name, test := range map[string]struct {
		act  []string
		left bool
	}{
		"nothing":   {[]string{"sleep", "60000"}, true},
		"at work":   {[]string{"spin", "1", "60000"}, true},
		"a server":  {[]string{"serve", ":8001", "HTTP/1.1 503 Soon\r\n\r\n"}, false},
		"its end":   {[]string{"exit", "3"}, false},
		"its words": {[]string{"announce", "re", "ady", "x"}, false},
	} {
		c := brief(test.act...)
		c.Timeout, c.Watch = 8*time.Second, &guest.Watch{Look: 3 * time.Second, Settle: 200 * time.Millisecond}
		if name == "its words" {
			c.Watch.Text = "ready"
		}
		r := boxtest.RunCommand(t, box, c)
		if left := r.TimedOut && r.Wall < c.Timeout; left != test.left || r.Settled != (name == "its words") {
			t.Errorf("%s: timed out %v, settled %v, after %v", name, r.TimedOut, r.Settled, r.Wall)
		}
	}
	mustBeEmpty(t, box)
}

// A program that waits for anything but the machine is at rest; one that works, or wants to, is not.
func TestRunTellsWhoIsAtRest(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	for _, test := range []struct {
		act  []string
		rest bool
	}{{[]string{"sleep", "60000"}, true}, {[]string{"spin", "1", "60000"}, false}} {
		c := brief(test.act...)
		c.Timeout, c.Watch = 3*time.Second, &guest.Watch{Settle: time.Second}
		if r := boxtest.RunCommand(t, box, c); !r.TimedOut || r.Rested > 0 != test.rest {
			t.Errorf("%v was at rest for %v", test.act, r.Rested)
		}
	}
}

func TestRunFeedsStandardInput(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	input := bytes.Repeat([]byte("0123456789abcdef"), 20_000) // more than a pipe holds
	c := guest.Command{Args: []string{boxtest.Probe, "cat"}, Stdin: input}
	if r := boxtest.RunCommand(t, box, c); !bytes.Equal(r.Stdout.Bytes(), input) {
		t.Errorf("%d bytes came back of %d", len(r.Stdout.Bytes()), len(input))
	}
	c.Stdin = nil
	if r := boxtest.RunCommand(t, box, c); r.Exit != 0 || len(r.Stdout.Head) != 0 {
		t.Errorf("without input: %+v", r)
	}
	// A program that does not read its input must not block the guest.
	c = guest.Command{Args: []string{boxtest.Probe, "exit", "0"}, Stdin: input}
	if r := boxtest.RunCommand(t, box, c); r.Exit != 0 || r.TimedOut {
		t.Errorf("unread input: %+v", r)
	}
}

func TestRunSetsExactlyTheDeclaredEnvironment(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	c := guest.Command{Args: []string{boxtest.Probe, "env"}, Env: map[string]string{"DECLARED": "a=b c", "HOME": "/work"}}
	r := boxtest.RunCommand(t, box, c)
	got := strings.Split(strings.TrimSpace(string(r.Stdout.Head)), "\n")
	slices.Sort(got)
	want := []string{
		"DECLARED=a=b c", "HOME=/work", "HOSTNAME=localhost", "LANG=C.UTF-8",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "PIP_RETRIES=0", "npm_config_fetch_retries=0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
}

func TestRunStartsInTheDirectory(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	for dir, want := range map[string]string{"": "/work", "/work/shop": "/work/shop", "/tmp": "/tmp"} {
		c := guest.Command{Args: []string{boxtest.Probe, "pwd"}, Dir: dir}
		if r := boxtest.RunCommand(t, box, c); string(r.Stdout.Head) != want {
			t.Errorf("directory %q: started in %q", dir, r.Stdout.Head)
		}
	}
}

func TestRunRefusesWhatItCannotStart(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	tests := []struct {
		command guest.Command
		want    string
	}{
		{guest.Command{}, "absolute path"},
		{guest.Command{Args: []string{"probe"}}, "absolute path"},
		{guest.Command{Args: []string{"/bin/absent"}}, "no such file"},
		{guest.Command{Args: []string{"/work/main.py"}}, "permission denied"},
		{guest.Command{Args: []string{boxtest.Probe, "pwd"}, Dir: "/absent"}, "no such file"},
		{guest.Command{Args: []string{boxtest.Probe}, Env: map[string]string{"A=B": "c"}}, "its name is empty"},
		{guest.Command{Args: []string{boxtest.Probe, strings.Repeat("x", 2<<20)}}, "at most"},
		{guest.Command{Args: []string{boxtest.Probe}, Collect: []string{"relative"}}, "absolute path"},
		{guest.Command{Args: []string{boxtest.Probe}, MaxOutput: 1 << 30}, "output limit"},
	}
	for _, test := range tests {
		_, err := box.Run(t.Context(), test.command)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.60q: error %v, want one with %q", test.command.Args, err, test.want)
		}
	}
	mustBeEmpty(t, box)
}

// B08.
func TestRunKeepsHeadAndTailOfAFlood(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	c := guest.Command{Args: []string{boxtest.Probe, "flood", "200000"}, MaxOutput: 1000} // 20 MB
	r := boxtest.RunCommand(t, box, c)
	out := r.Stdout
	if len(out.Head) != 500 || len(out.Tail) != 500 || out.Dropped != 200_000*100+9-1000 {
		t.Errorf("kept %d and %d, dropped %d", len(out.Head), len(out.Tail), out.Dropped)
	}
	if !bytes.HasPrefix(out.Head, []byte("firsty")) || !bytes.HasSuffix(out.Tail, []byte("y\nlast")) {
		t.Errorf("head %.20q, tail ends %.20q", out.Head, out.Tail[480:])
	}
}

// B11.
func TestRunAsksBeforeItKills(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	r := boxtest.RunCommand(t, box, brief("gentle", "7"))
	if !r.TimedOut || r.Exit != 7 || r.Signal != "" {
		t.Errorf("a program that obeys TERM: %+v", r)
	}
	r = boxtest.RunCommand(t, box, brief("stubborn"))
	if !r.TimedOut || r.Signal != "SIGKILL" || r.OOM || r.Survivors != 0 {
		t.Errorf("a program that ignores TERM: %+v", r)
	}
	mustBeEmpty(t, box)
}

// B10, B17.
func TestRunEndsWhatHasNoOutputAndWhatIsStopped(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	if r := boxtest.RunCommand(t, box, brief("closed")); !r.TimedOut {
		t.Errorf("closed output: %+v", r)
	}
	if r := boxtest.RunCommand(t, box, brief("raise", "19")); !r.TimedOut || r.Signal != "SIGKILL" {
		t.Errorf("stopped process: %+v", r)
	}
	mustBeEmpty(t, box)
}

func TestRunAsksTheWholeProcessGroup(t *testing.T) {
	t.Parallel()
	// The command ignores TERM and waits for its child, which does not.
	r := boxtest.RunCommand(t, newBox(t), guest.Command{
		Args: []string{boxtest.Probe, "group"}, Timeout: 1500 * time.Millisecond, Grace: 20 * time.Second,
	})
	if !r.TimedOut || r.Exit != 5 || r.Survivors != 0 {
		t.Errorf("a child in the command's group: %+v %s", r, r.Stderr.Head)
	}
}

func TestRunHandsDownNothingOfTheGuest(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	if r := boxtest.Run(t, box, "inherited"); string(r.Stdout.Head) != "true" {
		t.Errorf("descriptors beside the standard three, and leads its session: %s%s", r.Stdout.Head, r.Stderr.Head)
	}
	status := string(boxtest.Run(t, box, "read", "/proc/self/status").Stdout.Head)
	for _, want := range []string{"SigBlk:\t0000000000000000", "SigIgn:\t0000000000000000", "Umask:\t0022"} {
		if boxtest.OwnKernel() {
			break // gVisor reports none of these
		}
		if !strings.Contains(status, want) {
			t.Errorf("%q is not in /proc/self/status:\n%s", want, status)
		}
	}
}

func TestCommandsOfOneBoxShareItsFiles(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	if r := boxtest.Run(t, box, "write", "/work/made", "by the first"); r.Exit != 0 {
		t.Fatalf("write: %+v", r)
	}
	if r := boxtest.Run(t, box, "read", "/work/made"); string(r.Stdout.Head) != "by the first" {
		t.Errorf("the second command read %q %q", r.Stdout.Head, r.Stderr.Head)
	}
	// Another box does not see the file.
	if r := boxtest.Run(t, newBox(t), "read", "/work/made"); r.Exit == 0 {
		t.Errorf("another box read %q", r.Stdout.Head)
	}
}

func TestRunKillsWhatIsLeftBehind(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	r := boxtest.Run(t, box, "orphan", "3")
	if r.Exit != 0 || r.TimedOut || r.Survivors != 3 {
		t.Errorf("three orphans in their own sessions: %+v", r)
	}
	mustBeEmpty(t, box)
	// The same holds if the command itself does not end either.
	r = boxtest.RunCommand(t, box, brief("escape", "2"))
	if !r.TimedOut || r.Signal != "SIGKILL" || r.Survivors != 2 {
		t.Errorf("two orphans and a stubborn command: %+v", r)
	}
	mustBeEmpty(t, box)
}

// B01.
func TestRunOutlivesAForkBomb(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	r := boxtest.RunCommand(t, box, brief("forks"))
	if boxtest.OwnKernel() {
		// The limit applies to gVisor itself, which dies when it may not start another thread.
		if r.Exit == 0 || !r.Killed && !r.TimedOut || r.OOM {
			t.Errorf("fork bomb: %+v", r)
		}
		return
	}
	// The bomb never ends by itself, and nothing else ends.
	if !r.TimedOut || r.Killed {
		t.Errorf("fork bomb: %+v", r)
	}
	mustBeEmpty(t, box)
	// A busy machine may take long to reach the limit: the command runs until it has.
	bomb := brief("forks")
	bomb.Timeout, bomb.Watch = time.Minute, &guest.Watch{Text: "full", Settle: time.Millisecond}
	r = boxtest.RunCommand(t, box, bomb)
	if !r.Settled || r.Killed || r.Survivors < 64 || !slices.Equal(r.Reached, []string{guest.ReachedProcesses}) {
		t.Errorf("fork bomb at the limit: %+v", r)
	}
	mustBeEmpty(t, box)
}

// B15.
func TestRunReapsZombies(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	orphans := "800"
	if boxtest.OwnKernel() { // gVisor starts programs ten times as slowly
		orphans = "500"
	}
	if r := boxtest.Run(t, box, "zombies", orphans); string(r.Stdout.Head) != "done" || r.Survivors != 0 {
		t.Errorf("%s orphans with a limit of 128 processes: %+v", orphans, r)
	}
	mustBeEmpty(t, box)
}

// B02.
func TestRunSeesTheOutOfMemoryKill(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	r := boxtest.Run(t, box, "eat")
	if boxtest.OwnKernel() {
		// The memory is gVisor's, so the whole box ends. The engine does not always learn the cause.
		if !r.Killed || r.Signal != "SIGKILL" {
			t.Errorf("the command itself: %+v", r)
		}
		r = boxtest.Run(t, newBox(t), "eat-in-child")
		if !r.Killed || r.Signal != "SIGKILL" {
			t.Errorf("a child of a command that exits 0: %+v", r)
		}
		return
	}
	if !r.OOM || r.Signal != "SIGKILL" || r.Killed {
		t.Errorf("the command itself: %+v", r)
	}
	if r.PeakBytes < 200<<20 {
		t.Errorf("peak of %d bytes with a limit of 256 MiB", r.PeakBytes)
	}
	r = boxtest.Run(t, box, "eat-in-child")
	if !r.OOM || r.Exit != 0 || string(r.Stdout.Head) != "all is well" {
		t.Errorf("a child of a command that exits 0: %+v", r)
	}
	if r = boxtest.Run(t, box, "exit", "0"); r.OOM {
		t.Error("the next command is told to be out of memory too")
	}
}

func TestRunStaysHonestUnderAttack(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	for range 3 {
		r := boxtest.Run(t, box, "attack")
		if string(r.Stdout.Head) != "still here\n" || r.Exit != 0 {
			t.Errorf("what the attack could do: %q %q, exit %d %s", r.Stdout.Head, r.Stderr.Head, r.Exit, r.Signal)
		}
	}
	mustBeEmpty(t, box)
	r := boxtest.Run(t, box, "signals", "0")
	if boxtest.OwnKernel() {
		// gVisor delivers the signals. A program that ends its box has not passed.
		if !r.Killed || r.Exit == 0 {
			t.Errorf("the end of the first process: %+v", r)
		}
		return
	}
	if string(r.Stdout.Head) != "still here\n" || r.Exit != 0 {
		t.Errorf("every signal: %+v", r)
	}
	mustBeEmpty(t, box)
}

// C08, C19: nothing that a box made is unpacked on the host. Only small, plain files are collected from it.
func TestRunCollectsOnlyPlainFiles(t *testing.T) {
	t.Parallel()
	spec := boxtest.Spec(t)
	spec.Limits.MaxFile = 2 * guest.MaxCollectSize
	box := boxtest.Start(t, boxtest.Engine(t), spec)
	for _, act := range [][]string{
		{"mkdir", "/tmp/dir"},
		{"write", "/tmp/dir/report.xml", "<ok/>"},
		{"link", "/tmp/dir", "/tmp/link"},
		{"link", "/tmp/dir/report.xml", "/tmp/report.xml"},
		{"fifo", "/tmp/fifo"},
		{"sparse", "/tmp/sparse", strconv.Itoa(guest.MaxCollectSize>>20 + 1)},
	} {
		if r := boxtest.Run(t, box, act...); r.Exit != 0 {
			t.Fatalf("%v: %s", act, r.Stderr.Head)
		}
	}
	r := boxtest.RunCommand(t, box, guest.Command{Args: []string{boxtest.Probe, "exit", "1"}, Collect: []string{
		"/tmp/dir/report.xml", "/tmp/link/report.xml", "/tmp/report.xml", "/tmp/fifo", "/tmp/sparse",
		"/tmp/dir", "/tmp/absent", "/work/main.py", "/dev/zero",
	}})
	want := map[string][]byte{"/tmp/dir/report.xml": []byte("<ok/>"), "/work/main.py": []byte(boxtest.Snapshot[0].Content)}
	if diff := cmp.Diff(want, r.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestFillCopiesTheSnapshot(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	ready := box.Ready()
	if ready.Files != 5 || ready.Dirs != 2 || ready.Links != 1 || ready.SeesOOM == boxtest.OwnKernel() || len(ready.Digest) != 64 {
		t.Errorf("ready: %+v", ready)
	}
	var want bytes.Buffer
	fmt.Fprintln(&want, "/work drwxr-xr-x")
	fmt.Fprintln(&want, "/work/link Lrwxrwxrwx -> shop/stock.py")
	for _, f := range boxtest.Snapshot {
		if dir, isDir := strings.CutSuffix(f.Path, "/"); isDir {
			// The owner may always write to a directory, or nothing could be applied there.
			fmt.Fprintf(&want, "/work/%s d%s\n", dir, (f.Mode | 0o700).String()[1:])
			continue
		}
		fmt.Fprintf(&want, "/work/%s %s %q\n", f.Path, f.Mode, f.Content)
	}
	got := strings.Split(string(boxtest.Run(t, box, "tree", "/work").Stdout.Head), "\n")
	wanted := strings.Split(want.String(), "\n")
	slices.Sort(got)
	slices.Sort(wanted)
	if diff := cmp.Diff(wanted, got); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func TestMainRefusesToRunOutsideABox(t *testing.T) {
	t.Parallel()
	// On the host it would kill every process that it has permission to kill.
	if err := guest.Main(context.WithoutCancel(t.Context()), strings.NewReader(""), new(bytes.Buffer)); err == nil {
		t.Error("the guest ran on the host")
	}
}

// RunAt shows each stream of a command separately while it runs. Extract returns the changes after the command has
// ended, when everything that it left running is gone.
func TestAWorkbenchShowsAndGivesBack(t *testing.T) {
	t.Parallel()
	box := newBox(t)
	var out, trouble bytes.Buffer
	r, err := box.RunAt(t.Context(), brief("say", "to out", "to err"), workbench.Console{Stdout: &out, Stderr: &trouble})
	if err != nil || out.String()+"|"+trouble.String() != "to out|to err" || string(r.Stdout.Head) != "to out" {
		t.Errorf("shown %q, %q; kept %q, %v", &out, &trouble, r.Stdout.Head, err)
	}
	for _, act := range [][]string{{"write", "/work/main.py", "print('bye')\n"}, {"mkdir", "/work/new"}, {"write", "/work/new/a.txt", "new\n"}, {"link", "/etc/passwd", "/work/passwd"}, {"fifo", "/work/fifo"}} {
		if r := boxtest.Run(t, box, act...); r.Exit != 0 {
			t.Fatalf("%v: %s", act, r.Stderr.Head)
		}
	}
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	known := []guest.Known{{Path: "gone.py", Digest: sum("1"), Size: 1}}
	for _, f := range boxtest.Snapshot {
		if !strings.HasSuffix(f.Path, "/") {
			known = append(known, guest.Known{Path: f.Path, Digest: sum(f.Content), Size: int64(len(f.Content)), Exec: f.Mode&0o111 != 0})
		}
	}
	rules := guest.Rules{MaxFile: 1 << 20, MaxFiles: 10, MaxBytes: 1 << 20, MaxDepth: 9}
	got, err := box.Extract(t.Context(), rules, known)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Files) != 2 || string(got.Files["main.py"].Content) != "print('bye')\n" || string(got.Files["new/a.txt"].Content) != "new\n" {
		t.Errorf("files %+v", got.Files)
	}
	if !slices.Equal(got.Gone, []string{"gone.py"}) {
		t.Errorf("gone %q", got.Gone)
	}
	// Links of the snapshot are not among the known files, so they are left out like new ones.
	left := map[string]string{}
	for _, l := range got.Left {
		left[l.Path] = l.Reason
	}
	if left["passwd"] != "symbolic link" || left["fifo"] != "named pipe" {
		t.Errorf("left %v", left)
	}
	// The box works on as before, even after an extract that found too much.
	rules.MaxFiles = 1
	if _, err := box.Extract(t.Context(), rules, known); err == nil || !strings.Contains(err.Error(), "more than 1 files changed") {
		t.Errorf("too much: %v", err)
	}
	mustBeEmpty(t, box)
}
