package check

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Beside puts what the base has of the packages that the candidate's check left out
// beside what it found in the others. So it is the outcome of the whole workspace,
// and the comparison and the next baseline need not know.
func (o Outcome) Beside(base Outcome, r Reach) Outcome {
	if r == nil || o.Verdict != "" {
		return o
	}
	// What another package is told of along with the rest is not told twice.
	have := map[Finding]int{}
	for _, f := range o.Findings {
		have[f]++
	}
	for _, f := range base.Findings {
		if root, ok := r.Owner(f.File); ok && r[root] {
			continue
		}
		if have[f]--; have[f] < 0 {
			o.Findings = append(o.Findings, f)
		}
	}
	for _, scope := range base.Unjudged {
		if root, ok := r.Owner(path.Dir(scope)); ok && !r[root] && !slices.Contains(o.Unjudged, scope) {
			o.Unjudged = append(o.Unjudged, scope)
		}
	}
	for _, w := range base.Witnesses {
		if root, ok := r.Owner(w.Place); ok && !r[root] && !slices.ContainsFunc(o.Witnesses, func(own Witness) bool { return own.Place == w.Place && own.Use == w.Use }) {
			o.Witnesses = append(o.Witnesses, w)
		}
	}
	for _, name := range base.Altered {
		if !slices.Contains(o.Altered, name) {
			o.Altered = append(o.Altered, name)
		}
	}
	ran := map[string]bool{}
	for _, t := range o.Tests {
		ran[t.ID] = true
	}
	for _, t := range base.Tests {
		file, _, _ := strings.Cut(t.ID, "::")
		if root, ok := r.Owner(file); ok && !r[root] && !ran[t.ID] {
			o.Tests = append(o.Tests, t)
		}
	}
	return o
}

// AddCost puts the cost of one command to the sum, and its trouble in place of it.
func AddCost(sum, out Outcome) Outcome {
	sum.Seconds += out.Seconds
	sum.Peak = max(sum.Peak, out.Peak)
	for _, limit := range out.Reached {
		if !slices.Contains(sum.Reached, limit) {
			sum.Reached = append(sum.Reached, limit)
		}
	}
	if out.Verdict != "" {
		sum.Verdict, sum.Detail, sum.Output, sum.Running = out.Verdict, out.Detail, out.Output, out.Running
	}
	return sum
}

// An Outcome is what a gate found on one side, base or candidate. It is kept
// as JSON in the cache.
type Outcome struct {
	// All of them, each with its source line.
	Findings []Finding `json:"findings,omitempty"`
	// Infra, Timeout or OOM when the tool did not get to judge.
	Verdict Verdict `json:"verdict,omitempty"`
	// Why the workspace itself kept the tool from judging all of it.
	Blocked string `json:"blocked,omitempty"`
	// The parts of the workspace that it did not see, as patterns: see goScope in package golang.
	Unjudged []string `json:"unjudged,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	// Of the tests gate, with Timeout: the test that had begun when the time was up.
	Running string  `json:"running,omitempty"`
	Output  string  `json:"output,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Peak    int64   `json:"peak,omitempty"`
	// The limits of the box that it ran into, as the guest names them.
	Reached []string `json:"reached,omitempty"`
	// Of Python's checks where the workspace has several roots: what kept each from
	// being judged, "" for nothing.
	Roots map[string]string `json:"roots,omitempty"`
	// Of the tests gate only, in the order in which they ran.
	Tests []TestResult `json:"tests,omitempty"`
	// What came of the tests that were added for this run, by place; see package witness.
	Witnesses []Witness `json:"witnesses,omitempty"`
	// What runs the tests and was the workspace's own: a function of the runner by its name, or "plugin" with a file.
	Altered []string `json:"altered,omitempty"`
	// Of the smoke gate only, in the order of their names.
	Imports []ImportResult `json:"imports,omitempty"`
	// Of the smoke gate and of the workspace's own; nil when nothing was started.
	Ending *Ending `json:"ending,omitempty"`
	// What became of Bench.Lines; nil when nothing was measured.
	Traced *Trace `json:"traced,omitempty"`
	// Files that the tool would have loaded as its configuration, and that were as in the base.
	Kept []string `json:"-"`
	// Of mypy only: its cache, when that is worth a row of its own.
	Learned []byte `json:"-"`
}

// Infraf is the outcome of a gate that could not work.
func Infraf(format string, args ...any) Outcome {
	return Outcome{Verdict: Infra, Detail: fmt.Sprintf(format, args...)}
}

// Within is an outcome without the tests, witnesses and findings of other files. What is
// told of no file stays.
func (o Outcome) Within(mine func(file string) bool) Outcome {
	o.Tests = slices.DeleteFunc(slices.Clone(o.Tests), func(t TestResult) bool {
		file, _, _ := strings.Cut(t.ID, "::")
		return !mine(file)
	})
	o.Witnesses = slices.DeleteFunc(slices.Clone(o.Witnesses), func(w Witness) bool { return !mine(w.Place) })
	o.Findings = slices.DeleteFunc(slices.Clone(o.Findings), func(f Finding) bool { return f.File != "" && !mine(f.File) })
	return o
}

// AnyBlocked reports whether something kept a tool from judging all of a workspace.
func (o Outcome) AnyBlocked() bool {
	for _, why := range o.Roots {
		if why != "" {
			return true
		}
	}
	return o.Blocked != ""
}

// GateOf begins a Gate with what an outcome tells by itself. Its verdict is
// set when the tool did not get to judge.
//
// A limit of the box that was reached is told whatever the verdict: the program's own
// words are those of a full disk.
func GateOf(name string, out Outcome) Gate {
	if len(out.Reached) > 0 {
		out.Detail = Join([]string{out.Detail, "it reached the box's limit on " + strings.Join(out.Reached, " and on ")}, "; ")
	}
	return Gate{
		Name: name, Verdict: out.Verdict, Seconds: out.Seconds, Findings: []Finding{}, OldFindings: []Finding{},
		Detail: out.Detail, Output: out.Output, Peak: out.Peak,
	}
}
