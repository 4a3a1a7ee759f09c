package policy

import (
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/policy/testform"
)

// A suite is the tests and helpers on one side of a changeset.
type suite struct {
	files  []sourceFile
	blocks []*block
	// The code of each line, to know which lines are new.
	texts []string
}

// read adds the functions and the lines of a file.
func (s *suite) read(f sourceFile) {
	s.files = append(s.files, f)
	s.blocks = append(s.blocks, blocksOf(f)...)
	for _, line := range f.lines {
		s.texts = append(s.texts, strings.TrimSpace(line.Code))
	}
}

// byName groups the blocks by their full names.
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

// helpers returns the functions of a suite that are not tests, each with whether it asserts something.
func (s *suite) helpers() map[string]bool {
	list := map[string]bool{}
	for _, b := range s.blocks {
		if !b.test {
			list[b.short] = list[b.short] || len(b.assertions) > 0
		}
	}
	return list
}

// restated reports whether everything that an assertion refers to occurs in words.
func restated(code string, words map[string]bool) bool {
	return !slices.ContainsFunc(wordsOf(code), func(w string) bool { return !words[w] })
}

// holds reports whether every line of old is still there. If so, nothing that was tested before is tested less.
func (s *suite) holds(old suite) bool {
	count := map[string]int{}
	for _, text := range s.texts {
		count[text]++
	}
	for _, text := range old.texts {
		if count[text]--; count[text] < 0 {
			return false
		}
	}
	return true
}

// Rewritten names the tests that a test file contained before c and that c touches, by their own names or titles. all
// reports whether c touches something that any test of the file may use: a helper, or code outside functions. New
// tests next to the old ones touch nothing. ok is false for a file that is not read.
func Rewritten(c workspace.Change) (names []string, all, ok bool) {
	before, after := sides(workspace.Changeset{Changes: []workspace.Change{c}})
	if len(before) == 0 || len(after) == 0 || !testform.Known(c.Path) {
		return nil, false, false
	}
	was, now := textsOf(before[0]), textsOf(after[0])
	for name, b := range was.tests {
		if other, there := now.tests[name]; !there || other.text != b.text {
			names = append(names, b.short)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), around(was.shared, was.shared) != around(now.shared, was.shared), true
}

// around returns the lines around tests, without those that come with new tests: imports, and new lines that only group them.
func around(lines, old []string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return imports.MatchString(line) || groups.MatchString(line) && !slices.Contains(old, line)
	}), "\n")
}

// imports matches a line that only imports names.
var imports = lazyregexp.New(`^\s*(?:import\b|from\s.*\bimport\b|(?:const|let|var)\s.*\brequire\(|"[^"]*"$)`)

// groups matches a line that opens a group of tests.
var groups = lazyregexp.New(`^(?:class\s+Test|describe\b|suite\b|context\b)`)

// texts holds the text of a test file: of each test by its full name, and of everything around the tests.
type texts struct {
	tests  map[string]testText
	shared []string
}

// A testText is the own name of a test, and its lines with the decorators above it.
type testText struct{ short, text string }

// textsOf reads a file. Tests with the same name count as one.
func textsOf(f sourceFile) texts {
	list, inTest := texts{tests: map[string]testText{}}, map[int]bool{}
	for _, b := range blocksOf(f) {
		if !b.test {
			continue
		}
		var text strings.Builder
		for _, i := range append(b.above(), b.own...) {
			inTest[i] = true
			text.WriteString(strings.TrimRight(f.bare(i), " \t\r") + "\n")
		}
		list.tests[b.name] = testText{b.short, list.tests[b.name].text + text.String()}
	}
	for i := range f.lines {
		// A line that only closes something says nothing by itself.
		if line := strings.TrimSpace(f.bare(i)); !inTest[i] && strings.Trim(line, "(){}[];,") != "" {
			list.shared = append(list.shared, line)
		}
	}
	return list
}

// bare returns a line without its comments.
func (f sourceFile) bare(i int) string {
	text := f.lines[i].Raw
	for _, note := range f.lines[i].Notes {
		if at := strings.LastIndex(text, note); at >= 0 {
			text = text[:at] + text[at+len(note):]
		}
	}
	return text
}
