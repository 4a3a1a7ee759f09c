package witness

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// mostForms is how many forms of assertion in one file have witnesses.
const mostForms = 6

// functionForms are the forms of pytest functions, and of methods in plain classes.
var functionForms = []Form{
	{Body: "{var} = {start}\nassert {expr} == {want}\n"},
	{Uses: lazyregexp.New(`(?m)^import pytest\b[\s\S]*\bpytest\.raises\(`), Body: "{var} = {start}\nwith pytest.raises(ValueError):\n    if {expr} != {want}:\n        raise ValueError({var})\n", Turned: true},
	{Uses: lazyregexp.New(`(?m)^\s*assert (?:\S+ in|.* not in) `), Body: "{var} = {start}\nassert {expr} in [{want}]\n"},
	{Uses: lazyregexp.New(`(?m)^\s*assert not `), Body: "{var} = {start}\nassert not {expr} == {want}\n", Turned: true},
	{Uses: lazyregexp.New(`(?m)^import pytest\b[\s\S]*\bpytest\.approx\(`), Body: "{var} = {start}\nassert {expr} == pytest.approx({want})\n", Numeric: true},
	{Uses: lazyregexp.New(`(?m)^from pytest import (?:.*\W)?raises\b`), Body: "{var} = {start}\nwith raises(ValueError):\n    if {expr} != {want}:\n        raise ValueError({var})\n", Turned: true},
	{Uses: lazyregexp.New(`(?m)^import pytest\b[\s\S]*\bpytest\.fail\(`), Body: "{var} = {start}\nif {expr} != {want}:\n    pytest.fail(str({var}))\n"},
	{Uses: lazyregexp.New(`(?m)^\s*assert .* is `), Body: "{var} = {start}\nassert ({expr} == {want}) is True\n"},
}

// method returns the form of a unittest assertion.
func method(name, body string, turned bool) Form {
	return Form{Uses: lazyregexp.New(`self\.` + name + `\(`), Body: "{var} = {start}\n" + body + "\n", Turned: turned}
}

// caseForms are the forms of unittest.
var caseForms = []Form{
	method("assertEquals?", "self.assertEqual({expr}, {want})", false),
	method("assertTrue", "self.assertTrue({expr} == {want})", false),
	method("assertRaises", "with self.assertRaises(ValueError):\n    if {expr} != {want}:\n        raise ValueError({var})", true),
	method("assertIn", "self.assertIn({expr}, [{want}])", false),
	method("assertFalse", "self.assertFalse({expr} == {want})", true),
	method("assertIs", "self.assertIs({expr} == {want}, True)", false),
	method("assertIsNone", "self.assertIsNone(None if {expr} == {want} else {var})", false),
	method("assertIsNotNone", "self.assertIsNotNone({var} if {expr} == {want} else None)", false),
	method("assertNotEqual", "self.assertNotEqual({expr}, {want})", true),
	method("assertNotIn", "self.assertNotIn({expr}, [{want}])", true),
	method("assertListEqual", "self.assertListEqual([{expr}], [{want}])", false),
	method("assertDictEqual", "self.assertDictEqual({1: {expr}}, {1: {want}})", false),
	method("assertTupleEqual", "self.assertTupleEqual(({expr}, 1), ({want}, 1))", false),
	method("assertSetEqual", "self.assertSetEqual({{expr}}, {{want}})", false),
	method("assertCountEqual", "self.assertCountEqual([{expr}], [{want}])", false),
	method("assertSequenceEqual", "self.assertSequenceEqual([{expr}], [{want}])", false),
	method("assertMultiLineEqual", "self.assertMultiLineEqual(str({expr}), str({want}))", false),
	method("assertAlmostEquals?", "self.assertAlmostEqual(len(str({expr})) + ({expr} == {want}), len(str({expr})) + 1)", false),
	method("assertGreater", "self.assertGreater(({expr} == {want}) + 1, 1)", false),
	method("assertGreaterEqual", "self.assertGreaterEqual(({expr} == {want}) + 1, 2)", false),
	method("assertLess", "self.assertLess(({expr} != {want}) + 1, 2)", false),
	method("assertLessEqual", "self.assertLessEqual(({expr} != {want}) + 1, 1)", false),
	method("assertIsInstance", "self.assertIsInstance({var} if {expr} == {want} else None, type({var}))", false),
	method("assertRaisesRegex", "with self.assertRaisesRegex(ValueError, str({var})):\n    if {expr} != {want}:\n        raise ValueError({var})", true),
	method("assertRegex", "self.assertRegex(str({expr}), \"^\" + str({want}) + \"$\")", false),
	method("fail", "if {expr} != {want}:\n    self.fail(str({var}))", false),
}

var (
	// pythonTest matches the head of a Python test, with its indentation.
	pythonTest = lazyregexp.New(`(?m)^([ \t]*)(?:async )?def (test\w*)\(`)
	// caseClass matches a unittest class, and plainClass any other test class of pytest.
	caseClass  = lazyregexp.New(`(?m)^class (\w+)\([^)\n]*TestCase\b`)
	plainClass = lazyregexp.New(`(?m)^class (Test\w*)(?:\(\))?:`)
	// plainCase matches the import of unittest's class by its plain name.
	plainCase = lazyregexp.New(`(?m)^from unittest import (?:.*\W)?TestCase\b`)
)

// Python appends witnesses to a file with pytest or unittest tests; if quiet is set, all of them pass. It reports
// whether the file has tests in a form that it knows.
func (s *Set) Python(d *Draw, v check.View, p string, quiet bool) bool {
	text := v.Text(p)
	if len(text) > MaxFile {
		return false
	}
	text = outsideStrings(p, text)
	var functions, methods, classes []string
	for _, m := range pythonTest.FindAllStringSubmatch(text, -1) {
		if m[1] == "" {
			functions = append(functions, m[2])
		} else {
			methods = append(methods, m[2])
		}
	}
	unit := caseClass.FindAllStringSubmatch(text, -1)
	for _, m := range append(unit, plainClass.FindAllStringSubmatch(text, -1)...) {
		classes = append(classes, m[1])
	}
	_, touched := v.Changed[p]
	w := pythonWriter{d: d, place: p, touched: touched, ends: []bool{false, true}}
	if quiet {
		w.ends = w.ends[:1]
	}
	if len(functions) > 0 {
		w.group("", functions, functionForms, text)
	}
	if len(methods) > 0 && len(unit) > 0 {
		base := "__import__(\"unittest\").TestCase"
		switch {
		case strings.Contains(text, "(unittest.TestCase"):
			base = "unittest.TestCase"
		case plainCase.MatchString(text):
			base = "TestCase"
		}
		w.text += "\n\nclass " + d.Name(caseStyle(classes), classes) + "(" + base + "):\n"
		w.group("self", methods, caseForms, text)
	}
	if len(methods) > 0 && len(functions)+len(unit) == 0 && len(classes) > 0 {
		w.text += "\n\nclass " + d.Name(Style{"Test", "", true}, classes) + ":\n"
		w.group("self", methods, functionForms, text)
	}
	if len(w.tests) == 0 {
		return false
	}
	s.Append(v, p, w.text, w.tests)
	return true
}

// caseStyle returns how the unittest classes in a file are named: with Test as a prefix or not.
func caseStyle(classes []string) Style {
	if strings.HasPrefix(classes[0], "Test") {
		return Style{"Test", "", true}
	}
	return Style{"", "", true}
}

// A pythonWriter writes the witnesses of one file.
type pythonWriter struct {
	d       *Draw
	place   string
	touched bool // by the patch
	ends    []bool
	text    string
	tests   []Test
}

// group writes a passing and a failing test for the first form that the file uses, and for each further form without
// witnesses in this run, as functions or as methods. Each test costs pytest a fraction of a millisecond, and a failing
// one a whole millisecond. In a file of the patch, which might cheat in one form only, each form has both.
func (w *pythonWriter) group(self string, existing []string, forms []Form, text string) {
	used := w.d.Used(forms, text, mostForms)
	if len(used) == 0 {
		used = forms[:1]
	}
	style := Style{"test_", "_", false}
	if !slices.ContainsFunc(existing, func(name string) bool { return strings.HasPrefix(name, "test_") }) {
		style = Style{"test", "", true}
	}
	var written []string
	for i, f := range used {
		if i > 0 && w.d.used[f.Body] && !w.touched {
			continue
		}
		w.d.used[f.Body] = true
		for _, fails := range w.ends {
			name := w.d.Name(style, existing)
			head, indent := "\n\ndef ", "    "
			if self != "" {
				head, indent = "\n    def ", "        "
			}
			written = append(written, head+name+"("+self+"):\n"+indented(w.d.Write(f, fails), indent))
			w.tests = append(w.tests, Test{w.place, name, fails})
		}
	}
	w.d.Shuffle(len(written), func(i, j int) { written[i], written[j] = written[j], written[i] })
	body := strings.Join(written, "")
	if self != "" {
		body = body[1:] // no blank line follows the head of a class
	}
	w.text += body
}

// indented puts margin before each line.
func indented(lines, margin string) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		b.WriteString(margin + line)
	}
	return b.String()
}

var (
	// pytestSection matches the head of pytest's section on one failing test, or on several.
	pytestSection = lazyregexp.New(`^(_{3,}|={3,}) (.*\S) ?(_{3,}|={3,})$`)
	// pytestProgress matches a line of dots, and pytestCount the counts at the end.
	pytestProgress = lazyregexp.New(`^(?:\S+ )?[.FEsxX]+(?: +\[ *\d+%\])?$`)
	pytestCount    = lazyregexp.New(`^(?:=+ )?\d+ (?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?)\b.* in [\d.]+s`)
)

// HidePytest removes the witnesses from what pytest wrote for people: their failures, and the progress marks and counts
// that include them.
func (s *Set) HidePytest(text string) string {
	if s.Empty() {
		return text
	}
	var kept []string
	mine := false
	for line := range strings.SplitSeq(text, "\n") {
		if m := pytestSection.FindStringSubmatch(line); m != nil {
			// An empty section of sections is removed too.
			if last := len(kept) - 1; m[1][0] == '=' && last >= 0 && strings.HasPrefix(kept[last], "===") {
				kept = kept[:last]
			}
			mine = m[1][0] == '_' && s.Names(m[2])
		}
		if mine || s.Names(line) || pytestProgress.MatchString(line) || pytestCount.MatchString(line) {
			continue
		}
		kept = append(kept, line)
	}
	last := len(kept) - 1
	for last >= 0 && strings.TrimSpace(kept[last]) == "" {
		last--
	}
	if last >= 0 && strings.HasPrefix(kept[last], "===") {
		kept = kept[:last]
	}
	return strings.Join(kept, "\n")
}
