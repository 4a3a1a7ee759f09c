package term

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"agent/orchestrator/agent"
	"agent/verify"
)

// A block is a candidate on the board: what a model was asked for it, and its gates.
type block struct {
	number  int
	attempt int    // counts those that were asked for or judged, from 1
	after   string // the outcome of the previous attempt, "" for the first
	ask     *askRow
	rows    []*gateRow
	// When the first gate began, and when the last event came: together the time of all the gates.
	began, last time.Time
	verdict     verify.Verdict // "" until it is judged
	why         string         // why it was refused before any gate
	shown       bool           // it is left above, and nothing has happened since
}

// A gateRow is one gate in a block. Rows keep the order in which the gates began, so that nothing jumps about on the
// screen. The work on the unpatched snapshot belongs to the row, but its time does not.
type gateRow struct {
	gate string
	// When the gate began on the patched side, by this process's clock; zero before that. seconds is the gate's own
	// measurement once it is done or waits.
	began   time.Time
	waiting bool
	done    bool
	verdict verify.Verdict
	// It passes because nothing ran in it.
	idle    bool
	seconds float64
	fresh   int // findings
	detail  string
	// When the work on the unpatched snapshot began, or zero, and what to say of it once it is done.
	comparing time.Time
	baseline  string
}

// gate handles an event of a gate, and returns its row.
func (k *block) gate(e verify.Event) *gateRow {
	k.last = time.Now()
	if k.began.IsZero() {
		k.began = k.last
	}
	var r *gateRow
	for _, have := range k.rows {
		if have.gate == e.Gate {
			r = have
		}
	}
	if r == nil {
		r = &gateRow{gate: e.Gate}
		k.rows = append(k.rows, r)
	}
	if e.Baseline {
		return r
	}
	if r.began.IsZero() {
		r.began = k.last
	}
	r.detail, r.waiting = CleanLine(e.Detail), e.Waiting
	if e.Waiting {
		r.seconds = e.Seconds
	}
	// Gates still at work report nothing more.
	if e.Verdict == verify.Cancelled {
		k.cancel()
	}
	if e.Done {
		r.done, r.verdict, r.idle, r.seconds, r.fresh = true, e.Verdict, e.Idle, e.Seconds, e.New
	}
	return r
}

// cancel ends the gates that are still at work.
func (k *block) cancel() {
	for _, r := range k.rows {
		if !r.done {
			r.done, r.verdict, r.seconds = true, verify.Cancelled, r.took().Seconds()
		}
	}
}

// judge records the verdict of the candidate.
func (k *block) judge(v verify.Verdict, why string) {
	k.last = time.Now()
	k.verdict, k.why, k.attempt = v, why, max(k.attempt, 1)
}

// restart starts the next attempt, which is judged anew.
func (k *block) restart() {
	k.after = ""
	if k.verdict != "" && k.verdict != verify.Pass {
		k.after = k.reason()
	}
	k.attempt, k.rows, k.verdict, k.why = max(k.attempt, 1)+1, nil, "", ""
	k.began, k.last = time.Time{}, time.Time{}
}

// reason says in a few words why the candidate did not pass: the gates that objected, and what the first of them said.
func (k *block) reason() string {
	var names []string
	first := ""
	for _, r := range k.rows {
		if r.done && r.verdict != "" && r.verdict != verify.Pass {
			names = append(names, r.gate)
			if first == "" {
				first = cmp.Or(r.findings(), r.detail)
			}
		}
	}
	switch len(names) {
	case 0:
		return Headline(k.why)
	case 1:
		return strings.TrimSuffix(names[0]+": "+first, ": ")
	}
	return strings.Join(names, ", ")
}

// passed returns how many gates did not object.
func (k *block) passed() (n int) {
	for _, r := range k.rows {
		if r.done && r.verdict == verify.Pass {
			n++
		}
	}
	return n
}

// busy reports whether something is at work.
func (k *block) busy() bool {
	if k.verdict != "" {
		return false
	}
	for _, r := range k.rows {
		if !r.done && !r.began.IsZero() {
			return true
		}
	}
	return k.ask != nil && k.ask.open()
}

// took returns the time of the question and of the gates together. The time between them, while others are asked or
// judged, does not count for the candidate.
func (k *block) took() (total time.Duration) {
	if k.ask != nil {
		total = k.ask.took()
	}
	switch {
	case k.began.IsZero():
	case k.verdict == "" && k.busy():
		total += time.Since(k.began)
	default:
		total += k.last.Sub(k.began)
	}
	return total
}

// took returns how long the gate worked on the patched side.
func (r *gateRow) took() time.Duration {
	switch {
	case r.done || r.waiting:
		return time.Duration(r.seconds * float64(time.Second))
	case r.began.IsZero():
		return 0
	}
	return time.Since(r.began)
}

// word returns the verdict, as far as it is known. A gate that is left out is not judged.
func (r *gateRow) word() string {
	switch {
	case !r.done:
		return ""
	case r.verdict == "":
		return "skipped"
	case r.idle:
		return NothingRan
	}
	return string(r.verdict)
}

// NothingRan is shown for tests instead of a pass if none ran.
const NothingRan = "no tests ran"

// about returns what to say of the gate besides verdict and time.
func (r *gateRow) about(smoke time.Duration) string {
	left := smoke - r.took()
	switch {
	case r.done:
		detail := r.detail
		if r.verdict == "" {
			detail = strings.TrimPrefix(detail, "skipped: ")
		}
		return join(", ", r.findings(), detail, r.baseline)
	case r.waiting && !r.comparing.IsZero():
		return fmt.Sprintf("%s, %.0f s", r.detail, time.Since(r.comparing).Seconds())
	case r.waiting:
		return r.detail
	case r.began.IsZero() && r.baseline == "" && !r.comparing.IsZero():
		return fmt.Sprintf("baseline %.1fs", time.Since(r.comparing).Seconds())
	case r.began.IsZero():
		return r.baseline
	// The smoke test watches for a fixed time, so its end is known.
	case r.gate == "smoke" && left > 0:
		return fmt.Sprintf("%.0f s to go", left.Seconds())
	}
	return r.detail
}

// findings says how many findings are new, "" if none are.
func (r *gateRow) findings() string {
	if r.fresh == 0 {
		return ""
	}
	return fmt.Sprintf("%d new", r.fresh)
}

// join joins texts, leaving out the empty ones.
func join(between string, parts ...string) string {
	var list []string
	for _, p := range parts {
		if p != "" {
			list = append(list, p)
		}
	}
	return strings.Join(list, between)
}

// asked starts the next attempt if a question asks for one.
func (k *block) asked(stage agent.Stage) {
	if stage == agent.Asked && (k.verdict != "" || len(k.rows) > 0) {
		k.restart()
	}
	k.attempt = max(k.attempt, 1)
}
