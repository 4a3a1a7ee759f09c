package guest

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox/guest/wire"
)

func TestCommandCheckKnowsTheBounds(t *testing.T) {
	many := func(n int) []string { return slices.Repeat([]string{"/tmp/a"}, n) }
	tests := []struct {
		name   string
		change func(*Command)
		valid  bool
	}{
		{"nothing else", func(*Command) {}, true},
		{"largest output", func(c *Command) { c.MaxOutput = MaxKept }, true},
		{"too much output", func(c *Command) { c.MaxOutput = MaxKept + 1 }, false},
		{"negative output", func(c *Command) { c.MaxOutput = -1 }, false},
		{"largest input", func(c *Command) { c.Stdin = make([]byte, MaxStdin) }, true},
		{"too much input", func(c *Command) { c.Stdin = make([]byte, MaxStdin+1) }, false},
		{"most files", func(c *Command) { c.Collect = many(MaxCollect) }, true},
		{"too many files", func(c *Command) { c.Collect = many(MaxCollect + 1) }, false},
		{"a file by a way around", func(c *Command) { c.Collect = []string{"/tmp/../etc/passwd"} }, false},
		{"a relative file", func(c *Command) { c.Collect = []string{"a"} }, false},
		{"negative timeout", func(c *Command) { c.Timeout = -time.Second }, false},
		{"negative grace", func(c *Command) { c.Grace = -time.Second }, false},
		{"no program", func(c *Command) { c.Args = nil }, false},
		{"empty program", func(c *Command) { c.Args = []string{""} }, false},
		{"relative program", func(c *Command) { c.Args = []string{"bin/x"} }, false},
		{"relative directory", func(c *Command) { c.Dir = "work" }, false},
		{"a variable", func(c *Command) { c.Env = map[string]string{"A": "b=c"} }, true},
		{"a variable without a name", func(c *Command) { c.Env = map[string]string{"": "b"} }, false},
		{"a variable with NUL", func(c *Command) { c.Env = map[string]string{"A": "b\x00c"} }, false},
		{"a long variable", func(c *Command) { c.Env = map[string]string{"A": strings.Repeat("b", maxArguments)} }, false},
		{"a terminal", func(c *Command) { c.Terminal, c.Stream = &Size{}, true }, true},
		{"a terminal that nobody sees", func(c *Command) { c.Terminal = &Size{} }, false},
		{"a terminal with input", func(c *Command) { c.Terminal, c.Stream, c.Stdin = &Size{}, true, []byte{} }, false},
		{"long arguments", func(c *Command) { c.Args = append(c.Args, strings.Repeat("b", maxArguments)) }, false},
	}
	for _, test := range tests {
		c := Command{Args: []string{"/bin/x"}}.WithDefaults()
		test.change(&c)
		if err := c.Check(); (err == nil) != test.valid {
			t.Errorf("%s: error %v", test.name, err)
		}
	}
}

func TestEnvironmentHoldsNothingOfTheGuests(t *testing.T) {
	t.Setenv("SECRET", "of the guest")
	t.Setenv("PATH", "")
	host, err := os.Hostname()
	must(t, err)
	env, err := environment(Command{Env: map[string]string{"A": "b", "LANG": "C"}})
	must(t, err)
	slices.Sort(env)
	want := []string{"A=b", "HOME=/tmp", "HOSTNAME=" + host, "LANG=C", "PATH=" + defaultPath, "PIP_RETRIES=0", "npm_config_fetch_retries=0"}
	slices.Sort(want)
	if diff := cmp.Diff(want, env); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	t.Setenv("PATH", "/opt/bin")
	if env, err = environment(Command{}); err != nil || !slices.Contains(env, "PATH=/opt/bin") {
		t.Errorf("the image's PATH: %q, %v", env, err)
	}
}

func TestACommandWithAWayOutAsksAgain(t *testing.T) {
	env, err := environment(Command{Egress: true})
	must(t, err)
	if slices.Contains(env, "npm_config_fetch_retries=0") || !slices.Contains(env, "HTTPS_PROXY="+egressURL) {
		t.Errorf("environment: %q", env)
	}
}

func TestOpenStdinGivesAPipeOnlyForContent(t *testing.T) {
	stdin, feed, err := openStdin(nil)
	must(t, err)
	defer stdin.Close()
	if content, err := io.ReadAll(stdin); feed != nil || err != nil || len(content) != 0 {
		t.Errorf("without content: fed by %v, read %q, %v", feed, content, err)
	}
	stdin, feed, err = openStdin([]byte{})
	must(t, err)
	defer stdin.Close()
	if feed == nil {
		t.Fatal("empty content is content: the program sees a pipe")
	}
	must(t, feed.Close())
}

// TestTheWireFormat fails when a message looks different on the wire. Then Protocol needs a new number, because
// guests in images speak the old one.
func TestTheWireFormat(t *testing.T) {
	tests := []struct {
		message any
		want    string
	}{
		{
			Ready{Protocol: Protocol, Digest: "d", Files: 2, Dirs: 3, Links: 4, Bytes: 5, SeesOOM: true, Problem: "p"},
			`{"protocol":5,"digest":"d","files":2,"dirs":3,"links":4,"bytes":5,"sees_oom":true,"problem":"p"}`,
		},
		{Patch{Delete: []string{"a"}}, `{"delete":["a"]}`},
		{Applied{Deleted: 1, Written: 2, Problem: "p"}, `{"deleted":1,"written":2,"problem":"p"}`},
		{
			Command{
				Args: []string{"/bin/x"}, Dir: "/d", Env: map[string]string{"A": "b"}, Stdin: []byte("in"),
				Timeout: time.Second, Grace: time.Millisecond, MaxOutput: 7, Collect: []string{"/c"},
				Watch: &Watch{Path: "/p", Port: 1, Text: "t", Settle: 2, Look: 3}, Egress: true,
			},
			`{"args":["/bin/x"],"dir":"/d","env":{"A":"b"},"stdin":"aW4=","timeout":1000000000,"grace":1000000,"max_output":7,"collect":["/c"],` +
				`"watch":{"path":"/p","port":1,"text":"t","settle":2,"look":3},"egress":true}`,
		},
		{
			Answer{Problem: "p", Result: Result{
				Exit: -1, Signal: "SIGKILL", TimedOut: true, Settled: true, OOM: true, Killed: true,
				Ports:  []Port{{Port: 1, Status: 200, Latency: 3}},
				Stdout: Output{Head: []byte("h"), Tail: []byte("t"), Dropped: 9}, Stderr: Output{Head: []byte{}},
				Files: map[string][]byte{"/c": []byte("f")}, Wall: 1, CPU: 2, Waited: 5, PeakBytes: 3, Survivors: 4,
			}},
			`{"result":{"exit":-1,"signal":"SIGKILL","timed_out":true,"settled":true,"ports":[{"port":1,"status":200,"latency":3}],"oom":true,"killed":true,` +
				`"stdout":{"head":"aA==","tail":"dA==","dropped":9},"stderr":{"head":""},` +
				`"files":{"/c":"Zg=="},"wall":1,"cpu":2,"waited":5,"peak_bytes":3,"survivors":4},"problem":"p"}`,
		},
	}
	for _, test := range tests {
		got, err := json.Marshal(test.message)
		must(t, err)
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("%T (-want +got):\n%s", test.message, diff)
		}
	}
	for kind, want := range map[wire.Kind]string{
		wire.KindKey: "K", wire.KindReady: "R", wire.KindApply: "A", wire.KindData: "D", wire.KindApplied: "a", wire.KindRun: "C", wire.KindEnded: "E",
		wire.KindOpen: "o", wire.KindPiece: "p", wire.KindCredit: "c", wire.KindClose: "x",
	} {
		if string(rune(kind)) != want {
			t.Errorf("kind %q, want %s", byte(kind), want)
		}
	}
}
