package check

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/sandbox/workspace"
)

// tree returns a base with these files. A path that begins with an at sign is a link.
func tree(files map[string]string) *workspace.Manifest {
	m := &workspace.Manifest{}
	content := map[string][]byte{}
	dirs := map[string]bool{}
	for p, text := range files {
		for i, c := range p {
			if c == '/' {
				dirs[strings.TrimPrefix(p[:i], "@")] = true
			}
		}
		if link, ok := strings.CutPrefix(p, "@"); ok {
			m.Entries = append(m.Entries, workspace.Entry{Path: link, Kind: workspace.Symlink, Target: text})
			continue
		}
		m.Entries, content[p] = append(m.Entries, workspace.Entry{Path: p, Kind: workspace.File, Mode: 0o644, Size: int64(len(text))}), []byte(text)
	}
	for dir := range dirs {
		m.Entries = append(m.Entries, workspace.Entry{Path: dir, Kind: workspace.Dir, Mode: 0o755})
	}
	slices.SortFunc(m.Entries, func(a, b workspace.Entry) int { return strings.Compare(a.Path, b.Path) })
	return m.Holding(m.Entries, content)
}

func TestAPathBelongsToTheInnermostPackage(t *testing.T) {
	t.Parallel()
	r := Reach{".": true, "a": false, "a/b": true}
	for p, want := range map[string]string{"a/b/c.py": "a/b true", "a/b": "a/b true", "a/bc": "a true", "a/b/../c": "a true", "ab": ". true", ".": ". true", "": " false", "../x": ". true", "/etc": "/ false", "a//b/x": "a/b true"} {
		root, ok := r.Owner(p)
		if got := fmt.Sprint(root, " ", ok); got != want {
			t.Errorf("%q: %s, want %s", p, got, want)
		}
	}
	if root, ok := (Reach{"a": true}).Owner("b/c"); ok {
		t.Errorf("it belongs to %q", root)
	}
	if got := r.Note("packages"); got != "2 of 3 packages: the patch cannot affect the others" || Reach(nil).Note("x") != "" {
		t.Error(got)
	}
	for _, c := range []struct {
		dir, outer string
		want       bool
	}{{"a", "a", true}, {"a/b", "a", true}, {"ab", "a", false}, {"a", "a/b", false}, {"a", ".", true}, {".", ".", true}, {".", "a", false}} {
		if Below(c.dir, c.outer) != c.want {
			t.Errorf("%s below %s: %v", c.dir, c.outer, !c.want)
		}
	}
}

func TestNeedsAreFollowedToTheirEnd(t *testing.T) {
	t.Parallel()
	needs := map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"d"}, "e": {"", "d"}, "f": nil}
	for from, want := range map[string]string{"c": "map[a:true b:true c:true]", "d": "map[d:true e:true]", "": "map[:true e:true]", "f": "map[f:true]", "other": "map[other:true]"} {
		hit := map[string]bool{from: true}
		if Spread(hit, needs); fmt.Sprint(hit) != want {
			t.Errorf("%q: %v, want %s", from, hit, want)
		}
	}
}

func TestATextLeadsUpwardByWholePathsAlone(t *testing.T) {
	t.Parallel()
	r := Reach{"a": true, "b": true, "b/c": true}
	for text, want := range map[string]string{
		"open('../b/x')": `["b"]`, "\"../b/c/x\"": `["b/c"]`, "join('..', 'b', 'c')": `["b/c"]`, "'../../etc'": `[""]`, "'../d'": `[""]`, "a...b": `[]`, "x../b": `[]`, "": `[]`, "`../b`, `../a`": `["b" "a"]`,
	} {
		got := slices.Compact(r.Above("a/x.py", []byte(text)))
		if all := fmt.Sprintf("%q", got); all != want {
			t.Errorf("%q: %s, want %s", text, all, want)
		}
	}
}

func TestRootsShareTheTimeOfOne(t *testing.T) {
	t.Parallel()
	roots := []string{".", "a", "a/b"}
	if got := fmt.Sprintf("%q %q %q", InsideOf(roots, "."), InsideOf(roots, "a"), InsideOf(roots, "a/b")); got != `["a" "a/b"] ["a/b"] []` {
		t.Error(got)
	}
	if got := fmt.Sprintln(Nearest(Rooted(roots), "a/c/d"), Nearest(Rooted(roots), "x"), Nearest(Rooted(nil), "x")); got != "a . .\n" {
		t.Error(got)
	}
	tests := []TestResult{{ID: "x.py::t", Outcome: "passed"}, {ID: "a/x.py::t", Outcome: "failed"}, {ID: "a/b/x.py", Outcome: "error"}}
	var ran []string
	do := func(late string) func(Bench, string) Outcome {
		return func(b Bench, root string) Outcome {
			ran = append(ran, root)
			if b.Timeout <= 0 || b.Timeout > time.Minute {
				t.Errorf("%s has %s", root, b.Timeout)
			}
			out := Outcome{Tests: slices.Clone(tests), Witnesses: []Witness{{Place: "x.py"}, {Place: "a/b/x.py"}}, Findings: []Finding{{File: "a/x.py"}, {Message: "of none"}}, Seconds: 1, Peak: 2, Reached: []string{"tasks"}, Output: root, Detail: "ran"}
			if root == late {
				out.Verdict, out.Detail = Timeout, "too late"
			}
			return out
		}
	}
	out := Bench{Timeout: time.Minute}.OverRoots(roots, roots, do(""))
	if len(out.Tests) != 3 || len(out.Findings) != 4 || len(out.Witnesses) != 2 || out.Seconds != 3 || out.Peak != 2 || len(out.Reached) != 1 || out.Output != ".\na\na/b" || len(out.Roots) != 3 || out.AnyBlocked() {
		t.Errorf("%+v", out)
	}
	ran = nil
	out = Bench{Timeout: time.Minute}.OverRoots(roots, roots, do("a"))
	if out.Verdict != Timeout || out.Detail != "too late, which was left for a of the time that all directories share" || len(ran) != 2 {
		t.Errorf("%q: %+v", ran, out)
	}
	// The first directory had all the time.
	if out := (Bench{Timeout: time.Minute}).OverRoots(roots, roots, do(".")); out.Verdict != Timeout || out.Detail != "too late" {
		t.Errorf("%+v", out)
	}
	if one := (Bench{Timeout: time.Minute}).OverRoots(roots, roots[1:2], do("")); one.Roots != nil || len(one.Tests) != 1 || one.Tests[0].ID != "a/x.py::t" {
		t.Errorf("%+v", one)
	}
}

func TestAnOutcomeTellsWhatItCostAndWhatItReached(t *testing.T) {
	t.Parallel()
	sum := AddCost(Outcome{Seconds: 1, Peak: 5, Reached: []string{"memory"}, Detail: "fine", Output: "kept"}, Outcome{Seconds: 2, Peak: 3, Reached: []string{"tasks", "memory"}, Detail: "other", Output: "other"})
	if sum.Seconds != 3 || sum.Peak != 5 || sum.Detail != "fine" || sum.Output != "kept" {
		t.Errorf("%+v", sum)
	}
	if g := GateOf("lint", sum); g.Detail != "fine; it reached the box's limit on memory and on tasks" || g.Findings == nil || g.OldFindings == nil || g.Verdict != "" {
		t.Errorf("%+v", g)
	}
	if g := GateOf("lint", AddCost(sum, Infraf("no %s", "box"))); g.Verdict != Infra || !strings.HasPrefix(g.Detail, "no box; ") || g.Output != "" {
		t.Errorf("%+v", g)
	}
	if g := GateOf("lint", Outcome{Reached: []string{"disk"}}); g.Detail != "it reached the box's limit on disk" {
		t.Error(g.Detail)
	}
	for want, out := range map[bool][]Outcome{true: {{Blocked: "x"}, {Roots: map[string]string{"a": "", "b": "x"}}}, false: {{}, {Roots: map[string]string{"a": ""}}}} {
		for _, o := range out {
			if o.AnyBlocked() != want {
				t.Errorf("%+v", o)
			}
		}
	}
}

func TestAFingerprintIsThatOfAFindingWithoutItsPlace(t *testing.T) {
	t.Parallel()
	one := Finding{Rule: "ab", File: "c", Line: 3, Message: "line 3"}
	for other, same := range map[Finding]bool{{Rule: "a", File: "bc", Message: "line 3"}: false, {Rule: "ab", File: "c", Line: 9, Column: 2, Message: "line 9"}: true, {Rule: "ab", File: "c", Message: "line"}: false, {Rule: "ab", File: "c", Message: "line 3", Source: "x"}: false} {
		if (other.Fingerprint() == one.Fingerprint()) != same || len(other.Fingerprint()) != 32 {
			t.Errorf("%+v", other)
		}
	}
}

func TestARenameOverTheBorderIsTakenApart(t *testing.T) {
	t.Parallel()
	such := func(p string) bool { return strings.HasSuffix(p, ".toml") }
	rename := func(from, to string, old fs.FileMode) workspace.Change {
		return workspace.Change{Op: workspace.Rename, From: from, Path: to, Before: []byte("b"), After: []byte("a"), Mode: 0o644, OldMode: old}
	}
	told := func(cs workspace.Changeset) (list []string) {
		for _, c := range cs.Changes {
			list = append(list, fmt.Sprintf("%s %s<%s %o %s>%s", c.Op, c.Path, c.From, c.Mode, c.Before, c.After))
		}
		return list
	}
	for name, c := range map[string]struct {
		cs          []workspace.Change
		those, rest int
	}{
		"nothing":   {nil, 0, 0},
		"inside":    {[]workspace.Change{rename("a.toml", "b.toml", 0)}, 1, 0},
		"outside":   {[]workspace.Change{rename("a.py", "b.py", 0)}, 0, 1},
		"into it":   {[]workspace.Change{rename("z.py", "b.toml", 0o755), {Op: workspace.Modify, Path: "a.py"}}, 1, 2},
		"out of it": {[]workspace.Change{rename("b.toml", "z.py", 0)}, 1, 1},
	} {
		those, rest := SplitChanges(workspace.Changeset{Changes: c.cs}, such)
		if len(those.Changes) != c.those || len(rest.Changes) != c.rest || !slices.IsSortedFunc(rest.Changes, func(a, b workspace.Change) int { return strings.Compare(a.Path, b.Path) }) {
			t.Errorf("%s: %q and %q", name, told(those), told(rest))
		}
		if name == "into it" && (those.Changes[0].Op != workspace.Create || those.Changes[0].Before != nil || rest.Changes[1].Op != workspace.Delete || rest.Changes[1].Mode != 0o755 || rest.Changes[1].After != nil) {
			t.Errorf("%q and %q", told(those), told(rest))
		}
	}
	d := Diff{Moved: map[string]string{"a.py": "b.py"}}
	for id, want := range map[string]string{"a.py": "b.py", "a.py::x::y[a.py]": "b.py::x::y[a.py]", "c.py::a.py": "c.py::a.py", "": "", "a.py::": "b.py::"} {
		if got := d.NewID(id); got != want {
			t.Errorf("%q: %q", id, got)
		}
	}
}

func TestAViewIsTheBaseWithThePatchOverIt(t *testing.T) {
	t.Parallel()
	base := tree(map[string]string{"a.py": "x = 1\n", "b/c.pyi": "y\n", "old.sh": "z", "@link.py": "a.py"})
	v := NewView(base, workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Delete, Path: "a.py"}, {Op: workspace.Rename, From: "old.sh", Path: "new.sh", After: []byte("n"), Mode: 0o755}, {Op: workspace.Create, Path: "d/e.js", After: []byte("new"), Mode: 0o644},
	}})
	if got := strings.Join(v.Paths(), " ") + " of " + strings.Join(v.Unpatched().Paths(), " "); got != "b/c.pyi d/e.js new.sh of a.py b/c.pyi old.sh" {
		t.Error(got)
	}
	for p, want := range map[string]string{"a.py": "", "old.sh": "", "link.py": "", "b": "", "": "", "new.sh": "n", "d/e.js": "new", "b/c.pyi": "y\n"} {
		if v.Has(p) != (want != "") || v.Text(p) != want {
			t.Errorf("%q: %v %q", p, v.Has(p), v.Text(p))
		}
	}
	if _, err := v.Read("a.py"); err == nil || !strings.Contains(err.Error(), "read a.py: file does not exist") {
		t.Error(err)
	}
	for p, want := range map[string]string{"new.sh": "n", "d/e.js": "", "b/c.pyi": "", "missing": ""} {
		if got, err := v.Executable(p); string(got) != want || err != nil {
			t.Errorf("%s: %q %v", p, got, err)
		}
	}
	if !v.HasDir("d") || v.HasDir("d/e.js") || v.HasDir("") || !v.Python() || v.Ends([]string{".sh2", "sh"}) || !v.Ends([]string{".sh"}) || v.Ends(nil) {
		t.Error("what it holds is not known")
	}
}

func TestALinkIsALoopWhereItIsMetAgain(t *testing.T) {
	t.Parallel()
	deep := map[string]string{"a/x": ""}
	for i := range maxHops + 2 {
		deep[fmt.Sprintf("@a/l%02d", i)] = fmt.Sprintf("l%02d", i+1)
	}
	deep[fmt.Sprintf("@a/l%02d", maxHops+2)] = "."
	for want, links := range map[string]map[string]string{
		"":            {"a/x": "", "@b": "a", "@c": "a/x", "@d": "missing", "@e": "/work", "@f": "..", "@g": "g", "@h": "i", "@i": "h"},
		"a/up":        {"a/x": "", "@a/up": ".."},
		"a/me":        {"a/x": "", "@a/me": "."},
		"a/b/up a/to": {"a/b/x": "", "a/x": "", "c/x": "", "@a/to": "b", "@a/b/up": "../"},
		"a/to b/back": {"a/x": "", "b/x": "", "@a/to": "../b", "@b/back": "../a"},
	} {
		if got := strings.Join(OnBase(tree(links)).LoopsInside("."), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	got := OnBase(tree(deep)).LoopsInside("a")
	if len(got) != maxHops || got[0] != "a/l03" || len(OnBase(tree(deep)).LoopsInside("b")) != 0 {
		t.Errorf("%d loops: %q", len(got), got)
	}
}
