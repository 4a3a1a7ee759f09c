package policy

import (
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
)

// A testForm is how a language writes what weakens a test.
type testForm struct {
	// A statement that may make a test fail.
	assertion *regexp.Regexp
	// An assertion that never does.
	always *regexp.Regexp
	// A mark that keeps a test from counting, or others beside it.
	skip *regexp.Regexp
	// A condition or a call that may: of no weight in a new file.
	maybe *regexp.Regexp
	// What an empty test looks like, on one line.
	empty *regexp.Regexp
}

// testForms are those that are known.
var testForms = map[lang.Family]testForm{
	lang.Python: {
		assertion: regexp.MustCompile(`^assert\b|\.(?:assert|fail)\w*\s*\(|^(?:with\s+)?(?:pytest\.)?(?:raises|warns|fail)\s*\(|^with\s+pytest\.(?:raises|warns)|^(?:\w+\.)*assert_\w+\s*\(`),
		always:    regexp.MustCompile(`^assert\s*\(?\s*(?:True|not False|[1-9][0-9]*|"")\s*\)?\s*(?:,.*)?$|^assert\s+(?:True\s*==\s*True|1\s*==\s*1|True is True)|\.assertTrue\(\s*True\b|\.assertFalse\(\s*False\b|^assert\b.*\bor True\s*$|^assert\s*\([^()]*,\s*""\s*\)$`),
		skip:      regexp.MustCompile(`\bmark\.(?:skip|xfail)\b|@(?:unittest\.)?(?:skip|expectedFailure)\b|^@?xfail\b|^__test__\s*=\s*False|^collect_ignore(?:_glob)?\b`),
		maybe:     regexp.MustCompile(`\bmark\.skipif\b|@(?:unittest\.)?skip(?:If|Unless)\b|\bpytest\.(?:skip|xfail|importorskip)\s*\(|\.skipTest\(|\bSkipTest\b`),
		empty:     regexp.MustCompile(`^(?:async\s+)?def\s.*:\s*(?:""\s*)?(?:pass|\.\.\.|return|return None|"")?\s*$`),
	},
	lang.Script: {
		assertion: regexp.MustCompile(`\b(?:expect|assert)\b[\w.]*\s*\(|\.should\b`),
		always:    regexp.MustCompile(`\bexpect\(\s*(?:true\s*\)\.(?:toBe|toEqual|toStrictEqual)\(\s*true|true\s*\)\.toBeTruthy\(|false\s*\)\.(?:toBe|toEqual|toStrictEqual)\(\s*false|false\s*\)\.toBeFalsy\(|1\s*\)\.(?:toBe|toEqual)\(\s*1)\s*\)|\bassert(?:\.ok)?\(\s*(?:true|1)\s*[,)]|\bassert\.(?:\w*[eE]qual)\(\s*(?:true\s*,\s*true|1\s*,\s*1)\s*[,)]`),
		skip:      regexp.MustCompile(`\b(?:it|test|describe|suite|context|specify|bench)(?:\.\w+)*\.(?:skip|only|todo|fixme|fails|failing)\b|^(?:xit|xtest|xdescribe|xcontext|fit|fdescribe|fcontext)\s*\(|[{,]\s*(?:skip|only|todo)\s*:\s*(?:true\b|"")`),
		maybe:     regexp.MustCompile(`\.(?:skipIf|runIf)\s*\(|\b(?:t|this|ctx|test)\.(?:skip|todo)\s*\(`),
		empty:     regexp.MustCompile(`^(?:it|test|specify)\b[\w.]*\s*\(.*(?:=>\s*\{\s*\}|function\s*\w*\s*\([^)]*\)\s*\{\s*\})\s*(?:,[^,]*)?\)\s*;?$`),
	},
	lang.Go: {
		assertion: regexp.MustCompile(`\b(?:t|b|f|tb|tt|c)\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(|\b(?:assert|require|is|qt)\.\w+\(`),
		always:    regexp.MustCompile(`\b(?:assert|require)\.(?:True\(\s*t\s*,\s*true|False\(\s*t\s*,\s*false|Equal\(\s*t\s*,\s*(?:1\s*,\s*1|true\s*,\s*true))\s*[,)]`),
		maybe:     regexp.MustCompile(`\b(?:t|b|f|tb)\.Skip(?:f|Now)?\(`),
		empty:     regexp.MustCompile(`^func\s+Test\w*\([^)]*\)\s*\{\s*\}$`),
	},
}

// testHolds lists what weakens the tests of a changeset.
func testHolds(before, after []sourceFile) []Hold {
	isTest := func(f sourceFile) bool { _, known := testForms[f.lang]; return f.test && known }
	before, after = filter(before, isTest), filter(after, isTest)
	var old, now suite
	for _, f := range before {
		old.read(f)
	}
	for _, f := range after {
		now.read(f)
	}
	var holds []Hold
	for _, part := range []struct {
		what string
		in   func(sourceFile) []mark
	}{
		{"keeps a test from counting", skipsIn},
		{"asserts what is always true", alwaysIn},
		{"keeps assertions from running, or from counting", deadIn},
	} {
		marks, gone := surplus(each(before, part.in), each(after, part.in), byLine, byFile, byForm)
		marks = now.ofOld(old, softer(gone, marks))
		holds = append(holds, holdsOf(WeakerTest, part.what, marks)...)
	}
	empty, _ := surplus(old.empties(), now.empties(), byLine, byForm)
	holds = append(holds, holdsOf(WeakerTest, "is a test without a body", empty)...)
	holds = append(holds, holdsOf(WeakerTest, "asserts less than what was there before", now.softened(old))...)
	return append(holds, holdsOf(WeakerTest, "was an assertion, and its test goes on without it", now.lost(old))...)
}

// filter returns the files that are such.
func filter(files []sourceFile, such func(sourceFile) bool) []sourceFile {
	return slices.DeleteFunc(slices.Clone(files), func(f sourceFile) bool { return !such(f) })
}

// skipsIn returns the marks of a file by which tests do not count.
func skipsIn(f sourceFile) (list []mark) {
	forms := testForms[f.lang]
	for i, line := range f.lines {
		code := strings.TrimSpace(line.Code)
		switch {
		case forms.skip != nil && forms.skip.MatchString(code):
			list = append(list, f.mark(i, "skip", "", false))
		case !f.created && forms.maybe.MatchString(code):
			list = append(list, f.mark(i, "skip", maybe, false))
		}
	}
	return list
}

// alwaysIn returns the assertions of a file that never fail.
func alwaysIn(f sourceFile) (list []mark) {
	for i, line := range f.lines {
		if testForms[f.lang].always.MatchString(strings.TrimSpace(line.Code)) {
			list = append(list, f.mark(i, "always", "", false))
		}
	}
	return list
}

// A suite is the tests and helpers on one side of a changeset.
type suite struct {
	blocks []*block
	// The words of each line, for knowing what is new.
	texts []string
}

// read adds the functions of a file.
func (s *suite) read(f sourceFile) {
	s.blocks = append(s.blocks, blocksOf(f)...)
	for _, line := range f.lines {
		s.texts = append(s.texts, strings.TrimSpace(line.Code))
	}
}

// maybe stands for the codes of a mark that skips a test on a condition, or
// where it is reached.
const maybe = "maybe"

// softer drops the conditions that took the place of a skip without one.
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

// ofOld drops the conditions and calls by which a test may be skipped when the
// test is new: that it needs a database may be said, and nothing that was
// tested before is lost.
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
		// What is written above a test belongs to it.
		for i := b.from - 1; i >= max(0, b.from-mostAbove) && strings.HasPrefix(strings.TrimSpace(b.file.lines[i].Code), "@"); i-- {
			fresh[place{b.file.path, i + 1}] = true
		}
	}
	return slices.DeleteFunc(marks, func(m mark) bool { return m.codes == maybe && fresh[place{m.path, m.line}] })
}

// mostAbove bounds the decorators of a test.
const mostAbove = 20

// empties returns the tests without a body.
func (s *suite) empties() (list []mark) {
	for _, b := range s.blocks {
		if !b.test || len(b.code) > 3 {
			continue
		}
		// A test of several lines is judged as if it stood on one.
		if testForms[b.file.lang].empty.MatchString(strings.TrimSpace(strings.Join(b.code, " "))) {
			list = append(list, b.file.mark(b.from, "empty "+b.name, "", false))
		}
	}
	return list
}

// lost returns the assertions that tests of old made and that were removed
// with nothing in their place. The tests themselves go on: those that do not are missed by
// the gate that runs them.
//
// It counts only what is sure. An assertion that moved, or was joined with others
// into one that speaks of the same things, or went into a helper, is not lost.
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

// byName groups the blocks.
func (s *suite) byName() map[string][]*block {
	names := map[string][]*block{}
	for _, b := range s.blocks {
		names[b.name] = append(names[b.name], b)
	}
	return names
}

// fresh returns the words of the lines that old does not have.
func (s *suite) fresh(old suite) map[string]bool {
	known, words := map[string]bool{}, map[string]bool{}
	for _, text := range old.texts {
		known[text] = true
	}
	for _, text := range s.texts {
		if !known[text] {
			for _, w := range wordsOf(text) {
				words[w] = true
			}
		}
	}
	return words
}

// helpers returns the functions of a suite that are no tests: whether they
// assert something.
func (s *suite) helpers() map[string]bool {
	list := map[string]bool{}
	for _, b := range s.blocks {
		if !b.test {
			list[b.short] = list[b.short] || len(b.assertions) > 0
		}
	}
	return list
}

// lostIn returns the assertions of a test that now has fewer. moved counts by
// text how many more there are of each in the changeset; it is used up.
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
	for _, a := range b.assertions {
		if old[a.code] <= 0 || moved[a.code] >= 0 || len(list) == drop {
			continue
		}
		old[a.code]--
		moved[a.code]++
		if added && restated(a.code, words) || a.trivial(b.file.lang) && len(now.assertions) > 0 {
			continue
		}
		// The line is that of the text before: after, there is none.
		m := b.file.mark(a.line, "lost", "", false)
		list = append(list, m)
	}
	return list
}

// restated reports whether all that an assertion speaks of occurs in words.
func restated(code string, words map[string]bool) bool {
	return !slices.ContainsFunc(wordsOf(code), func(w string) bool { return !words[w] })
}
