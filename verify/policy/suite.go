package policy

import (
	"slices"
	"strings"
)

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

// restated reports whether all that an assertion speaks of occurs in words.
func restated(code string, words map[string]bool) bool {
	return !slices.ContainsFunc(wordsOf(code), func(w string) bool { return !words[w] })
}

// holds reports whether every line of old is there still: then nothing that was tested before is tested less.
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
