package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/orchestrator/gate/batch"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/audit"
	"agent/verify/check"
	"agent/verify/policy"
	"agent/verify/verifytest"
)

// A court judges, and records what it judged.
type court struct {
	mu     sync.Mutex
	judged []string // the paths of each judgement
	judge  func(verify.Request, func(verify.Event)) verify.Report
}

// Verify implements gate.Verifier.
func (c *court) Verify(ctx context.Context, req verify.Request, emit func(verify.Event)) (verify.Report, error) {
	if err := ctx.Err(); err != nil {
		return verify.Report{}, err
	}
	c.mu.Lock()
	c.judged = append(c.judged, paths(req.Changeset))
	c.mu.Unlock()
	r := c.judge(req, emit)
	r.Changeset = req.Changeset
	return r, nil
}

// passes is a judgement in which everything passes.
func passes(req verify.Request, emit func(verify.Event)) verify.Report {
	r := verify.Report{Verdict: verify.Pass, Gates: []verify.Gate{{Name: "lint", Verdict: verify.Pass}}, Skipped: []verify.Skip{}, Unproven: []verify.Unproven{}, Executed: []verify.Execution{}}
	for _, c := range req.Changeset.Changes {
		r.Executed = append(r.Executed, verify.Execution{Path: c.Path, Lines: 1, Executed: 1})
	}
	for _, g := range req.Config.Gates {
		r.Gates = append(r.Gates, verify.Gate{Name: g.Name, Verdict: verify.Pass})
	}
	for _, g := range r.Gates {
		emit(verify.Event{Gate: g.Name})
		emit(verify.Event{Gate: g.Name, Done: true, Verdict: verify.Pass})
	}
	return r
}

// paths returns the names of a changeset's files.
func paths(cs workspace.Changeset) string {
	var list []string
	for _, c := range cs.Changes {
		list = append(list, c.Path)
	}
	return strings.Join(list, " ")
}

// files are the files of the tests' base.
var files = map[string]string{"a.py": "a = 1\n", "b.py": "b = 1\n", "c.py": "c = 1\n"}

// A candidate is a test's input.
type candidate struct {
	name  string
	files map[string]string
	req   func(*verify.Request)
	ctx   context.Context
}

// An answer is the outcome for a candidate.
type answer struct {
	report verify.Report
	err    error
	with   *batch.Batch
	events string
	final  []string // the arguments of Settled
}

// ask has candidates judged that arrive at the same time, in one slot.
func ask(t *testing.T, c *court, base *workspace.Manifest, list ...candidate) []answer {
	t.Helper()
	q := &batch.Queue{Slots: 1, Patience: time.Minute}
	answers := make([]answer, len(list))
	var all sync.WaitGroup
	var members []*batch.Member
	for _, of := range list {
		members = append(members, q.Join(of.name, c, nil))
	}
	for i, of := range list {
		all.Go(func() {
			m, a := members[i], &answers[i]
			defer m.Close()
			req := verify.Request{Base: base, Changeset: verifytest.Change(t, base, of.files), Settled: func(cs workspace.Changeset) { a.final = append(a.final, paths(cs)) }}
			if of.req != nil {
				of.req(&req)
			}
			ctx := t.Context()
			if of.ctx != nil {
				ctx = of.ctx
			}
			a.report, a.err = m.Verify(ctx, req, func(e verify.Event) { a.events += fmt.Sprintf("%s %t %s, ", e.Gate, e.Done, e.Verdict) })
			a.with = m.Batch(a.report.Changeset.Digest())
		})
	}
	all.Wait()
	slices.Sort(c.judged)
	return answers
}

// three returns three candidates that change one file each.
func three() []candidate {
	return []candidate{
		{name: "task 1", files: map[string]string{"a.py": "a = 2\n"}}, {name: "task 2", files: map[string]string{"b.py": "b = 2\n"}}, {name: "task 3", files: map[string]string{"c.py": "c = 2\n"}},
	}
}

// Candidates that arrive together and fit are judged once, and each receives only its own files and gates.
func TestWhatFitsIsJudgedOnce(t *testing.T) {
	t.Parallel()
	c := &court{judge: passes}
	list := three()
	list[1].req = func(r *verify.Request) {
		r.Config.Gates = []verify.CustomGate{{Name: "accept-2", Command: []string{"true"}}}
	}
	got := ask(t, c, verifytest.Scan(t, files), list...)
	if len(c.judged) != 1 || c.judged[0] != "a.py b.py c.py" {
		t.Fatalf("judged %q", c.judged)
	}
	for i, a := range got {
		own := list[i].files
		gates, executed := "", ""
		for _, g := range a.report.Gates {
			gates += g.Name + " "
		}
		for _, e := range a.report.Executed {
			executed += e.Path
		}
		want := "lint "
		if i == 1 {
			want = "lint accept-2 "
		}
		name := paths(a.report.Changeset)
		if a.err != nil || a.report.Verdict != verify.Pass || own[name] == "" || gates != want || executed != name || !slices.Equal(a.final, []string{name}) {
			t.Errorf("%s: %+v, %v, settled %q", list[i].name, a.report, a.err, a.final)
		}
		if strings.Contains(a.events, "accept-2") != (i == 1) || !strings.HasPrefix(a.events, "lint false , ") || !strings.Contains(a.events, "lint true pass") {
			t.Errorf("%s was told of %s", list[i].name, a.events)
		}
		if a.with == nil || a.with != got[0].with || len(a.with.Members) != 3 {
			t.Errorf("%s was judged with %+v", list[i].name, a.with)
		}
		if text := a.report.Gates[0].Detail; !strings.HasPrefix(text, "all gates judged it together with task ") || strings.Contains(text, list[i].name) {
			t.Errorf("%s says %q", list[i].name, text)
		}
	}
}

// If all together do not pass, or need an approval, each is judged alone, and receives only its own verdict.
func TestWhatFailsTogetherIsJudgedAlone(t *testing.T) {
	t.Parallel()
	for name, judge := range map[string]func(verify.Request, verify.Report) verify.Report{
		"a failure": func(_ verify.Request, r verify.Report) verify.Report { r.Verdict = verify.Fail; return r },
		"trouble":   func(_ verify.Request, r verify.Report) verify.Report { r.Verdict = verify.Infra; return r },
		"a hold": func(_ verify.Request, r verify.Report) verify.Report {
			r.Holds = []policy.Hold{{Kind: policy.ChangedTest, Path: "a.py"}}
			return r
		},
	} {
		c := &court{judge: func(req verify.Request, emit func(verify.Event)) verify.Report {
			r := passes(req, func(e verify.Event) {
				if len(req.Changeset.Changes) > 1 {
					e.Verdict = verify.Fail
				}
				emit(e)
			})
			if len(req.Changeset.Changes) > 1 {
				r = judge(req, r)
			}
			return r
		}}
		got := ask(t, c, verifytest.Scan(t, files), three()...)
		if !slices.Equal(c.judged, []string{"a.py", "a.py b.py c.py", "b.py", "c.py"}) {
			t.Errorf("%s: judged %q", name, c.judged)
		}
		for _, a := range got {
			if a.err != nil || a.report.Verdict != verify.Pass || a.with != nil || len(a.report.Changeset.Changes) != 1 || strings.Contains(a.events, "true fail") || len(a.report.Gates[0].Detail) > 0 {
				t.Errorf("%s: %+v, %v with %+v after %s", name, a.report, a.err, a.with, a.events)
			}
		}
	}
}

// Lines executed for one part say nothing about another: each has the hold that it would have alone.
func TestEachPartHasToBeExecuted(t *testing.T) {
	t.Parallel()
	c := &court{judge: func(req verify.Request, emit func(verify.Event)) verify.Report {
		r := passes(req, emit)
		trace := &check.Trace{Code: check.Lines{"a.py": {1}, "b.py": {1}, "c.py": {1}}, Ran: check.Lines{"a.py": {1}, "b.py": {1}}}
		r.Evidence = &audit.Evidence{
			Base: req.Base, Final: req.Changeset, Checks: []check.Check{{Name: "pytest", Gate: check.GateTests}},
			Candidate: map[string]check.Outcome{"pytest": {Traced: trace, Tests: []check.TestResult{{ID: "test_a.py::test_a", Outcome: "passed"}}}}, Judged: map[string]check.Gate{"pytest": {Verdict: check.Pass}},
		}
		return r
	}}
	for i, a := range ask(t, c, verifytest.Scan(t, files), three()...) {
		held := len(a.report.Holds) == 1 && a.report.Holds[0].Kind == policy.Unproven && a.report.Holds[0].Path == "c.py"
		if len(c.judged) != 1 || a.with == nil || held != (i == 2) || i < 2 && len(a.report.Holds) > 0 {
			t.Errorf("judged %q, %+v", c.judged, a.report)
		}
	}
}

// Candidates that cannot be judged as one are judged separately.
func TestWhatDoesNotFitIsJudgedApart(t *testing.T) {
	t.Parallel()
	gates := func(command string) func(*verify.Request) {
		return func(r *verify.Request) {
			r.Config.Gates = []verify.CustomGate{{Name: "own", Command: []string{command}}}
		}
	}
	other := verifytest.Scan(t, map[string]string{"a.py": "a = 1\n", "b.py": "b = 1\n", "c.py": "c = 9\n"})
	for name, list := range map[string][]candidate{
		"the same file":          {{name: "1", files: map[string]string{"a.py": "a = 2\n"}}, {name: "2", files: map[string]string{"a.py": "a = 3\n", "b.py": "b = 2\n"}}},
		"a file and a directory": {{name: "1", files: map[string]string{"d": "d\n"}}, {name: "2", files: map[string]string{"d/e.py": "e = 3\n"}}},
		"another base":           {{name: "1", files: map[string]string{"a.py": "a = 2\n"}}, {name: "2", files: map[string]string{"b.py": "b = 2\n"}, req: func(r *verify.Request) { r.Base = other }}},
		"another author":         {{name: "1", files: map[string]string{"a.py": "a = 2\n"}}, {name: "2", files: map[string]string{"b.py": "b = 2\n"}, req: func(r *verify.Request) { r.Model = true }}},
		"other approvals":        {{name: "1", files: map[string]string{"a.py": "a = 2\n"}}, {name: "2", files: map[string]string{"b.py": "b = 2\n"}, req: func(r *verify.Request) { r.Allow = []string{"tests"} }}},
		"other limits":           {{name: "1", files: map[string]string{"a.py": "a = 2\n"}}, {name: "2", files: map[string]string{"b.py": "b = 2\n"}, req: func(r *verify.Request) { r.Config.Timeout = 1 }}},
		"a gate of two meanings": {{name: "1", files: map[string]string{"a.py": "a = 2\n"}, req: gates("true")}, {name: "2", files: map[string]string{"b.py": "b = 2\n"}, req: gates("false")}},
		"its own dependencies":   {{name: "1", files: map[string]string{"a.py": "a = 2\n"}}, {name: "2", files: map[string]string{"b.py": "b = 2\n"}, req: func(r *verify.Request) { r.Patched.Snapshot = "x" }}},
		"too many gates": {
			{name: "1", files: map[string]string{"a.py": "a = 2\n"}, req: many("x")}, {name: "2", files: map[string]string{"b.py": "b = 2\n"}, req: many("y")},
		},
	} {
		c := &court{judge: passes}
		for _, a := range ask(t, c, verifytest.Scan(t, files), list...) {
			if len(c.judged) != 2 || a.with != nil || a.report.Verdict != verify.Pass {
				t.Errorf("%s: judged %q, %+v", name, c.judged, a.report)
			}
		}
	}
}

// A member that asks to be judged alone is, even while others wait. A candidate that passes twice with others belongs to two batches.
func TestSomeAreJudgedAlone(t *testing.T) {
	t.Parallel()
	q, c, base := &batch.Queue{Slots: 1, Patience: time.Minute}, &court{judge: passes}, verifytest.Scan(t, files)
	one, two, alone := q.Join("task 1", c, nil), q.Join("task 2", c, nil), q.Alone(c)
	for range 2 {
		var all sync.WaitGroup
		for m, name := range map[*batch.Member]string{one: "a.py", two: "b.py", alone: "c.py"} {
			all.Go(func() {
				cs := verifytest.Change(t, base, map[string]string{name: "x = 2\n"})
				if r, err := m.Verify(t.Context(), verify.Request{Base: base, Changeset: cs}, nil); err != nil || paths(r.Changeset) != name {
					t.Errorf("%+v, %v", r, err)
				}
				if with := m.Batch(cs.Digest()); (with != nil) != (m != alone) || with != nil && len(with.Members) != 2 {
					t.Errorf("%s was judged with %+v", name, with)
				}
			})
			// The order does not matter: the queue no longer expects a member that has passed, so all three must be present.
		}
		all.Wait()
		for _, m := range []*batch.Member{one, two, alone} {
			m.Expect()
		}
	}
	if slices.Sort(c.judged); !slices.Equal(c.judged, []string{"a.py b.py", "a.py b.py", "c.py", "c.py"}) || len(one.Batches()) != 2 || len(two.Batches()) != 2 || len(alone.Batches()) != 0 {
		t.Errorf("judged %q, batches %d, %d, %d", c.judged, len(one.Batches()), len(two.Batches()), len(alone.Batches()))
	}
	for _, m := range []*batch.Member{one, two, alone} {
		m.Close()
	}
}

// many gives a request almost as many gates as allowed.
func many(name string) func(*verify.Request) {
	return func(r *verify.Request) {
		for i := range verify.MaxCustom - 1 {
			r.Config.Gates = append(r.Config.Gates, verify.CustomGate{Name: fmt.Sprint(name, i)})
		}
	}
}

// A cancelled candidate takes nothing from the others, and gets no answer.
func TestOneThatIsEndedTakesNothingFromTheOthers(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := &court{judge: func(req verify.Request, emit func(verify.Event)) verify.Report {
		cancel()
		return passes(req, emit)
	}}
	list := three()
	list[0].ctx = ctx
	got := ask(t, c, verifytest.Scan(t, files), list...)
	if len(c.judged) != 1 || !errors.Is(got[0].err, context.Canceled) || got[1].report.Verdict != verify.Pass || got[2].report.Verdict != verify.Pass {
		t.Errorf("judged %q: %+v", c.judged, got)
	}
}

// If all candidates are cancelled, the judgement ends.
func TestAllThatAreEndedEndTheJudgement(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := &court{judge: passes}
	list := three()
	for i := range list {
		list[i].ctx = ctx
	}
	for _, a := range ask(t, c, verifytest.Scan(t, files), list...) {
		if !errors.Is(a.err, context.Canceled) || a.report.Verdict != "" {
			t.Errorf("%+v", a)
		}
	}
}

// A late member that never arrives delays the others only briefly, and a member that has failed is expected again.
func TestNobodyWaitsForLong(t *testing.T) {
	t.Parallel()
	q, c := &batch.Queue{Slots: 1}, &court{judge: passes}
	base := verifytest.Scan(t, files)
	m, late := q.Join("task 1", c, nil), q.Join("task 2", c, nil)
	defer late.Close()
	defer m.Close()
	for range 2 {
		if r, err := m.Verify(t.Context(), verify.Request{Base: base, Changeset: verifytest.Change(t, base, map[string]string{"a.py": "a = 2\n"})}, nil); err != nil || r.Verdict != verify.Pass {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if len(c.judged) != 2 || len(m.Batches()) != 0 {
		t.Errorf("judged %q with %+v", c.judged, m.Batches())
	}
}
