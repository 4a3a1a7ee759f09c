// Package tap reads reports in TAP, the Test Anything Protocol (testanything.org, version 14). It reads strictly: a report
// that broke off is rejected.
package tap

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// A Test is one test of a report: the points that follow a comment with its name, or a subtest with its contents.
type Test struct {
	Name string
	// Outcome is passed, failed or skipped; "" while the test has no point.
	Outcome string
	// Message is what its first failure says.
	Message string
	// Inner holds the tests in it; a plain point has none.
	Inner []Test
	// closed says that the point that closes the test has been read.
	closed bool
}

// point counts one test point of it. A failed point outweighs all passed ones, and a passed point all skipped ones.
func (t *Test) point(outcome string) {
	if t.Outcome != "failed" && (outcome == "failed" || t.Outcome != "passed") {
		t.Outcome = outcome
	}
}

var (
	pointLine = lazyregexp.New(`^(not )?ok\b\s*(\d+)?\s*(?:- )?(.*)$`)
	planLine  = lazyregexp.New(`^1\.\.(\d+)\b`)
	hintLine  = lazyregexp.New(`(?i)\s#\s*(skip|todo)\b.*$|^#\s*(skip|todo)\b.*$`)
	timeLine  = lazyregexp.New(`\s#\s*time=\S+`)
	// An indented comment is the output of a test and names none.
	nameLine    = lazyregexp.New(`^# \S`)
	subtestLine = lazyregexp.New(`^# Subtest(?:: (.*))?$`)
)

// A reader reads lines of TAP.
type reader struct {
	lines []string
	at    int
	// unnamed says that comments do not name the points after them.
	unnamed bool
}

// Read reads a report, strictly: the points of each level must fulfil its plan, so that a run that broke off is rejected.
func Read(data []byte) ([]Test, error) { return newReader(data).level("") }

// ReadPoints reads a report in which each point is a test, whatever comments precede it: ava writes into these what hooks
// and tests log. ava's plan leaves out the files that crashed, and counts the tests that they did not reach. The counts at
// the end must then fit instead.
func ReadPoints(data []byte) ([]Test, error) {
	r := newReader(data)
	r.unnamed = true
	return r.level("")
}

// countLine matches the counts that ava gives after the plan.
var countLine = lazyregexp.New(`^# (pass|skip|fail) (\d+)$`)

// counts reports whether the points fit the counts after the plan: as many passed, no fewer were skipped, some but no more failed.
func (r *reader) counts(tests []Test) bool {
	counted, ended := map[string]int{}, map[string]int{}
	for _, line := range r.lines {
		switch m := countLine.FindStringSubmatch(line); {
		case planLine.MatchString(line):
			clear(counted)
		case m != nil:
			counted[m[1]], _ = strconv.Atoi(m[2])
		}
	}
	for _, t := range tests {
		ended[t.Outcome]++
	}
	return ended["failed"] > 0 && ended["failed"] <= counted["fail"] && ended["passed"] == counted["pass"] && ended["skipped"] >= counted["skip"]
}

func newReader(data []byte) *reader {
	return &reader{lines: strings.Split(string(bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))), "\n")}
}

// speaks reports whether a line is a TAP line. The output of tests may stand between such lines, at any indentation.
func speaks(line string) bool {
	line = strings.TrimSpace(line)
	return line == "}" || pointLine.MatchString(line) || planLine.MatchString(line) || subtestLine.MatchString(line) || strings.HasPrefix(line, "Bail out!")
}

// level reads the tests at one indentation.
func (r *reader) level(indent string) (tests []Test, err error) {
	planned, points, name := -1, 0, ""
	current := func() *Test {
		if len(tests) == 0 || tests[len(tests)-1].closed || tests[len(tests)-1].Name != name {
			tests = append(tests, Test{Name: name})
		}
		return &tests[len(tests)-1]
	}
	for ; r.at < len(r.lines); r.at++ {
		line, ok := strings.CutPrefix(r.lines[r.at], indent)
		if !ok && speaks(r.lines[r.at]) {
			break
		}
		switch m := pointLine.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "Bail out!"):
			return nil, errors.New(check.Shorten(line))
		case subtestLine.MatchString(line), subtestLine.MatchString(strings.TrimPrefix(line, "    ")) && strings.HasPrefix(line, "    "):
			sub, err := r.subtest(indent, strings.TrimSpace(line))
			if err != nil {
				return nil, err
			}
			tests, points, name = append(tests, sub), points+1, ""
		case planLine.MatchString(line):
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
			last := &tests[len(tests)-1]
			if said := r.diagnosis(indent); outcome == "failed" {
				last.Message = cmp.Or(last.Message, check.Join([]string{text, said}, ": "))
			}
			// node-tap 12 to 14 open the braces after the block.
			if r.at+1 < len(r.lines) && r.lines[r.at+1] == indent+"{" && last.closed {
				r.at++
				sub, err := r.buffered(indent, m)
				if err != nil {
					return nil, err
				}
				last.Inner = sub.Inner
			}
		case !r.unnamed && nameLine.MatchString(line):
			name = strings.TrimSpace(line[2:])
		}
	}
	if planned != points && !(r.unnamed && planned >= 0 && r.counts(tests)) {
		return nil, fmt.Errorf("its plan of %d does not match its %d points", planned, points)
	}
	return tests, nil
}

// failedPoint matches a failed test and, in the block after it, the error.
var failedPoint = lazyregexp.New(`(?m)^\s*not ok \d+ (?:- )?(.+)$(?:(?:\n\s+.*)*?\n\s+error: (?:\|-\s+)?(.+)$)?`)

// FirstFailed returns what a report, or a part of one, says of the first failed test, or "" if none failed.
func FirstFailed(text string) string {
	m := failedPoint.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return strings.TrimSuffix(m[1]+": "+m[2], ": ")
}

// pointOutcome returns how a point ended, and its text without directives and times.
func pointOutcome(m []string) (outcome, text string) {
	text = strings.TrimSpace(timeLine.ReplaceAllString(hintLine.ReplaceAllString(m[3], ""), ""))
	switch {
	case hintLine.MatchString(m[3]):
		return "skipped", text
	case m[1] != "":
		return "failed", text
	}
	return "passed", text
}

// subtest reads a subtest after its comment, with the point that closes it.
func (r *reader) subtest(indent, comment string) (Test, error) {
	t := Test{closed: true}
	if m := subtestLine.FindStringSubmatch(comment); m != nil {
		t.Name = strings.TrimSpace(m[1])
	}
	r.at++
	inner, err := r.level(indent + "    ")
	if err != nil {
		return t, fmt.Errorf("in %s: %w", check.Shorten(t.Name), err)
	}
	t.Inner = inner
	for ; r.at < len(r.lines); r.at++ {
		line := strings.TrimPrefix(r.lines[r.at], indent)
		if !speaks(line) {
			continue
		}
		m := pointLine.FindStringSubmatch(line)
		if m == nil {
			break
		}
		outcome, text := pointOutcome(m)
		t.Name, t.Outcome = cmp.Or(t.Name, strings.TrimSuffix(text, " {")), outcome
		t.Message = check.Join([]string{text, r.diagnosis(indent)}, ": ")
		return t, nil
	}
	return t, fmt.Errorf("%s has no end", check.Shorten(t.Name))
}

// buffered reads a subtest in braces after its point.
func (r *reader) buffered(indent string, m []string) (Test, error) {
	outcome, text := pointOutcome(m)
	t := Test{Name: strings.TrimSpace(timeLine.ReplaceAllString(strings.TrimSuffix(text, "{"), "")), Outcome: outcome, closed: true}
	r.at++
	inner, err := r.level(indent + "    ")
	if err != nil {
		return t, fmt.Errorf("in %s: %w", check.Shorten(t.Name), err)
	}
	if r.at >= len(r.lines) || strings.TrimSpace(r.lines[r.at]) != "}" {
		return t, fmt.Errorf("%s has no end", check.Shorten(t.Name))
	}
	t.Inner = inner
	return t, nil
}

// diagnosis reads the YAML block after a point, if there is one, and leaves the reader on its last line.
func (r *reader) diagnosis(indent string) string {
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
