package verify

import (
	"fmt"
	"strings"
	"sync"

	"agent/sandbox/workspace"
)

// results gathers the outcomes of one session as they come, from several
// goroutines, and judges each gate as soon as all that it needs is there: the
// candidate's outcome, the baseline's, and the proof that the gate works. So a
// person sees each verdict when it is known, in whatever order the boxes end. An
// outcome that is infra needs neither of the other two.
type results struct {
	request Request
	// By name, format and syntax among them, though they run otherwise.
	defs map[string]gateDef

	mu sync.Mutex
	// Called with mu held: one at a time, and in the order of the facts.
	emit func(Event)
	cand map[string]outcome
	base map[string]outcome
	// The gates that ran on the unpatched snapshot this time; what of base is
	// not in here was known.
	ran map[string]bool
	// Gate to the reason why it is not proven; nil until the proof is done.
	proof map[string]string
	// Why a gate does not apply. A gate is in here, in judged, or open.
	skipped map[string]string
	judged  map[string]Gate
	final   workspace.Changeset
	// What comparisons need to know of final; made once for all gates.
	diff  diff
	notes []string
}

func newResults(emit func(Event), req Request) *results {
	if emit == nil {
		emit = func(Event) {}
	}
	r := &results{
		request: req, defs: map[string]gateDef{}, emit: emit,
		cand: map[string]outcome{}, base: map[string]outcome{}, ran: map[string]bool{}, skipped: map[string]string{}, judged: map[string]Gate{},
	}
	for _, def := range gateTable() {
		r.defs[def.name] = def
	}
	r.defs[gateSyntax] = gateDef{name: gateSyntax, judge: judgeFindings}
	r.defs[gateFormat] = gateDef{name: gateFormat, judge: judgeFindings}
	r.base[gateFormat] = outcome{} // formatting has no baseline
	r.settle(req.Changeset)
	return r
}

// settle tells the final changeset. Gates that compare lines are judged after
// it, since nothing but the formatter ends before.
func (r *results) settle(cs workspace.Changeset) {
	d := newDiff(cs, newView(r.request.Base, cs))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.final, r.diff = cs, d
}

// begin tells that a gate works on one side.
func (r *results) begin(name string, baseline bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if baseline {
		r.ran[name] = true
	}
	r.emit(Event{Gate: name, Baseline: baseline})
}

// note keeps a remark that changes no verdict, such as a cache that did not
// answer. The report shows it with its first gate.
func (r *results) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes = append(r.notes, text)
}

// skip records that a gate does not apply.
func (r *results) skip(name, reason string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.skipped[name] = reason
}

// unparsed takes the programs out of the report: a touched file does not parse.
// Whatever they had to say would only repeat it in other words.
func (r *results) unparsed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range []string{gateSmoke, gateTests} {
		if _, ok := r.skipped[name]; !ok {
			r.skipped[name] = "not run: a touched file has a syntax error"
		}
		// It may have ended just before the syntax error was found.
		delete(r.judged, name)
	}
}

// candidate records what a gate found in the candidate.
func (r *results) candidate(name string, out outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cand[name] = out
	// Otherwise nothing would be seen of it for as long as the baseline takes.
	if _, ok := r.base[name]; !ok && out.Verdict != Infra {
		r.emit(Event{Gate: name, Seconds: out.Seconds, Detail: "waits for the unpatched workspace"})
	}
	r.judge(name)
}

// baseline records what a gate found before the patch.
func (r *results) baseline(name string, out outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.base[name] = out
	// The syntax check of the old text is a part of its gate, not a run.
	if name != gateSyntax {
		e := Event{Gate: name, Baseline: true, Done: true, Verdict: out.Verdict, Seconds: out.Seconds, Detail: out.Detail}
		if !r.ran[name] {
			// The time is that of an earlier run: who watches this one has not waited.
			e.Seconds, e.Detail = 0, "known from before"
		}
		r.emit(e)
	}
	r.judge(name)
}

// proven records which gates have not proved themselves, and why.
func (r *results) proven(reasons map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.proof = reasons
	for _, name := range gateOrder {
		r.judge(name)
	}
}

// judge gives a gate its verdict when everything is there, and does nothing
// otherwise, so that it may be called whenever something has come. It is called
// with mu held.
func (r *results) judge(name string) {
	cand, have := r.cand[name]
	base, compared := r.base[name]
	_, done := r.judged[name]
	_, skipped := r.skipped[name]
	if !have || done || skipped || cand.Verdict != Infra && (!compared || r.proof == nil) {
		return
	}
	g, reason := judge(r.defs[name], base, cand, r.proof[name], r.diff)
	if reason != "" {
		r.skipped[name] = reason
		r.emit(Event{Gate: name, Done: true, Seconds: cand.Seconds, Detail: "skipped: " + reason})
		return
	}
	g.Name, g.Tool = name, toolVersion(name, r.request.Versions)
	r.judged[name] = g
	r.emit(Event{Gate: name, Done: true, Verdict: g.Verdict, Seconds: g.Seconds, Detail: g.Detail})
}

// judge is the table of what may come together. It decides on one gate, or gives
// the reason why it is left out: it could not judge the workspace before the
// patch either.
func judge(def gateDef, base, cand outcome, unproven string, d diff) (Gate, string) {
	infra := func(detail string) (Gate, string) {
		g := gateOf(def.name, cand)
		g.Verdict, g.Detail = Infra, detail
		return g, ""
	}
	switch {
	case cand.Verdict == Infra:
		return infra(cand.Detail)
	case unproven != "":
		return infra(unproven)
	case base.Verdict == Infra:
		return infra("on the unpatched workspace: " + base.Detail)
	case cand.Verdict != "" && cand.Verdict == base.Verdict:
		return Gate{}, cand.Detail + ", as before the patch"
	case base.Blocked != "":
		// Nobody knows what the tool would have said before, so all that it says
		// now might be old. Only what blocks it anew is certainly the patch's.
		g := def.judge(base, cand, d)
		if cand.Blocked != "" && !sameMessage(base.Blocked, cand.Blocked) && g.Verdict == Fail {
			return g, ""
		}
		return Gate{}, "not judged: already before the patch, " + base.Blocked
	case cand.Verdict == "" && base.Verdict != "" && def.group == groupStatic:
		return Gate{}, "not judged: already before the patch, " + base.Detail
	}
	return def.judge(base, cand, d), ""
}

// report puts the judgements in order.
func (s *session) report() Report {
	r := s.results
	r.mu.Lock()
	defer r.mu.Unlock()
	report := Report{Changeset: r.final, Gates: []Gate{}, Skipped: []Skip{}}
	for _, name := range gateOrder {
		if reason, ok := r.skipped[name]; ok {
			report.Skipped = append(report.Skipped, Skip{name, reason})
			continue
		}
		g, ok := r.judged[name]
		if !ok {
			// Nothing may be taken for a pass that was never judged.
			g = gateOf(name, infra("the gate came to no judgement"))
		}
		report.Gates = append(report.Gates, g)
	}
	report.Verdict = overall(report.Gates)
	if len(r.notes) > 0 && len(report.Gates) > 0 {
		g := &report.Gates[0]
		g.Detail = strings.TrimPrefix(fmt.Sprintf("%s (%s)", g.Detail, strings.Join(r.notes, "; ")), " ")
	}
	return report
}

// verdictOrder ranks what one gate may say, the weightiest first. Fail comes
// before all, since one certain fault needs no other evidence. OOM and timeout
// are the patch's doing as well, but leave open what it would have done. Infra
// comes next: nobody knows, so it is no pass, and a person's approval (policy)
// would approve something that was not proved.
var verdictOrder = []Verdict{Fail, OOM, Timeout, Infra, Policy}

// overall is the verdict of a candidate: that of its weightiest gate, pass when
// there is none that objects. The order of the gates does not matter.
func overall(gates []Gate) Verdict {
	for _, v := range verdictOrder {
		for _, g := range gates {
			if g.Verdict == v {
				return v
			}
		}
	}
	return Pass
}
