package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace"
)

func TestNumbersAndSpansReadWell(t *testing.T) {
	t.Parallel()
	for want, in := range map[string][]int{"": nil, "3": {3}, "3 and 5": {3, 5}, "1, 3 and 5": {1, 3, 5}} {
		if got := numbers(in); got != want {
			t.Errorf("%v: %q, want %q", in, got, want)
		}
	}
	for want, in := range map[string][2]int{"line 1": {0, 1}, "lines 1 to 2": {0, 2}, "lines 8 to 20": {7, 20}} {
		if got := span(in[0], in[1]); got != want {
			t.Errorf("%v: %q, want %q", in, got, want)
		}
	}
}

// The nearest place of a block that is almost there holds the lines that its
// author needs to correct it.
func TestTheNearestPlaceIsTheOneThatWasMeant(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, "def part_%d(items):\n    total = %d\n    for item in items:\n        total += item.count_%d\n    return total\n\n\n", i, i, i%7)
	}
	d := document.NewDocument("a.py", []byte(b.String()))
	at := 7 * 23 // the lines of part_23
	lines := func(from, to int) []string {
		var out []string
		for i := from; i < to; i++ {
			out = append(out, d.Line(at+i))
		}
		return out
	}
	for _, c := range []struct {
		name   string
		search []string
	}{
		{"one token differs", append(lines(0, 3), "        total -= item.count_2")},
		{"a line is missing", append(lines(0, 1), lines(2, 5)...)},
		{"a line too many", slices.Insert(lines(0, 5), 2, "    seen = set()")},
		{"one line with another word", []string{"def part_23(things):"}},
		{"other indentation and a word", []string{"def part_23(items):", "  total = 23", "  for item in things:"}},
		{"out of order", []string{d.Line(at + 1), d.Line(at), d.Line(at + 3)}},
		{"only the first line is right", append(lines(0, 1), "    sum = 1", "    done()")},
	} {
		p := notFound(d, &parse.Operation{Block: 1, Search: c.search, Replace: []string{"x"}})
		if !strings.Contains(p.Nearest, fmt.Sprintf("%6d | def part_23(items):", at+1)) {
			t.Errorf("%s: %s\n%s", c.name, p.Reason, p.Nearest)
		}
		if p.Kind != problem.KindNotFound && p.Kind != problem.KindStale || p.Advice == "" || len(p.Lines) == 0 {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

func TestNothingNearIsSaidPlainly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, file, search string }{
		{"another language", "def f():\n    return 1\n", "interface Stock {"},
		{"an empty file", "", "x = 1"},
		{"only braces in common", "{\n}\n", "class Stock {\n}"},
	} {
		d := document.NewDocument("a.py", []byte(c.file))
		p := notFound(d, &parse.Operation{Block: 1, Search: parse.SplitBody(c.search), Replace: []string{"y"}})
		if p.Kind != problem.KindNotFound || len(p.Lines) > 0 && !strings.HasPrefix(p.Advice, "none of these is like it: ") {
			t.Errorf("%s: %+v", c.name, p)
		}
	}
}

// tree is a workspace of empty and small files.
type tree map[string]string

func (w tree) Paths() []string {
	var out []string
	for p := range w {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

func (w tree) Read(path string) ([]byte, error) {
	if s, ok := w[path]; ok {
		return []byte(s), nil
	}
	return nil, fmt.Errorf("open %s: %w", path, fs.ErrNotExist)
}

func (w tree) Executable(path string) bool { return strings.HasSuffix(path, ".sh") }

// planned shows the changes of operations, or the kinds of the problems.
func planned(w tree, target string, ops ...*parse.Operation) string {
	for i, op := range ops {
		op.Block = i + 1
	}
	cs, _, err := newPlanner(w, target).run(ops)
	var out []string
	var refusal *problem.Refusal
	if errors.As(err, &refusal) {
		for _, p := range refusal.Problems {
			out = append(out, fmt.Sprintf("%s %d %s", p.Kind, p.Block, p.Path))
		}
		return strings.Join(out, ", ")
	}
	if err != nil {
		return err.Error()
	}
	for _, c := range cs.Changes {
		s := fmt.Sprintf("%s %s %o", c.Op, c.Path, c.Mode)
		if c.Op == workspace.Rename {
			s += " from " + c.From
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

func TestOperationsOnFilesBecomeOneChangeEach(t *testing.T) {
	t.Parallel()
	w := tree{"a.py": "x = 1\ny = 2\n", "b.py": "x = 1\n", "run.sh": "exit 1\n", "lib/c.py": "z = 3\n", "empty": ""}
	edit := func(path, block string) *parse.Operation { op := pairs(block)[0]; op.Path = path; return op }
	create := func(path string) *parse.Operation {
		return &parse.Operation{Kind: parse.OpCreate, Path: path, Text: "new\n"}
	}
	remove := func(path string) *parse.Operation { return &parse.Operation{Kind: parse.OpDelete, Path: path} }
	move := func(from, to string) *parse.Operation {
		return &parse.Operation{Kind: parse.OpRename, From: from, Path: to}
	}
	whole := func(path, text string) *parse.Operation {
		return &parse.Operation{Kind: parse.OpWhole, Path: path, Text: text}
	}
	on, off := true, false
	mode := func(path string, exec *bool) *parse.Operation {
		return &parse.Operation{Kind: parse.OpMode, Path: path, Exec: exec}
	}
	for _, c := range []struct {
		name, target string
		ops          []*parse.Operation
		want         string
	}{
		{"edit", "", []*parse.Operation{edit("a.py", "x = 1>x = 2")}, "modify a.py 644"},
		{"edit of a script", "", []*parse.Operation{edit("run.sh", "exit 1>exit 0")}, "modify run.sh 755"},
		{"sorted", "", []*parse.Operation{edit("b.py", "x = 1>x = 2"), create("aa"), edit("a.py", "y = 2>y = 3")}, "modify a.py 644, create aa 644, modify b.py 644"},
		{"two edits", "", []*parse.Operation{edit("a.py", "x = 1>x = 2"), edit("a.py", "y = 2>y = 3")}, "modify a.py 644"},
		{"rename and edit", "", []*parse.Operation{move("a.py", "d.py"), edit("a.py", "x = 1>x = 2")}, "rename d.py 644 from a.py"},
		{"mode and edit", "", []*parse.Operation{mode("a.py", &on), edit("a.py", "x = 1>x = 2")}, "modify a.py 755"},
		{"mode back", "", []*parse.Operation{mode("run.sh", &off)}, "modify run.sh 644"},
		{"the mode it has", "", []*parse.Operation{mode("run.sh", &on)}, "noop 0 "},
		{"whole", "", []*parse.Operation{whole("a.py", "z\n")}, "modify a.py 644"},
		{"whole, the same", "", []*parse.Operation{whole("a.py", "x = 1\ny = 2\n")}, "noop 0 "},
		{"fill", "", []*parse.Operation{edit("empty", ">x = 1")}, "modify empty 644"},
		{"create by edit", "", []*parse.Operation{edit("new.py", ">x = 1")}, "create new.py 644"},
		{"unnamed, with a target", "b.py", []*parse.Operation{edit("", "x = 1>x = 2")}, "modify b.py 644"},
		{"unnamed, in one file", "", []*parse.Operation{edit("", "y = 2>y = 3")}, "modify a.py 644"},
		{"unnamed, in two files", "", []*parse.Operation{edit("", "x = 1>x = 3")}, "ambiguous 1 "},
		{"unnamed, two that only fit one", "", []*parse.Operation{edit("", "x = 1>x = 3"), edit("", "y = 2>y = 3")}, "modify a.py 644"},
		{"unnamed, in none", "", []*parse.Operation{edit("", "q = 2>y = 3")}, "not_found 1 "},
		{"unnamed, with a forbidden target", ".git/x", []*parse.Operation{edit("", "x = 1>x = 3")}, "path 1 .git/x"},
		{"with a dot", "", []*parse.Operation{edit("./a.py", "x = 1>x = 2")}, "modify a.py 644"},

		{"no such file", "", []*parse.Operation{edit("z.py", "x = 1>x = 2")}, "not_found 1 z.py"},
		{"delete no such file", "", []*parse.Operation{remove("z.py")}, "not_found 1 z.py"},
		{"rename no such file", "", []*parse.Operation{move("z.py", "y.py")}, "not_found 1 z.py"},
		{"create what is there", "", []*parse.Operation{create("a.py")}, "exists 1 a.py"},
		{"rename onto what is there", "", []*parse.Operation{move("a.py", "b.py")}, "exists 1 b.py"},
		{"rename onto a new file", "", []*parse.Operation{create("d.py"), move("a.py", "d.py")}, "overlap 2 d.py"},
		{"delete and edit", "", []*parse.Operation{remove("a.py"), edit("a.py", "x = 1>x = 2")}, "overlap 2 a.py"},
		{"edit and delete", "", []*parse.Operation{edit("a.py", "x = 1>x = 2"), remove("a.py")}, "overlap 2 a.py"},
		{"rename and delete", "", []*parse.Operation{move("a.py", "d.py"), remove("a.py")}, "overlap 2 a.py"},
		{"rename twice", "", []*parse.Operation{move("a.py", "d.py"), move("a.py", "e.py")}, "overlap 2 a.py"},
		{"mode twice", "", []*parse.Operation{mode("a.py", &on), mode("a.py", &off)}, "overlap 2 a.py"},
		{"create and edit", "", []*parse.Operation{create("d.py"), edit("d.py", "new>old")}, "overlap 2 d.py"},
		{"a folder's name", "", []*parse.Operation{create("lib")}, "path 1 lib"},
		{"below a file", "", []*parse.Operation{create("a.py/b/c")}, "path 1 a.py/b/c"},
		{"below a new file", "", []*parse.Operation{create("n"), create("n/m")}, "path 2 n/m"},
		{"a rename below a file", "", []*parse.Operation{move("a.py", "b.py/c")}, "path 1 b.py/c"},
		{"a forbidden path and a missing one", "", []*parse.Operation{create("../x"), remove("z")}, "path 1 ../x, not_found 2 z"},
		{"a rename from a forbidden path", "", []*parse.Operation{move(".git/x", "y")}, "path 1 .git/x"},
	} {
		if got := planned(w, c.target, c.ops...); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAPrefixOfADiffIsPartOfThePathOnlyWhenTheFileSaysSo(t *testing.T) {
	t.Parallel()
	w := tree{"a/x": "1\n", "y": "1\n", "b/y": "1\n"}
	for _, c := range []struct{ path, prefixed, want string }{
		{"x", "a/x", "modify a/x 644"},
		{"y", "b/y", "modify y 644"},
		{"z", "a/z", "not_found 1 z"},
	} {
		op := pairs("1>2")[0]
		op.Path, op.Prefixed = c.path, c.prefixed
		if got := planned(w, "", op); got != c.want {
			t.Errorf("%s or %s: %s, want %s", c.path, c.prefixed, got, c.want)
		}
	}
}

func TestWholeContentTakesTheFormOfTheFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, text, want string }{
		{"plain", "a\n", "b\nc\n", "b\nc\n"},
		{"crlf", "a\r\nb\r\n", "b\nc\n", "b\r\nc\r\n"},
		{"crlf given", "a\r\nb\r\n", "b\r\nc\n", "b\r\nc\n"},
		{"mark", "\ufeffa\n", "b\n", "\ufeffb\n"},
		{"mark given", "\ufeffa\n", "\ufeffb\n", "\ufeffb\n"},
		{"no final newline", "a", "b", "b"},
		{"empty before", "", "b\n", "b\n"},
	} {
		if got := likeBefore(c.text, []byte(c.before)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
