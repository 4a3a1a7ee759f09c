package verify

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"agent/sandbox/egress"
	"agent/sandbox/workspace"
	"agent/verify/audit"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/format"
	"agent/verify/node"
	"agent/verify/owngate"
	"agent/verify/policy"
	"agent/verify/smoke"
	"agent/verify/syntax"
	"agent/verify/trial"
)

// results gathers the outcomes of one session as they arrive from several goroutines. It judges each check as soon as
// everything that it needs is there: the candidate's outcome, the baseline's, and the proof that it works. A person
// thus sees each verdict as soon as it is known, in whatever order the boxes end. An infra outcome needs neither of the
// other two.
//
// Everything is stored by check; events and the report are about gates.
type results struct {
	request Request
	// own has the checks that the workspace defines; each is its own gate.
	own []check.Check

	mu sync.Mutex
	// emit is called with mu held: one call at a time, and in the order of events.
	emit func(Event)
	cand map[string]check.Outcome
	base map[string]check.Outcome
	// ran has the checks that ran on the unpatched snapshot this time; all others in base were already known.
	ran map[string]bool
	// left has by check the packages that the candidate's run leaves out; see check.Outcome.Beside.
	left map[string]check.Reach
	// trials is by check of tests, if the patch touches what tests are made of.
	trials map[string]*trial.Trial
	// approved has by check the holds for approved cases in which its tests prove less than before.
	approved map[string][]policy.Hold
	// silenced has suppressions of the candidate that were measured and hide nothing; contrary has tests that pass whatever they expect.
	silenced, contrary []policy.Hold
	// partial has the checks that judged with the old configuration, and configuring the holds for that.
	partial     map[string]bool
	configuring []policy.Hold
	// waiting has the checks to be run under the configuration of the patch, and brought says whether they then pass.
	waiting []string
	brought map[string]bool
	// suspects are tests that may be flaky, and repetitions the results of their repeats.
	suspects    map[string][]compare.Suspect
	repetitions map[string]*compare.Repetition
	// near describes, by check of tests, a run of the files that the patch is about, made because a run of all tests
	// does not end in time; "" if there are no such files.
	near map[string]string
	// retimed has the checks that ran alone; see retime.
	retimed map[string]bool
	// watched says that a program that was cut short on one side has been watched to the end.
	watched bool
	// proof maps a check to the reason why it is not proved; nil until the proof is done.
	proof map[string]string
	// skipped says why a check does not apply or could not judge. Every check is in skipped, in judged, or still open.
	skipped map[string]string
	judged  map[string]check.Gate
	final   workspace.Changeset
	// diff is what comparisons need to know about final; computed once for all checks.
	diff  check.Diff
	notes []string
	// told has the events that were emitted: "began", "waits" or "done", side and gate.
	told map[string]bool
}

func newResults(emit func(Event), req Request) *results {
	if emit == nil {
		emit = func(Event) {}
	}
	r := &results{
		request: req, own: owngate.Checks(req.Config.Gates, req.Changeset), emit: emit, told: map[string]bool{},
		cand: map[string]check.Outcome{}, base: map[string]check.Outcome{}, ran: map[string]bool{}, skipped: map[string]string{}, judged: map[string]check.Gate{},
		left: map[string]check.Reach{}, trials: map[string]*trial.Trial{}, approved: map[string][]policy.Hold{}, near: map[string]string{}, retimed: map[string]bool{}, suspects: map[string][]compare.Suspect{}, repetitions: map[string]*compare.Repetition{}, partial: map[string]bool{}, brought: map[string]bool{},
	}
	r.base[format.Name] = check.Outcome{} // formatting has no baseline
	r.settle(req.Changeset)
	return r
}

// settle sets the final changeset. Gates that compare lines are judged after that, since only the formatter ends
// before.
func (r *results) settle(cs workspace.Changeset) {
	d := compare.NewDiff(cs, check.NewView(r.request.Base, cs))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.final, r.diff = cs, d
}

// begin reports that a gate works on one side.
func (r *results) begin(name string, baseline bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if baseline {
		r.ran[name] = true
	}
	r.tell("began", Event{Gate: r.named(name).Gate, Baseline: baseline})
}

// tell emits an event unless one of its kind was emitted for that side of that gate: a gate begins with the first of
// its checks and is done with the last.
func (r *results) tell(kind string, e Event) {
	key := fmt.Sprintf("%s %t %s", kind, e.Baseline, e.Gate)
	if !r.told[key] {
		r.told[key] = true
		r.emit(e)
	}
}

// requested reports a request that left a box.
func (r *results) requested(purpose string, req egress.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.emit(Event{Gate: purpose, Request: &req})
}

// note records a remark that changes no verdict, such as a cache that did not answer. The report shows it with its
// first gate.
func (r *results) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

// skip records that a gate does not apply.
func (r *results) skip(name, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skipped[name] = reason
}

// wanted lists the checks that are not skipped and can be proved.
func (r *results) wanted() []check.Check {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(allChecks(), func(c check.Check) bool {
		_, skipped := r.skipped[c.Name]
		return skipped
	})
}

// unparsed removes the programs from the report because a touched file does not parse. Their results would only repeat
// that in other words.
func (r *results) unparsed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.all() {
		if c.Group == check.GroupStatic {
			continue
		}
		if _, ok := r.skipped[c.Name]; !ok {
			r.skipped[c.Name] = audit.SyntaxStops
		}
		// It may have ended just before the syntax error was found, and the report must not depend on that.
		delete(r.judged, c.Name)
		delete(r.cand, c.Name)
	}
}

// candidate records what a check found in the candidate, unless the check has been skipped in the meantime.
func (r *results) candidate(name string, out check.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, skipped := r.skipped[name]; skipped {
		return
	}
	r.cand[name] = out
	// Otherwise nothing would be visible of it for as long as the baseline takes.
	if _, ok := r.base[name]; !ok && out.Verdict != check.Infra {
		r.tell("waits", Event{Gate: r.named(name).Gate, Seconds: out.Seconds, Waiting: true, Detail: "waiting for baseline"})
	}
	r.judge(name)
}

// baseline records what a check found before the patch.
func (r *results) baseline(name string, out check.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.base[name] = out
	// The syntax check of the old text is a part of its gate and not a run.
	if name != syntax.Name {
		r.compared(r.named(name).Gate)
	}
	r.judge(name)
}

// compared reports when the last check of a gate has its baseline.
func (r *results) compared(gate string) {
	e := Event{Gate: gate, Baseline: true, Done: true, Detail: "baseline cached"}
	var parts []check.Gate
	for _, c := range r.checksOf(gate) {
		out, ok := r.base[c.Name]
		if _, skipped := r.skipped[c.Name]; !ok && !skipped {
			return
		}
		// The time of an earlier run is not reported: it did not delay this one.
		if r.ran[c.Name] {
			parts = append(parts, check.GateOf(gate, out))
		}
	}
	if len(parts) > 0 {
		g := compare.Together(parts)
		e.Verdict, e.Seconds, e.Detail = g.Verdict, g.Seconds, g.Detail
	}
	r.tell("done", e)
}

// proven records which checks have not proved themselves, and why.
func (r *results) proven(reasons map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proof = reasons
	for _, c := range r.all() {
		r.judge(c.Name)
	}
}

// judge gives a check its verdict if everything is there, and otherwise does nothing, so it may be called whenever
// something has arrived. It is called with mu held.
func (r *results) judge(name string) {
	cand, have := r.cand[name]
	base, compared := r.base[name]
	_, done := r.judged[name]
	_, skipped := r.skipped[name]
	if !have || done || skipped || cand.Verdict != check.Infra && (!compared || r.proof == nil || r.trials[name].Waits()) {
		return
	}
	def, again := r.named(name), r.repetitions[name]
	left := r.left[name]
	if r.isLong(def, base, cand) || r.hurried(def, base, cand) {
		return
	}
	if _, unequal := smoke.Unequal(base, cand); unequal && !r.watched {
		return
	}
	if name == smoke.ProgramName && smoke.Doubtful(base, cand) {
		return
	}
	cand = cand.Beside(base, left)
	r.cand[name] = cand
	r.trials[name].Beside(base, left)
	base, cand = again.Excuse(base, cand)
	g, reason := judge(def, base, cand, r.proof[name], r.diff)
	if def.Repeats && reason == "" && again == nil {
		if list := compare.Suspects(g, base, cand, r.diff); len(list) > 0 {
			r.suspects[name] = list
			return
		}
	}
	switch passes, asked := r.brought[name]; {
	case passes:
		g = asBrought(g)
	case reason != "" || asked || !r.misconfigured(def, g):
	case slices.Contains(r.request.Allow, policy.Tooling):
		if !slices.Contains(r.waiting, name) {
			r.waiting = append(r.waiting, name)
		}
		return
	default:
		g.Detail += "; --allow tooling judges by the patch's configuration instead"
	}
	if reason == "" && r.trials[name].Ask(g, base, cand, r.diff) {
		return
	}
	if reason != "" {
		r.skipped[name] = reason
	} else {
		if g = r.trials[name].Judge(g, base, cand, r.diff); len(r.trials[name].Doubted()) > 0 {
			return // confirm asks again
		}
		g = r.approve(name, g)
		g.Name, g.Tool = def.Gate, toolVersion(name, r.request.Versions)
		if left != nil {
			g.Detail = check.Join([]string{g.Detail, left.Note(def.Family.Unit)}, "; ")
		}
		g.Detail = check.Join([]string{g.Detail, r.near[name]}, "; ")
		for _, list := range [][]check.Finding{g.Findings, g.OldFindings} {
			for i := range list {
				list[i].Tool = name
			}
		}
		r.judged[name] = g
	}
	r.ended(def.Gate)
}

// ended reports when the last check of a gate has been judged or skipped.
func (r *results) ended(gate string) {
	took := 0.0
	for _, c := range r.checksOf(gate) {
		_, judged := r.judged[c.Name]
		if _, skipped := r.skipped[c.Name]; !judged && !skipped {
			return
		}
		took += r.cand[c.Name].Seconds
	}
	e := Event{Gate: gate, Done: true, Seconds: took}
	if g, reason := r.gate(gate); reason != "" {
		e.Detail = "skipped: " + reason
	} else {
		e.Verdict, e.Detail, e.New = g.Verdict, g.Detail, len(g.Findings)
		e.Idle = gate == check.GateTests && g.Verdict == check.Pass && !r.evidence().Tested()
	}
	r.tell("done", e)
}

// gate returns the judgement of a gate, which combines its checks, or the reason why it is skipped. A check that could
// not judge is named next to those that did.
func (r *results) gate(name string) (g check.Gate, reason string) {
	var parts []check.Gate
	var reasons, unjudged []string
	for _, c := range r.checksOf(name) {
		part, ok := r.judged[c.Name]
		reason, skipped := r.skipped[c.Name]
		switch {
		case skipped:
			_, ran := r.cand[c.Name]
			if ran && len(unjudged) == 0 {
				reasons = nil // the reasons of checks that do not apply are of no interest then
			}
			if ran {
				unjudged = append(unjudged, c.Name+" "+reason)
			}
			if (ran || len(unjudged) == 0) && !slices.Contains(reasons, reason) {
				reasons = append(reasons, reason)
			}
		case ok:
			parts = append(parts, part)
		default:
			// What was never judged must not count as a pass.
			parts = append(parts, check.GateOf(name, check.Infraf("the gate reached no verdict")))
		}
	}
	if len(parts) == 0 {
		return check.Gate{}, strings.Join(reasons, "; ")
	}
	g = compare.Together(parts)
	for _, text := range unjudged {
		g.Detail += "; " + text
	}
	return g, ""
}

// judge is the table of possible combinations of outcomes. It judges one check, or returns the reason why it is
// skipped: it could not judge the workspace before the patch either.
func judge(def check.Check, base, cand check.Outcome, unproven string, d check.Diff) (check.Gate, string) {
	infra := func(detail string) (check.Gate, string) {
		g := check.GateOf(def.Gate, cand)
		g.Verdict, g.Detail = check.Infra, detail
		return g, ""
	}
	if def.Alone {
		base = check.Outcome{Ending: &check.Ending{}}
	}
	switch {
	case cand.Verdict == check.Infra:
		return infra(cand.Detail)
	case unproven != "":
		return infra(unproven)
	case base.Verdict == check.Infra:
		return infra("on the unpatched workspace: " + base.Detail)
	case cand.Verdict != "" && cand.Verdict == base.Verdict:
		return check.Gate{}, cand.Detail + ", as before the patch"
	case base.Blocked != "":
		// It is unknown what the tool would have reported before, so everything that it reports now might be old. Only
		// a new reason that blocks it is certainly due to the patch.
		g := def.Judge(base, cand, d)
		if cand.Blocked != "" && !check.SameMessage(base.Blocked, cand.Blocked) && g.Verdict == check.Fail {
			return g, ""
		}
		return check.Gate{}, "not judged: even before the patch, " + base.Blocked
	case cand.Verdict == "" && base.Verdict != "" && (def.Group == check.GroupStatic || slices.Contains(node.OwnGroups, def.Group)):
		return check.Gate{}, "not judged: even before the patch, " + base.Detail
	}
	g := def.Judge(base, cand, d)
	if g.Verdict == "" {
		return check.Gate{}, g.Detail // the two outcomes give no judgement
	}
	return g, ""
}

// leave records what the candidate's run of a check leaves out.
func (r *results) leave(name string, left check.Reach) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left[name] = left
}

// reached reports that a check is done with everything that the patch can affect.
func (r *results) reached(def check.Check, affected check.Reach) {
	r.mu.Lock()
	defer r.mu.Unlock()
	detail := fmt.Sprintf("%s: done with the %d of %d %s that the patch can affect", def.Name, affected.Affected(), len(affected), def.Family.Unit)
	r.tell("reached "+def.Name, Event{Gate: def.Gate, Detail: detail})
}

// named returns the check with that name, built-in or the workspace's.
func (r *results) named(name string) check.Check {
	for _, c := range r.own {
		if c.Name == name {
			return c
		}
	}
	return checkNamed(name)
}

// all lists every check in the order of a report.
func (r *results) all() []check.Check { return append(allChecks(), r.own...) }

// checksOf lists the checks of a gate, in that order.
func (r *results) checksOf(gate string) []check.Check {
	return slices.DeleteFunc(r.all(), func(c check.Check) bool { return c.Gate != gate })
}

// gates names the gates in the order of a report.
func (r *results) gates() []string {
	names := slices.Clone(gateOrder)
	for _, c := range r.own {
		names = append(names, c.Gate)
	}
	return names
}

// How long tests may take: a multiple of their duration before the patch, but at least leastPatience. A longer run
// contains a test that does not finish, and the user should not wait five minutes to learn that. The factor allows for
// a busy machine and for tests that the patch adds.
const (
	patienceFactor = 10
	leastPatience  = time.Minute
)

// patience returns the time limit for a check of tests: limit, or less if its duration before the patch is known.
func (r *results) patience(name string, limit time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	base, known := r.base[name]
	if !known || base.Verdict != "" || base.Seconds == 0 {
		return limit
	}
	return min(limit, max(leastPatience, patienceFactor*time.Duration(base.Seconds*float64(time.Second)).Round(time.Second)))
}

// evidence returns what is known so far. It is called with mu held.
func (r *results) evidence() *audit.Evidence {
	own := map[string][]string{}
	for _, g := range r.request.Config.Gates {
		own[g.Name] = g.Command
	}
	return &audit.Evidence{
		Base: r.request.Base, Final: r.final, Checks: r.all(), Candidate: r.cand, Before: r.base, Judged: r.judged, Skipped: r.skipped, Own: own, Near: r.near,
	}
}
