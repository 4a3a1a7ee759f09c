package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Fingerprint identifies a finding across runs, as hexadecimal digits: like the
// comparison with the baseline it leaves out the line and the column, which
// change with every edit above. Equal findings of one file share one.
func (f Finding) Fingerprint() string {
	h := sha256.New()
	for _, part := range []string{f.Rule, f.File, Unplaced(f.Message), f.Source} {
		// With its length in front no part runs into the next.
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Gates are judged by what tools really wrote, and only then are the configured secrets
// taken out: what a verdict is can so never depend on which secrets are configured.
// Nothing leaves Verify before: the events and the report are hidden whole, and an
// outcome with a secret in it is not cached.

// Hidden returns a gate in which every text that a tool, a program or a file had a part
// in is as hide returns it.
func (g Gate) Hidden(hide func(string) string) Gate {
	if hide == nil {
		return g
	}
	g.Detail, g.Output = hide(g.Detail), hide(g.Output)
	g.Findings, g.OldFindings = hiddenFindings(g.Findings, hide), hiddenFindings(g.OldFindings, hide)
	return g
}

// hiddenFindings returns a copy of findings, nil for nil.
func hiddenFindings(list []Finding, hide func(string) string) []Finding {
	if list == nil {
		return nil
	}
	hidden := make([]Finding, len(list))
	for i, f := range list {
		f.File, f.Rule, f.Message, f.Source, f.Help = hide(f.File), hide(f.Rule), hide(f.Message), hide(f.Source), hide(f.Help)
		hidden[i] = f
	}
	return hidden
}

// A Verdict is how a gate, a candidate or a run was judged.
type Verdict string

// The verdicts. Infra is never charged to the patch.
const (
	Pass      Verdict = "pass"
	Fail      Verdict = "fail"
	Policy    Verdict = "policy"
	Timeout   Verdict = "timeout"
	OOM       Verdict = "oom"
	Infra     Verdict = "infra"
	Conflict  Verdict = "conflict"
	Cancelled Verdict = "cancelled"
	Budget    Verdict = "budget"
)

// A Finding is one thing that a gate has against a file.
type Finding struct {
	// Relative to the workspace; "" when it belongs to none.
	File string `json:"file,omitempty"`
	// From 1; 0 when it belongs to the file as a whole or to none.
	Line int `json:"line,omitempty"`
	// From 1; 0 when the tool names none.
	Column int `json:"column,omitempty"`
	// The check that found it, as "ruff"; a gate is made of several.
	Tool string `json:"tool,omitempty"`
	// The tool's code, as "F821" or "arg-type".
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
	// The line of the file, without its indentation. It is what recognises a
	// finding after an edit above it has moved it.
	Source string `json:"source,omitempty"`
	// The tool offers a repair that does not change what the program does.
	Fixable bool `json:"fixable,omitempty"`
	// An https address of what the tool's makers say of the rule; "" when none
	// is known for certain.
	Help string `json:"help,omitempty"`
	// It was there before the patch and is not held against it.
	Old bool `json:"old,omitempty"`
	// The project does not ask for the rule there: it counts where the patch wrote, or
	// for what the patch changed. Only comparisons read it.
	Unasked bool `json:"-"`
}

// A Gate is the result of one verification step on a candidate.
type Gate struct {
	// One of edit, format, syntax, lint, types, smoke, tests, the name of a gate
	// that the workspace defines, or contest of a candidate that could not win.
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Seconds float64 `json:"seconds"`
	// New ones only: what the patch brought.
	Findings []Finding `json:"findings"`
	// Findings that were there before and are not held against the patch.
	Old int `json:"old"`
	// The first 100 of them, in the shape of the new ones. The smoke gate, which
	// judges a whole program, only counts.
	OldFindings []Finding `json:"old_findings"`
	// Findings of the baseline that are gone.
	Fixed int `json:"fixed"`
	// A sentence: what ran, or why it is infra and what to do about it.
	Detail string `json:"detail,omitempty"`
	// The end of what the tool or program wrote, escapes stripped, 4 KiB at most.
	Output string `json:"output,omitempty"`
	// Name and version, as "ruff 0.16.1"; "" when the image did not tell.
	Tool string `json:"tool,omitempty"`
	Peak int64  `json:"peak_bytes,omitempty"`
}
