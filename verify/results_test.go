package verify

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/format"
	"agent/verify/python"
	"agent/verify/smoke"
	"agent/verify/syntax"
)

// empty returns a session on a workspace without files, whose outcomes a test delivers itself.
func empty(emit func(Event)) *session {
	return newSession(&Verifier{}, Request{Base: &workspace.Manifest{}}, emit)
}

// An arrival is one thing that results receives.
type arrival struct {
	check    string // "" for the proof
	baseline bool
	out      check.Outcome
}

// tell delivers arrivals to r in order. No suspected test turns out to be flaky, however often it runs.
func tell(r *results, reasons map[string]string, list []arrival) {
	for _, a := range list {
		switch {
		case a.check == "":
			r.proven(reasons)
		case a.baseline:
			r.baseline(a.check, a.out)
		default:
			r.candidate(a.check, a.out)
		}
	}
	for _, name := range r.long() {
		r.narrowed(name, 0, check.Outcome{}, check.Outcome{}, check.Outcome{})
	}
	for _, def := range r.hurriedAway() {
		r.ranAlone(def.Name, check.Outcome{}, false)
	}
	for name, list := range r.suspected() {
		r.repeated(name, compare.Repetition{Suspects: list})
	}
}

// arrivals draws one outcome for each side of each check, and the proof.
func arrivals(t *rapid.T) (list []arrival, reasons map[string]string) {
	kinds := rapid.SampledFrom([]check.Outcome{
		{},
		{},
		{Findings: []check.Finding{{File: "a.py", Line: 1, Rule: "F1", Message: "m"}}},
		{Blocked: "usage"},
		{Blocked: "other"},
		{Verdict: check.Infra, Detail: "gone"},
		{Verdict: check.Timeout, Detail: "late"},
		{Verdict: check.OOM, Detail: "large"},
		{Tests: []check.TestResult{{ID: "a.py::t", Outcome: "failed"}}},
		{Tests: []check.TestResult{{ID: "a.py::t", Outcome: "passed"}}},
	})
	endings := rapid.SampledFrom([]check.Ending{{}, {Exit: 1}, {Running: true}, {Crashes: []string{"KeyError"}}, {Exit: 127}})
	list, reasons = []arrival{{}}, map[string]string{}
	for _, c := range allChecks() {
		name := c.Name
		for _, baseline := range []bool{false, true} {
			if baseline && name == format.Name {
				continue // formatting is not compared with a baseline
			}
			out := kinds.Draw(t, name)
			if name == smoke.ProgramName {
				end := endings.Draw(t, "ending")
				out.Ending = &end
			}
			list = append(list, arrival{name, baseline, out})
		}
		if rapid.IntRange(0, 9).Draw(t, "unproven") == 0 {
			reasons[name] = name + " sees nothing"
		}
	}
	return list, reasons
}

func TestReportDoesNotDependOnWhichBoxEndsFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, reasons := arrivals(t)
		first := empty(nil)
		tell(first.results, reasons, list)
		want, _ := json.Marshal(first.report())
		other := empty(nil)
		tell(other.results, reasons, rapid.Permutation(list).Draw(t, "order"))
		if got, _ := json.Marshal(other.report()); string(got) != string(want) {
			t.Fatalf("%s\nin another order: %s", want, got)
		}
	})
}

func TestGateWithoutAllItsAnswersIsNoPass(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, reasons := arrivals(t)
		lost := rapid.IntRange(0, len(list)-1).Draw(t, "lost")
		a := list[lost]
		s := empty(nil)
		tell(s.results, reasons, slices.Delete(slices.Clone(list), lost, lost+1))
		report := s.report()
		if report.Verdict == check.Pass {
			t.Fatalf("a pass without %+v: %+v", a, report)
		}
		for _, g := range report.Gates {
			// Another check of the gate may be certain of a fault.
			if (a.check == "" || g.Name == checkNamed(a.check).Gate) && (g.Verdict == check.Pass || g.Verdict == check.Policy) {
				t.Fatalf("%s is %s without %+v", g.Name, g.Verdict, a)
			}
		}
	})
}

func TestEachGateEndsOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, reasons := arrivals(t)
		ends := map[string]check.Verdict{}
		s := empty(func(e Event) {
			if _, twice := ends[e.Gate]; e.Done && !e.Baseline {
				if twice {
					t.Fatalf("%s ends again: %+v", e.Gate, e)
				}
				ends[e.Gate] = e.Verdict
			}
		})
		tell(s.results, reasons, rapid.Permutation(list).Draw(t, "order"))
		report := s.report()
		if len(report.Gates)+len(report.Skipped) != len(gateOrder) || len(ends) != len(gateOrder) {
			t.Fatalf("%d judged and %d skipped, %d events", len(report.Gates), len(report.Skipped), len(ends))
		}
		for _, g := range report.Gates {
			if ends[g.Name] != g.Verdict {
				t.Fatalf("%s: the event says %q, the report %q", g.Name, ends[g.Name], g.Verdict)
			}
		}
		for _, skip := range report.Skipped {
			if ends[skip.Name] != "" || skip.Reason == "" {
				t.Fatalf("%+v ends as %q", skip, ends[skip.Name])
			}
		}
	})
}

// sound lists the arrivals of a candidate that passes every gate.
func sound() []arrival {
	list := []arrival{{}}
	for _, c := range allChecks() {
		name, out := c.Name, check.Outcome{}
		if name == smoke.ProgramName {
			out.Ending = &check.Ending{}
		}
		if c.Gate == check.GateTests {
			out.Tests = []check.TestResult{{ID: "a::sound", Outcome: "passed"}}
		}
		list = append(list, arrival{name, true, out}, arrival{name, false, out})
	}
	return list
}

func TestEverySingleTroubleReachesTheVerdict(t *testing.T) {
	t.Parallel()
	finding := check.Outcome{Findings: []check.Finding{{File: "a.py", Message: "m"}}}
	for _, c := range []struct {
		name     string
		check    string
		baseline bool
		out      check.Outcome
		want     check.Verdict
	}{
		{"nothing", python.RuffName, false, check.Outcome{}, check.Pass},
		{"finding of the linter", python.RuffName, false, finding, check.Fail},
		{"finding of the parser", syntax.Name, false, finding, check.Fail},
		{"crash", smoke.ProgramName, false, check.Outcome{Ending: &check.Ending{Exit: 1}}, check.Fail},
		{"formatter gone", format.Name, false, check.Outcome{Verdict: check.Infra}, check.Infra},
		{"types late", python.MypyName, false, check.Outcome{Verdict: check.Timeout}, check.Timeout},
		{"tests out of memory", python.PytestName, false, check.Outcome{Verdict: check.OOM}, check.OOM},
		{"baseline gone", python.PytestName, true, check.Outcome{Verdict: check.Infra}, check.Infra},
		{"skipped test", python.PytestName, false, check.Outcome{Tests: []check.TestResult{{ID: "a::sound", Outcome: "passed"}, {ID: "a::t", Outcome: "skipped"}}}, check.Pass},
	} {
		s := empty(nil)
		list := sound()
		for i, a := range list {
			if a.check == c.check && a.baseline == c.baseline && (c.out.Ending != nil || c.check != smoke.ProgramName) {
				list[i].out = c.out
			}
		}
		tell(s.results, map[string]string{}, list)
		if got := s.report(); got.Verdict != c.want {
			t.Errorf("%s: %s, want %s", c.name, got.Verdict, c.want)
		}
	}
}

func TestGateThatIsNotProvedIsInfraWhateverItFound(t *testing.T) {
	t.Parallel()
	for _, c := range allChecks() {
		s := empty(nil)
		tell(s.results, map[string]string{c.Name: "it sees nothing"}, sound())
		report := s.report()
		expect(t, report, check.Infra, c.Gate)
		if g := find(t, report, c.Gate); g.Detail != "it sees nothing" {
			t.Errorf("%s: %q", c.Name, g.Detail)
		}
	}
}

func TestSyntaxErrorTakesTheProgramsOutOfTheReport(t *testing.T) {
	t.Parallel()
	s := empty(nil)
	// The tests ended with a failure before the error was found.
	list := sound()
	for i, a := range list {
		if a.check == python.PytestName && !a.baseline {
			list[i].out.Tests = []check.TestResult{{ID: "a.py::t", Outcome: "failed"}}
		}
	}
	tell(s.results, map[string]string{}, list)
	if s.report().Verdict != check.Fail {
		t.Fatal("the failing test is not judged")
	}
	s.results.skip(smoke.ProgramName, "no entry point")
	s.results.skip(smoke.ImportsName, "no entry point")
	s.results.unparsed()
	report := s.report()
	if report.Verdict != check.Pass || len(report.Gates) != len(gateOrder)-2 {
		t.Errorf("%+v", report)
	}
	if got := skipped(report, check.GateTests); !strings.Contains(got, "syntax error") {
		t.Errorf("tests skipped with %q", got)
	}
	if got := skipped(report, check.GateSmoke); got != "no entry point" {
		t.Errorf("the first reason is replaced by %q", got)
	}
}

// TestReportTellsNoneOfTheProgramsThatWereFaster: whether a program ended before or after the syntax error was found is a matter of
// chance, and must not show in the report.
func TestReportTellsNoneOfTheProgramsThatWereFaster(t *testing.T) {
	t.Parallel()
	var reports []Report
	imports := func(a arrival) bool { return a.check == smoke.ImportsName }
	programs := slices.DeleteFunc(sound(), imports)
	others := slices.DeleteFunc(slices.Clone(programs), func(a arrival) bool {
		return a.check != "" && checkNamed(a.check).Group != check.GroupStatic
	})
	for _, c := range []struct{ before, after []arrival }{{others, nil}, {programs, nil}, {others, programs}} {
		s := empty(nil)
		s.results.skip(smoke.ImportsName, "the program is started instead")
		tell(s.results, map[string]string{}, c.before)
		s.results.unparsed()
		tell(s.results, map[string]string{}, c.after)
		r := s.report()
		r.Evidence = nil // it has what arrived, which differs
		reports = append(reports, r)
	}
	for _, r := range reports[1:] {
		if diff := cmp.Diff(reports[0], r); diff != "" {
			t.Errorf("-never +in time:\n%s", diff)
		}
	}
	if got := skipped(reports[0], check.GateSmoke); !strings.HasSuffix(got, "; the program is started instead") {
		t.Errorf("smoke skipped with %q", got)
	}
}

func TestRemarksChangeNoVerdict(t *testing.T) {
	t.Parallel()
	s := empty(nil)
	tell(s.results, map[string]string{}, sound())
	s.results.note("the cache is slow")
	s.results.note("a box stays")
	report := s.report()
	if report.Verdict != check.Pass || report.Gates[0].Detail != "(the cache is slow; a box stays)" || report.Gates[1].Detail != "" {
		t.Errorf("%+v", report)
	}
}

func TestEveryGateOfAReportHasAJudge(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, c := range allChecks() {
		if c.Judge == nil || names[c.Name] || !slices.Contains(gateOrder, c.Gate) {
			t.Errorf("nobody judges %s, or two, or no gate reports it", c.Name)
		}
		names[c.Name] = true
	}
	for _, gate := range gateOrder {
		if len(empty(nil).results.checksOf(gate)) == 0 {
			t.Errorf("nothing is checked in %s", gate)
		}
	}
}

func TestEachFindingNamesItsCheck(t *testing.T) {
	t.Parallel()
	r := newResults(nil, Request{Base: &workspace.Manifest{}})
	old := check.Finding{File: "a.py", Rule: "F1", Message: "old"}
	r.proven(map[string]string{})
	r.baseline(python.RuffName, check.Outcome{Findings: []check.Finding{old}})
	r.candidate(python.RuffName, check.Outcome{Findings: []check.Finding{old, {File: "a.py", Rule: "F2", Message: "new"}}})
	g := r.judged[python.RuffName]
	if len(g.Findings) != 1 || g.Findings[0].Tool != python.RuffName || len(g.OldFindings) != 1 || g.OldFindings[0].Tool != python.RuffName {
		t.Errorf("%+v", g)
	}
}

// A check without tests that ends in time only without the patch is run again alone, and judged by how that run ends.
func TestWhatWasInAHurryIsJudgedByHowItEndsAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base, alone check.Outcome
		ran         bool
		waits       bool
		want        check.Verdict
	}{
		"it ends":                        {alone: check.Outcome{Seconds: 1}, ran: true, waits: true, want: check.Pass},
		"it finds something":             {alone: check.Outcome{Findings: []check.Finding{{File: "a.py", Line: 1, Rule: "F1", Message: "m"}}}, ran: true, waits: true, want: check.Fail},
		"it does not end alone either":   {alone: check.Outcome{Verdict: check.Timeout}, ran: true, waits: true, want: check.Timeout},
		"no box could be had":            {waits: true, want: check.Timeout},
		"it did not end before in time,": {base: check.Outcome{Verdict: check.Timeout}},
	} {
		r := empty(nil).results
		r.proven(map[string]string{})
		r.baseline(python.RuffName, c.base)
		r.candidate(python.RuffName, check.Outcome{Verdict: check.Timeout, Detail: "late"})
		if got := len(r.hurriedAway()) == 1; got != c.waits {
			t.Errorf("%s: it waits: %v", name, got)
		}
		if _, judged := r.judged[python.RuffName]; judged && c.waits {
			t.Errorf("%s: judged before", name)
		}
		for _, def := range r.hurriedAway() {
			r.ranAlone(def.Name, c.alone, c.ran)
		}
		if g := r.judged[python.RuffName]; g.Verdict != c.want || len(r.hurriedAway()) > 0 {
			t.Errorf("%s: %+v", name, g)
		}
	}
}
