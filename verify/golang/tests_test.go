package golang

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/sandbox"
	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/verifytest"
)

// goTestsOf reads a recorded go test of the module m at the root of a workspace.
func goTestsOf(res guest.Result) goTestRun {
	files := newGoTestFiles(checktest.View(map[string]string{
		"lib/a_test.go":  "package lib\n\nfunc TestA(t *testing.T) {\n",
		"lib/b_test.go":  "package lib\n\nfunc TestB(t *testing.T) {}\nfunc TestA (t *testing.T) {}\nfunc  ExampleX() {}\n",
		"twin/a_test.go": "package twin\n\nfunc TestA(t *testing.T) {}\n", "twin/b_test.go": "package twin_test\n\nfunc TestA(t *testing.T) {}\nfunc TestB(t *testing.T) {}\n",
	}))
	return parseGoTests(res, ".", map[string]string{"m/lib": "lib", "m/app": "app", "m/cmd": "cmd", "m/twin": "twin"}, files)
}

// events returns go test's lines for "action package test text".
func events(lines ...string) []byte {
	var b strings.Builder
	for _, line := range lines {
		f := append(strings.SplitN(line, " ", 4), "", "", "")
		b.WriteString(`{"Action":"` + f[0] + `","Package":"m/` + f[1] + `"`)
		if f[2] != "" {
			b.WriteString(`,"Test":"` + f[2] + `"`)
		}
		if f[3] != "" {
			b.WriteString(`,"Output":"` + f[3] + `\n"`)
		}
		b.WriteString("}\n")
	}
	return []byte(b.String())
}

func TestGoTestsAreRead(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/gotest.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	run := goTestsOf(verifytest.Ended(1, data, nil))
	want := []check.TestResult{
		{ID: "app", Outcome: "error", File: "app/x_test.go", Line: 5, Message: "the tests of app do not build: not enough arguments in call to lib.Double have () want (int)"},
		{ID: "lib/a_test.go::TestA", Outcome: "failed", Within: true},
		{ID: "lib/a_test.go::TestA/n", Outcome: "passed"},
		{ID: "lib/a_test.go::TestA/n#01", Outcome: "failed", File: "lib/a_test.go", Line: 8, Message: "no: 2"},
		{ID: "lib/b_test.go::TestB", Outcome: "skipped", File: "lib/b_test.go", Line: 12, Message: "later"},
		{ID: "lib/b_test.go::ExampleX", Outcome: "passed"},
		{ID: "lib::TestP", Outcome: "failed", File: "lib/p.go", Line: 6, Message: "panic: assignment to entry in nil map [recovered, repanicked]"},
		{ID: "lib::TestP/s", Outcome: "failed"},
	}
	if d := cmp.Diff(want, run.results); d != "" || run.trouble != "" {
		t.Error(d, run.trouble)
	}
	if !strings.Contains(run.said, "no: 2") || strings.Contains(run.said, `"Action"`) {
		t.Errorf("a person reads %q", run.said)
	}
}

func TestGoTestRunsThatAreNoResultAreTold(t *testing.T) {
	t.Parallel()
	sound := events("start lib", "run lib TestA", "pass lib TestA", "pass lib")
	for name, c := range map[string]struct {
		res  guest.Result
		want string // in the trouble; "" for none
		ids  string // the results
	}{
		"sound":                 {verifytest.Ended(0, sound, nil), "", "lib/a_test.go::TestA passed"},
		"no tests":              {verifytest.Ended(0, events("start app", "skip app"), nil), "", ""},
		"sound, status 1":       {verifytest.Ended(1, sound, nil), "does not match", "lib/a_test.go::TestA passed"},
		"a failure, status 0":   {verifytest.Ended(0, events("start lib", "run lib TestA", "fail lib TestA", "fail lib"), nil), "does not match", "lib/a_test.go::TestA failed"},
		"ended by the test":     {verifytest.Ended(1, events("start lib", "run lib TestA", "fail lib"), nil), "", "lib/a_test.go::TestA failed"},
		"no test to blame":      {verifytest.Ended(1, events("start lib", "run lib TestA", "pass lib TestA", "output lib  bye", "fail lib"), nil), "", "lib/a_test.go::TestA passed, lib failed"},
		"a package with no end": {verifytest.Ended(1, events("start lib", "run lib TestA", "pass lib TestA"), nil), "", "lib/a_test.go::TestA passed, lib failed"},
		"two ends":              {verifytest.Ended(1, events("start lib", "run lib TestA", "fail lib TestA", "pass lib TestA", "fail lib"), nil), "broken", "lib/a_test.go::TestA failed, lib failed"},
		"two of one name":       {verifytest.Ended(0, events("start twin", "run twin TestA", "run twin TestA/s", "pass twin TestA/s", "pass twin TestA", "run twin TestA", "run twin TestA/s", "pass twin TestA/s", "pass twin TestA", "pass twin"), nil), "", "twin/a_test.go::TestA passed, twin/a_test.go::TestA/s passed"},
		"the second fails":      {verifytest.Ended(1, events("start twin", "run twin TestA", "pass twin TestA", "run twin TestA", "fail twin TestA", "fail twin"), nil), "", "twin/a_test.go::TestA failed"},
		"the first fails":       {verifytest.Ended(1, events("start twin", "run twin TestA", "run twin TestA", "fail twin TestA", "pass twin TestA", "fail twin"), nil), "", "twin/a_test.go::TestA failed"},
		"three of one name":     {verifytest.Ended(1, events("start twin", "run twin TestA", "fail twin TestA", "pass twin TestA", "pass twin TestA", "fail twin"), nil), "broken", "twin/a_test.go::TestA failed, twin failed"},
		"two of another name":   {verifytest.Ended(1, events("start twin", "run twin TestB", "fail twin TestB", "pass twin TestB", "fail twin"), nil), "broken", "twin/b_test.go::TestB failed, twin failed"},
		"a foreign package":     {verifytest.Ended(0, append(sound, events("pass other TestA")...), nil), "broken", "lib/a_test.go::TestA passed"},
		"another word":          {verifytest.Ended(0, append(sound, events("xpass lib TestA")...), nil), "broken", "lib/a_test.go::TestA passed"},
		"text":                  {verifytest.Ended(0, append(sound, "ok\n"...), nil), "broken", "lib/a_test.go::TestA passed"},
		"not begun":             {verifytest.Ended(1, nil, []byte("go: errors parsing go.mod:\ngo.mod:2: unknown directive: x\n")), "did not start: go.mod:2", ""},
		"nothing":               {verifytest.Ended(1, nil, nil), "does not match", ""},
		"too much":              {guest.Result{Stdout: guest.Output{Head: sound, Dropped: 1}}, "more than", "lib/a_test.go::TestA passed"},
		"not installed":         {verifytest.Ended(1, []byte(`{"ImportPath":"u","Action":"build-output","Output":"a.go:3:8: module lookup disabled by GOPROXY=off\n"}`+"\n"+`{"Action":"fail","Package":"m/lib","FailedBuild":"u"}`+"\n"), nil), "", "lib skipped"},
		"its go.mod alone":      {verifytest.Ended(1, []byte(`{"ImportPath":"u","Action":"build-output","Output":"open /deps/go/cache/download/example.com/a/@v/v1.0.0.lock: permission denied\n"}`+"\n"+`{"Action":"fail","Package":"m/lib","FailedBuild":"u"}`+"\n"), nil), "", "lib skipped"},
	} {
		run := goTestsOf(c.res)
		var ids []string
		for _, r := range run.results {
			ids = append(ids, r.ID+" "+r.Outcome)
		}
		if got := strings.Join(ids, ", "); got != c.ids || (run.trouble == "") != (c.want == "") || !strings.Contains(run.trouble, c.want) {
			t.Errorf("%s: %q with %q", name, got, run.trouble)
		}
	}
}

// What keeps packages without tests from building is reported once. A package with tests loses them, and reports that itself.
func TestGoPackagesThatDoNotBuildAreToldOnce(t *testing.T) {
	t.Parallel()
	build := `{"ImportPath":"m/lib","Action":"build-output","Output":"lib/lib.go:3:1: x\n"}` + "\n"
	for _, name := range []string{"lib", "cmd", "app"} {
		build += string(events("start "+name)) + `{"Action":"fail","Package":"m/` + name + `","FailedBuild":"m/lib"}` + "\n"
	}
	run := goTestsOf(verifytest.Ended(1, []byte(build), nil))
	told := map[string]bool{}
	for _, r := range run.results {
		told[r.ID] = !r.Within
	}
	if d := cmp.Diff(map[string]bool{"cmd": false, "app": false, "lib": true}, told); d != "" || run.trouble != "" {
		t.Error(d, run.trouble)
	}
	passed := check.Outcome{Tests: []check.TestResult{{ID: "lib/a_test.go::TestA", Outcome: "passed"}}}
	g := compare.JudgeTests(passed, check.Outcome{Tests: run.results}, check.Diff{Sources: check.NewSources(checktest.View(nil))})
	if len(g.Findings) != 1 || g.Findings[0].File != "lib/lib.go" || g.Findings[0].Line != 3 || g.Findings[0].Rule != compare.RuleTestError {
		t.Errorf("%+v", g.Findings)
	}
}

// A hanging test is reported by its name, not by the program that was stopped.
func TestATestThatHangsIsNamed(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, map[string]string{
		"go.mod":    "module shop\n\ngo 1.24\n",
		"a_test.go": "package shop\n\nimport \"testing\"\n\nfunc TestLoop(t *testing.T) {\n\tt.Run(\"deep\", func(t *testing.T) {\n\t\tfor {\n\t\t}\n\t})\n}\n",
	}, sandbox.Limits{})
	b.Timeout = 15 * time.Second
	if out := runMeasured(t.Context(), b); out.Verdict != check.Timeout || out.Detail != "a_test.go::TestLoop/deep did not finish: go test was stopped after 15s" {
		t.Errorf("%s: %s\n%s", out.Verdict, out.Detail, out.Output)
	}
	open := func(ids ...string) (list []check.TestResult) {
		for _, id := range ids {
			list = append(list, check.TestResult{ID: id, Message: notEnded})
		}
		return append(list, check.TestResult{ID: "a_test.go::TestDone", Message: "it failed"})
	}
	for want, list := range map[string][]check.TestResult{
		"": open("."), "a::A": open("a::A"), "a::A and b::B": open("a::A", "b::B"), "a::A/x/y": open("a", "a::A", "a::A/x", "a::A/x/y"),
		"a::A, b::B and 2 more": open("a::A", "b::B", "c::C", "d::D"),
	} {
		if got := underWay(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
