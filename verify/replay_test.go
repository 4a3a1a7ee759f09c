package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/format"
	"agent/verify/golang"
	"agent/verify/node"
	"agent/verify/python"
	"agent/verify/shell"
	"agent/verify/smoke"
	"agent/verify/syntax"
	"agent/verify/verifytest"
	"agent/verify/web"
)

func TestEveryEndThatIsNoAnswerIsToldApart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		res    guest.Result
		err    error
		want   check.Verdict
		detail string
	}{
		{"answer", guest.Result{Exit: 1}, nil, "", ""},
		{"engine gone", guest.Result{}, errors.New("no route"), check.Infra, "run /bin/prog: no route"},
		{"memory", guest.Result{OOM: true, Exit: -1, Signal: "SIGKILL"}, nil, check.OOM, "out of the box's memory"},
		{"memory and late", guest.Result{OOM: true, TimedOut: true, Killed: true}, nil, check.OOM, ""},
		{"memory of a child", guest.Result{OOM: true, Exit: 0}, nil, check.OOM, ""},
		{"late", guest.Result{TimedOut: true, Exit: -1, Signal: "SIGTERM"}, nil, check.Timeout, "within 1m0s"},
		{"late, then exit 0", guest.Result{TimedOut: true}, nil, check.Timeout, ""},
		{"box died", guest.Result{Killed: true}, nil, check.Infra, "the box died"},
		{"not executable", guest.Result{Exit: 126}, nil, check.Infra, "agent images build"},
		{"not there", guest.Result{Exit: 127}, nil, check.Infra, "agent images build"},
		{"signal", guest.Result{Exit: -1, Signal: "SIGSEGV"}, nil, check.Infra, "SIGSEGV"},
	} {
		b, box := checktest.Replayed(map[string]guest.Result{"prog": c.res})
		box.Err = c.err
		_, out, done := b.Command(t.Context(), guest.Command{Args: []string{"/bin/prog"}})
		if out.Verdict != c.want || done != (c.want == "") || !strings.Contains(out.Detail, c.detail) {
			t.Errorf("%s: %q, done %v: %s", c.name, out.Verdict, done, out.Detail)
		}
		if box.Ran[0].Timeout != time.Minute {
			t.Errorf("%s: runs for %s", c.name, box.Ran[0].Timeout)
		}
	}
}

// works returns the answers of an image in which everything works on the planted files, except for the formatter, which never gives the
// same answer for two texts.
func works() map[string]guest.Result {
	line := func(format, file, rule string) string { return fmt.Sprintf(format, file, rule) + "\n" }
	mypy := `{"file": %q, "line": 2, "column": 0, "message": "Argument 1 to \"double\" has incompatible type \"str\"; expected \"int\"", "code": %q, "severity": "error"}`
	record := strings.Join([]string{
		`{"kind": "collected", "ids": ["test_planted.py::test_true", "test_planted.py::test_false"]}`,
		`{"kind": "test", "id": "test_planted.py::test_true", "outcome": "passed"}`,
		`{"kind": "test", "id": "test_planted.py::test_false", "outcome": "failed"}`,
		`{"kind": "finished", "status": 1}`, "",
	}, "\n")
	var faults, files []string
	for file, rule := range map[string]string{"bad.py": "python", "bad.json": "json", "bad.toml": "toml", "bad.css": "css", "bad.js": "javascript", "bad.mjs": "javascript", "bad.sh": "shell", "bad.ts": "typescript", "bad.jsx": "typescript", "bad.yaml": "yaml", "bad.xml": "xml", "bad.html": "html"} {
		faults = append(faults, fmt.Sprintf(`{"file": %q, "rule": "%s-syntax", "message": "m"}`, file, rule))
		files = append(files, fmt.Sprintf("%q, %q", file, strings.Replace(strings.Replace(file, "bad", "good", 1), ".jsx", ".tsx", 1)))
	}
	answer := fmt.Sprintf(`{"findings": [%s], "checked": [%s]}`, strings.Join(faults, ","), strings.Join(files, ","))
	links := `{"findings": [{"file": "about.html", "rule": "broken-link"}, {"file": "part.html", "rule": "broken-fragment"},` +
		` {"file": "style/main.css", "rule": "broken-link"}], "checked": ["1", "2", "3", "4", "5", "6"]}`
	tests := verifytest.Ended(1, nil, nil)
	tests.Files = map[string][]byte{"/tmp/agent-tests.jsonl": []byte(record), "/tmp/agent-trace.marks": {1, 1, 0}}
	var lint, types []string
	for file, rule := range map[string]string{
		"constant.js": "correctness/noConstAssign", "nan.ts": "correctness/useIsNan", "unit.css": "correctness/noUnknownUnit", "twice.json": "suspicious/noDuplicateObjectKeys",
	} {
		lint = append(lint, fmt.Sprintf(`{"severity": "error", "category": "lint/%s", "location": {"path": %q}}`, rule, file))
	}
	for file, rule := range map[string]string{
		"project/src/caller.ts": "TS2345", "undefined.js": "undeclared-name", "gone.js": "TS2305", "project/src/elements.ts": "undeclared-name",
	} {
		types = append(types, fmt.Sprintf(`{"file": %q, "rule": %q}`, file, rule))
	}
	checked, err := json.Marshal(slices.Sorted(maps.Keys(node.Script.Planted)))
	if err != nil {
		panic(err)
	}
	nodeTests := verifytest.Ended(1, nil, nil)
	nodeTests.Files = map[string][]byte{"/tmp/agent-node-tests.jsonl": []byte(strings.Join([]string{
		`{"kind": "test", "id": "planted.test.mjs::true", "outcome": "passed"}`, `{"kind": "test", "id": "planted.test.mjs::false", "outcome": "failed"}`,
		`{"kind": "collect", "id": "broken.test.mjs", "outcome": "error"}`, `{"kind": "finished", "status": 1}`, "",
	}, "\n"))}
	answers := map[string]guest.Result{
		"gofmt": verifytest.Ended(2, nil, []byte("./bad.go:3:9: expected ')'\n")),
		"list":  verifytest.Ended(0, []byte(plantedPackages), nil),
		"vet":   verifytest.Ended(0, []byte(vetted), nil),
		"staticcheck": verifytest.Ended(1, []byte(`{"code":"SA4018","location":{"file":"/work/fault/fault.go","line":4,"column":2},"message":"m"}`+"\n"+
			`{"code":"SA4018","location":{"file":"/work/half/half.go","line":4,"column":2},"message":"m"}`+"\n"), nil),
		"-find":                 verifytest.Ended(0, []byte(plantedDirs), nil),
		"test":                  verifytest.Ended(1, []byte(plantedTests), nil),
		"json-lines":            verifytest.Ended(1, []byte(line(`{"filename": %q, "code": %q, "message": "m"}`, "/work/undefined.py", "F821")), nil),
		"mypy":                  verifytest.Ended(1, []byte(line(mypy, "caller.py", "arg-type")+line(mypy, "undefined.py", "name-defined")), nil),
		"gitlab":                verifytest.Ended(1, []byte(checktest.TyAnswer), nil),
		"--outputjson":          verifytest.Ended(1, []byte(checktest.PyrightAnswer), nil),
		"shellcheck":            verifytest.Ended(1, []byte(`{"comments": [{"file": "./unassigned.sh", "line": 2, "column": 7, "code": 2154, "message": "m"}]}`), nil),
		"run_tests.py":          tests,
		"trace_plan.py":         verifytest.Ended(0, []byte(`{"test_planted.py": [[2, 0], [6, 1], [10, 2]]}`), nil),
		"syntax.py":             verifytest.Ended(0, []byte(answer), nil),
		"links.py":              verifytest.Ended(0, []byte(links), nil),
		"crash.py":              verifytest.Ended(1, nil, []byte("Traceback (most recent call last):\n  File \"/work/crash.py\", line 2, in start\nLookupError: planted\n")),
		"sound.py":              verifytest.Ended(0, []byte("42\n"), nil),
		"clean.js":              verifytest.Ended(0, []byte("42\n"), nil),
		"server.py":             {Settled: true, Ports: []guest.Port{{Port: 8000, Status: 204}}},
		"sound":                 verifytest.Ended(97, nil, nil),
		"broken":                verifytest.Ended(1, nil, []byte("Traceback (most recent call last):\n  File \"/work/broken/__init__.py\", line 1\nImportError: cannot import name 'absent'\n")),
		"quits":                 verifytest.Ended(0, nil, nil),
		"faulty.js":             verifytest.Ended(1, nil, []byte("/work/node/faulty.js:1\nx\n^\n\nReferenceError: absent is not defined\n\nNode.js v20.1.0\n")),
		"biome":                 verifytest.Ended(1, fmt.Appendf(nil, `{"summary": {"errors": %d}, "diagnostics": [%s]}`, len(lint), strings.Join(lint, ",")), nil),
		"typescript.cjs":        verifytest.Ended(1, fmt.Appendf(nil, `{"findings": [%s], "checked": %s}`, strings.Join(types, ","), checked), nil),
		"node_reporter.mjs":     nodeTests,
		"node_lines_report.cjs": verifytest.Ended(0, []byte(`{"code": {"planted.test.mjs": [1, 2, 4, 5, 6]}, "ran": {"planted.test.mjs": [1, 2, 4, 5]}}`), nil),
	}
	for _, l := range node.Linters() {
		linted := verifytest.Ended(map[string]int{"eslint": 1, "stylelint": 2}[l.Name], nil, nil)
		linted.Files = map[string][]byte{"/tmp/agent-" + l.Name + "-0.json": []byte(l.Planted["node_modules/"+l.Name+"/lib/report.json"])}
		answers["agent-"+l.Name+"-0.json"] = linted
		answers[l.Name] = verifytest.Ended(0, []byte(`[{"program": "/work/run.cjs", "version": "1.0.0"}]`), nil)
	}
	answers["tsc"] = verifytest.Ended(0, []byte(`[{"dir": "/work/1", "program": "/work/tsc", "version": "7.0.0"}, null]`), nil)
	answers["--noEmit"] = verifytest.Ended(1, []byte("a.ts(1,1): error TS2322: m\nnative/a.ts(1,1): error TS2304: m\n"), nil)
	for _, r := range node.Runners() {
		ran := verifytest.Ended(1, nil, nil)
		ran.Files = map[string][]byte{"/tmp/agent-" + r.Name + "-0.json": []byte(r.Planted["node_modules/"+r.Name+"/lib/report.json"])}
		answers["agent-"+r.Name+"-0.json"] = ran
		// Runners that report on standard output are not given a file name.
		answers[r.Name+".cjs"] = verifytest.Ended(1, []byte(r.Planted["node_modules/"+r.Name+"/lib/report.json"]), nil)
		answers[r.Name] = verifytest.Ended(0, fmt.Appendf(nil, `[{"program": "/work/%s.cjs", "version": "1.0.0"}]`, r.Name), nil)
	}
	answers["node true.cjs"], answers["node false.cjs"] = verifytest.Ended(0, nil, nil), verifytest.Ended(1, nil, nil)
	return answers
}

// The go command's answer about the planted packages, one per line, and go vet's about those that compile.
const (
	plantedPackages = `"planted/nowhere" "" "" true 0 "absent/absent.go:3:8" "package planted/nowhere is not in std"
"planted/absent" "/work/absent" "" false 1 "" ""
"planted/caller" "/work/caller" "" false 0 "" "# planted/caller\ncaller/caller.go:5:26: cannot use \"21\"\n"
"planted/sound" "/work/sound" "" false 0 "" ""
"planted/sound_test [planted/sound.test]" "/work/sound" "planted/sound" false 0 "" "# planted/sound_test\nsound/call_test.go:5:9: not enough arguments\n"
"planted/fault" "/work/fault" "" false 0 "" ""
`
	vetted = `{"planted/fault": {
	"assign": [{"posn": "/work/fault/fault.go:4:2", "message": "m"}], "tests": [{"posn": "/work/fault/fault_test.go:5:1", "message": "m"}]
}, "planted/half": {"assign": [{"posn": "/work/half/half.go:4:2", "message": "m"}]}}`
	plantedDirs = `"planted" "/work" "" false 0 "" ""
"planted/no" "/work/no" "" false 0 "" ""
"planted/end" "/work/end" "" false 0 "" ""
"planted/skip" "/work/skip" "" false 0 "" ""
`
	plantedTests = `{"Action":"fail","Package":"planted/no","FailedBuild":"planted/no"}
{"Action":"run","Package":"planted","Test":"TestTrue"}
{"Action":"pass","Package":"planted","Test":"TestTrue"}
{"Action":"fail","Package":"planted","Test":"TestFalse"}
{"Action":"fail","Package":"planted"}
{"Action":"skip","Package":"planted/skip","Test":"TestSkipped"}
{"Action":"pass","Package":"planted/skip"}
{"Action":"fail","Package":"planted/end"}
`
)

// proving maps checks to the one answer on which the proof of each depends.
var proving = map[string]string{
	golang.VetName: "vet", golang.StaticcheckName: "staticcheck", golang.TestsName: "test", web.LinksName: "links.py",
	python.RuffName: "json-lines", shell.Name: "shellcheck", python.MypyName: "mypy", python.TyName: "gitlab", python.PyrightName: "--outputjson",
	python.PytestName: "run_tests.py", syntax.Name: "syntax.py", smoke.ProgramName: "crash.py", smoke.ImportsName: "broken",
	web.BiomeName: "biome", node.ScriptName: "typescript.cjs", node.TestsName: "node_reporter.mjs",
	node.VitestName: "agent-vitest-0.json", node.JestName: "agent-jest-0.json", node.MochaName: "agent-mocha-0.json",
	node.AvaName: "ava.cjs", node.TapName: "tap.cjs", node.TapeName: "tape.cjs", node.UvuName: "uvu.cjs",
	node.ESLintName: "agent-eslint-0.json", node.StylelintName: "agent-stylelint-0.json", node.CompilerName: "--noEmit",
}

func TestGatesThatFindThePlantedFaultsAreProved(t *testing.T) {
	t.Parallel()
	b, box := checktest.Replayed(works())
	reasons := prove(t.Context(), b, allChecks())
	if len(reasons) != 1 || reasons[format.Name] == "" {
		t.Errorf("not proved, besides the formatter that does not answer: %q", reasons)
	}
	// Each check has its own files, which are removed before the next one begins.
	if len(box.Applied) != 2*len(allChecks()) {
		t.Fatalf("planted %+v", box.Applied)
	}
	for i := 0; i < len(box.Applied); i += 2 {
		planted, gone := box.Applied[i], box.Applied[i+1]
		if len(planted.Changes) != len(gone.Changes) || slices.ContainsFunc(gone.Changes, func(c workspace.Change) bool { return c.Op != workspace.Delete }) {
			t.Errorf("planted %+v, taken away %+v", planted, gone)
		}
	}
}

func TestGateIsNotProvedByAnythingButItsFault(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]guest.Result{
		"missing":            verifytest.Ended(127, nil, nil),
		"says nothing":       verifytest.Ended(0, nil, nil),
		"fails":              verifytest.Ended(1, nil, nil),
		"crashes":            verifytest.Ended(2, nil, []byte("Traceback (most recent call last):\nRuntimeError\n")),
		"is killed":          {Exit: -1, Signal: "SIGKILL"},
		"is late":            {TimedOut: true},
		"takes the memory":   {OOM: true},
		"says it in one tag": verifytest.Ended(1, []byte("{}\n"), nil),
		"finds another one":  verifytest.Ended(1, []byte(`{"filename": "/work/sound.py", "file": "sound.py", "severity": "error", "code": "F821", "message": "m"}`+"\n"), nil),
		"cuts its answer":    {Exit: 1, Stdout: guest.Output{Head: works()["json-lines"].Stdout.Head, Dropped: 1}},
	} {
		for gate, tool := range proving {
			answers := works()
			answers[tool] = spoil
			b, _ := checktest.Replayed(answers)
			reasons := prove(t.Context(), b, allChecks())
			if !strings.Contains(reasons[gate], "agent images build") || len(reasons) != 2 {
				t.Errorf("%s %s: not proved are %q", tool, name, reasons)
			}
		}
	}
}

// If the box does not show who listens, a server cannot be judged.
func TestSmokeIsNotProvedWhereNoServerIsSeen(t *testing.T) {
	t.Parallel()
	for name, seen := range map[string]guest.Result{
		"nothing":   {TimedOut: true},
		"no answer": {TimedOut: true, Ports: []guest.Port{{Port: 8000}}},
		"another":   {Settled: true, Ports: []guest.Port{{Port: 8001, Status: 204}}},
	} {
		answers := works()
		answers["server.py"] = seen
		b, _ := checktest.Replayed(answers)
		if reasons := prove(t.Context(), b, []check.Check{checkNamed(smoke.ProgramName)}); !strings.Contains(reasons[smoke.ProgramName], "the ending of server.py was") {
			t.Errorf("%s: %q", name, reasons)
		}
	}
}

func TestNothingIsProvedInABoxThatTakesNoFiles(t *testing.T) {
	t.Parallel()
	b, box := checktest.Replayed(works())
	box.Err = errors.New("no space")
	if reasons := prove(t.Context(), b, allChecks()); len(reasons) != len(allChecks()) || !strings.Contains(reasons[python.RuffName], "no space") || len(box.Ran) != 0 {
		t.Errorf("%q", reasons)
	}
}

func TestFindingsProveAGateOnlyWhenTheyAreExact(t *testing.T) {
	t.Parallel()
	want := map[string]string{"a.py": "E1", "b.py": "E2"}
	a, b := check.Finding{File: "a.py", Rule: "E1"}, check.Finding{File: "b.py", Rule: "E2"}
	for _, c := range []struct {
		name  string
		found []check.Finding
		ok    bool
	}{
		{"both", []check.Finding{a, b}, true},
		{"one twice and the other", []check.Finding{a, a, b}, true},
		{"none", nil, false},
		{"one", []check.Finding{a}, false},
		{"one twice", []check.Finding{a, a}, false},
		{"by another rule", []check.Finding{a, {File: "b.py", Rule: "E1"}}, false},
		{"and a sound file", []check.Finding{a, b, {File: "c.py", Rule: "E1"}}, false},
		{"and no file", []check.Finding{a, b, {Rule: "E1"}}, false},
	} {
		if err := check.Exactly(c.found, want); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestProgramIsJudgedOnlyByAnEndingThatWasSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		res     guest.Result
		err     error
		verdict check.Verdict
		ending  bool
	}{
		"ends":          {guest.Result{}, nil, "", true},
		"by a signal":   {guest.Result{Exit: -1, Signal: "SIGABRT"}, nil, "", true},
		"still running": {guest.Result{TimedOut: true, Exit: -1, Signal: "SIGTERM"}, nil, "", true},
		"not found":     {guest.Result{Exit: 127}, nil, "", true},
		"out of memory": {guest.Result{OOM: true, Exit: 1}, nil, check.OOM, false},
		"with its box":  {guest.Result{Killed: true, Exit: -1, Signal: "SIGKILL"}, nil, check.Infra, false},
		"not started":   {guest.Result{}, errors.New("gone"), check.Infra, false},
	} {
		b, box := checktest.Replayed(map[string]guest.Result{"prog": c.res})
		box.Err = c.err
		out := smoke.Program.Run(t.Context(), b)
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
	refused := verifytest.Ended(2, nil, verifytest.Golden(t, "../python/testdata/ruff-config.txt"))
	b, box := checktest.Replayed(map[string]guest.Result{"json-lines": refused, "mypy": verifytest.Ended(0, []byte("\n"), nil)})
	s := newSession(&Verifier{}, Request{Base: &workspace.Manifest{}, Changeset: cs}, nil)
	defs := []check.Check{checkNamed(python.RuffName), checkNamed(python.MypyName)}
	s.check(t.Context(), b.Box, defs, false, func() {})
	if len(box.Applied) != 2 || len(box.Applied[1].Changes) != 1 || box.Applied[1].Changes[0].Op != workspace.Delete {
		t.Fatalf("applied %+v", box.Applied)
	}
	found := s.results.cand[python.RuffName].Findings
	if len(found) != 1 || found[0].File != "ruff.toml" || found[0].Rule != "config" {
		t.Errorf("lint %+v", found)
	}
	if out, ok := s.results.cand[python.MypyName]; !ok || len(out.Findings) != 0 {
		t.Errorf("types %+v", out)
	}
}
