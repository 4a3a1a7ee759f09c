package edit_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aymanbagabas/go-udiff"
	"pgregory.net/rapid"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace"
)

// drawText draws a text of distinct lines in UTF-8, long enough to show its line ends.
func drawText(t *rapid.T, ends ...string) sample {
	s := drawSample(t, 4, ends...)
	for i, l := range s.lines {
		l = strings.ReplaceAll(strings.ToValidUTF8(l, ""), "\r", "")
		s.lines[i] = strings.ReplaceAll(l, "\x0c", "")
	}
	return s
}

// change returns the text with some lines replaced, removed or inserted, each with a line end of the text. At least one line stays.
func change(t *rapid.T, s sample) sample {
	out := sample{mark: s.mark, lines: slices.Clone(s.lines), ends: slices.Clone(s.ends)}
	for range rapid.IntRange(1, 3).Draw(t, "changes") {
		i := rapid.IntRange(0, len(out.lines)-1).Draw(t, "at")
		j := min(i+rapid.IntRange(0, 3).Draw(t, "gone"), len(out.lines)-1)
		fresh := drawNew(t, fmt.Sprint("r", len(out.lines)))
		out.lines = slices.Replace(out.lines, i, j, fresh...)
		out.ends = slices.Replace(out.ends, i, j, slices.Repeat([]string{s.ends[0]}, len(fresh))...)
	}
	return out
}

// drawChange draws a change of the file called name.
func drawChange(t *rapid.T, name string) workspace.Change {
	ends := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "ends")
	s := drawText(t, ends)
	c := workspace.Change{Op: workspace.Modify, Path: name, Before: []byte(s.text()), After: []byte(change(t, s).text()), OldMode: 0o644, Mode: 0o644}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		c.Op, c.Before, c.OldMode = workspace.Create, nil, 0
		c.After = []byte(drawText(t, "\n", "\r\n").text())
	case 1:
		c.Op, c.After, c.Mode = workspace.Delete, nil, 0
	case 2:
		c.Op, c.From, c.Path = workspace.Rename, name, "moved/"+name
	case 3:
		c.Op, c.From, c.Path, c.After = workspace.Rename, name, "moved/"+name, c.Before
	}
	if c.Op != workspace.Delete && rapid.Bool().Draw(t, "executable") {
		c.Mode = 0o755
	}
	return c
}

// The engine reads what Diff shows to a person: fed back, any diff gives the same bytes, names and modes.
func TestTheDiffOfAChangesetGivesTheChangesetAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := memory{map[string]string{"kept.txt": "kept\n"}, map[string]bool{}}
		var cs workspace.Changeset
		for _, name := range []string{"a.py", "b dir/b c.txt", "q\"q.go", "a/b/é.md"}[:rapid.IntRange(1, 4).Draw(t, "files")] {
			c := drawChange(t, name)
			if cs.Changes = append(cs.Changes, c); c.Op != workspace.Create {
				before.text[name] = string(c.Before)
			}
		}
		want := after(before, cs)
		got, _, err := edit.Apply(before, []byte(cs.Diff()), "")
		if err != nil {
			t.Fatalf("%v\n%s", err, cs.Diff())
		}
		tree := after(before, got)
		if !maps.Equal(tree.text, want.text) || !maps.Equal(tree.exec, want.exec) {
			t.Fatalf("%q, %v\nwant\n%q, %v\nby\n%s", tree.text, tree.exec, want.text, want.exec, cs.Diff())
		}
		if err := got.Check(); err != nil {
			t.Fatalf("the changeset is not sound: %v", err)
		}
	})
}

// A block, a marker block, a diff and whole content with the same meaning give the same result.
func TestEveryFormGivesTheSameResult(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawText(t, "\n")
		s.mark = ""
		i := rapid.IntRange(0, len(s.lines)-1).Draw(t, "from")
		j := rapid.IntRange(i+1, len(s.lines)).Draw(t, "to")
		b := block(s.lines[i:j], drawNew(t, "r"))
		want, _ := applyBlocks(t, s.text(), b)
		for form, response := range map[string]string{
			"tags":    fmt.Sprintf("<EDIT file=\"a.py\">\n<SEARCH>\n%s</SEARCH>\n<REPLACE>\n%s</REPLACE>\n</EDIT>\n", b.Search, b.Replace),
			"glued":   fmt.Sprintf("<EDIT file=a.py>\n<SEARCH>%s</SEARCH>\n<REPLACE>%s</REPLACE></EDIT>", strings.TrimSuffix(b.Search, "\n"), strings.TrimSuffix(b.Replace, "\n")),
			"markers": "a.py\n<<<<<<< SEARCH\n" + b.Search + "=======\n" + b.Replace + ">>>>>>> REPLACE\n",
			"diff":    udiff.Unified("a/a.py", "b/a.py", s.text(), want),
			"json":    fmt.Sprintf(`[{"path": "a.py", "action": "modify", "content": %s}]`, quoteJSON(want)),
		} {
			cs, _, err := edit.Apply(memory{text: map[string]string{"a.py": s.text()}}, []byte(response), "")
			if err != nil || len(cs.Changes) != 1 || string(cs.Changes[0].After) != want {
				t.Fatalf("%s: %v, %v\n%s\nwant %q", form, cs, err, response, want)
			}
		}
	})
}

// quoteJSON quotes a text of printable characters, tabs and line ends.
func quoteJSON(s string) string {
	return `"` + strings.NewReplacer(`"`, `\"`, `\`, `\\`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

// drawBlocks draws blocks that touch different lines of the sample.
func drawBlocks(t *rapid.T, s sample) []edit.Block {
	var out []edit.Block
	for i := 0; i < len(s.lines); {
		j := min(len(s.lines), i+rapid.IntRange(1, 4).Draw(t, "lines"))
		if rapid.Bool().Draw(t, "changed") {
			out = append(out, block(s.lines[i:j], drawNew(t, fmt.Sprint("b", i))))
		}
		i = j
	}
	if len(out) == 0 {
		out = append(out, block(s.lines[:1], drawNew(t, "only")))
	}
	return out
}

func TestIndependentBlocksInAnyOrderGiveTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, 4, "\n", "\r\n")
		blocks := drawBlocks(t, s)
		order := rapid.Permutation(blocks).Draw(t, "order")
		one, applied := applyBlocks(t, s.text(), blocks...)
		other, permuted := applyBlocks(t, s.text(), order...)
		if one != other {
			t.Fatalf("%q in one order, %q in the other", one, other)
		}
		for i, b := range order {
			a := applied[slices.Index(blocks, b)]
			if p := permuted[i]; p.Block != i+1 || p.Line != a.Line || p.Strategy != a.Strategy {
				t.Fatalf("block %d is reported as %+v, and as %+v in the other order", i+1, p, a)
			}
		}
		if again, _ := applyBlocks(t, s.text(), blocks...); again != one {
			t.Fatalf("%q, and then %q", one, again)
		}
	})
}

// untouchable is a workspace that notices if a caller modifies what it read.
type untouchable struct {
	memory
	read map[string][]byte
}

func (u untouchable) Read(path string) ([]byte, error) {
	if b, ok := u.read[path]; ok {
		return b, nil
	}
	b, err := u.memory.Read(path)
	if err == nil {
		u.read[path] = b
	}
	return b, err
}

// With one bad block among good ones, nothing is returned and nothing that was read is modified. The refusal names the bad one and calls
// the others sound.
func TestARefusalChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSample(t, 4, "\n", "\r\n")
		blocks := drawBlocks(t, s)
		at := rapid.IntRange(0, len(blocks)).Draw(t, "at")
		bad := rapid.SampledFrom([]edit.Block{
			{Search: "nowhere_at_all = 1\n", Replace: "x\n"},
			{Search: "\n", Replace: "x\n"},
			{Search: s.lines[0], Replace: "x = 1\n# ... rest of the code unchanged ...\n"},
		}).Draw(t, "bad")
		blocks = slices.Insert(blocks, at, bad)
		var response strings.Builder
		for _, b := range blocks {
			fmt.Fprintf(&response, "<EDIT file=\"a.py\">\n<SEARCH>\n%s\n</SEARCH>\n<REPLACE>\n%s</REPLACE>\n</EDIT>\n", strings.TrimSuffix(b.Search, "\n"), b.Replace)
		}
		response.WriteString("<CREATE_FILE new.py>x</CREATE_FILE>\n<DELETE_FILE old.py/>\n")
		files := untouchable{memory{text: map[string]string{"a.py": s.text(), "old.py": "x\n"}}, map[string][]byte{}}
		cs, applied, err := edit.Apply(files, []byte(response.String()), "")
		var refusal *problem.Refusal
		if !errors.As(err, &refusal) || !cs.Empty() || applied != nil {
			t.Fatalf("%v, %v, %v", cs, applied, err)
		}
		for name, b := range files.read {
			if string(b) != files.text[name] {
				t.Fatalf("%s became %q", name, b)
			}
		}
		if len(refusal.Problems) != 1 || refusal.Problems[0].Block != at+1 || len(refusal.Staged) != len(blocks)+1 || slices.Contains(refusal.Staged, at+1) {
			t.Fatalf("block %d of %d is bad: %v, sound: %v", at+1, len(blocks), refusal.Problems, refusal.Staged)
		}
	})
}
