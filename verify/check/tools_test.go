package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
)

// A still box gives the same answer to every command, and records the commands.
type still struct {
	res guest.Result
	err error
	ran []guest.Command
}

func (s *still) Apply(context.Context, workspace.Changeset) error { return s.err }

func (s *still) Run(_ context.Context, cmd guest.Command) (guest.Result, error) {
	s.ran = append(s.ran, cmd)
	return s.res, s.err
}

func TestOnlyACommandThatCameToItsOwnEndIsAnAnswer(t *testing.T) {
	t.Parallel()
	const missing = "/usr/bin/tool is missing or does not start in the toolchain image; rebuild it with: agent images build"
	for name, c := range map[string]struct {
		res     guest.Result
		err     error
		verdict Verdict
		detail  string
	}{
		"well":                   {guest.Result{}, nil, "", ""},
		"a status":               {guest.Result{Exit: 125}, nil, "", ""},
		"no box":                 {guest.Result{OOM: true}, errors.New("gone"), Infra, "run /usr/bin/tool: gone"},
		"memory before time":     {guest.Result{OOM: true, TimedOut: true, Killed: true, Signal: "SIGKILL"}, nil, OOM, "/usr/bin/tool ran out of the box's memory"},
		"time before its signal": {guest.Result{TimedOut: true, Killed: true, Signal: "SIGKILL"}, nil, Timeout, "tool did not finish within 1m0s"},
		"killed":                 {guest.Result{Killed: true, Exit: 127}, nil, Infra, "the box died while /usr/bin/tool ran"},
		"not found":              {guest.Result{Exit: 127}, nil, Infra, missing},
		"not to be started":      {guest.Result{Exit: 126}, nil, Infra, missing},
		"a signal":               {guest.Result{Exit: -1, Signal: "SIGSEGV"}, nil, Infra, "/usr/bin/tool was ended by SIGSEGV"},
	} {
		env := map[string]string{"A": "b"}
		c.res.Stdout, c.res.Stderr, c.res.Reached = guest.Output{Head: []byte("said\x1b[1m \n")}, guest.Output{Head: []byte("\nwarned\n")}, []string{"tasks"}
		box := &still{res: c.res, err: c.err}
		_, out, done := (Bench{Box: box, Timeout: time.Minute}).Command(t.Context(), guest.Command{Args: []string{"/usr/bin/tool", "x"}, Env: env})
		if out.Verdict != c.verdict || out.Detail != c.detail || done != (c.verdict == "") {
			t.Errorf("%s: %v %q: %s", name, done, out.Verdict, out.Detail)
		}
		if out.Output != "said\nwarned" || !slices.Equal(out.Reached, []string{"tasks"}) {
			t.Errorf("%s: %q, %q", name, out.Output, out.Reached)
		}
		if cmd := box.ran[0]; cmd.Timeout != time.Minute || cmd.Env["PYTHONPYCACHEPREFIX"] == "" || cmd.Env["A"] != "b" || len(env) != 1 {
			t.Errorf("%s: %+v, of %v", name, cmd, env)
		}
	}
	box := &still{}
	if _, out, done := (Bench{Box: box, Timeout: time.Minute}).Command(t.Context(), guest.Command{Args: []string{"x"}, Timeout: time.Second}); !done || box.ran[0].Timeout != time.Second {
		t.Errorf("its own time is not kept: %+v", out)
	}
}

func TestABoxThatIsNotSweptIsTold(t *testing.T) {
	t.Parallel()
	for want, box := range map[string]*still{"<nil>": {}, "sweep the box: exit status 1": {res: guest.Result{Exit: 1}}, "gone": {res: guest.Result{Exit: 1}, err: errors.New("gone")}} {
		if err := (Bench{Box: box}).Sweep(t.Context()); fmt.Sprint(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if (Bench{Only: []string{"a::b"}}).Witnessed() || (Bench{Unwitnessed: true}).Witnessed() || !(Bench{}).Witnessed() {
		t.Error("witnesses stand among some tests, or among none")
	}
}

func TestWhatAPatchCannotAffectComesLastOrNotAtAll(t *testing.T) {
	t.Parallel()
	reach := Reach{"a": false, "b": true, "c": false}
	for name, c := range map[string]struct {
		reach Reach
		leave bool
		stop  string
		want  string
	}{
		"all":           {nil, false, "", "0a 1b 2c 3d"},
		"some first":    {reach, false, "", "1b 3d told 0a 2c"},
		"the others":    {reach, true, "", "1b 3d"},
		"until the end": {reach, false, "b", "1b"},
		"until another": {reach, false, "a", "1b 3d told 0a"},
		"none affected": {Reach{"a": false, "b": false, "c": false, "d": false}, true, "", ""},
	} {
		var got []string
		b := Bench{Reach: c.reach, Leave: c.leave, AffectedDone: func() { got = append(got, "told") }}
		for i, root := range InOrder(b, []string{"a", "b", "c", "d"}, Itself) {
			if got = append(got, fmt.Sprint(i, root)); root == c.stop {
				break
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %s", name, got, c.want)
		}
	}
}

func TestATraceNamesEachLineOnce(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "[1]", "a": "[1]", "a\n": "[1 2]", "\r\n\r\n": "[1 2 3]"} {
		if got := fmt.Sprint(LinesOf([]byte(text))); got != want {
			t.Errorf("%q: %s", text, got)
		}
	}
	l := Lines{"a": {1, 2}, "b": {3}, "c": {}}
	if got := l.Only(func(p string) bool { return p != "a" }); len(got) != 2 || got.Count() != 1 || l.Count() != 3 || l.Only(func(string) bool { return false }) != nil || Lines(nil).Count() != 0 {
		t.Errorf("%+v", got)
	}
	if got := (&Trace{}).With(&Trace{Code: Lines{"a": {2, 1, 2}}}); fmt.Sprint(got.Code, got.Ran) != "map[a:[1 2]] map[]" {
		t.Errorf("%+v", got)
	}
}

func TestManyDoubtfulTestsAreAllRunOnceMore(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{mostSingly: mostSingly, mostSingly + 1: 0} {
		for name, again := range map[string]Outcome{"lost": {Verdict: Infra}, "well": {Tests: []TestResult{{ID: "a::0", Outcome: "passed"}}, Seconds: 1, Peak: 3, Output: "again"}} {
			first := Outcome{Traced: &Trace{}, Seconds: 2, Peak: 9, Output: "first"}
			for i := range n {
				first.Tests = append(first.Tests, TestResult{ID: fmt.Sprint("a::", i), Outcome: "failed"})
			}
			first.Detail = "pytest: 0 passed, " + fmt.Sprint(n) + " failed; of one root"
			only := -1
			out := Unmeasured(t.Context(), Bench{Lines: Lines{"a": {1}}}, TestResult.Bad, func(_ context.Context, b Bench) Outcome {
				if len(b.Lines) > 0 {
					return first
				}
				only = len(b.Only)
				return again
			})
			switch {
			case only != want || out.Traced != first.Traced:
				t.Errorf("%d, %s: %d are run again", n, name, only)
			case name == "lost" && (out.Output != "first" || out.Seconds != 2 || out.Tests[0].Outcome != "failed"):
				t.Errorf("%d, %s: %+v", n, name, out)
			case name == "well" && (out.Output != "again" || out.Seconds != 3 || out.Peak != 9 || out.Tests[0].Outcome != "passed"):
				t.Errorf("%d, %s: %+v", n, name, out)
			case name == "well" && want > 0 && out.Detail != "pytest: 1 passed, 49 failed; of one root":
				t.Errorf("%s", out.Detail)
			}
		}
	}
}

func TestACheckThatProvesItselfFindsWhatIsPlanted(t *testing.T) {
	t.Parallel()
	want := map[string]string{"a.py": "F821", "b.py": "E1"}
	fault := func(file, rule string) Finding { return Finding{File: file, Rule: rule} }
	for text, out := range map[string]Outcome{
		"<nil>": {Findings: []Finding{fault("a.py", "F821"), fault("b.py", "E1"), fault("a.py", "F821")}},
		"it reports E1 in a.py, where there is no such fault": {Findings: []Finding{fault("a.py", "E1")}},
		"it reports E1 in , where there is no such fault":     {Findings: []Finding{fault("", "E1")}},
		`it reports faults only in ["b.py"], of 2 planted`:    {Findings: []Finding{fault("b.py", "E1")}},
		`it reports faults only in [], of 2 planted`:          {},
		"the box died":     {Verdict: Infra, Detail: "the box died", Blocked: "x"},
		"no configuration": {Blocked: "no configuration", Findings: []Finding{fault("a.py", "F821")}},
	} {
		out.Learned = []byte("types")
		learned := ""
		b := Bench{Learn: func(packed []byte) { learned += string(packed) }}
		err := Proves(func(context.Context, Bench) Outcome { return out }, want)(t.Context(), b)
		if fmt.Sprint(err) != text || (learned == "types") != (err == nil) {
			t.Errorf("%v, want %s; %q was learnt", err, text, learned)
		}
	}
}
