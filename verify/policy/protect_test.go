package policy

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
)

func TestProtectedPathsNeedAnApprovalOfTheirOwn(t *testing.T) {
	t.Parallel()
	p, err := Protect([]string{"migrations/**", "secrets", "src/*.sql", "./docs/LICENSE*"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"migrations/1.sql": "migrations/**", "migrations/a/b.sql": "migrations/**", "Migrations/1.sql": "migrations/**",
		"secrets": "secrets", "secrets/a/b": "secrets", "src/a.sql": "src/*.sql", "docs/licence": "", "docs/license.md": "./docs/LICENSE*",
		"src/a/b.sql": "", "a.sql": "", "src/migrations/1.sql": "", "secret": "",
	} {
		for _, cs := range []workspace.Changeset{create(name, "x"), modify(name, "x", "y"), remove(name, "x")} {
			holds := p.holds(cs)
			if want == "" && len(holds) == 0 {
				continue
			}
			if len(holds) != 1 || holds[0].Kind != Protected || !holds[0].Block || holds[0].Path != name || !strings.Contains(holds[0].Reason, want) {
				t.Errorf("%s %s: %+v, want %q", cs.Changes[0].Op, name, holds, want)
			}
		}
	}
	moved := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Rename, Path: "a.sql", From: "migrations/1.sql"}, {Op: workspace.Rename, Path: "secrets/x", From: "b"}}}
	if holds := p.holds(moved); len(holds) != 2 || holds[0].Path != "migrations/1.sql" || holds[1].Path != "secrets/x" {
		t.Errorf("renames: %+v", holds)
	}
	var none *Protection
	if holds := none.holds(moved); len(holds) != 0 {
		t.Errorf("without patterns: %+v", holds)
	}
}

func TestAPatternThatWouldProtectNothingIsRefused(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"": "empty", " ": "empty", "!a": "removes a protection", "/a": "not a path in the workspace", "../a": "not a path in the workspace",
		"a/../../b": "not a path in the workspace", `a\b`: "not a path in the workspace", "a[": "not a pattern",
	} {
		if p, err := Protect([]string{"fine/**", pattern}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v %v", pattern, p, err)
		}
	}
	if p, err := Protect(nil); p != nil || err != nil {
		t.Errorf("no pattern: %v %v", p, err)
	}
}

func TestWhatNoLaterRunSeesIsHeld(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"__pycache__/stock.cpython-313.pyc", "shop/__pycache__/x.py", "stock.pyc", ".venv/lib/python3.13/site-packages/x.py", "node_modules/left-pad/index.js",
		".mypy_cache/3.13/stock.data.json", ".ruff_cache/x", ".pytest_cache/v/lastfailed", "web/node_modules/.bin/tsc", "pyvenv.cfg", "shop/x.pth", ".next/x.js", ".Mypy_Cache/x",
	} {
		holds := ReviewText(create(name, "x"), nil)
		if !slices.ContainsFunc(holds, func(h Hold) bool { return h.Kind == Unseen && h.Block && h.Path == name }) {
			t.Errorf("%s: %+v", name, holds)
		}
	}
	for _, name := range []string{"build/x.py", "dist/x.js", "src/venv/manager.py", "cache.py", "pycache/x.py"} {
		if holds := ReviewText(create(name, "x"), nil); len(holds) > 0 {
			t.Errorf("%s: %+v", name, holds)
		}
	}
}

// A test that the next run does not see would not be missed.
func TestRulesThatHideFilesAreHeld(t *testing.T) {
	t.Parallel()
	dir := newTree(t, files{
		"up/.gitignore": "*.gen\n", "up/ws/.gitignore": "!keep.gen\n", "up/ws/keep.gen": "", "up/ws/a_test.py": "", "up/ws/tracked.log": "", "up/ws/sub/b.py": "",
		"up/ws/nested/c.py": "",
	})
	git(t, dir+"/up", "init", "-q")
	git(t, dir+"/up", "add", "ws/tracked.log")
	git(t, dir+"/up/ws/nested", "init", "-q")
	loose := newTree(t, files{"a_test.py": "", "b.py": ""})
	whole := newTree(t, files{".gitignore": "/out\n", "a_test.py": "", "sub/b.py": ""})
	git(t, whole, "init", "-q")
	for name, c := range map[string]struct {
		dir, rules, text string
		want             string // in the reason; "" for none
	}{
		"nothing there":        {whole, ".gitignore", "/out\nnode_modules/\n*.pyc\n", ""},
		"a test":               {whole, ".gitignore", "*_test.py\n", "(1 of them, such as a_test.py)"},
		"a directory":          {whole, ".gitignore", "sub/\n", "as sub/b.py"},
		"rules further down":   {whole, "sub/.gitignore", "/b.py\n", "as sub/b.py"},
		"the patch's own file": {whole, ".gitignore", "/new.py\n", "as new.py"},
		"no repository":        {loose, ".gitignore", "*_test.py\n", "as a_test.py"},
		"what git tracks":      {dir + "/up/ws", ".gitignore", "!keep.gen\n*.log\n", ""},
		"an exception less":    {dir + "/up/ws", ".gitignore", "x\n", "as ws/keep.gen"},
		"of another one":       {dir + "/up/ws", "nested/.gitignore", "b.py\nkeep.gen\n", ""},
		"of a nested one":      {dir + "/up/ws", "nested/.gitignore", "c.py\n", "as c.py"},
	} {
		m := scan(t, c.dir)
		cs := create("new.py", "")
		cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Create, Path: c.rules, After: []byte(c.text), Mode: 0o644})
		holds := hiddenHolds(t.Context(), m, cs)
		switch {
		case c.want == "" && len(holds) > 0:
			t.Errorf("%s: %+v", name, holds)
		case c.want != "" && (len(holds) != 1 || holds[0].Path != c.rules || !holds[0].Block || !strings.Contains(holds[0].Reason, c.want)):
			t.Errorf("%s: %+v, want %s", name, holds, c.want)
		}
	}
}

func TestAFileThatGitIgnoresIsHeld(t *testing.T) {
	t.Parallel()
	dir := newTree(t, files{
		".gitignore": "build/\n*.log\n!keep.log\n", "a.py": "x = 1\n", "nested/.gitignore": "/out\n", "nested/b.py": "x\n", "old.log": "tracked\n",
	})
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-f", "a.py", "old.log")
	fill(t, dir, files{".git/info/exclude": "/local\n"})
	git(t, dir+"/nested", "init", "-q")
	m := scan(t, dir)
	var cs workspace.Changeset
	for _, name := range []string{"build/lib.py", "new/build/x.py", "debug.log", "keep.log", "local", "src/x.py", "nested/out", "nested/in", "nested/debug.log", "build.py"} {
		cs.Changes = append(cs.Changes, workspace.Change{Op: workspace.Create, Path: name, After: []byte("x\n"), Mode: 0o644})
	}
	cs.Changes = append(cs.Changes,
		workspace.Change{Op: workspace.Modify, Path: "old.log", Before: []byte("tracked\n"), After: []byte("x\n"), Mode: 0o644},
		workspace.Change{Op: workspace.Rename, Path: "build/a.py", From: "a.py", Before: []byte("x = 1\n"), After: []byte("x = 1\n"), Mode: 0o644})
	var got []string
	for _, h := range hiddenHolds(t.Context(), m, cs) {
		if h.Kind != Unseen || !h.Block {
			t.Errorf("%+v", h)
		}
		got = append(got, h.Path)
	}
	if want := []string{"build/a.py", "build/lib.py", "debug.log", "local", "nested/out", "new/build/x.py"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	// If git does not answer, the change is held.
	fill(t, dir, files{".git/index": "broken"})
	if holds := hiddenHolds(t.Context(), m, create("src/y.py", "x")); len(holds) != 1 || !strings.Contains(holds[0].Reason, "does not say") {
		t.Errorf("with an index that git cannot read: %+v", holds)
	}
}
