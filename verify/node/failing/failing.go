// Package failing extracts the names of failed tests from what a command printed. It knows the formats of the usual runners
// and believes no more than the names. It is meant for a command that ends as it ended before the patch: the names then show
// whether the reason is the same.
package failing

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// most bounds how many tests are distinguished.
const most = 1000

// lines match a line with the name of one failing test, as TAP, jest, vitest, node's and ava's own reporters, karma, pytest,
// unittest and go test print it. Linters mark their lines with some of the same signs, but count lines and findings there.
var lines = []*lazyregexp.Regexp{
	lazyregexp.New(`^\s*not ok \d+ (?:- )?([^#]+?)(?: # time=\S+)?$`),
	lazyregexp.New(`^\s*● ([^●]+ › [^●]+)$`),
	lazyregexp.New(`^\s*FAIL\s+(\S.* > .+)$`),
	lazyregexp.New(`^\s*✖ (.+ \(\d+(?:\.\d+)?m?s\))$`),
	lazyregexp.New(`^\s*[✖✘] \[fail\]: (.+)$`),
	lazyregexp.New(`^\S.* \([^()]*\):? (.+) FAILED$`),
	lazyregexp.New(`^(?:FAILED|ERROR) (\S+::.+?)(?: - .*)?$`),
	lazyregexp.New(`^(?:FAIL|ERROR): (\S+ \(.+\))$`),
	lazyregexp.New(`^\s*--- FAIL: (\S+) \(`),
}

var (
	// heading matches the start of mocha's list of failures, or of jasmine's.
	heading = lazyregexp.New(`^\s*(?:(\d+ failing)|Failures:)$`)
	// numbered matches the first line of an entry in that list.
	numbered = lazyregexp.New(`^\s*\d+\) (\S.*)$`)
	took     = lazyregexp.New(` \(\d+(?:\.\d+)?m?s\)$`)
)

// Tests returns the names of the tests that a command's output says have failed, each once, in order.
func Tests(printed string) (names []string) {
	known := map[string]bool{}
	add := func(name string) {
		name = check.Shorten(took.ReplaceAllString(strings.TrimSpace(name), ""))
		if name != "" && len(names) < most && !known[name] {
			known[name], names = true, append(names, name)
		}
	}
	listed, mochas := false, false
	all := strings.Split(check.Clean([]byte(printed)), "\n")
	for i, line := range all {
		line = strings.TrimRight(line, " \r")
		if m := heading.FindStringSubmatch(line); m != nil {
			listed, mochas = true, m[1] != ""
		}
		if m := numbered.FindStringSubmatch(line); listed && m != nil {
			if mochas {
				m[1] = titles(m[1], all[i+1:])
			}
			add(m[1])
			continue
		}
		for _, form := range lines {
			if m := form.FindStringSubmatch(line); m != nil {
				add(m[1])
				break
			}
		}
	}
	return names
}

// mostTitles bounds the suites around one test.
const mostTitles = 10

// titles joins the first line of a mocha entry with the titles on the lines below: those of suites, then that of the test,
// each indented further, the last one ending in a colon. If none ends in a colon, first is the whole title.
func titles(first string, rest []string) string {
	joined := first
	for i := 0; !strings.HasSuffix(joined, ":"); i++ {
		if i == min(len(rest), mostTitles) || strings.TrimSpace(rest[i]) == "" {
			return first
		}
		joined += " " + strings.TrimSpace(rest[i])
	}
	return strings.TrimSuffix(joined, ":")
}

// mark separates a command from a test that it names, in the ID of that test.
const mark = " ✗ "

// Command returns the ID of the command to which a result belongs: the command's own, or that of a test that it names.
func Command(id string) string {
	command, _, _ := strings.Cut(id, mark)
	return command
}

// Results returns the tests that a failed command names in its output, all of them failed; a command that passed has none.
// Tests requested by ID that the command does not name passed.
func Results(command check.TestResult, printed string, asked []string) (list []check.TestResult) {
	if command.Bad() {
		for _, name := range Tests(printed) {
			list = append(list, check.TestResult{ID: command.ID + mark + name, Outcome: "failed", File: command.File, Message: "failed, according to the output of the command"})
		}
	}
	for _, id := range asked {
		if id != command.ID && Command(id) == command.ID && !slices.ContainsFunc(list, func(r check.TestResult) bool { return r.ID == id }) {
			list = append(list, check.TestResult{ID: id, Outcome: "passed"})
		}
	}
	return list
}

// Compared returns the results of both sides that count. For a command that failed on both, these are the tests that it names; of those
// that it named before, only the ones that it still names, since the others are not lost. For any other, how it ended says everything.
func Compared(base, cand []check.TestResult) (before, after []check.TestResult) {
	failed := map[string]int{} // on how many sides
	for _, t := range slices.Concat(base, cand) {
		if t.Bad() {
			failed[t.ID]++
		}
	}
	out := func(t check.TestResult) bool { return Command(t.ID) != t.ID && failed[Command(t.ID)] < 2 }
	gone := func(t check.TestResult) bool { return out(t) || Command(t.ID) != t.ID && failed[t.ID] < 2 }
	return slices.DeleteFunc(slices.Clone(base), gone), slices.DeleteFunc(slices.Clone(cand), out)
}
