// Package mutate makes mutants: programs that differ from one in a single place, as a slip of the
// pen would make them. A test that fails on a mutant proves what stands at that place; one that
// passes there does not. It owns the table of what is changed in which language, reads lines
// through package lang, and works on text alone: it neither runs anything nor parses a program, so
// that a mutant may not compile, and whoever runs it has to see that.
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
	// The line as it stands, without its end, and what of it, in bytes from From to To, becomes Now.
	Raw      string
	From, To int
	Now      string
	// What is changed, for people: "`<` for `<=`".
	Said string

	// The line that opens the function around it, and how likely the mutant tells tests apart, 0
	// for the most.
	head, rank int
}

// String names the place and the change: "total.py:12 with `<` for `<=`".
func (m Mutant) String() string { return fmt.Sprintf("%s:%d with %s", m.Path, m.Line, m.Said) }

// Apply puts the mutant into a text in which its line has the number given; ok is false where
// another line stands there.
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

// Of lists the mutants of some lines of a file, in the order of the lines. There are none in a
// language that is not known here.
func Of(path, text string, lines []int) (list []Mutant) {
	l := lang.Detect(path, text)
	if l == nil || tables[l.Family] == nil {
		return nil
	}
	t, read, head := tables[l.Family], l.Lex(text), 0
	raw := strings.Split(text, "\n") // as it stands: a lexer takes other ends of lines for the same
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

// Draw picks at most n mutants, the same for the same list: of each function in turn, there of
// each line, and those first that tell tests apart.
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

// key orders mutants of equal rank by what they are, and not by where they stand: a file that grows
// at its top has the same ones.
func (m Mutant) key() uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, m.Path, "\x00", m.Raw, "\x00", m.From, "\x00", m.Now)
	return h.Sum64()
}
