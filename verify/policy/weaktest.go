package policy

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/verify/policy/testform"
)

// testHolds lists the places where a changeset weakens tests.
func testHolds(before, after []sourceFile) []Hold {
	isTest := func(f sourceFile) bool { return f.test && testform.Of(f.lang).Assertion != nil }
	before, after = filter(before, isTest), filter(after, isTest)
	var old, now suite
	for _, f := range before {
		old.read(f)
	}
	for _, f := range after {
		now.read(f)
	}
	var holds []Hold
	elsewhere := func(f sourceFile) (list []mark) {
		for _, i := range testform.LeftElsewhere(f.lang, fileAt(before, f.path).lines, f.lines) {
			list = append(list, f.mark(i, "elsewhere", maybe, false))
		}
		return list
	}
	for _, part := range []struct {
		what string
		in   func(sourceFile) []mark
	}{
		{"keeps a test from counting", skipsIn},
		{"asserts what is always true", alwaysIn},
		{"keeps assertions from running, or from counting", deadIn},
		{"keeps assertions from running, by where or when they run", elsewhere},
	} {
		marks, gone := surplus(each(before, part.in), each(after, part.in), byLine, byFile, byForm)
		marks = now.ofOld(old, softer(gone, marks))
		holds = append(holds, holdsOf(WeakerTest, part.what, marks)...)
	}
	// A test whose class was renamed is still in its place.
	empty, _ := surplus(old.empties(), now.empties(), byLine, byForm, func(m mark) string { return m.path + "\x00" + m.text })
	was, kept := old.byName(), now.holds(old)
	for i, m := range empty {
		if i == mostHolds {
			holds = append(holds, holdsOf(WeakerTest, noBody, empty[i:])...)
			break
		}
		list := holdsOf(WeakerTest, noBody, []mark{m})
		// A test that is yet to be written takes nothing away, unless it replaces another.
		list[0].Block = !kept || len(was[strings.TrimPrefix(m.form, noBody)]) > 0
		holds = append(holds, list...)
	}
	holds = append(holds, holdsOf(WeakerTest, "asserts less than what was there before", now.softened(old))...)
	return append(holds, holdsOf(WeakerTest, "was an assertion, and its test continues without it", now.lost(old))...)
}

// skipsIn returns the places in a file that keep tests from counting.
func skipsIn(f sourceFile) (list []mark) {
	forms, measures := testform.Of(f.lang), testform.Measures(f.lang, f.lines)
	for i, line := range f.lines {
		code := strings.TrimSpace(line.Code)
		switch {
		case measures(i), testform.SkipsElsewhere(f.lang, f.lines, i):
		case testform.Alias(f.lang, code) != "":
			if !f.created {
				list = append(list, f.mark(i, "skip", maybe, false))
			}
		case forms.Skip != nil && forms.Skip.MatchString(code):
			list = append(list, f.mark(i, "skip", "", false))
		case !f.created && forms.Maybe.MatchString(code):
			list = append(list, f.mark(i, "skip", maybe, false))
		}
	}
	return list
}

// alwaysIn returns the assertions in a file that never fail.
func alwaysIn(f sourceFile) (list []mark) {
	for i, line := range f.lines {
		if testform.Of(f.lang).Always.MatchString(strings.TrimSpace(line.Code)) {
			list = append(list, f.mark(i, "always", "", false))
		}
	}
	return list
}

// maybe is the value of codes for a mark that skips a test on a condition, or when it is reached.
const maybe = "maybe"

// softer drops the conditional skips that replaced an unconditional one.
func softer(gone, marks []mark) []mark {
	hard := 0
	for _, m := range gone {
		if m.codes != maybe {
			hard++
		}
	}
	return slices.DeleteFunc(marks, func(m mark) bool {
		if m.codes == maybe {
			hard--
		}
		return m.codes == maybe && hard >= 0
	})
}

// ofOld drops the conditions and calls that may skip a new test: a new test may say that it needs a database, and
// nothing that was tested before is lost.
func (s *suite) ofOld(old suite, marks []mark) []mark {
	type place struct {
		path string
		line int
	}
	fresh, was := map[place]bool{}, old.byName()
	for _, b := range s.blocks {
		if len(was[b.name]) > 0 {
			continue
		}
		for _, o := range b.others {
			fresh[place{b.file.path, o.line + 1}] = true
		}
		for _, i := range b.above() {
			fresh[place{b.file.path, i + 1}] = true
		}
	}
	return slices.DeleteFunc(marks, func(m mark) bool {
		return m.codes == maybe && (fresh[place{m.path, m.line}] || s.named(old, m, func(path string, line int) bool { return fresh[place{path, line}] }))
	})
}

// named reports whether a mark only gives a name to skipping on a condition, and no test that existed before uses the
// name, in any file. fresh reports whether a line belongs to a new test.
func (s *suite) named(old suite, m mark, fresh func(path string, line int) bool) bool {
	own := fileAt(s.files, m.path)
	name := testform.Alias(own.lang, own.lines[m.line-1].Code)
	if name == "" || own.lang == lang.Script && !s.holds(old) { // it is called in place of "it"
		return false
	}
	for _, f := range s.files {
		for i, line := range f.lines {
			called := own.lang == lang.Script && strings.HasPrefix(strings.TrimSpace(line.Code), name+"(")
			if defined := f.path == m.path && i+1 == m.line; !defined && !called && slices.Contains(anyWord.FindAllString(line.Code, -1), name) && !fresh(f.path, i+1) {
				return false
			}
		}
	}
	return true
}

// mostAbove bounds the lines of the decorators of a test.
const mostAbove = 200

// above lists the lines of the decorators above a block, which belong to it. A decorator may take several lines.
func (b *block) above() (lines []int) {
	depth := 0
	for i := b.from - 1; i >= max(0, b.from-mostAbove); i-- {
		code := strings.TrimSpace(b.file.lines[i].Code)
		depth += strings.Count(code, ")") + strings.Count(code, "]") + strings.Count(code, "}") - strings.Count(code, "(") - strings.Count(code, "[") - strings.Count(code, "{")
		if depth < 0 || depth == 0 && !strings.HasPrefix(code, "@") {
			break
		}
		if depth == 0 {
			lines = append(lines, i)
		}
	}
	return lines
}

// noBody is how a hold describes a test without a body, and the beginning of its form.
const noBody = "is a test without a body"

// empties returns the tests without a body.
func (s *suite) empties() (list []mark) {
	for _, b := range s.blocks {
		if !b.test || len(b.code) > 3 {
			continue
		}
		// A test on several lines is judged as if it were on one.
		if testform.Of(b.file.lang).Empty.MatchString(strings.TrimSpace(strings.Join(b.code, " "))) {
			list = append(list, b.file.mark(b.from, noBody+b.name, "", false))
		}
	}
	return list
}

// lost returns the assertions that tests of old made and that were removed without a replacement. The tests
// themselves remain: if one does not, the gate that runs tests reports it.
//
// It counts only what is certain. An assertion is not lost if it moved, was joined with others into one about the
// same things, or went into a helper.
func (s *suite) lost(old suite) (list []mark) {
	was, is := old.byName(), s.byName()
	moved := map[string]int{}
	for _, b := range s.blocks {
		for _, a := range b.assertions {
			moved[a.code]++
		}
	}
	for _, b := range old.blocks {
		for _, a := range b.assertions {
			moved[a.code]--
		}
	}
	words, helpers := s.fresh(old), s.helpers()
	for _, b := range old.blocks {
		if now := is[b.name]; b.test && len(now) == 1 && len(was[b.name]) == 1 && now[0].test {
			list = append(list, b.lostIn(now[0], moved, words, helpers)...)
		}
	}
	return list
}

// lostIn returns the lost assertions of a test that now has fewer. moved counts, by text, how many more of each there
// are after the changeset than before; lostIn uses the counts up.
func (b *block) lostIn(now *block, moved map[string]int, words, helpers map[string]bool) (list []mark) {
	drop := len(b.assertions) - len(now.assertions)
	if drop <= 0 || now.callsHelper(b, helpers) {
		return nil
	}
	old := map[string]int{}
	for _, a := range b.assertions {
		old[a.code]++
	}
	added := false
	for _, a := range now.assertions {
		old[a.code]--
		added = added || old[a.code] < 0
	}
	whole := testform.Whole(b.file.lang, b.joined(), now.joined())
	for _, a := range b.assertions {
		if old[a.code] <= 0 || moved[a.code] >= 0 || len(list) == drop {
			continue
		}
		old[a.code]--
		moved[a.code]++
		if added && (restated(a.code, words) || whole(b.file.joined(a))) || a.trivial(b.file.lang) && len(now.assertions) > 0 {
			continue
		}
		// The line is from the text before, since the text after has none.
		m := b.file.mark(a.line, "lost", "", false)
		list = append(list, m)
	}
	return list
}
