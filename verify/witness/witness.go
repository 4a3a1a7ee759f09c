// Package witness draws tests of the gate's own that run among a workspace's tests: some are known to fail, the others
// to pass. If a record of results has other endings for them, its results are not those of the tests. Each run has
// different witnesses, with names, places and forms of assertion like those of the surrounding tests. The package owns
// how they are drawn and written, and removes them from what a runner reports. It runs nothing; the package of each
// language decides which files they are written to.
package witness

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/verify/check"
)

// outsideStrings returns the text of the file at p without the lines that begin within a string: programs that tests
// hold as text import and declare nothing.
func outsideStrings(p, text string) string {
	l := lang.Of(p)
	if l == nil {
		return text
	}
	var b strings.Builder
	for _, line := range l.Lex(text) {
		if !line.Inside {
			b.WriteString(line.Raw)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// MaxFile is the size in bytes up to which a file gets witnesses.
const MaxFile = 256 << 10

// A Test is one witness. Place is the file or package that its result is reported for.
type Test struct {
	Place, Name string
	Fails       bool
}

// A Set is the witnesses of one run of a runner. A nil Set has none.
type Set struct {
	tests   []Test
	changes workspace.Changeset
	// todo says that their results are those of tests that are still to be done; see scriptRunner.
	todo bool
	// titles has the witnesses of scripts by title, which the runners report unchanged.
	titles map[string]int
	// names maps the words of a name to its index in tests, and longest is the number of words in the longest name.
	// names is nil until it is needed, and again after more are added.
	names   map[string]int
	longest int
}

// Append adds witnesses at the end of a file of v, which is unchanged above them.
func (s *Set) Append(v check.View, p, text string, tests []Test) {
	before := []byte(v.Text(p))
	after := string(before)
	if !strings.HasSuffix(after, "\n") {
		after += "\n"
	}
	after += text
	s.changes.Changes = append(s.changes.Changes, workspace.Change{Op: workspace.Modify, Path: p, Before: before, After: []byte(after), Mode: mode(v, p)})
	s.tests, s.names = append(s.tests, tests...), nil
}

// Create adds witnesses in a new file.
func (s *Set) Create(p, text string, tests []Test) {
	s.changes.Changes = append(s.changes.Changes, workspace.Change{Op: workspace.Create, Path: p, After: []byte(text), Mode: 0o644})
	s.tests, s.names = append(s.tests, tests...), nil
}

// mode returns the mode of a file of v.
func mode(v check.View, p string) fs.FileMode {
	if c, ok := v.Changed[p]; ok && c.Mode != 0 {
		return c.Mode
	}
	if e, ok := v.Base.Lookup(p); ok {
		return e.Mode
	}
	return 0o644
}

// Empty reports whether there are no witnesses.
func (s *Set) Empty() bool { return s == nil || len(s.tests) == 0 }

// Changes returns the changeset that writes the witnesses.
func (s *Set) Changes() workspace.Changeset {
	if s == nil {
		return workspace.Changeset{}
	}
	return workspace.Changeset{Changes: s.changes.Sorted()}
}

// During runs do while the witnesses are in a box, which belongs to the tests.
func (s *Set) During(ctx context.Context, box check.Runner, do func()) error {
	if s.Empty() {
		do()
		return nil
	}
	if err := box.Apply(ctx, s.Changes()); err != nil {
		return fmt.Errorf("write the witnesses: %w", err)
	}
	do()
	// The next run in this box selects its tests by name or by file.
	if err := box.Apply(ctx, s.Changes().Reverse()); err != nil && ctx.Err() == nil {
		return fmt.Errorf("remove the witnesses: %w", err)
	}
	return nil
}

// Take separates the results of the witnesses from the others, whose order stays the same, and sums them up by place.
// It recognizes a witness by its name wherever it is reported, since a file may provide its tests to another one, and
// fixtures may run a test several times.
func (s *Set) Take(results []check.TestResult) (others []check.TestResult, seen []check.Witness) {
	if s.Empty() {
		return results, nil
	}
	ends := map[string][]check.TestResult{}
	for _, r := range results {
		_, test, within := strings.Cut(r.ID, "::")
		if !within && path.Ext(r.ID) == "" { // not a file
			test = r.ID
		}
		i := -1
		if s.titles != nil {
			i = s.titled(test)
		} else {
			i = s.named(test)
		}
		if i >= 0 {
			ends[s.tests[i].Name] = append(ends[s.tests[i].Name], r)
		} else {
			others = append(others, r)
		}
	}
	for _, t := range s.tests {
		i := slices.IndexFunc(seen, func(w check.Witness) bool { return w.Place == t.Place })
		if i < 0 {
			i, seen = len(seen), append(seen, check.Witness{Place: t.Place})
		}
		seen[i] = count(seen[i], t, s.decided(ends[t.Name]))
	}
	return others, seen
}

// decided returns the results of witnesses with outcomes that count, whatever the runner makes of them.
func (s *Set) decided(ends []check.TestResult) []check.TestResult {
	for i, r := range ends {
		switch {
		case s.todo && r.Outcome == "xfailed":
			ends[i].Outcome = "failed"
		case s.todo && r.Outcome == "skipped":
			ends[i].Outcome = "passed"
		}
	}
	return ends
}

// count adds the result of one witness to the sum of its place.
func count(w check.Witness, t Test, ends []check.TestResult) check.Witness {
	passed := slices.ContainsFunc(ends, func(r check.TestResult) bool { return r.Outcome == "passed" })
	failed := slices.ContainsFunc(ends, check.TestResult.Bad)
	if t.Fails {
		w.Failing++
	} else {
		w.Passing++
	}
	switch {
	case !passed && !failed:
		w.Missing++
	case t.Fails && passed:
		w.Passed++
	case !t.Fails && failed:
		w.Failed++
	}
	return w
}

// Lost returns the witnesses of a run that ends only without them, all as missing.
func (s *Set) Lost() []check.Witness {
	_, seen := s.Take(nil)
	return seen
}

// Names reports whether a text names a witness.
func (s *Set) Names(text string) bool { return !s.Empty() && s.named(text) >= 0 }

// Titles reports whether a title, with those of the suites around it, is that of a witness.
func (s *Set) Titles(title string) bool { return !s.Empty() && s.titled(title) >= 0 }

// titled returns the index in tests of the witness with a title, or -1.
func (s *Set) titled(title string) int {
	parts := strings.Split(title, " > ")
	last, _, _ := strings.Cut(parts[len(parts)-1], " #")
	if i, ok := s.titles[last]; ok {
		return i
	}
	return -1
}

// Hide removes from the output of a runner the lines that name a witness, and what belongs to them: all following lines
// that are blank, further indented or a closing brace.
func (s *Set) Hide(text string) string {
	if s.Empty() {
		return text
	}
	var kept []string
	under := -1
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		depth := len(line) - len(strings.TrimLeft(line, " \t"))
		if under >= 0 && (bare == "" || depth > under || bare == "}") {
			continue
		}
		if under = -1; s.named(line) < 0 {
			kept = append(kept, line)
			continue
		}
		under = depth
		// Node writes the place of a test on the line before it.
		if n := len(kept); n > 0 && strings.HasPrefix(kept[n-1], "test at ") {
			kept = kept[:n-1]
		}
	}
	return strings.Join(kept, "")
}

// named returns the index in tests of the witness that a text names, or -1. It looks for the words of a name, whatever
// separates them: a suite may display its tests' names as sentences.
func (s *Set) named(text string) int {
	if s.names == nil {
		s.names, s.longest = map[string]int{}, 0
		for i, t := range s.tests {
			list := split(t.Name)
			s.names[strings.Join(list, " ")], s.longest = i, max(s.longest, len(list))
		}
	}
	at := word.FindAllStringIndex(text, -1)
	for from := range at {
		if !begins(text, at, from) {
			continue
		}
		said := ""
		for to := from; to < len(at) && to < from+s.longest; to++ {
			// Other characters, between a test's name and those of tests in it or its parameters, end the name.
			if to > from && strings.ContainsFunc(text[at[to-1][1]:at[to][0]], func(r rune) bool { return !strings.ContainsRune("_- ", r) }) {
				break
			}
			said = strings.TrimPrefix(said+" "+strings.ToLower(text[at[to][0]:at[to][1]]), " ")
			if i, ok := s.names[said]; ok && ends(text[at[to][1]:]) {
				return i
			}
		}
	}
	return -1
}

// wordy reports whether a character can only belong to a word.
func wordy(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// ends reports whether a name ends where rest follows.
func ends(rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || next != '_' && !wordy(next)
}

// begins reports whether a name may begin with word i of a text: no word precedes it in the same name except "test",
// which a suite that makes its tests may also put there.
func begins(text string, at [][]int, i int) bool {
	for ; ; i-- {
		if last, _ := utf8.DecodeLastRuneInString(text[:at[i][0]]); at[i][0] == 0 || last != '_' && !wordy(last) {
			return true
		}
		if i == 0 || !strings.EqualFold(text[at[i-1][0]:at[i-1][1]], "test") || strings.ContainsFunc(text[at[i-1][1]:at[i][0]], wordy) {
			return false
		}
	}
}

// split returns the words of a name in any style.
func split(name string) (list []string) {
	for _, w := range word.FindAllString(name, -1) {
		if w = strings.ToLower(w); w != "test" || len(list) > 0 {
			list = append(list, w)
		}
	}
	return list
}
