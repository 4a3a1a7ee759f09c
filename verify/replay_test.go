package verify

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
)

// A replay is a box that answers each tool with what it was seen to answer. A
// tool without an answer is missing, as it is in a box whose image lost it.
type replay struct {
	answers map[string]guest.Result // by the name of the program or script
	err     error                   // of every call
	applied []workspace.Changeset
	ran     []guest.Command
}

func (r *replay) Apply(_ context.Context, cs workspace.Changeset) error {
	r.applied = append(r.applied, cs)
	return r.err
}

func (r *replay) Run(_ context.Context, cmd guest.Command) (guest.Result, error) {
	r.ran = append(r.ran, cmd)
	for _, arg := range slices.Backward(cmd.Args) {
		if res, ok := r.answers[path.Base(arg)]; ok {
			return res, r.err
		}
	}
	return guest.Result{Exit: 127}, r.err
}

// replayed is a bench on a box with these answers and nothing in it.
func replayed(answers map[string]guest.Result) (bench, *replay) {
	box := &replay{answers: answers}
	v := newView(&workspace.Manifest{}, workspace.Changeset{})
	return bench{box: box, tools: toolchain, view: v, timeout: time.Minute, entry: entry{args: []string{"/bin/prog"}}}, box
}

func TestEveryEndThatIsNoAnswerIsToldApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		res    guest.Result
		err    error
		want   Verdict
		detail string
	}{
		{"answer", guest.Result{Exit: 1}, nil, "", ""},
		{"engine gone", guest.Result{}, errors.New("no route"), Infra, "run /bin/prog: no route"},
		{"memory", guest.Result{OOM: true, Exit: -1, Signal: "SIGKILL"}, nil, OOM, "out of the box's memory"},
		{"memory and late", guest.Result{OOM: true, TimedOut: true, Killed: true}, nil, OOM, ""},
		{"memory of a child", guest.Result{OOM: true, Exit: 0}, nil, OOM, ""},
		{"late", guest.Result{TimedOut: true, Exit: -1, Signal: "SIGTERM"}, nil, Timeout, "within 1m0s"},
		{"late, then exit 0", guest.Result{TimedOut: true}, nil, Timeout, ""},
		{"box died", guest.Result{Killed: true}, nil, Infra, "the box died"},
		{"not executable", guest.Result{Exit: 126}, nil, Infra, "agent images build"},
		{"not there", guest.Result{Exit: 127}, nil, Infra, "agent images build"},
		{"signal", guest.Result{Exit: -1, Signal: "SIGSEGV"}, nil, Infra, "SIGSEGV"},
	} {
		b, box := replayed(map[string]guest.Result{"prog": c.res})
		box.err = c.err
		_, out, done := b.command(t.Context(), guest.Command{Args: []string{"/bin/prog"}})
		if out.Verdict != c.want || done != (c.want == "") || !strings.Contains(out.Detail, c.detail) {
			t.Errorf("%s: %q, done %v: %s", c.name, out.Verdict, done, out.Detail)
		}
		if box.ran[0].Timeout != time.Minute {
			t.Errorf("%s: runs for %s", c.name, box.ran[0].Timeout)
		}
	}
}

// works are the answers of an image in which everything works, on the planted
// files, but for the formatter, which never says the same of two texts.
func works() map[string]guest.Result {
	line := func(format, file, rule string) string { return fmt.Sprintf(format, file, rule) + "\n" }
	mypy := `{"file": %q, "line": 2, "column": 0, "message": "m", "code": %q, "severity": "error"}`
	record := strings.Join([]string{
		`{"kind": "collected", "ids": ["test_planted.py::test_true", "test_planted.py::test_false"]}`,
		`{"kind": "test", "id": "test_planted.py::test_true", "outcome": "passed"}`,
		`{"kind": "test", "id": "test_planted.py::test_false", "outcome": "failed"}`,
		`{"kind": "finished", "status": 1}`, "",
	}, "\n")
	var faults, files []string
	for file, rule := range map[string]string{"bad.py": "python", "bad.json": "json", "bad.toml": "toml", "bad.css": "css", "bad.js": "javascript", "bad.mjs": "javascript", "bad.sh": "shell"} {
		faults = append(faults, fmt.Sprintf(`{"file": %q, "rule": "%s-syntax", "message": "m"}`, file, rule))
		files = append(files, fmt.Sprintf("%q, %q", file, strings.Replace(file, "bad", "good", 1)))
	}
	answer := fmt.Sprintf(`{"findings": [%s], "checked": [%s]}`, strings.Join(faults, ","), strings.Join(files, ","))
	tests := ended(1, nil, nil)
	tests.Files = map[string][]byte{"/tmp/agent-tests.jsonl": []byte(record)}
	return map[string]guest.Result{
		"json-lines":   ended(1, []byte(line(`{"filename": %q, "code": %q, "message": "m"}`, "/work/undefined.py", "F821")), nil),
		"mypy":         ended(1, []byte(line(mypy, "caller.py", "arg-type")+line(mypy, "undefined.py", "name-defined")), nil),
		"shellcheck":   ended(1, []byte(`{"comments": [{"file": "./unassigned.sh", "line": 2, "column": 7, "code": 2154, "message": "m"}]}`), nil),
		"run_tests.py": tests,
		"syntax.py":    ended(0, []byte(answer), nil),
		"crash.py":     ended(1, nil, []byte("Traceback (most recent call last):\n  File \"/work/crash.py\", line 2, in start\nLookupError: planted\n")),
		"sound.py":     ended(0, []byte("42\n"), nil),
		"clean.js":     ended(0, []byte("42\n"), nil),
	}
}

// proving maps each check to the answer that its proof rests on.
var proving = map[string]string{
	checkRuff: "json-lines", checkShell: "shellcheck", checkMypy: "mypy", checkPytest: "run_tests.py", checkSyntax: "syntax.py", checkProgram: "crash.py",
}

func TestGatesThatFindThePlantedFaultsAreProved(t *testing.T) {
	t.Parallel()
	b, box := replayed(works())
	reasons := prove(t.Context(), b)
	if len(reasons) != 1 || reasons[checkFormat] == "" {
		t.Errorf("not proved, besides the formatter that does not answer: %q", reasons)
	}
	// Files that do not parse come when all others are done.
	if len(box.applied) != 2 || !slices.ContainsFunc(box.applied[1].Changes, func(c workspace.Change) bool { return c.Path == "bad.py" }) {
		t.Errorf("planted %+v", box.applied)
	}
}

func TestGateIsNotProvedByAnythingButItsFault(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]guest.Result{
		"missing":            ended(127, nil, nil),
		"says nothing":       ended(0, nil, nil),
		"fails":              ended(1, nil, nil),
		"crashes":            ended(2, nil, []byte("Traceback (most recent call last):\nRuntimeError\n")),
		"is killed":          {Exit: -1, Signal: "SIGKILL"},
		"is late":            {TimedOut: true},
		"takes the memory":   {OOM: true},
		"says it in one tag": ended(1, []byte("{}\n"), nil),
		"finds another one":  ended(1, []byte(`{"filename": "/work/sound.py", "file": "sound.py", "severity": "error", "code": "F821", "message": "m"}`+"\n"), nil),
		"cuts its answer":    {Exit: 1, Stdout: guest.Output{Head: works()["json-lines"].Stdout.Head, Dropped: 1}},
	} {
		for gate, tool := range proving {
			answers := works()
			answers[tool] = spoil
			b, _ := replayed(answers)
			reasons := prove(t.Context(), b)
			if !strings.Contains(reasons[gate], "agent images build") || len(reasons) != 2 {
				t.Errorf("%s %s: not proved are %q", tool, name, reasons)
			}
		}
	}
}

func TestNothingIsProvedInABoxThatTakesNoFiles(t *testing.T) {
	t.Parallel()
	b, box := replayed(works())
	box.err = errors.New("no space")
	if reasons := prove(t.Context(), b); len(reasons) != len(allChecks()) || !strings.Contains(reasons[checkRuff], "no space") || len(box.ran) != 0 {
		t.Errorf("%q", reasons)
	}
}

func TestFindingsProveAGateOnlyWhenTheyAreExact(t *testing.T) {
	t.Parallel()
	want := map[string]string{"a.py": "E1", "b.py": "E2"}
	a, b := Finding{File: "a.py", Rule: "E1"}, Finding{File: "b.py", Rule: "E2"}
	for _, c := range []struct {
		name  string
		found []Finding
		ok    bool
	}{
		{"both", []Finding{a, b}, true},
		{"one twice and the other", []Finding{a, a, b}, true},
		{"none", nil, false},
		{"one", []Finding{a}, false},
		{"one twice", []Finding{a, a}, false},
		{"by another rule", []Finding{a, {File: "b.py", Rule: "E1"}}, false},
		{"and a sound file", []Finding{a, b, {File: "c.py", Rule: "E1"}}, false},
		{"and no file", []Finding{a, b, {Rule: "E1"}}, false},
	} {
		if err := exactly(c.found, want); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestTestsThatEndTheirProcessAreTheirOwnDoing(t *testing.T) {
	t.Parallel()
	begun := []byte(`{"kind": "test", "id": "a.py::t", "outcome": "passed"}` + "\n")
	for _, c := range []struct {
		name             string
		res              guest.Result
		verdict          Verdict
		blocked, results bool
	}{
		{"signal", guest.Result{Exit: -1, Signal: "SIGSEGV"}, "", true, true},
		{"os._exit(127)", guest.Result{Exit: 127}, "", true, true},
		{"pytest not installed", ended(127, nil, []byte("pytest: No module named 'pytest'\n")), Infra, false, true},
		{"box died", guest.Result{Exit: -1, Signal: "SIGKILL", Killed: true}, Infra, false, true},
		{"late", guest.Result{TimedOut: true, Exit: -1, Signal: "SIGTERM"}, Timeout, false, true},
		{"out of memory", guest.Result{OOM: true}, OOM, false, true},
	} {
		c.res.Files = map[string][]byte{record: begun}
		b, _ := replayed(map[string]guest.Result{"run_tests.py": c.res})
		out := runTests(t.Context(), b)
		if out.Verdict != c.verdict || (out.Blocked != "") != c.blocked || (len(out.Tests) == 1) != c.results {
			t.Errorf("%s: %+v", c.name, out)
		}
	}
	b, _ := replayed(map[string]guest.Result{"run_tests.py": {Files: map[string][]byte{record: []byte("passed\n")}}})
	if out := runTests(t.Context(), b); !strings.Contains(out.Blocked, "record of the tests is broken") || out.Tests != nil {
		t.Errorf("forged record: %+v", out)
	}
}

func TestProgramIsJudgedOnlyByAnEndingThatWasSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		res     guest.Result
		err     error
		verdict Verdict
		ending  bool
	}{
		"ends":          {guest.Result{}, nil, "", true},
		"by a signal":   {guest.Result{Exit: -1, Signal: "SIGABRT"}, nil, "", true},
		"still running": {guest.Result{TimedOut: true, Exit: -1, Signal: "SIGTERM"}, nil, "", true},
		"not found":     {guest.Result{Exit: 127}, nil, "", true},
		"out of memory": {guest.Result{OOM: true, Exit: 1}, nil, OOM, false},
		"with its box":  {guest.Result{Killed: true, Exit: -1, Signal: "SIGKILL"}, nil, Infra, false},
		"not started":   {guest.Result{}, errors.New("gone"), Infra, false},
	} {
		b, box := replayed(map[string]guest.Result{"prog": c.res})
		box.err = c.err
		out := runSmoke(t.Context(), b)
		if out.Verdict != c.verdict || (out.Ending != nil) != c.ending {
			t.Errorf("%s: %+v", name, out)
		}
	}
}

func TestConfigurationIsPutBackBeforeTheLinterJudges(t *testing.T) {
	t.Parallel()
	cs := workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Modify, Path: "a.py", Before: []byte("x\n"), After: []byte("y\n")},
		{Op: workspace.Create, Path: "ruff.toml", After: []byte("select = []\n")},
	}}
	refused := ended(2, nil, golden(t, "ruff-config.txt"))
	b, box := replayed(map[string]guest.Result{"json-lines": refused, "mypy": ended(0, nil, nil)})
	s := newSession(&Verifier{}, Request{Base: &workspace.Manifest{}, Changeset: cs}, nil)
	defs := []check{checkNamed(checkRuff), checkNamed(checkMypy)}
	s.check(t.Context(), b.box, defs, false, func() {})
	if len(box.applied) != 2 || len(box.applied[1].Changes) != 1 || box.applied[1].Changes[0].Op != workspace.Delete {
		t.Fatalf("applied %+v", box.applied)
	}
	found := s.results.cand[checkRuff].Findings
	if len(found) != 1 || found[0].File != "ruff.toml" || found[0].Rule != "config" {
		t.Errorf("lint %+v", found)
	}
	if out, ok := s.results.cand[checkMypy]; !ok || len(out.Findings) != 0 {
		t.Errorf("types %+v", out)
	}
}
