package guest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"agent/sandbox/guest/wire"
)

func TestAnswerCheckRefusesWhatWasNotAskedFor(t *testing.T) {
	c := Command{Args: []string{"/bin/x"}, MaxOutput: 10, Collect: []string{"/tmp/a"}}.WithDefaults()
	honest := Answer{Result: Result{Stdout: Output{Head: make([]byte, 10)}, Files: map[string][]byte{"/tmp/a": nil}}}
	if err := honest.Check(c); err != nil {
		t.Fatalf("an honest answer: %v", err)
	}
	for name, change := range map[string]func(*Result){
		"too much output":     func(r *Result) { r.Stdout.Tail = []byte{1} },
		"negative drop":       func(r *Result) { r.Stderr.Dropped = -1 },
		"a file more":         func(r *Result) { r.Files["/tmp/b"] = nil },
		"a large file":        func(r *Result) { r.Files["/tmp/a"] = make([]byte, MaxCollectSize+1) },
		"impossible status":   func(r *Result) { r.Exit = 256 },
		"signal and status":   func(r *Result) { r.Signal = "SIGKILL" },
		"status -1":           func(r *Result) { r.Exit = -1 },
		"a long signal":       func(r *Result) { r.Exit, r.Signal = -1, strings.Repeat("S", 17) },
		"killed box":          func(r *Result) { r.Killed = true },
		"negative survivors":  func(r *Result) { r.Survivors = -1 },
		"negative processor":  func(r *Result) { r.CPU = -1 },
		"negative wait":       func(r *Result) { r.Waited = -1 },
		"negative rest":       func(r *Result) { r.Rested = -1 },
		"negative peak":       func(r *Result) { r.PeakBytes = -1 },
		"negative wall":       func(r *Result) { r.Wall = -1 },
		"a limit of no box":   func(r *Result) { r.Reached = []string{"\x1b[2J"} },
		"one limit too often": func(r *Result) { r.Reached = slices.Repeat([]string{ReachedTmp}, 9) },
		"settled unasked":     func(r *Result) { r.Settled = true },
		"ports unasked":       func(r *Result) { r.Ports = []Port{{Port: 80}} },
		"longer than allowed": func(r *Result) { r.Wall = c.Timeout + c.Grace + 2*time.Minute },
	} {
		a := Answer{Result: Result{Stdout: Output{Head: make([]byte, 10)}, Files: map[string][]byte{"/tmp/a": nil}}}
		change(&a.Result)
		if err := a.Check(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAnswerCheckRefusesWhatNoWatchSees(t *testing.T) {
	c := Command{Args: []string{"/bin/x"}, Watch: &Watch{}}.WithDefaults()
	for name, test := range map[string]struct {
		result Result
		ok     bool
	}{
		"honest":                {Result{Settled: true, Ports: []Port{{Port: 65535, Status: 599, Latency: 1}, {Port: 1}}}, true},
		"late and settled":      {Result{Settled: true, TimedOut: true}, false},
		"no port":               {Result{Ports: []Port{{}}}, false},
		"a port that cannot be": {Result{Ports: []Port{{Port: 65536}}}, false},
		"no status of HTTP":     {Result{Ports: []Port{{Port: 1, Status: 600}}}, false},
		"an answer before":      {Result{Ports: []Port{{Port: 1, Latency: -1}}}, false},
		"too many ports":        {Result{Ports: slices.Repeat([]Port{{Port: 1}}, MaxPorts+1)}, false},
	} {
		if err := (Answer{Result: test.result}).Check(c); (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReadyCheckRefusesAStrangerAndAFullWorkspace(t *testing.T) {
	for _, test := range []struct {
		ready Ready
		want  string
	}{
		{Ready{Protocol: Protocol}, ""},
		{Ready{Protocol: Protocol + 1}, "build the images again"},
		{Ready{}, "build the images again"},
		{Ready{Protocol: Protocol, Problem: "no space left on device"}, "fill /work: no space left"},
	} {
		err := test.ready.Check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.ready, err, test.want)
		}
	}
}

func TestCommandDefaults(t *testing.T) {
	got := Command{Args: []string{"/bin/x"}}.WithDefaults()
	if got.Dir != "/work" || got.Timeout != time.Minute || got.Grace != 2*time.Second || got.MaxOutput != 1<<20 {
		t.Errorf("defaults: %+v", got)
	}
	set := Command{Args: []string{"/bin/x"}, Dir: "/tmp", Timeout: 1, Grace: 2, MaxOutput: 3}
	if got := set.WithDefaults(); got.Dir != "/tmp" || got.Timeout != 1 || got.Grace != 2 || got.MaxOutput != 3 {
		t.Errorf("set fields changed: %+v", got)
	}
}

func TestAnswerLimitHoldsTheLargestAnswer(t *testing.T) {
	c := Command{Args: []string{"/bin/x"}, MaxOutput: 30_000, Collect: []string{"/tmp/" + strings.Repeat("n", 4000)}}.WithDefaults()
	a := Answer{Result: Result{
		Stdout: Output{Head: make([]byte, 15_000), Tail: make([]byte, 15_000)},
		Stderr: Output{Head: make([]byte, 15_000), Tail: make([]byte, 15_000)},
		Files:  map[string][]byte{c.Collect[0]: make([]byte, MaxCollectSize)},
	}}
	if err := a.Check(c); err != nil {
		t.Fatal(err)
	}
	var stream countingWriter
	if err := wire.WriteJSON(&stream, wire.KindEnded, a); err != nil {
		t.Fatal(err)
	}
	if int(stream) > AnswerLimit(c)+5 { // the head of the frame
		t.Errorf("the largest answer has %d bytes, the limit is %d", stream, AnswerLimit(c))
	}
}

// A countingWriter counts bytes.
type countingWriter int

func (w *countingWriter) Write(p []byte) (int, error) {
	*w += countingWriter(len(p))
	return len(p), nil
}
