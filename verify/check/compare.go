package check

import (
	"bytes"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"agent/sandbox/workspace"
)

// A Diff is what the comparison of two outcomes needs to know of the candidate.
type Diff struct {
	// Old path of a renamed file to the new one.
	Moved map[string]string
	// Paths that are gone without a new one.
	Deleted map[string]bool
	// Paths that the candidate writes.
	Touched map[string]bool
	// Rewritten places, by path after the change.
	Hunks map[string][]Region
	// Of the candidate: the place of a failing test is shown with its line.
	Sources *sources
}

// A Region is one rewritten place of a file: the lines [oldFrom, oldTo) became
// [newFrom, newTo), counted from 1.
type Region struct{ oldFrom, oldTo, NewFrom, NewTo int }

// NewDiff describes cs, as it lies over the base in v. It costs one line
// difference for each touched file; everything else is looked up.
func NewDiff(cs workspace.Changeset, v View) Diff {
	d := Diff{
		Moved: renames(cs), Deleted: map[string]bool{}, Touched: map[string]bool{},
		Hunks: map[string][]Region{}, Sources: NewSources(v),
	}
	for _, c := range cs.Changes {
		// A rename is no deletion: findings and tests follow it.
		if c.Op == workspace.Delete {
			d.Deleted[c.Path] = true
			continue
		}
		d.Touched[c.Path] = true
		d.Hunks[c.Path] = regions(c.Before, c.After)
	}
	return d
}

// regions lists the rewritten places between two texts, in order and without
// overlap. Pure insertions and deletions are regions too, with one side empty.
func regions(before, after []byte) []Region {
	var list []Region
	shift := 0 // lines that the text has grown by so far
	for _, e := range udiff.Lines(string(before), string(after)) {
		removed := bytes.Count(before[e.Start:e.End], []byte("\n"))
		// The difference is in whole lines, so only the last can lack its end.
		if e.End > e.Start && before[e.End-1] != '\n' {
			removed++ // a last line without a newline
		}
		added := countLines(e.New)
		from := bytes.Count(before[:e.Start], []byte("\n")) + 1
		list = append(list, Region{from, from + removed, from + shift, from + shift + added})
		shift += added - removed
	}
	return list
}

// countLines counts lines, a last one without a newline included.
func countLines(text string) int {
	n := bytes.Count([]byte(text), []byte("\n"))
	if text != "" && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

// SameMessage compares messages without the places that they name: those move
// with every line above them.
func SameMessage(a, b string) bool { return unplaced(a) == unplaced(b) }

// A findingKey is what makes two findings equal across a patch.
// The column is left out, because it changes with the indentation, and the line,
// because it changes with everything above.
type findingKey struct{ rule, file, message, source string }

// ofWorkspace names the rules that tell a fact of the whole workspace: that a
// module is not installed, in the words of mypy, pyright and ty, and that a name
// comes from somewhere out of sight.
var ofWorkspace = map[string]bool{
	"import-not-found": true, "reportMissingImports": true, "unresolved-import": true, "undeclared-name": true,
}

// key gives the identity of a finding. That a module is not installed is one
// fact, however many files import it.
func key(f Finding) findingKey {
	if ofWorkspace[f.Rule] {
		return findingKey{rule: f.Rule, message: f.Message}
	}
	return findingKey{f.Rule, f.File, unplaced(f.Message), f.Source}
}

// Compare tells what of the candidate's findings is new, how many were there
// before, and how many of the baseline's are gone. Equal findings count as
// often as they occur.
func Compare(base, cand []Finding, d Diff) (fresh []Finding, old, fixed int) {
	// A multiset: each finding of the baseline excuses one of the candidate.
	left := map[findingKey][]Finding{}
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
	// Of equal findings those are excused first that stand where the patch wrote
	// nothing: what is shown is the line that it brought.
	for _, written := range []bool{false, true} {
		for i, f := range cand {
			if d.wrote(f) != written {
				continue
			}
			k := key(f)
			// The order matters: counted first, so that fixed is right as well.
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
	var gone []Finding
	for _, list := range left {
		gone = append(gone, list...)
	}
	return d.sameplace(fresh, gone, old)
}

// wrote reports whether a finding stands on a line that the patch wrote.
func (d Diff) wrote(f Finding) bool {
	return slices.ContainsFunc(d.Hunks[f.File], func(r Region) bool { return f.Line >= r.NewFrom && f.Line < r.NewTo })
}

// sameplace takes back the findings that stand in a rewritten place which had
// the same finding before it was rewritten: the source line differs, the
// trouble is old.
func (d Diff) sameplace(fresh, gone []Finding, old int) ([]Finding, int, int) {
	var kept []Finding
	for _, f := range fresh {
		i := d.twin(f, gone)
		if i < 0 {
			kept = append(kept, f)
			continue
		}
		// Each excuses one finding only. The copy leaves the caller's slice alone.
		gone = append(gone[:i:i], gone[i+1:]...)
		old++
	}
	return kept, old, len(gone)
}

// twin finds f's equal among the findings that are gone, at the place that f's
// own line was rewritten from; -1 for none.
func (d Diff) twin(f Finding, gone []Finding) int {
	// Only within one rewritten place: the same message elsewhere in the file
	// is new trouble, even when another of its kind has gone.
	for _, r := range d.Hunks[f.File] {
		if f.Line < r.NewFrom || f.Line >= r.NewTo {
			continue
		}
		for i, g := range gone {
			if g.Rule == f.Rule && g.File == f.File && SameMessage(g.Message, f.Message) && g.Line >= r.oldFrom && g.Line < r.oldTo {
				return i
			}
		}
	}
	return -1
}

// MaxOld is how many old findings of one gate are listed. An old code base has
// thousands, which say nothing about the patch.
const MaxOld = 100

// stale lists the first findings of a candidate that are not among fresh, which
// compare has taken from them in their order.
func stale(cand, fresh []Finding) []Finding {
	list := []Finding{}
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

// RuleBlocked is the rule of a tool that a patch keeps from judging.
const RuleBlocked = "blocked"

// JudgeFindings is the judgement of the static gates: any new finding fails.
// There are no warnings: what a workspace does not want to hear it switches off
// in its configuration, at the base revision.
func JudgeFindings(base, cand Outcome, d Diff) Gate {
	g := GateOf("", cand)
	if g.Verdict != "" {
		return g
	}
	fresh, old, fixed := Compare(base.Findings, cand.Findings, d)
	g.Findings, g.Old, g.Fixed = append(g.Findings, fresh...), old, fixed
	g.OldFindings = stale(cand.Findings, fresh)
	g.Verdict = Pass
	// A tool that the patch keeps from judging has found nothing, which is not
	// the same as that there is nothing to find.
	if cand.Blocked != "" && len(fresh) == 0 && base.Blocked == "" {
		g.Findings = append(g.Findings, Finding{Rule: RuleBlocked, Message: cand.Blocked})
	}
	if len(g.Findings) > 0 {
		g.Verdict = Fail
	}
	return g
}
