package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/parse"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace"
)

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

// planned renders the changes of operations, or the kinds of the problems.
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
