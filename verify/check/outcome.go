package check

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Beside adds to the candidate's outcome what the base has for the packages that the candidate's check left out. The
// result describes the whole workspace, so neither the comparison nor the next baseline needs to know about it.
func (o Outcome) Beside(base Outcome, r Reach) Outcome {
	if r == nil || o.Verdict != "" {
		return o
	}
	// A finding that the candidate's run reported along with another package is not added twice.
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

// AddCost adds the cost of one command to sum. If the command could not judge, its verdict and texts replace those of sum.
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

// An Outcome is what a gate found on one side, base or candidate. The cache keeps it as JSON.
type Outcome struct {
	// Findings has all of them, each with its source line.
	Findings []Finding `json:"findings,omitempty"`
	// Verdict is Infra, Timeout or OOM if the tool could not judge.
	Verdict Verdict `json:"verdict,omitempty"`
	// Blocked says why the workspace itself kept the tool from judging all of it.
	Blocked string `json:"blocked,omitempty"`
	// Unjudged has the parts of the workspace that the tool did not see, as patterns: see goScope in package golang.
	Unjudged []string `json:"unjudged,omitempty"`
	Detail   string   `json:"detail,omitempty"`
	// Running, for the tests gate with Timeout, is the test that had begun when the time was up.
	Running string  `json:"running,omitempty"`
	Output  string  `json:"output,omitempty"`
	Seconds float64 `json:"seconds,omitempty"`
	Peak    int64   `json:"peak,omitempty"`
	// Reached has the box limits that it ran into, as the guest names them.
	Reached []string `json:"reached,omitempty"`
	// Roots, for Python's checks in a workspace with several roots, says what kept each root from being judged, "" for
	// nothing.
	Roots map[string]string `json:"roots,omitempty"`
	// Tests, for the tests gate only, is in the order in which they ran.
	Tests []TestResult `json:"tests,omitempty"`
	// Witnesses says how the tests that were added for this run ended, by place; see package witness.
	Witnesses []Witness `json:"witnesses,omitempty"`
	// Altered has what runs the tests and came from the workspace: a function of the runner by name, or "plugin" with a file.
	Altered []string `json:"altered,omitempty"`
	// Imports, for the smoke gate only, is in the order of their names.
	Imports []ImportResult `json:"imports,omitempty"`
	// Ending is for the smoke gate and the workspace's own gates; nil if nothing was started.
	Ending *Ending `json:"ending,omitempty"`
	// Traced answers Bench.Lines; nil if nothing was measured.
	Traced *Trace `json:"traced,omitempty"`
	// Kept has the files that the tool would have loaded as its configuration and that were left as in the base.
	Kept []string `json:"-"`
	// Learned, for mypy only, is its cache if that is worth its own row.
	Learned []byte `json:"-"`
}

// Infraf returns the outcome of a gate that could not work.
func Infraf(format string, args ...any) Outcome {
	return Outcome{Verdict: Infra, Detail: fmt.Sprintf(format, args...)}
}

// Within returns the outcome without the tests, witnesses and findings of other files. Findings without a file stay.
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

// GateOf returns a Gate with everything that the outcome determines by itself. Its verdict is set if the tool could not
// judge.
//
// The detail names a box limit that was reached, whatever the verdict: the program itself only reports a full disk.
func GateOf(name string, out Outcome) Gate {
	if len(out.Reached) > 0 {
		out.Detail = Join([]string{out.Detail, "it reached the box's limit on " + strings.Join(out.Reached, " and on ")}, "; ")
	}
	return Gate{
		Name: name, Verdict: out.Verdict, Seconds: out.Seconds, Findings: []Finding{}, OldFindings: []Finding{},
		Detail: out.Detail, Output: out.Output, Peak: out.Peak,
	}
}
