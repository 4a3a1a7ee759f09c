//go:build bench

package verify

import (
	"fmt"
	"slices"
	"strings"

	"agent/verify/check"
)

// A tableRow is one line of a table: the results of some tryouts.
type tableRow struct {
	name   string
	counts map[string]int
	total  int
	// The total over all of them.
	seconds float64
	// Whether they are harmless edits, which have a different target.
	harmless bool
}

// count sums up the tryouts for which wanted returns true.
func count(name string, harmless bool, all []tryout, wanted func(tryout) bool) tableRow {
	y := tableRow{name: name, counts: map[string]int{}, harmless: harmless}
	for _, r := range all {
		if wanted(r) {
			y.counts[r.result]++
			y.total++
			y.seconds += r.seconds
		}
	}
	return y
}

// String returns the line. 99 of 100 faults that can be noticed must be caught, and no harmless edit may be refused; trouble counts
// against both.
func (y tableRow) String() string {
	c := y.counts
	seen := c[caught] + c[missed] + c[troubled]
	target, ok := "≥ 99 %", 100*c[caught] >= 99*seen
	if y.harmless {
		target, ok = "0 refused", c[refused]+c[troubled] == 0
	}
	mark := "MISS"
	switch {
	case y.total == 0:
		mark = "none planted"
	case !y.harmless && seen == 0:
		mark = "nothing to see"
	case ok:
		mark = "ok"
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %d | %d | %d | %.1f | %s | %s |", y.name, y.total, c[caught], c[missed],
		c[unseeable], c[noGate], c[refused], c[troubled], y.seconds/float64(max(1, y.total)), target, mark)
}

// printTryouts prints a line for each kind and each language, and below them every tryout that went wrong.
func printTryouts(all []tryout) {
	fmt.Println("| kind | planted | caught | missed | unseeable | no gate | falsely refused | trouble | seconds each | target | |")
	fmt.Println("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|")
	for _, kind := range slices.Concat(faultKinds, harmlessKinds) {
		fmt.Println(count(kind, slices.Contains(harmlessKinds, kind), all, func(r tryout) bool { return r.mutation.Kind == kind }))
	}
	var languages, names []string
	for _, r := range all {
		languages, names = append(languages, r.project.tongue.name), append(names, r.project.name)
	}
	slices.Sort(languages)
	for _, language := range slices.Compact(languages) {
		for _, harmless := range []bool{false, true} {
			fmt.Println(count(language+map[bool]string{false: ", faults", true: ", harmless"}[harmless], harmless, all, func(r tryout) bool {
				return r.project.tongue.name == language && r.harmless() == harmless
			}))
		}
	}
	fmt.Println(count("all faults", false, all, func(r tryout) bool { return !r.harmless() }))
	fmt.Println(count("all harmless edits", true, all, tryout.harmless))
	slices.Sort(names)
	names = slices.Compact(names)
	fmt.Printf("\nin %d projects: %s\n", len(names), strings.Join(names, ", "))
	for _, r := range all {
		r.print()
	}
}

// harmless reports whether the tryout is a harmless edit.
func (r tryout) harmless() bool { return slices.Contains(harmlessKinds, r.mutation.Kind) }

// print describes a tryout that did not end as it should, with the reason.
func (r tryout) print() {
	m := r.mutation
	where := fmt.Sprintf("%s, %s, %s:%d", r.project.name, m.Kind, m.File, m.Line)
	expected := func(g check.Gate) bool { return slices.Contains(m.Gates, g.Name) && g.Verdict != check.Pass }
	switch {
	case r.result == missed || r.result == refused || r.result == troubled:
		fmt.Printf("\n%s: %s%s\n", r.result, where, outline(r.report))
	case r.result == noGate:
		why := "nothing in the image runs this language"
		if len(m.Gates) > 0 {
			why = "the project has nothing for " + strings.Join(m.Gates, " or ")
		}
		fmt.Printf("\nno gate: %s: %s\n", where, why)
	case r.result == unseeable:
		fmt.Printf("\nunseeable: %s: the same tests fail as before\n", where)
	case r.result == caught && !slices.ContainsFunc(r.report.Gates, expected):
		fmt.Printf("\ncaught, but not by %s: %s%s\n", strings.Join(m.Gates, " or "), where, outline(r.report))
	}
}

// outline describes the gates of a report, with the first findings of each.
func outline(report Report) string {
	var b strings.Builder
	for _, g := range report.Gates {
		fmt.Fprintf(&b, "\n  %s: %s in %.1f s, %d old: %s", g.Name, g.Verdict, g.Seconds, g.Old, g.Detail)
		for _, f := range g.Findings[:min(3, len(g.Findings))] {
			fmt.Fprintf(&b, "\n    %s:%d: %s: %s", f.File, f.Line, f.Rule, f.Message)
		}
	}
	for _, s := range report.Skipped {
		fmt.Fprintf(&b, "\n  %s skipped: %s", s.Name, s.Reason)
	}
	return b.String()
}
