package edit_test

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace"
)

var update = flag.Bool("update", false, "rewrite the expectations of the archives in testdata")

// TestMain keeps rapid from writing its failures into testdata, where they would look like part of the project. Rapid prints the seed
// instead.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.nofailfile", "true"); err != nil {
		fmt.Fprintln(os.Stderr, "rapid:", err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// memory is a workspace in memory. Paths in exec have the execute bit.
type memory struct {
	text map[string]string
	exec map[string]bool
}

func (m memory) Paths() []string {
	var out []string
	for p := range m.text {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

func (m memory) Read(path string) ([]byte, error) {
	s, ok := m.text[path]
	if !ok {
		return nil, fmt.Errorf("open %s: %w", path, fs.ErrNotExist)
	}
	return []byte(s), nil
}

func (m memory) Executable(path string) bool { return m.exec[path] }

// An archive is one case. Its comment may contain "target: PATH", "executable: PATH" and "escaped". The last makes Go's backslash escapes
// count in every section and \z stand for "no newline here".
type archive struct {
	files    memory
	target   string
	escaped  bool
	response string
}

func readArchive(t *testing.T, a *txtar.Archive) archive {
	t.Helper()
	c := archive{files: memory{map[string]string{}, map[string]bool{}}}
	for _, l := range strings.Split(string(a.Comment), "\n") {
		if v, ok := strings.CutPrefix(l, "target: "); ok {
			c.target = v
		}
		if v, ok := strings.CutPrefix(l, "executable: "); ok {
			c.files.exec[v] = true
		}
		c.escaped = c.escaped || l == "escaped"
	}
	for _, f := range a.Files {
		text := string(f.Data)
		if c.escaped {
			text = unescape(t, text)
		}
		if name, ok := strings.CutPrefix(f.Name, "before/"); ok {
			c.files.text[name] = text
		}
		if f.Name == "response" {
			c.response = text
		}
	}
	return c
}

func unescape(t *testing.T, s string) string {
	t.Helper()
	s = strings.ReplaceAll(s, "\\z\n", "")
	var b strings.Builder
	for s != "" {
		if s[0] == '\n' || s[0] == '"' {
			b.WriteByte(s[0])
			s = s[1:]
			continue
		}
		r, multi, rest, err := strconv.UnquoteChar(s, 0)
		if err != nil {
			t.Fatalf("escape in %.40q: %v", s, err)
		}
		if multi {
			b.WriteRune(r)
		} else {
			b.WriteByte(byte(r))
		}
		s = rest
	}
	return b.String()
}

func escape(s string) string {
	var b strings.Builder
	for _, l := range strings.SplitAfter(s, "\n") {
		q := strconv.QuoteToASCII(strings.TrimSuffix(l, "\n"))
		q = strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`)
		b.WriteString(strings.ReplaceAll(q, `\t`, "\t"))
		if strings.HasSuffix(l, "\n") {
			b.WriteByte('\n')
		} else if l != "" {
			b.WriteString("\\z\n")
		}
	}
	return b.String()
}

// outcome renders what Apply returned as the sections of an archive.
func (c archive) outcome(t *testing.T) []txtar.File {
	t.Helper()
	cs, applied, err := edit.Apply(c.files, []byte(c.response), c.target)
	var refusal *problem.Refusal
	if errors.As(err, &refusal) {
		if !cs.Empty() || applied != nil {
			t.Errorf("a refusal came with %d changes and %d applied blocks", len(cs.Changes), len(applied))
		}
		return []txtar.File{{Name: "refusal", Data: []byte(refusal.Error() + "\n")}}
	}
	if err != nil {
		t.Fatalf("apply: %v", err)
	}
	var list strings.Builder
	for _, a := range applied {
		fmt.Fprintf(&list, "%d %s %s line %d\n", a.Block, a.Path, a.Strategy, a.Line)
		for _, k := range a.Kept {
			fmt.Fprintf(&list, "  kept: %s\n", strings.TrimSpace(k))
		}
	}
	out := []txtar.File{{Name: "applied", Data: []byte(list.String())}}
	for i, ch := range cs.Changes {
		c.checkChange(t, ch)
		if i > 0 && cs.Changes[i-1].Path >= ch.Path {
			t.Errorf("changes are not sorted: %s before %s", cs.Changes[i-1].Path, ch.Path)
		}
		after := string(ch.After)
		if c.escaped {
			after = escape(after)
		}
		name := fmt.Sprintf("%s/%s %o", ch.Op, ch.Path, ch.Mode)
		if ch.From != "" {
			name += " from " + ch.From
		}
		out = append(out, txtar.File{Name: name, Data: []byte(after)})
	}
	return out
}

// checkChange checks the invariants of every change.
func (c archive) checkChange(t *testing.T, ch workspace.Change) {
	t.Helper()
	from := ch.Path
	if ch.Op == workspace.Rename {
		from = ch.From
	}
	before, exists := c.files.text[from]
	if exists != (ch.Op != workspace.Create) || string(ch.Before) != before {
		t.Errorf("%s %s: Before is not the file's content", ch.Op, ch.Path)
	}
	if (ch.Op == workspace.Delete) != (ch.After == nil) {
		t.Errorf("%s %s: After is nil: %v", ch.Op, ch.Path, ch.After == nil)
	}
}

// TestArchives applies the response of every archive in testdata and compares the outcome with the sections of the archive.
func TestArchives(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < 80 {
		t.Fatalf("%d archives in testdata: %v", len(names), err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			a, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			c := readArchive(t, a)
			var kept, want []txtar.File
			for _, f := range a.Files {
				if f.Name == "response" || f.Name == "meant" || strings.HasPrefix(f.Name, "before/") {
					kept = append(kept, f)
				} else {
					want = append(want, f)
				}
			}
			got := c.outcome(t)
			if *update {
				a.Files = append(kept, got...)
				if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(render(want), render(got)); d != "" {
				t.Errorf("%s(-want +got)\n%s", a.Comment, d)
			}
		})
	}
}

func render(files []txtar.File) string { return string(txtar.Format(&txtar.Archive{Files: files})) }
