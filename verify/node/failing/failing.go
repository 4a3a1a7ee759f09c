// Package failing reads out of what a command printed which tests it says have failed. It knows how the usual runners print
// that, believes no more of it than names, and is meant for a command that ends as it ended before: what it says of itself
// shows then whether it is for the same reason.
package failing

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// most bounds the tests that are told apart.
const most = 1000

// lines match a line with the name of one failing test, as it stands in what these print: TAP, jest, vitest, node's and ava's own reporters, karma,
// pytest, unittest and go test. Linters mark their lines with some of the same signs, and count lines and findings there.
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
	// heading begins the list of mocha, or that of jasmine.
	heading = lazyregexp.New(`^\s*(?:(\d+ failing)|Failures:)$`)
	// numbered matches the first line of an entry there.
	numbered = lazyregexp.New(`^\s*\d+\) (\S.*)$`)
	took     = lazyregexp.New(` \(\d+(?:\.\d+)?m?s\)$`)
)

// Tests takes what a command printed and gives the names of the tests that it says have failed, each once, in their order.
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

// titles joins what stands on the first line of an entry of mocha, the titles of suites below it and that of the test, each further in and
// the last with a colon at its end. Where none has one, first is all of it.
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

// mark stands between a command and a test that it names, in the ID of the latter.
const mark = " ✗ "

// Command is the ID of the command that a result is of, or that names it.
func Command(id string) string {
	command, _, _ := strings.Cut(id, mark)
	return command
}

// Results are the tests that a command which ended so names in what it printed, all of which failed; none where it passed. Of those that are
// asked for by their IDs the others passed.
func Results(command check.TestResult, printed string, asked []string) (list []check.TestResult) {
	if command.Bad() {
		for _, name := range Tests(printed) {
			list = append(list, check.TestResult{ID: command.ID + mark + name, Outcome: "failed", File: command.File, Message: "failed, as the command says"})
		}
	}
	for _, id := range asked {
		if id != command.ID && Command(id) == command.ID && !slices.ContainsFunc(list, func(r check.TestResult) bool { return r.ID == id }) {
			list = append(list, check.TestResult{ID: id, Outcome: "passed"})
		}
	}
	return list
}

// Compared are the results of both sides that count: of a command that failed on both the tests that it names, and of what it named before
// those alone that it names still, since the others are not lost. Of any other command how it ended tells all.
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
