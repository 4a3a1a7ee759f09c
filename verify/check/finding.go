package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Fingerprint identifies a finding across runs, as hexadecimal digits. Like the comparison with the baseline it ignores
// line and column, which change with every edit above. Equal findings in one file share a fingerprint.
func (f Finding) Fingerprint() string {
	h := sha256.New()
	for _, part := range []string{f.Rule, f.File, Unplaced(f.Message), f.Source} {
		// The length prefix keeps one part from running into the next.
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Gates judge what the tools really wrote; the configured secrets are removed only afterwards. A verdict therefore
// never depends on which secrets are configured. Nothing leaves Verify before that: events and the report are hidden as
// a whole, and an outcome that contains a secret is not cached.

// Hidden returns a copy of the gate with hide applied to every text that a tool, a program or a file contributed to.
func (g Gate) Hidden(hide func(string) string) Gate {
	if hide == nil {
		return g
	}
	g.Detail, g.Output = hide(g.Detail), hide(g.Output)
	g.Findings, g.OldFindings = hiddenFindings(g.Findings, hide), hiddenFindings(g.OldFindings, hide)
	return g
}

// hiddenFindings returns a copy of list with hide applied to its texts, nil for nil.
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

// A Finding is one fault that a gate reports in a file.
type Finding struct {
	// File is relative to the workspace; "" if the finding belongs to no file.
	File string `json:"file,omitempty"`
	// Line counts from 1; 0 if the finding belongs to the file as a whole or to no file.
	Line int `json:"line,omitempty"`
	// Column counts from 1; 0 if the tool gives none.
	Column int `json:"column,omitempty"`
	// Tool is the check that found it, such as "ruff"; a gate is made of several checks.
	Tool string `json:"tool,omitempty"`
	// Rule is the tool's code, such as "F821" or "arg-type".
	Rule    string `json:"rule,omitempty"`
	Message string `json:"message"`
	// Source is the line of the file without its indentation. It identifies the finding after an edit above has moved
	// it.
	Source string `json:"source,omitempty"`
	// Fixable says that the tool offers a repair that does not change what the program does.
	Fixable bool `json:"fixable,omitempty"`
	// Help is an https address where the tool's makers describe the rule; "" if none is known for certain.
	Help string `json:"help,omitempty"`
	// Old says that it was there before the patch and does not count against it.
	Old bool `json:"old,omitempty"`
	// Unasked says that the project does not ask for the rule there: the finding counts only where the patch wrote, or
	// for what the patch changed. Only comparisons read it.
	Unasked bool `json:"-"`
}

// A Gate is the result of one verification step on a candidate.
type Gate struct {
	// Name is edit, format, syntax, lint, types, smoke, tests, the name of a gate that the workspace defines, or
	// contest for a candidate that could not win.
	Name    string  `json:"name"`
	Verdict Verdict `json:"verdict"`
	Seconds float64 `json:"seconds"`
	// Findings has only the new ones, which the patch introduced.
	Findings []Finding `json:"findings"`
	// Old counts findings that were there before and do not count against the patch.
	Old int `json:"old"`
	// OldFindings has the first 100 of them, in the same form as the new ones. The smoke gate, which judges a whole
	// program, only counts them.
	OldFindings []Finding `json:"old_findings"`
	// Fixed counts the baseline findings that are gone.
	Fixed int `json:"fixed"`
	// Detail is a sentence: what ran, or why the verdict is infra and what to do about it.
	Detail string `json:"detail,omitempty"`
	// Output is the end of what the tool or program wrote, escapes stripped, at most 4 KiB.
	Output string `json:"output,omitempty"`
	// Tool is its name and version, such as "ruff 0.16.1"; "" if the image did not report it.
	Tool string `json:"tool,omitempty"`
	Peak int64  `json:"peak_bytes,omitempty"`
}
