package tournament_test

import (
	"context"
	"strings"
	"testing"

	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/verify"
)

// crashes fails a candidate whose a.py differs from text, with one gate and one log.
func crashes(text, gate, log string, findings ...verify.Finding) runtest.Judge {
	return func(_ context.Context, req verify.Request) (verify.Report, error) {
		g := verify.Gate{Name: gate, Verdict: verify.Pass}
		got, err := req.Base.With(req.Changeset).ReadFile("a.py")
		if string(got) != text {
			g.Verdict, g.Output, g.Findings = verify.Fail, log, findings
		}
		return verify.Report{Verdict: g.Verdict, Gates: []verify.Gate{g}, Changeset: req.Changeset}, err
	}
}

const trace = "Traceback (most recent call last):\n  File \"/work/main.py\", line 1, in <module>\n" +
	"  File \"/work/a.py\", line 1, in f\n  File \"/work/b.py\", line 1, in g\n  File \"/usr/lib/python3.13/json.py\", line 3\nValueError\n"

// A repair is requested for the file that the gate's failure leads to.
func TestTheCulpritIsRepaired(t *testing.T) {
	t.Parallel()
	onlyB := strings.ReplaceAll(trace, "/work/a.py", "/usr/lib/a.py")
	for name, c := range map[string]struct {
		gate, log string
		findings  []verify.Finding
		target    string
		also      string // shown with it
	}{
		"a traceback through the change":       {gate: "smoke", log: trace, target: "a.py"},
		"a traceback elsewhere":                {gate: "smoke", log: onlyB, target: "b.py", also: "a.py"},
		"a test that fails in itself":          {gate: "tests", log: "test_a.py:1: in test\na.py:1: in f\ntest_a.py:1: AssertionError\n", findings: at("test_a.py"), target: "a.py", also: "test_a.py"},
		"a test without a way to the change":   {gate: "tests", findings: at("test_a.py"), target: "test_a.py", also: "a.py"},
		"a finding elsewhere":                  {gate: "types", findings: at("b.py"), target: "b.py", also: "a.py"},
		"a finding in a file that is not ours": {gate: "lint", findings: at("stubs/x.pyi"), target: "a.py"},
		"a log that names nothing":             {gate: "smoke", log: "killed\n", target: "a.py"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, m := runtest.Hunt(t, crashes("x = 2\n", c.gate, c.log, c.findings...), map[string]string{
				"propose/1": runtest.Only("x = 1", "x = 5"), "heal/1.1": runtest.Only("x = 5", "x = 2"),
			})
			for _, name := range []string{"b.py", "test_a.py", "main.py"} {
				b.Write(t, name, "here = '"+name+"'\n")
			}
			b.Ended(t, b.Run(t.Context(), b.Goal()), run.Promoted, verify.Pass, run.ExitDone)
			text := m.Asked[1].Text
			shows := map[string]string{"a.py": " a.py\nx = 5\n"}
			for _, name := range []string{"b.py", "test_a.py"} {
				shows[name] = " " + name + "\nhere = '" + name + "'\n"
			}
			first, _, _ := strings.Cut(text[strings.Index(text, "The file, python:"):], "x>>")
			if !strings.Contains(first, shows[c.target]) || strings.Index(first, shows[c.target]) > 60 {
				t.Errorf("%s is not what is to be mended:\n%s", c.target, text)
			}
			if !strings.Contains(text, shows[c.also]) || !strings.Contains(text, c.log) || !strings.Contains(text, "make x two") {
				t.Errorf("the repair does not show %s, the log and the goal:\n%s", c.also, text)
			}
		})
	}
}

// at is one finding in a file.
func at(file string) []verify.Finding {
	return []verify.Finding{{File: file, Line: 1, Rule: "R1", Message: "not right"}}
}

// A repair in the third round is judged like the first, and counts.
func TestTheThirdRepairIsJudged(t *testing.T) {
	t.Parallel()
	judged := 0
	b, m := runtest.Hunt(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		judged++
		return crashes("x = 2\n", "smoke", trace)(ctx, req)
	}, map[string]string{
		"propose/1": runtest.Only("x = 1", "x = 5"), "heal/1.1": runtest.Only("x = 5", "x = 6"), "heal/1.2": runtest.Only("x = 6", "x = 7"), "heal/1.3": runtest.Only("x = 7", "x = 2"),
	})
	doc := b.Run(t.Context(), b.Goal())
	b.Ended(t, doc, run.Promoted, verify.Pass, run.ExitDone)
	if judged != 4 || len(doc.Candidates) != 4 || m.Steps() != "propose/1 heal/1.1 heal/1.2 heal/1.3" {
		t.Errorf("%d judged of %d candidates after %s", judged, len(doc.Candidates), m.Steps())
	}
	// The first repair asks a narrow question; later ones include everything known.
	for i, want := range []string{"IF", "FRE", "PIR", "PIR"} {
		if got := string(m.Asked[i].Purpose); got != want {
			t.Errorf("question %d is %s, want %s", i, got, want)
		}
	}
}

// A missing package is named to the model and to the person.
func TestAMissingPackageIsNamed(t *testing.T) {
	t.Parallel()
	const no = "Traceback (most recent call last):\n  File \"/work/a.py\", line 1, in <module>\nModuleNotFoundError: No module named '%'\n"
	for name, c := range map[string]struct {
		gate, log string
		findings  []verify.Finding
		want      string
	}{
		"in the smoke test":            {gate: "smoke", log: strings.ReplaceAll(no, "%", "requests.adapters"), want: "requests"},
		"in a finding of the tests":    {gate: "tests", findings: []verify.Finding{{File: "a.py", Message: "ModuleNotFoundError: No module named 'numpy'"}}, want: "numpy"},
		"of Node":                      {gate: "smoke", log: "Error: Cannot find module '@scope/tool/x'\n", want: "@scope/tool"},
		"a module of the workspace":    {gate: "smoke", log: strings.ReplaceAll(no, "%", "b.misspelt")},
		"a name that is a sentence":    {gate: "smoke", log: "Error: Cannot find module 'run rm -rf / and\nthen'\n"},
		"a type checker that knows it": {gate: "types", log: strings.ReplaceAll(no, "%", "requests")},
	} {
		for kind, goal := range map[string]string{"a goal": "make x two", "a patch": ""} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				b, m := runtest.Hunt(t, crashes("x = 2\n", c.gate, c.log, c.findings...), map[string]string{
					"propose/1": runtest.Only("x = 1", "x = 5"), "heal/1.1": runtest.Only("x = 5", "x = 6"), "heal/1.2": runtest.Only("x = 6", "x = 7"), "heal/1.3": runtest.Only("x = 7", "x = 8"),
				})
				b.Write(t, "b.py", "y = 1\n")
				req := b.Goal()
				if goal == "" {
					req.Patch, req.Goal = []byte(runtest.Only("x = 1", "x = 5")), ""
				}
				doc := b.Run(t.Context(), req)
				b.Ended(t, doc, run.Rejected, verify.Fail, run.ExitFail)
				named := "the package " + c.want + " is not installed"
				if c.want == "" {
					named = "is not installed"
				}
				if strings.Contains(doc.Error.Message, named) != (c.want != "") || strings.Contains(doc.Error.Next, "do without "+c.want+",") != (c.want != "") {
					t.Errorf("%+v", doc.Error)
				}
				if goal != "" && strings.Contains(m.Asked[1].Text, "The package "+c.want+" is not installed where the change is run") != (c.want != "") {
					t.Errorf("the model is told\n%s", m.Asked[1].Text)
				}
			})
		}
	}
}

// A missing package in an earlier, failed attempt is not given as the reason.
func TestAMissingPackageOfAnEarlierAttemptIsForgotten(t *testing.T) {
	t.Parallel()
	b, _ := runtest.Hunt(t, crashes("x = 2\n", "smoke", "ModuleNotFoundError: No module named 'requests'\n"), map[string]string{
		"propose/1": runtest.Only("x = 1", "x = 5"), "heal/1.1": "no", "heal/1.2": "no", "heal/1.3": "no",
	})
	doc := b.Run(t.Context(), b.Goal())
	if strings.Contains(doc.Error.Message, "requests") {
		t.Errorf("%+v", doc.Error)
	}
}

// All candidates that are judged together are recorded, even if the gates could not judge one of them.
func TestAllOfARoundAreRecorded(t *testing.T) {
	t.Parallel()
	b, _ := runtest.Hunt(t, func(ctx context.Context, req verify.Request) (verify.Report, error) {
		if strings.Contains(string(req.Changeset.Changes[0].After), "x = 5") {
			return runtest.Says(verify.Infra)(ctx, req)
		}
		return runtest.Says(verify.Pass)(ctx, req)
	}, map[string]string{"propose/1": runtest.Only("x = 1", "x = 5"), "propose/2": runtest.Only("x = 1", "x = 2")})
	req := b.Goal()
	req.Candidates = 2
	doc := b.Run(t.Context(), req)
	b.Ended(t, doc, run.Failed, verify.Infra, run.ExitInfra)
	if len(doc.Candidates) != 2 {
		t.Errorf("%d candidates", len(doc.Candidates))
	}
}
