package trial

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
	"agent/verify/mutate"
	"agent/verify/policy"
)

// Began records the results of one side's tests without a mutant, and reports whether there is anything to try. After
// the tests as they were, it draws the mutants.
func (w *Weighing) Began(out check.Outcome, side Side) bool {
	w.spent += out.Seconds
	if out.Verdict != "" || out.Blocked != "" {
		if side != Earlier { // tests from that long ago need not fit any more
			w.trouble = "the tests did not finish a second time"
		}
		return false
	}
	w.sound[side] = map[string]bool{}
	for _, r := range out.Tests {
		w.sound[side][r.ID] = r.Outcome == "passed"
	}
	switch {
	case side == Earlier:
		return true
	case side == AsIs:
		if out.Traced != nil {
			w.ran = out.Traced.Ran
		}
		w.drawFresh()
		return true
	case out.Traced == nil || len(out.Traced.Ran) == 0:
		w.trouble = "which lines the rewritten tests execute was not measured"
		return false
	}
	w.draw(out.Traced.Ran)
	return len(w.mutants) > 0
}

// Wanted reports whether there is anything to try with the patch: a mutant that some test failed on, or a test that
// nothing else can vouch for.
func (w *Weighing) Wanted() bool {
	return w.trouble == "" && (len(w.silent) > 0 || len(w.Due(AsIs)) > 0)
}

// draw picks mutants of executed lines of the base that are unchanged in the patched program.
func (w *Weighing) draw(ran check.Lines) {
	var list []mutate.Mutant
	for p, lines := range ran {
		list = append(list, mutate.Of(p, w.base.Text(p), slices.DeleteFunc(slices.Clone(lines), func(n int) bool {
			_, at := w.now(p, n)
			return at == 0
		}))...)
	}
	for _, m := range mutate.Draw(list, mostMutants) {
		p, line := w.now(m.Path, m.Line)
		w.mutants = append(w.mutants, &mutation{Mutant: m, path: p, line: line, before: true})
	}
}

// drawFresh picks mutants of executed lines that the patch writes, and some of other executed lines, if a test needs
// something to vouch for it.
func (w *Weighing) drawFresh() {
	if len(w.silent) == 0 {
		return
	}
	var fresh, others []mutate.Mutant
	for p, lines := range w.ran {
		for _, m := range mutate.Of(p, w.cand.Text(p), lines) {
			if slices.ContainsFunc(w.diff.Hunks[p], func(r check.Region) bool { return m.Line >= r.NewFrom && m.Line < r.NewTo }) {
				fresh = append(fresh, m)
			} else if !slices.ContainsFunc(w.mutants, func(o *mutation) bool { return o.path == p && o.line == m.Line && o.Now == m.Now }) {
				others = append(others, m)
			}
		}
	}
	for _, m := range mutate.Draw(fresh, mostFresh) {
		w.mutants = append(w.mutants, &mutation{Mutant: m, path: m.Path, line: m.Line, fresh: true})
	}
	for _, m := range mutate.Draw(others, mostExtra) {
		w.mutants = append(w.mutants, &mutation{Mutant: m, path: m.Path, line: m.Line})
	}
	if slices.ContainsFunc(w.silent, func(x rewriting) bool { return len(x.aids) > 0 }) {
		w.mutants = append(w.mutants, &mutation{same: true})
	}
}

// asStrong reports whether the replacement of a test that nothing else can vouch for proves as much. It must fail on
// every mutant on which the test failed and, unless it was seen to fail on the program as it was, on every mutant of
// executed lines that the patch writes. If aids of the patch could tell the programs apart, it must also pass on a
// program that differs only by an empty line; otherwise it looks at the text.
func (w *Weighing) asStrong(x rewriting) bool {
	fresh, killed, alike := 0, 0, len(x.aids) == 0
	for _, m := range w.mutants {
		if m.before && !slices.Contains(m.killers, x.oldID) || !m.before && !m.asked {
			continue
		}
		fails := slices.ContainsFunc(m.failing, func(id string) bool { return slices.Contains(x.now, id) })
		if m.same {
			alike = alike || !fails
			continue
		}
		if !fails && (m.before || m.fresh && x.proof != pinned) {
			return false
		}
		if fails {
			killed++
		}
		if m.fresh {
			fresh++
		}
	}
	return w.trouble == "" && !w.late && alike && (fresh > 0 || x.proof == pinned) && killed >= leastKilled
}

// now returns where a line of the base is in the patched program; the line is 0 if the patch rewrote or removed it.
func (w *Weighing) now(p string, line int) (string, int) {
	to := w.diff.NewID(p)
	if w.diff.Deleted[p] {
		return p, 0
	}
	shift := 0
	for _, r := range w.diff.Hunks[to] {
		switch {
		case line >= r.OldTo:
			shift = r.NewTo - r.OldTo
		case line >= r.OldFrom:
			return to, 0
		}
	}
	return to, line + shift
}

// Change returns the changeset that makes mutant i of a side. ok is false if it has no place there.
func (w *Weighing) Change(i int, side Side) (cs workspace.Changeset, ok bool) {
	m, v, p, line := w.mutants[i], w.base, w.mutants[i].Path, w.mutants[i].Line
	if m.same {
		return w.lengthened()
	}
	if side == AsIs {
		v, p, line = w.cand, m.path, m.line
	}
	text := v.Text(p)
	mutated, ok := m.Apply(text, line)
	if !ok {
		return cs, false
	}
	return workspace.Changeset{Changes: []workspace.Change{modified(v, p, mutated)}}, true
}

// modified returns the change of a file of a view to another text.
func modified(v check.View, p, text string) workspace.Change {
	c := workspace.Change{Op: workspace.Modify, Path: p, Before: []byte(v.Text(p)), After: []byte(text), Mode: 0o644}
	if e, known := v.Base.Lookup(p); known {
		c.Mode = e.Mode
	}
	if changed, is := v.Changed[p]; is {
		c.Mode = changed.Mode
	}
	return c
}

// lengthened returns a changeset that adds an empty line to the program files that the patch writes or that have a mutant.
func (w *Weighing) lengthened() (cs workspace.Changeset, ok bool) {
	for _, p := range slices.Sorted(maps.Keys(w.LinesNow())) {
		if w.cand.Has(p) {
			cs.Changes = append(cs.Changes, modified(w.cand, p, w.cand.Text(p)+"\n"))
		}
	}
	return cs, len(cs.Changes) > 0
}

// Due lists the mutants to try on a side: for AsWas all of the base, for Earlier those of the base that no test
// failed on, and for AsIs those that some test failed on and those that are not of the base.
func (w *Weighing) Due(side Side) (due []int) {
	for i, m := range w.mutants {
		killed := len(m.killers) > 0
		if side == AsWas && m.before || side == Earlier && m.before && !killed || side == AsIs && (!m.before || killed) {
			due = append(due, i)
		}
	}
	return due
}

// Tried records the results of a side's tests on mutant i. A mutant that does not compile, or on which the tests do
// not finish, shows nothing.
func (w *Weighing) Tried(i int, side Side, out check.Outcome) {
	w.spent += out.Seconds
	m, ended := w.mutants[i], byID(out.Tests)
	m.tried = m.tried || side != AsIs
	if out.Verdict != "" {
		return
	}
	ran, passed, bad := false, true, []string{}
	for id, good := range w.sound[side] {
		r, there := ended[id]
		ran = ran || there
		switch {
		case good && r.Bad():
			bad = append(bad, id)
		case good:
			passed = passed && r.Outcome == "passed"
		}
	}
	slices.Sort(bad)
	switch {
	case !ran:
	case side == AsIs:
		m.asked, m.failing = true, bad
		m.survived = len(bad) == 0 && passed && out.Blocked == ""
	default:
		m.killers, m.by = bad, side
	}
}

// Weaker returns the first mutant that shows that less is proved than before: a test as it was failed on it, and no test in the
// patch's files does. For a test that now asks something else of the program, only lines that are still executed can show this.
func (w *Weighing) Weaker() (i int, found bool) {
	for i, m := range w.mutants {
		same := m.by == Earlier && w.alone || m.by == AsWas && slices.ContainsFunc(m.killers, func(id string) bool { return w.kept[id] })
		if m.before && m.survived && (same || slices.Contains(w.ran[m.path], m.line)) {
			return i, true
		}
	}
	return 0, false
}

// ShownBy returns the side whose tests fail on mutant i.
func (w *Weighing) ShownBy(i int) Side { return w.mutants[i].by }

// Confirmed records another run of the tests of that side on mutant i: a test that fails only at random shows nothing.
func (w *Weighing) Confirmed(i int, out check.Outcome) {
	m, again := w.mutants[i], byID(out.Tests)
	w.spent += out.Seconds
	m.killers = slices.DeleteFunc(m.killers, func(id string) bool { return out.Verdict != "" || !again[id].Bad() })
	m.survived = m.survived && len(m.killers) > 0
}

// Late records that time ran out before all mutants were tried.
func (w *Weighing) Late() { w.late = true }

// Fail records why the measurement was not possible.
func (w *Weighing) Fail(why string) { w.trouble = why }

// Said returns a sentence for the report: what was measured, what it cost, and why not more.
func (w *Weighing) Said() string {
	tried, killed, still, others := 0, 0, 0, 0
	for _, m := range w.mutants {
		if m.same {
			continue
		}
		if len(m.killers) > 0 {
			killed++
			if m.asked && len(m.failing) > 0 {
				still++
			}
		}
		if m.tried {
			tried++
		} else if m.asked {
			others++
		}
	}
	why := w.trouble
	if w.late {
		why = check.Join([]string{why, "the time ran out"}, "; ")
	}
	if tried == 0 && why == "" {
		why = "they execute no line that has a mutant and that the patch leaves alone"
	}
	if tried+others == 0 || killed+others == 0 && why != "" {
		return check.Join([]string{"rewritten tests not measured with mutants", why}, ": ")
	}
	text := fmt.Sprintf("rewritten tests measured with %d mutants in %.1f s: %d fail the old versions, %d of these also the new ones", tried, w.spent, killed, still)
	if others > 0 {
		text += fmt.Sprintf(", and %d more with the patch", others)
	}
	return check.Join([]string{text, why}, "; ")
}

// LinesNow returns the lines for which to find out whether the tests as they are now execute them: the lines of the
// mutants and, if a test needs something to vouch for it, all lines of the program files that the patch writes.
func (w *Weighing) LinesNow() check.Lines {
	lines := check.Lines{}
	for _, m := range w.mutants {
		lines[m.path] = append(lines[m.path], m.line)
	}
	for p := range w.diff.Hunks {
		l := lang.Of(p)
		if len(w.silent) == 0 || l == nil || l.Values != lang.Code || l.MayTest(p) || lang.InTests(p) || isAid(p) {
			continue
		}
		for n := range min(strings.Count(w.cand.Text(p), "\n")+1, mostAskedOf) {
			lines[p] = append(lines[p], n+1)
		}
	}
	for p, list := range lines {
		slices.Sort(list)
		lines[p] = slices.Compact(list)
	}
	return lines
}

// Weighed turns the measurement into holds: a test that proves less is held, and a test that passes with either
// program and proves as much does not block.
func (t *Trial) Weighed(w *Weighing) {
	list := slices.Clone(t.rewritten)
	for i, x := range list {
		if x.proof != accepting && len(x.aids) == 0 || !w.asStrong(x) {
			continue
		}
		list[i].aids = nil
		if x.proof == accepting {
			list[i].proof = asStrong
		}
	}
	t.Holds = slices.Concat(t.shown, holds(list, t.keptAs))
	i, found := w.Weaker()
	if !found {
		return
	}
	m := w.mutants[i]
	id, when := w.diff.NewID(m.killers[0]), "the old test"
	file, _, _ := strings.Cut(id, "::")
	if m.by == Earlier {
		when = "the test from before the last promotions"
	}
	t.Holds = append([]policy.Hold{{Path: file, Kind: policy.ChangedTest, Block: true, Reason: fmt.Sprintf(
		"%s proves less than before: %s: %s failed, the new one passes", check.Shorten(id), check.Shorten(m.String()), when)}}, t.Holds...)
}
