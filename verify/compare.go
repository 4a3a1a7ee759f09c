package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"agent/sandbox/workspace"
)

// A diff is what the comparison of two outcomes needs to know of the candidate.
type diff struct {
	// Old path of a renamed file to the new one.
	moved map[string]string
	// Paths that are gone without a new one.
	deleted map[string]bool
	// Paths that the candidate writes.
	touched map[string]bool
	// Rewritten places, by path after the change.
	hunks map[string][]region
	// Of the candidate: the place of a failing test is shown with its line.
	sources *sources
}

// A region is one rewritten place of a file: the lines [oldFrom, oldTo) became
// [newFrom, newTo), counted from 1.
type region struct{ oldFrom, oldTo, newFrom, newTo int }

// newDiff describes cs, as it lies over the base in v. It costs one line
// difference for each touched file; everything else is looked up.
func newDiff(cs workspace.Changeset, v view) diff {
	d := diff{
		moved: renames(cs), deleted: map[string]bool{}, touched: map[string]bool{},
		hunks: map[string][]region{}, sources: newSources(v),
	}
	for _, c := range cs.Changes {
		// A rename is no deletion: findings and tests follow it.
		if c.Op == workspace.Delete {
			d.deleted[c.Path] = true
			continue
		}
		d.touched[c.Path] = true
		d.hunks[c.Path] = regions(c.Before, c.After)
	}
	return d
}

// regions lists the rewritten places between two texts, in order and without
// overlap. Pure insertions and deletions are regions too, with one side empty.
func regions(before, after []byte) []region {
	var list []region
	shift := 0 // lines that the text has grown by so far
	for _, e := range udiff.Lines(string(before), string(after)) {
		removed := bytes.Count(before[e.Start:e.End], []byte("\n"))
		// The difference is in whole lines, so only the last can lack its end.
		if e.End > e.Start && before[e.End-1] != '\n' {
			removed++ // a last line without a newline
		}
		added := countLines(e.New)
		from := bytes.Count(before[:e.Start], []byte("\n")) + 1
		list = append(list, region{from, from + removed, from + shift, from + shift + added})
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

// sameMessage compares messages without the places that they name: those move
// with every line above them.
func sameMessage(a, b string) bool { return unplaced(a) == unplaced(b) }

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

// Fingerprint identifies a finding across runs, as hexadecimal digits: like the
// comparison with the baseline it leaves out the line and the column, which
// change with every edit above. Equal findings of one file share one.
func (f Finding) Fingerprint() string {
	h := sha256.New()
	for _, part := range []string{f.Rule, f.File, unplaced(f.Message), f.Source} {
		// With its length in front no part runs into the next.
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// compare tells what of the candidate's findings is new, how many were there
// before, and how many of the baseline's are gone. Equal findings count as
// often as they occur.
func compare(base, cand []Finding, d diff) (fresh []Finding, old, fixed int) {
	// A multiset: each finding of the baseline excuses one of the candidate.
	left := map[findingKey][]Finding{}
	absent := map[findingKey]bool{} // missing modules and names of the baseline
	for _, f := range base {
		if to, ok := d.moved[f.File]; ok {
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
func (d diff) wrote(f Finding) bool {
	return slices.ContainsFunc(d.hunks[f.File], func(r region) bool { return f.Line >= r.newFrom && f.Line < r.newTo })
}

// sameplace takes back the findings that stand in a rewritten place which had
// the same finding before it was rewritten: the source line differs, the
// trouble is old.
func (d diff) sameplace(fresh, gone []Finding, old int) ([]Finding, int, int) {
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
func (d diff) twin(f Finding, gone []Finding) int {
	// Only within one rewritten place: the same message elsewhere in the file
	// is new trouble, even when another of its kind has gone.
	for _, r := range d.hunks[f.File] {
		if f.Line < r.newFrom || f.Line >= r.newTo {
			continue
		}
		for i, g := range gone {
			if g.Rule == f.Rule && g.File == f.File && sameMessage(g.Message, f.Message) && g.Line >= r.oldFrom && g.Line < r.oldTo {
				return i
			}
		}
	}
	return -1
}

// maxOld is how many old findings of one gate are listed. An old code base has
// thousands, which say nothing about the patch.
const maxOld = 100

// stale lists the first findings of a candidate that are not among fresh, which
// compare has taken from them in their order.
func stale(cand, fresh []Finding) []Finding {
	list := []Finding{}
	for _, f := range cand {
		if len(fresh) > 0 && fresh[0] == f {
			fresh = fresh[1:]
			continue
		}
		if len(list) == maxOld {
			break
		}
		f.Old = true
		list = append(list, f)
	}
	return list
}

// gateOf begins a Gate with what an outcome tells by itself. Its verdict is
// set when the tool did not get to judge.
//
// A limit of the box that was reached is told whatever the verdict: the program's own
// words are those of a full disk.
func gateOf(name string, out outcome) Gate {
	if len(out.Reached) > 0 {
		out.Detail = present([]string{out.Detail, "it reached the box's limit on " + strings.Join(out.Reached, " and on ")}, "; ")
	}
	return Gate{
		Name: name, Verdict: out.Verdict, Seconds: out.Seconds, Findings: []Finding{}, OldFindings: []Finding{},
		Detail: out.Detail, Output: out.Output, Peak: out.Peak,
	}
}

// ruleBlocked is the rule of a tool that a patch keeps from judging.
const ruleBlocked = "blocked"

// judgeFindings is the judgement of the static gates: any new finding fails.
// There are no warnings: what a workspace does not want to hear it switches off
// in its configuration, at the base revision.
func judgeFindings(base, cand outcome, d diff) Gate {
	g := gateOf("", cand)
	if g.Verdict != "" {
		return g
	}
	fresh, old, fixed := compare(base.Findings, cand.Findings, d)
	g.Findings, g.Old, g.Fixed = append(g.Findings, fresh...), old, fixed
	g.OldFindings = stale(cand.Findings, fresh)
	g.Verdict = Pass
	// A tool that the patch keeps from judging has found nothing, which is not
	// the same as that there is nothing to find.
	if cand.Blocked != "" && len(fresh) == 0 && base.Blocked == "" {
		g.Findings = append(g.Findings, Finding{Rule: ruleBlocked, Message: cand.Blocked})
	}
	if len(g.Findings) > 0 {
		g.Verdict = Fail
	}
	return g
}
