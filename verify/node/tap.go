package node

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"agent/verify/check"
)

// A tapTest is one test of a report of TAP (testanything.org, version 14): what stands behind a
// comment that names it, or a subtest with what is in it.
type tapTest struct {
	name string
	// passed, failed or skipped; "" while it has no point.
	outcome string
	// What its first failure says.
	message string
	inner   []tapTest
	// The point that closes it has been read.
	closed bool
}

// point counts one test point of it. One that failed weighs more than all that passed, and what
// passed more than what was skipped.
func (t *tapTest) point(outcome string) {
	if t.outcome != "failed" && (outcome == "failed" || t.outcome != "passed") {
		t.outcome = outcome
	}
}

var (
	tapPoint = regexp.MustCompile(`^(not )?ok\b\s*(\d+)?\s*(?:- )?(.*)$`)
	tapPlan  = regexp.MustCompile(`^1\.\.(\d+)\b`)
	tapHint  = regexp.MustCompile(`(?i)\s#\s*(skip|todo)\b.*$|^#\s*(skip|todo)\b.*$`)
	tapTime  = regexp.MustCompile(`\s#\s*time=\S+`)
	// What stands further in is said by a test, and names none.
	tapName    = regexp.MustCompile(`^# \S`)
	tapSubtest = regexp.MustCompile(`^# Subtest(?:: (.*))?$`)
)

// A tapReader reads lines of TAP.
type tapReader struct {
	lines []string
	at    int
}

// readTAP reads a report, strictly: each level must have the plan that its points fulfil, so that
// a run which broke off is none.
func readTAP(data []byte) ([]tapTest, error) {
	r := &tapReader{lines: strings.Split(string(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))), "\n")}
	return r.level("")
}

// level reads the tests at one indentation.
func (r *tapReader) level(indent string) (tests []tapTest, err error) {
	planned, points, name := -1, 0, ""
	current := func() *tapTest {
		if len(tests) == 0 || tests[len(tests)-1].closed || tests[len(tests)-1].name != name {
			tests = append(tests, tapTest{name: name})
		}
		return &tests[len(tests)-1]
	}
	for ; r.at < len(r.lines); r.at++ {
		line, ok := strings.CutPrefix(r.lines[r.at], indent)
		if !ok && strings.TrimSpace(r.lines[r.at]) != "" {
			break
		}
		switch m := tapPoint.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "Bail out!"):
			return nil, errors.New(check.Shorten(line))
		case tapSubtest.MatchString(line), tapSubtest.MatchString(strings.TrimPrefix(line, "    ")) && strings.HasPrefix(line, "    "):
			sub, err := r.subtest(indent, strings.TrimSpace(line))
			if err != nil {
				return nil, err
			}
			tests, points, name = append(tests, sub), points+1, ""
		case tapPlan.MatchString(line):
			if planned >= 0 {
				return nil, errors.New("it has two plans")
			}
			if _, err := fmt.Sscanf(line, "1..%d", &planned); err != nil {
				return nil, err
			}
		case m != nil && strings.HasSuffix(line, " {"):
			sub, err := r.buffered(indent, m)
			if err != nil {
				return nil, err
			}
			tests, points, name = append(tests, sub), points+1, ""
		case m != nil:
			points++
			outcome, text := pointOutcome(m)
			if name == "" {
				name = text
				current().point(outcome)
				name = ""
				tests[len(tests)-1].closed = true
			} else {
				current().point(outcome)
			}
			if said := r.diagnosis(indent); outcome == "failed" {
				last := &tests[len(tests)-1]
				last.message = cmp.Or(last.message, check.Join([]string{text, said}, ": "))
			}
		case tapName.MatchString(line):
			name = strings.TrimSpace(line[2:])
		}
	}
	if planned != points {
		return nil, fmt.Errorf("its plan of %d does not fit its %d points", planned, points)
	}
	return tests, nil
}

// pointOutcome says how a point ends, and its text without what it says besides.
func pointOutcome(m []string) (outcome, text string) {
	text = strings.TrimSpace(tapTime.ReplaceAllString(tapHint.ReplaceAllString(m[3], ""), ""))
	switch {
	case tapHint.MatchString(m[3]):
		return "skipped", text
	case m[1] != "":
		return "failed", text
	}
	return "passed", text
}

// subtest reads a subtest behind its comment, with the point that closes it.
func (r *tapReader) subtest(indent, comment string) (tapTest, error) {
	t := tapTest{closed: true}
	if m := tapSubtest.FindStringSubmatch(comment); m != nil {
		t.name = strings.TrimSpace(m[1])
	}
	r.at++
	inner, err := r.level(indent + "    ")
	if err != nil {
		return t, fmt.Errorf("in %s: %w", check.Shorten(t.name), err)
	}
	t.inner = inner
	for ; r.at < len(r.lines); r.at++ {
		line := strings.TrimPrefix(r.lines[r.at], indent)
		if strings.TrimSpace(line) == "" {
			continue
		}
		m := tapPoint.FindStringSubmatch(line)
		if m == nil {
			break
		}
		outcome, text := pointOutcome(m)
		t.name, t.outcome = cmp.Or(t.name, strings.TrimSuffix(text, " {")), outcome
		t.message = check.Join([]string{text, r.diagnosis(indent)}, ": ")
		return t, nil
	}
	return t, fmt.Errorf("%s has no end", check.Shorten(t.name))
}

// buffered reads a subtest in braces behind its point.
func (r *tapReader) buffered(indent string, m []string) (tapTest, error) {
	outcome, text := pointOutcome(m)
	t := tapTest{name: strings.TrimSpace(tapTime.ReplaceAllString(strings.TrimSuffix(text, "{"), "")), outcome: outcome, closed: true}
	r.at++
	inner, err := r.level(indent + "    ")
	if err != nil {
		return t, fmt.Errorf("in %s: %w", check.Shorten(t.name), err)
	}
	if r.at >= len(r.lines) || strings.TrimSpace(r.lines[r.at]) != "}" {
		return t, fmt.Errorf("%s has no end", check.Shorten(t.name))
	}
	t.inner = inner
	return t, nil
}

// diagnosis reads the block of YAML behind a point, if there is one, and leaves the reader on its
// last line.
func (r *tapReader) diagnosis(indent string) string {
	next := r.at + 1
	if next >= len(r.lines) || strings.TrimSpace(r.lines[next]) != "---" || !strings.HasPrefix(r.lines[next], indent+" ") {
		return ""
	}
	var text []string
	for i := next + 1; i < len(r.lines); i++ {
		if strings.TrimSpace(r.lines[i]) == "..." {
			r.at = i
			return strings.Join(text, "\n")
		}
		text = append(text, strings.TrimSpace(r.lines[i]))
	}
	return ""
}

// parseTAP reads the tests of a report. A subtest at the top that is named like a file holds
// the tests of that file; the others are told of the package.
func parseTAP(data []byte, place func(file string) string) ([]check.TestResult, error) {
	tests, err := readTAP(data)
	if err != nil {
		return nil, err
	}
	var l testList
	var add func(file string, names []string, t tapTest)
	add = func(file string, names []string, t tapTest) {
		failed := false
		for _, in := range t.inner {
			// Assertions of a subtest have no names of their own to go by.
			if len(in.inner) > 0 || t.name == "" {
				add(file, append(names[:len(names):len(names)], t.name), in)
				failed = failed || in.outcome == "failed"
			} else if in.outcome == "failed" {
				t.message = cmp.Or(in.message, t.message)
			}
		}
		if t.outcome == "" {
			return
		}
		r := check.TestResult{ID: file + "::" + strings.Join(append(names[:len(names):len(names)], t.name), " > "), Outcome: t.outcome, Within: failed && t.outcome == "failed"}
		if t.outcome == "failed" {
			r.File, r.Message = file, "failed"
			r = told(r, t.message, place)
		}
		l.add(r)
	}
	for _, t := range tests {
		if !scriptFile.MatchString(t.name) || strings.Contains(t.name, " ") {
			add(place(""), nil, t)
			continue
		}
		file := place(t.name)
		for _, in := range t.inner {
			add(file, nil, in)
		}
		if t.outcome == "failed" && !failedWithin(t) || len(t.inner) == 0 {
			r := check.TestResult{ID: file + "::script", Outcome: t.outcome}
			if t.outcome == "failed" {
				r.ID, r.Outcome, r.File, r.Message = file, "error", file, "the file failed"
				r = told(r, t.message, place)
			}
			l.add(r)
		}
	}
	return l.results, nil
}

// scriptFile matches the names of files of JavaScript and TypeScript.
var scriptFile = regexp.MustCompile(`\.(?:[cm]?[jt]s|[jt]sx)$`)

// failedWithin reports whether something in a test failed.
func failedWithin(t tapTest) bool {
	for _, in := range t.inner {
		if in.outcome == "failed" {
			return true
		}
	}
	return false
}
