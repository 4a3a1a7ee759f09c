package compare

import (
	"fmt"
	"slices"
	"strings"

	"agent/verify/check"
)

// witnessed adds to a judgement of tests what the witnesses of both sides show: if they did not end as they must, the
// record is not from the tests.
//
// A place counts only if its witnesses ended as drawn before the patch or, if it had none, if all others did: a suite
// may have hooks and fixtures, unknown to the gate, that keep tests from running. If the gate fails anyway, nothing is
// added.
func witnessed(g *check.Gate, base, cand check.Outcome, d check.Diff) {
	if slices.ContainsFunc(g.Findings, func(f check.Finding) bool { return !TestPolicy[f.Rule] }) {
		return
	}
	before := map[[2]string]check.Witness{} // by place and use
	sound := map[string]bool{}              // by use: all of it ended as drawn
	for _, w := range base.Witnesses {
		before[[2]string{d.NewID(w.Place), w.Use}] = w
		all, seen := sound[w.Use]
		sound[w.Use] = w.AsDrawn() && (all || !seen)
	}
	ran := passing(cand, nil)
	kept := passing(base, d.NewID)
	var silent []string
	drawn := drawnPlaces(cand.Witnesses)
	for _, w := range cand.Witnesses {
		was, known := before[[2]string{w.Place, w.Use}]
		trusted := known && was.AsDrawn() || !known && sound[w.Use]
		switch {
		case w.Unlike() && trusted:
			g.Findings = append(g.Findings, check.Finding{File: w.Place, Rule: RuleForged, Message: forged(w)})
		// Witnesses in a new file may have another reason not to run.
		case w.Absent() && trusted && ran[w.Place] && kept[w.Place]:
			g.Findings = append(g.Findings, check.Finding{File: w.Place, Rule: RuleForged, Message: forged(w)})
		// A command that never ran a place says nothing about it if another command does.
		case w.Absent() && was.Absent() && drawn[w.Place]:
		case !w.AsDrawn() && ran[w.Place] && !slices.Contains(silent, w.Place):
			silent = append(silent, w.Place)
		}
	}
	if n := len(silent); n > 0 {
		g.Detail += "; results not witnessed in " + strings.Join(silent[:min(n, 3)], ", ")
		if n > 3 {
			g.Detail += fmt.Sprintf(" and %d more", n-3)
		}
	}
}

// plugin precedes the file name of a plugin in check.Outcome.Altered.
const plugin = "plugin "

// altered reports parts of the test runner that the workspace replaces now and did not replace before the patch: they
// can report any result for a test. If no test ran before, it is unknown what was replaced then.
func altered(base, cand check.Outcome, d check.Diff) (found []check.Finding) {
	if len(base.Tests) == 0 {
		return nil
	}
	was := map[string]bool{}
	for _, name := range base.Altered {
		if file, ok := strings.CutPrefix(name, plugin); ok {
			name = plugin + d.NewID(file)
		}
		was[name] = true
	}
	for _, name := range cand.Altered {
		if was[name] {
			continue
		}
		f := check.Finding{Rule: RuleAltered, Message: name + " is replaced while the tests run, and was not before: the reported results may not be the real ones"}
		if file, ok := strings.CutPrefix(name, plugin); ok {
			f.File, f.Message = file, file+" takes part in how pytest runs the tests, and did not before: the reported results may not be the real ones"
		}
		found = append(found, f)
	}
	return found
}

// drawnPlaces returns the places in which the witnesses ended as drawn in at least one run.
func drawnPlaces(list []check.Witness) map[string]bool {
	places := map[string]bool{}
	for _, w := range list {
		places[w.Place] = places[w.Place] || w.AsDrawn()
	}
	return places
}

// forged describes what is wrong with a record.
func forged(w check.Witness) string {
	many := func(n int) string {
		if n == 1 {
			return "1 test that was"
		}
		return fmt.Sprintf("%d tests that were", n)
	}
	switch {
	case w.Absent():
		return fmt.Sprintf("the record of the tests is not genuine: it lacks %s added to %s for this run, but has others from there", many(w.Missing), w.Place)
	case w.Passed > 0:
		return fmt.Sprintf("the record of the tests is not genuine: of %s added to %s for this run and had to fail, %d are reported as passed", many(w.Failing), w.Place, w.Passed)
	}
	return fmt.Sprintf("the record of the tests is not genuine: of %s added to %s for this run and had to pass, %d are reported as failed", many(w.Passing), w.Place, w.Failed)
}

// passing returns the places in which a test passed: the file that its ID begins with, and that file's directory.
func passing(out check.Outcome, renamed func(id string) string) map[string]bool {
	places := map[string]bool{}
	for _, t := range out.Tests {
		id := t.ID
		if renamed != nil {
			id = renamed(id)
		}
		file, _, _ := strings.Cut(id, "::")
		if t.Outcome == "passed" {
			places[file] = true
			if i := strings.LastIndexByte(file, '/'); i >= 0 {
				places[file[:i]] = true
			} else {
				places["."] = true
			}
		}
	}
	return places
}
