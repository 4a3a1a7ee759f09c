package explain

import (
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/parse"
)

func TestPlacesAreNamedByWhatTellsThemApart(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]spot{
		"lines 8 to 9, told apart by line 7:":               {lo: 7, hi: 9, from: 6, to: 9, alone: true},
		"line 8, told apart by lines 9 to 10:":              {lo: 7, hi: 8, from: 7, to: 10, alone: true},
		"line 8, told apart by its space:":                  {lo: 7, hi: 8, from: 7, to: 8, alone: true},
		"line 8, not told apart by the lines around:":       {lo: 7, hi: 8, from: 7, to: 8},
		"lines 1 to 2, not told apart by the lines around:": {lo: 0, hi: 2, from: 0, to: 2},
	} {
		if got := q.header(); got != want {
			t.Errorf("%+v: %q, want %q", q, got, want)
		}
	}
}

// The lines around a parse error stop at the edges of the file.
func TestTheLinesAroundOne(t *testing.T) {
	t.Parallel()
	d := document.New("", []byte("a\nb\nc\nd\ne\n"))
	for line, want := range map[int]string{
		1: "     1 | a\n     2 : b\n",
		2: "     1 : a\n     2 | b\n     3 : c\n",
		4: "     2 : b\n     3 : c\n     4 | d\n     5 : e\n",
		5: "     3 : c\n     4 : d\n     5 | e\n",
	} {
		if got := Around(d, line); got != want {
			t.Errorf("line %d:\n%swant\n%s", line, got, want)
		}
	}
}

// A message about a hunk refers to its lines, because its author sees no SEARCH.
func TestTheSubjectOfASentence(t *testing.T) {
	t.Parallel()
	d := document.New("a.py", []byte("first = 1\ntotal = one + two\nlast = 9\n"))
	for _, c := range []struct {
		name string
		op   parse.Operation
		want []string // matched, absent, its pronoun, one more word in the file
	}{
		{"a block", parse.Operation{}, []string{"SEARCH matches", "SEARCH text not found in the file", "it", "missing in your SEARCH: ` + two`"}},
		{"a hunk", parse.Operation{Hunk: &parse.Hunk{}}, []string{"the hunk's old lines match", "the hunk's old lines were not found in the file", "they", "missing in your old lines: ` + two`"}},
	} {
		sentence, pronoun := notInFile(&c.op)
		got := []string{matches(&c.op), sentence, pronoun}
		if !slices.Equal(got, c.want[:3]) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		a := newAlignment(d, near{lo: 1, hi: 2}, []string{"total = one"})
		if told := a.differences(d, &c.op); !strings.Contains(told, c.want[3]) {
			t.Errorf("%s: %q is not in %s", c.name, c.want[3], told)
		}
	}
}
