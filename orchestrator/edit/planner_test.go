package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/edit/problem"
)

// changed applies a response and renders the content of every changed file, or the reasons of the refusal.
func changed(w Files, response, target string) string {
	cs, _, err := Apply(w, []byte(response), target)
	var refusal *problem.Refusal
	if errors.As(err, &refusal) {
		var out []string
		for _, p := range refusal.Problems {
			out = append(out, fmt.Sprintf("%s %d %s", p.Kind, p.Block, p.Reason))
		}
		return strings.Join(out, "\n")
	}
	if err != nil {
		return "error: " + err.Error()
	}
	var out []string
	for _, c := range cs.Changes {
		out = append(out, fmt.Sprintf("%s %s %q", c.Op, c.Path, c.After))
	}
	return strings.Join(out, "\n")
}

// Additions at either end of a file keep its first and last lines, including blank ones.
func TestBlankLinesAtTheEndsOfAFileAreKept(t *testing.T) {
	t.Parallel()
	ends := func(kind, text string) string {
		return fmt.Sprintf(`{"path":"a.txt","type":%q,"content":%q}`, kind, text)
	}
	for _, c := range []struct{ name, before, response, want string }{
		{"after the last line", "a\n", ends("append", "b\n"), `modify a.txt "a\nb\n"`},
		{"after blank lines", "a\n\n", ends("append", "b\n"), `modify a.txt "a\n\nb\n"`},
		{"before the first line", "a\n", ends("prepend", "b\n"), `modify a.txt "b\na\n"`},
		{"before blank lines", "\na\n", ends("prepend", "b\n"), `modify a.txt "b\n\na\n"`},
		{"the line at the end is there twice", "a\nx\na\n", ends("append", "b\n"), `modify a.txt "a\nx\na\nb\n"`},
		{"the line at the start is there twice", "a\nx\na\n", ends("prepend", "b\n"), `modify a.txt "b\na\nx\na\n"`},
		{"nothing but blank lines", "\n\n", ends("append", "b\n"), `modify a.txt "\n\nb\n"`},
		{"nothing but blank lines, before them", "\n", ends("prepend", "b\n"), `modify a.txt "b\n\n"`},
		{"an empty file", "", ends("append", "b\n"), `modify a.txt "b\n"`},
		{"both ends", "a\n", "[" + ends("append", "c") + "," + ends("prepend", "b") + "]", `modify a.txt "b\na\nc\n"`},
	} {
		if got := changed(tree{"a.txt": c.before}, c.response, ""); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if got, want := changed(tree{}, ends("append", "b"), ""), "not_found 1 there is no such file"; got != want {
		t.Errorf("no file: %s, want %s", got, want)
	}
}

// If whole content has a bare name that a file in a folder also has, it is more likely meant for that file than for a new one.
func TestWholeContentOfANameWithoutItsFolder(t *testing.T) {
	t.Parallel()
	w := tree{"shop/stock.py": "x = 1\n", "top.py": "y = 1\n"}
	whole := func(path string) string { return "<FILE path=\"" + path + "\">\nx = 2\n</FILE>\n" }
	for path, want := range map[string]string{
		"shop/stock.py":  `modify shop/stock.py "x = 2\n"`,
		"top.py":         `modify top.py "x = 2\n"`,
		"new.py":         `create new.py "x = 2\n"`,
		"other/stock.py": `create other/stock.py "x = 2\n"`,
		"stock.py":       "not_found 1 there is no such file",
		"STOCK.py":       "not_found 1 there is no such file",
	} {
		if got := changed(w, whole(path), ""); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := refused(t, w, whole("stock.py")); !strings.Contains(got, "did you mean shop/stock.py? To create this one, send CREATE_FILE") {
		t.Errorf("the advice does not name both ways:\n%s", got)
	}
}

// An obstacle is not cleared by the removal of a file in the same response, because the outcome would depend on the order of the writes.
func TestWhatStandsInTheWayIsNotClearedByTheResponse(t *testing.T) {
	t.Parallel()
	w := tree{"a.py": "x = 1\n", "lib/c.py": "z = 3\n"}
	create := func(path string) string { return "<CREATE_FILE path=\"" + path + "\">\nn\n</CREATE_FILE>\n" }
	const removeA, removeC = "<DELETE_FILE path=\"a.py\"/>\n", "<DELETE_FILE path=\"lib/c.py\"/>\n"
	for _, c := range []struct{ name, response, want string }{
		{"a folder emptied", removeC + create("lib"), "path 2 this path is a folder"},
		{"a file made a folder", removeA + create("a.py/b"), "path 2 a.py is a file, not a folder"},
		{"a file removed and made again", removeA + create("a.py"), "overlap 2 block 1 already creates, replaces or removes this file"},
		{"a rename onto a removed file", removeA + "<RENAME_FILE from=\"lib/c.py\" to=\"a.py\"/>", "exists 2 the file already exists"},
		{"a file made twice", create("n") + create("n"), "overlap 2 block 1 already creates, replaces or removes this file"},
		{"a name that begins like a folder's", create("li") + create("lib.py"), "create li \"n\\n\"\ncreate lib.py \"n\\n\""},
	} {
		if got := changed(w, c.response, ""); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A diff that removes a file removes exactly what its author saw, or nothing.
func TestARemovedFileIsTheOneTheDiffShows(t *testing.T) {
	t.Parallel()
	const diff = "--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n"
	for _, c := range []struct{ name, before, want string }{
		{"as shown", "a\nb\n", `delete x ""`},
		{"without the last newline", "a\nb", `delete x ""`},
		{"with other line ends", "a\r\nb\r\n", `delete x ""`},
		{"a line more", "a\nb\nc\n", "stale 1 the file is not what the diff removes"},
		{"another line", "a\nc\n", "stale 1 the file is not what the diff removes"},
	} {
		if got := changed(tree{"x": c.before}, diff, ""); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// troubled is a workspace that is partly unreadable: reading broken gives an error, and gone is listed but absent, as if removed since.
type troubled struct{ tree }

func (w troubled) Paths() []string {
	out := append(w.tree.Paths(), "broken", "gone")
	slices.Sort(out)
	return out
}

func (w troubled) Read(path string) ([]byte, error) {
	if path == "broken" {
		return nil, fmt.Errorf("open %s: %w", path, fs.ErrPermission)
	}
	return w.tree.Read(path)
}

// An unreadable file is not the response's fault, and never counts as a file without the searched lines.
func TestAFileThatCannotBeReadEndsTheWork(t *testing.T) {
	t.Parallel()
	w := troubled{tree{"a.py": "x = 1\n", "z.py": "y = 2\n"}}
	const fault = "error: read broken: open broken: permission denied"
	for _, c := range []struct{ name, response, want string }{
		{"named", tagged("broken", "x = 1", "x = 2"), fault},
		{"named beside another", tagged("a.py", "x = 1", "x = 2") + tagged("broken", "x = 1", "x = 2"), fault},
		{"on the way to a guess", tagged("", "x = 1", "x = 2"), fault},
		{"not asked for", tagged("a.py", "x = 1", "x = 2"), `modify a.py "x = 2\n"`},
		{"to be renamed", "<RENAME_FILE from=\"broken\" to=\"b\"/>", fault},
		{"gone since", tagged("gone", "x = 1", "x = 2"), "not_found 1 there is no such file"},
	} {
		if got := changed(w, c.response, ""); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// catalogue is a workspace that lists names which may not be written or no longer exist; an unnamed block is not meant for them.
type catalogue struct {
	tree
	more []string
}

func (w catalogue) Paths() []string {
	out := append(w.tree.Paths(), w.more...)
	slices.Sort(out)
	return out
}

func TestAnUnnamedBlockIsForAFileThatMayBeWritten(t *testing.T) {
	t.Parallel()
	w := catalogue{tree{"a.py": "x = 1\n", ".git/config": "x = 1\ny = 2\n"}, []string{"a-gone.py"}}
	if got, want := changed(w, tagged("", "x = 1", "x = 2"), ""), `modify a.py "x = 2\n"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := "not_found 1 the block names no file, and no file holds all the blocks that name none"
	if got := changed(w, tagged("", "y = 2", "y = 3"), ""); got != want {
		t.Errorf("lines of a forbidden file: %s, want %s", got, want)
	}
}

// If exactly one file almost matches, it is taken as the intended one, so the refusal says what is wrong there. If several do, none is
// taken.
func TestAGuessThatDoesNotFitIsTold(t *testing.T) {
	t.Parallel()
	w := tree{"a.py": "def only_here():\n    return 1\n", "b.py": "shared = 1\nb = 1\n", "c.py": "shared = 1\nc = 1\n"}
	none := "the block names no file, and no file holds all the blocks that name none"
	for _, c := range []struct{ name, response, want string }{
		{"one that is almost it", tagged("", "def only_here():\n    return 2", "x"), "stale 1 SEARCH text not found in the file; nearest lines 1 to 2"},
		{"two that are almost it", tagged("", "shared = 1\nd = 1", "x"), "not_found 1 " + none},
		{"two that are it", tagged("", "shared = 1", "x"), "ambiguous 1 the block names no file, and 2 files would do: b.py, c.py"},
		{"two blocks that only one file has", tagged("", "shared = 1", "x = 1") + tagged("", "c = 1", "y = 1"), `modify c.py "x = 1\ny = 1\n"`},
		{"two blocks of two files", tagged("", "b = 1", "x = 1") + tagged("", "c = 1", "y = 1"), "not_found 1 " + none + "\nnot_found 2 " + none},
	} {
		if got := changed(w, c.response, ""); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
