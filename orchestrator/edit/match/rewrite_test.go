package match

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
)

// rewritten renders the splices of a block, one line each.
func rewritten(t *testing.T, path, file, search, replace string) string {
	t.Helper()
	d := document.New(path, []byte(strings.Join(bars(file), "\n")+"\n"))
	f := locate(d, bars(search), bars(replace))
	if len(f.Places) != 1 {
		t.Fatalf("%q in %q: %s", search, file, located(f))
	}
	s, err := Rewrite(d, f.Places[0])
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, x := range s {
		out = append(out, fmt.Sprintf("%d-%d %s", x.Lo, x.Hi, strings.ReplaceAll(x.Text, "\n", "|")))
	}
	return strings.Join(out, ", ")
}

func TestOnlyChangedLinesAreSpliced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, search, replace, want string }{
		{"all", "a|b|c", "b", "B", "1-2 B|"},
		{"the middle of the context", "a|b|c", "a|b|c", "a|B|c", "1-2 B|"},
		{"the first line", "a|b|c", "a|b", "A|b", "0-1 A|"},
		{"the last line", "a|b|c", "b|c", "b|C", "2-3 C|"},
		{"two lines apart", "a|b|c", "a|b|c", "A|b|C", "0-1 A|, 2-3 C|"},
		{"inserted", "a|b", "a|b", "a|x|b", "1-1 x|"},
		{"inserted before", "a|b", "a", "x|a", "0-0 x|"},
		{"inserted after", "a|b", "b", "b|x", "2-2 x|"},
		{"removed", "a|b|c", "a|b|c", "a|c", "1-2 "},
		{"nothing", "a|b", "a|b", "a|b", ""},
		{"a blank line in place of two", "a|b|c", "a|b|c", "a||c", "1-2 |"},
		{"trailing space of the context stays", "a  |b|c", "a|b", "a|B", "1-2 B|"},
		{"a blank line that the block left out", "a = 1||b = 2|c", "a = 1|b = 2|c", "a = 1|b = 2|C", "3-4 C|"},
		{"a blank line the file lacks", "a = 1|b = 2|c", "a = 1||b = 2|c", "a = 1||b = 2|C", "2-3 C|"},
		{"a blank line the file lacks, beside the change", "a = 1|b = 2", "a = 1||b = 2", "a = 1||B = 2", "1-2 |B = 2|"},
		{"insertion where the block left a blank line out", "a = 1||b = 2", "a = 1|b = 2", "a = 1|x|b = 2", "1-2 x|"},
		{"shifted", "    a|    b", "a|b", "a|x|b", "1-1     x|"},
		{"joined lines that stay", "call(one,|two, three, four)|end", "call(one, two, three, four)|end", "call(one, two, three, four)|END", "2-3 END|"},
		{"joined lines that change", "call(one,|two, three, four)|end", "call(one, two, three, four)|end", "call(five)|end", "0-2 call(five)|"},
	} {
		if got := rewritten(t, "a.py", c.file, c.search, c.replace); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestACommentThatTheBlockLeavesOutIsNeverLost(t *testing.T) {
	t.Parallel()
	const file = "a = 1|# why|b = 2|c = 3|# how|d = 4"
	for _, c := range []struct{ name, search, replace, want string }{
		{"change before it", "a = 1|b = 2", "a = 9|b = 2", errComment.Error()},
		{"change after it", "a = 1|b = 2", "a = 1|b = 9", errComment.Error()},
		{"change on both sides", "a = 1|b = 2", "x = 9", errComment.Error()},
		{"insertion beside it", "a = 1|b = 2", "a = 1|x = 9|b = 2", errComment.Error()},
		{"change one line away", "a = 1|b = 2|c = 3", "a = 1|b = 2|c = 9", "3-4 c = 9|"},
		{"change between two of them", "a = 1|b = 2|c = 3|d = 4", "a = 1|b = 2|x = 9|c = 3|d = 4", "3-3 x = 9|"},
		{"named and removed", "a = 1|# why|b = 2", "a = 1|b = 2", "1-2 "},
		{"named and changed", "a = 1|# why|b = 2", "a = 1|# because|b = 2", "1-2 # because|"},
	} {
		if got := rewritten(t, "a.py", file, c.search, c.replace); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestIndentationThatCannotBeToldIsRefused(t *testing.T) {
	t.Parallel()
	d := document.New("a.go", []byte("a = 1\n    b = 2\n  c = 3\n"))
	p := Place{Lo: 0, Hi: 3, Search: bars("a = 1|b = 2|c = 3"), Replace: bars("a = 1|x = 0|y = 0|b = 2|c = 3")}
	if _, err := Rewrite(d, p); !errors.Is(err, errIndent) {
		t.Errorf("new lines between lines of any depth gave %v", err)
	}
	p.Replace = bars("a = 1|b = 9|c = 3")
	s, err := Rewrite(d, p)
	if err != nil || len(s) != 1 || s[0].Text != "    b = 9\n" {
		t.Errorf("a line in place of one gave %+v, %v", s, err)
	}
	d = document.New("a.py", []byte("a = 1\n    b = 2\n  c = 3\n"))
	if _, err := Rewrite(d, p); !errors.Is(err, errIndent) {
		t.Errorf("a line in place of one at another depth, where depth has a meaning, gave %v", err)
	}
}
