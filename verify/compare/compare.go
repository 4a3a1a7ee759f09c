// Package compare compares what a check found with a patch to what it found without it and judges the difference: which
// findings and test results are new, which are old, and which are gone. It owns the rules by which two findings are the
// same in spite of renames and moved lines, and the rules of the tests gate. It refuses to blame a patch for what was
// there before, and it runs nothing. It judges one check of one candidate; package verify decides what follows.
package compare

import (
	"slices"

	"agent/verify/check"
)

// A findingKey determines whether two findings are equal across a patch. It leaves out the column, which changes with
// the indentation, and the line, which changes with every edit above.
type findingKey struct{ rule, file, message, source string }

// ofWorkspace has the rules that state a fact about the whole workspace: that a module is not installed, as mypy,
// pyright and ty report it, or that a name comes from somewhere out of sight.
var ofWorkspace = map[string]bool{
	"import-not-found": true, "reportMissingImports": true, "unresolved-import": true, "undeclared-name": true,
}

// key returns the identity of a finding. A module that is not installed is one fact, however many files import it.
func key(f check.Finding) findingKey {
	if ofWorkspace[f.Rule] {
		return findingKey{rule: f.Rule, message: f.Message}
	}
	return findingKey{f.Rule, f.File, check.Unplaced(f.Message), f.Source}
}

// Findings returns which of the candidate's findings are new, how many were there before, and how many of the
// baseline's are gone. Equal findings count as often as they occur.
func Findings(base, cand []check.Finding, d check.Diff) (fresh []check.Finding, old, fixed int) {
	// A multiset: each finding of the baseline excuses one of the candidate.
	left := map[findingKey][]check.Finding{}
	absent := map[findingKey]bool{} // missing modules and names of the baseline
	for _, f := range base {
		if to, ok := d.Moved[f.File]; ok {
			f.File = to
		}
		k := key(f)
		left[k] = append(left[k], f)
		absent[k] = ofWorkspace[f.Rule]
	}
	excused := make([]bool, len(cand))
	// Among equal findings, those on lines that the patch did not write are excused first, so that the report shows the
	// line that the patch introduced.
	for _, written := range []bool{false, true} {
		for i, f := range cand {
			if wrote(d, f) != written {
				continue
			}
			k := key(f)
			// The order matters: count first, so that fixed is also right.
			if excused[i] = len(left[k]) > 0 || absent[k]; excused[i] {
				left[k] = left[k][min(1, len(left[k])):]
				old++
			}
		}
	}
	for i, f := range cand {
		if !excused[i] {
			fresh = append(fresh, f) // in the tool's order, which is by place
		}
	}
	// What is left of the baseline may still be the old text of a rewritten line.
	var gone []check.Finding
	for _, list := range left {
		gone = append(gone, list...)
	}
	return sameplace(d, fresh, gone, old)
}

// reworded reports whether a finding f equals a baseline finding g on a line that the patch did not touch, at the same
// place, with a message that differs only in types: both messages name the same symbols of the line.
func reworded(d check.Diff, f, g check.Finding) bool {
	if f.Source == "" || g.Rule != f.Rule || g.File != f.File || g.Source != f.Source || ofWorkspace[f.Rule] || wrote(d, f) {
		return false
	}
	line := g.Line
	for _, r := range d.Hunks[f.File] {
		switch {
		case g.Line >= r.OldFrom && g.Line < r.OldTo:
			return false
		case r.OldTo <= g.Line:
			line = g.Line + r.NewTo - r.OldTo
		}
	}
	before, after := check.Unplaced(g.Message), check.Unplaced(f.Message)
	return line == f.Line && quoted.ReplaceAllString(before, "T") == quoted.ReplaceAllString(after, "T") &&
		slices.Equal(symbols(before, f.Source), symbols(after, f.Source))
}

// symbols returns the names that a message quotes and that occur in the source line.
func symbols(message, source string) (names []string) {
	there := identifier.FindAllString(source, -1)
	for _, text := range quoted.FindAllString(message, -1) {
		for _, name := range identifier.FindAllString(text, -1) {
			if slices.Contains(there, name) && !ordinary[name] {
				names = append(names, name)
			}
		}
	}
	return names
}

// wrote reports whether a finding is on a line that the patch wrote.
func wrote(d check.Diff, f check.Finding) bool {
	return slices.ContainsFunc(d.Hunks[f.File], func(r check.Region) bool { return f.Line >= r.NewFrom && f.Line < r.NewTo })
}

// sameplace removes from fresh the findings in a rewritten place that had the same finding before the rewrite: the
// source line differs, but the fault is old.
func sameplace(d check.Diff, fresh, gone []check.Finding, old int) ([]check.Finding, int, int) {
	var kept []check.Finding
	for _, f := range fresh {
		i := twin(d, f, gone)
		if i < 0 {
			kept = append(kept, f)
			continue
		}
		// Each excuses only one finding. The copy leaves the caller's slice unchanged.
		gone = append(gone[:i:i], gone[i+1:]...)
		old++
	}
	return kept, old, len(gone)
}

// twin returns the index in gone of the finding that equals f, at the place that f's line was rewritten from, or with
// different words where nothing was rewritten; -1 if there is none.
func twin(d check.Diff, f check.Finding, gone []check.Finding) int {
	// Only within one rewritten place: the same message elsewhere in the file is a new fault, even if another of its
	// kind is gone.
	if i := slices.IndexFunc(gone, func(g check.Finding) bool { return reworded(d, f, g) }); i >= 0 {
		return i
	}
	for _, r := range d.Hunks[f.File] {
		if f.Line < r.NewFrom || f.Line >= r.NewTo {
			continue
		}
		for i, g := range gone {
			if g.Rule == f.Rule && g.File == f.File && check.SameMessage(g.Message, f.Message) && g.Line >= r.OldFrom && g.Line < r.OldTo {
				return i
			}
		}
	}
	return -1
}

// MaxOld is how many old findings of one gate are listed. An old code base has thousands, which say nothing about the
// patch.
const MaxOld = 100

// stale lists the first findings of a candidate that are not in fresh. Findings took those from cand in their order.
func stale(cand, fresh []check.Finding) []check.Finding {
	list := []check.Finding{}
	for _, f := range cand {
		if len(fresh) > 0 && fresh[0] == f {
			fresh = fresh[1:]
			continue
		}
		if len(list) == MaxOld {
			break
		}
		f.Old = true
		list = append(list, f)
	}
	return list
}

// RuleBlocked is the rule of the finding that a patch keeps a tool from judging.
const RuleBlocked = "blocked"

// JudgeFindings is the judgement of the static gates: any new finding fails. There are no warnings: a workspace
// switches off unwanted rules in its configuration, at the base revision.
func JudgeFindings(base, cand check.Outcome, d check.Diff) check.Gate {
	g := check.GateOf("", cand)
	if g.Verdict != "" {
		return g
	}
	fresh, old, fixed := Findings(base.Findings, cand.Findings, d)
	usual := habit(base.Findings, d)
	aside := func(f check.Finding) bool { return f.Unasked && !concerns(d, f) || usual(f) }
	old += len(fresh)
	fresh = slices.DeleteFunc(fresh, aside)
	old -= len(fresh)
	g.Findings, g.Old, g.Fixed = append(g.Findings, fresh...), old, fixed
	g.OldFindings = stale(cand.Findings, fresh)
	g.Verdict = check.Pass
	// A tool that the patch keeps from judging has found nothing, but that does not mean that there is nothing to find.
	if cand.Blocked != "" && len(fresh) == 0 && base.Blocked == "" {
		g.Findings = append(g.Findings, check.Finding{Rule: RuleBlocked, Message: cand.Blocked})
	}
	if len(g.Findings) > 0 {
		g.Verdict = check.Fail
	}
	return g
}
