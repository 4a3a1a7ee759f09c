// Package mutate makes mutants: programs that differ from the original in a single place, as if by a slip of the pen.
// A test that fails on a mutant proves the code in that place; a test that passes does not. The package owns the
// table of what is changed in each language. It reads lines through package lang and works on text alone: it neither
// runs nor parses a program, so a mutant may not compile, and the caller must notice that.
package mutate

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
)

// A Mutant is one change within one line of a file.
type Mutant struct {
	Path string
	// Counted from 1.
	Line int
	// The line as written, without its end. Its bytes from From to To become Now.
	Raw      string
	From, To int
	Now      string
	// The change, for a person: "`<` for `<=`".
	Said string

	// The line that opens the enclosing function, and how well the mutant is likely to tell tests apart, 0 being best.
	head, rank int
}

// String names the place and the change: "total.py:12 with `<` for `<=`".
func (m Mutant) String() string { return fmt.Sprintf("%s:%d with %s", m.Path, m.Line, m.Said) }

// Apply puts the mutant into a text in which its line has the given number. ok is false if there is a different line.
func (m Mutant) Apply(text string, line int) (mutated string, ok bool) {
	at := 0
	for n := 1; n < line; n++ {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return "", false
		}
		at += i + 1
	}
	raw, _, _ := strings.Cut(text[at:], "\n")
	if strings.TrimSuffix(raw, "\r") != m.Raw || m.To > len(m.Raw) {
		return "", false
	}
	return text[:at+m.From] + m.Now + text[at+m.To:], true
}

// mostLine bounds the lines that are changed, in bytes: longer ones are data, or written by programs.
const mostLine = 400

// Of lists the mutants of some lines of a file, given and returned in ascending order. It lists none for a language without a table.
func Of(path, text string, lines []int) (list []Mutant) {
	l := lang.Detect(path, text)
	if l == nil || tables[l.Family] == nil {
		return nil
	}
	t, read, head := tables[l.Family], l.Lex(text), 0
	raw := strings.Split(text, "\n") // as written: a lexer accepts other line ends as well
	for i, line := range read {
		if t.head.MatchString(line.Code) {
			head = i + 1
		}
		if _, asked := slices.BinarySearch(lines, i+1); !asked || i >= len(raw) || strings.TrimSuffix(raw[i], "\r") != line.Raw || len(line.Raw) > mostLine {
			continue
		}
		continues := i > 0 && read[i-1].Inside || i+1 < len(read) && read[i+1].Inside
		tokens, ok := tokensOf(line)
		if line.Inside || continues || t.skip.MatchString(line.Code) {
			continue
		}
		var found []Mutant
		if ok {
			found = t.mutants(line.Raw, line.Code, tokens)
		} else {
			found = template(line)
		}
		for _, m := range found {
			m.Path, m.Line, m.Raw, m.head = path, i+1, line.Raw, head
			list = append(list, m)
		}
	}
	return list
}

// Draw picks at most n mutants, always the same for the same list. It takes turns between functions, and between the
// lines of each one, and prefers mutants that tell tests apart.
func Draw(list []Mutant, n int) []Mutant {
	type place struct {
		path string
		at   int
	}
	functions, lines := map[place]int{}, map[place]int{}
	order := slices.Clone(list)
	slices.SortStableFunc(order, func(a, b Mutant) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.key(), b.key()), cmp.Compare(a.Line, b.Line))
	})
	type drawn struct {
		Mutant
		line, function int
	}
	turns := make([]drawn, len(order))
	for i, m := range order {
		at := place{m.Path, m.Line}
		turns[i] = drawn{Mutant: m, line: lines[at]}
		lines[at]++
	}
	slices.SortStableFunc(turns, func(a, b drawn) int { return cmp.Compare(a.line, b.line) })
	for i, m := range turns {
		in := place{m.Path, m.head}
		turns[i].function = functions[in]
		functions[in]++
	}
	slices.SortStableFunc(turns, func(a, b drawn) int { return cmp.Compare(a.function, b.function) })
	var picked []Mutant
	for _, d := range turns[:min(n, len(turns))] {
		picked = append(picked, d.Mutant)
	}
	return picked
}

// key orders mutants of equal rank by what they are and not by where they are, so that a file that grows at its top keeps the same ones.
func (m Mutant) key() uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, m.Path, "\x00", m.Raw, "\x00", m.From, "\x00", m.Now)
	return h.Sum64()
}
