package promotion

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"

	"agent/sandbox/workspace/internal/treetest"
)

// These two files make a repository of any directory.
const (
	gitHead   = "ref: refs/heads/main\n"
	gitConfig = "[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = touch PROOF\n"
)

// bareRepo is a repository in dir whose configuration names a program.
func bareRepo(dir string) treetest.Files {
	return treetest.Files{
		path.Join(dir, "HEAD"): gitHead, path.Join(dir, "config"): gitConfig,
		path.Join(dir, "objects/info/keep"): "", path.Join(dir, "refs/heads/keep"): "",
	}
}

// creates returns a changeset that creates all of tree.
func creates(tree treetest.Files) (cs workspace.Changeset) {
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		cs.Changes = append(cs.Changes, create(name, tree[name]).Changes...)
	}
	return cs
}

// renames returns a changeset of one renamed file.
func renames(from, to, content string) workspace.Changeset {
	return workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Rename, From: from, Path: to, Before: []byte(content), After: []byte(content), Mode: 0o644}}}
}

// both joins two changesets.
func both(a, b workspace.Changeset) workspace.Changeset {
	return workspace.Changeset{Changes: append(slices.Clone(a.Changes), b.Changes...)}
}

// refusals reports which checks refuse cs on dir: the changeset's own, the one with the manifest, and the promotion's.
// The promotion must not have written anything.
func refusals(t *testing.T, dir string, cs workspace.Changeset) (pure, early, late bool) {
	t.Helper()
	is := func(err error) bool {
		var bad *workspace.PathError
		if errors.As(err, &bad) {
			if !strings.Contains(bad.Reason, "repository") || bad.Path == "" {
				t.Errorf("refused for something else: %v", err)
			}
			return true
		}
		if err != nil {
			t.Errorf("%T: %v", err, err)
		}
		return false
	}
	m := scan(t, dir)
	before := treetest.OnDisk(t, dir)
	p, err := prepareIn(t.Context(), dir, cs, "run-1", nil, nil)
	if err == nil {
		err = p.Close()
	}
	treetest.Same(t, "the workspace after the check", before, treetest.OnDisk(t, dir))
	return is(cs.Check()), is(m.CheckRepositories(cs)), is(err)
}

func TestAPatchMakesNoRepository(t *testing.T) {
	t.Parallel()
	without := func(tree treetest.Files, names ...string) treetest.Files {
		tree = maps.Clone(tree)
		for _, name := range names {
			delete(tree, name)
		}
		return tree
	}
	docs := bareRepo("docs")
	for name, test := range map[string]struct {
		before treetest.Files
		cs     workspace.Changeset
		// The changeset alone is enough to refuse it.
		pure bool
	}{
		"at once":               {nil, creates(docs), true},
		"deep down":             {nil, creates(bareRepo("a/b/c")), true},
		"in the root":           {nil, creates(bareRepo(".")), true},
		"without configuration": {nil, creates(without(docs, "docs/config")), true},
		"of another case":       {nil, creates(treetest.Files{"docs/head": gitHead, "Docs/OBJECTS/x": "", "DOCS/Refs/x": ""}), true},
		"of long s":             {nil, creates(treetest.Files{"docs/HEAD": gitHead, "docs/object\u017f/x": "", "docs/ref\u017f/x": ""}), true},
		"of an object name":     {nil, creates(treetest.Files{"docs/HEAD": strings.Repeat("0aF9", 10) + "\n", "docs/objects/x": "", "docs/refs/x": ""}), true},
		"of files":              {nil, creates(treetest.Files{"docs/HEAD": gitHead, "docs/objects": "", "docs/refs": ""}), true},
		"by a commondir":        {nil, creates(treetest.Files{"docs/HEAD": gitHead, "docs/commondir": "../x\n", "x/objects/a": "", "x/refs/a": ""}), true},
		"HEAD last":             {without(docs, "docs/HEAD"), create("docs/HEAD", gitHead), false},
		"HEAD made valid":       {treetest.Files{"docs/HEAD": "Heads\n", "docs/objects/x": "", "docs/refs/x": ""}, modify("docs/HEAD", "Heads\n", gitHead), false},
		"objects last":          {without(docs, "docs/objects/info/keep"), create("docs/objects/x", ""), false},
		"refs last":             {without(docs, "docs/refs/heads/keep"), create("docs/refs", ""), false},
		"commondir last":        {treetest.Files{"docs/HEAD": gitHead}, create("docs/commondir", "/x"), false},
		"beside empty ones":     {treetest.Files{"docs/objects/": "", "docs/refs/": ""}, create("docs/HEAD", gitHead), false},
		"beside ignored ones":   {treetest.Files{".gitignore": "objects\nrefs\n", "docs/objects/x": "", "docs/refs/x": ""}, create("docs/HEAD", gitHead), false},
		"beside an ignored one": {treetest.Files{".gitignore": "HEAD\n", "docs/HEAD": gitHead, "docs/refs/x": ""}, create("docs/objects/x", ""), false},
		"beside others' case":   {treetest.Files{"Docs/Objects/x": "", "docs/REFS/x": ""}, create("docs/head", gitHead), false},
		"by renaming HEAD":      {without(bareRepo("docs"), "docs/HEAD"), both(create("docs/HEAD", gitHead), remove("docs/config", gitConfig)), false},
		"by renaming into":      {treetest.Files{"x/HEAD": gitHead, "docs/objects/x": "", "docs/refs/x": ""}, renames("x/HEAD", "docs/HEAD", gitHead), false},
		"by renaming objects":   {treetest.Files{"docs/HEAD": gitHead, "docs/blobs/x": "", "docs/refs/x": ""}, renames("docs/blobs/x", "docs/objects/x", ""), false},
		"in the root, last":     {treetest.Files{"HEAD": gitHead, "refs/x": ""}, create("objects/x", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pure, early, late := refusals(t, treetest.New(t, test.before), test.cs)
			if pure != test.pure || !early || !late {
				t.Errorf("refused by the changeset alone %v, want %v; before any box %v; by the promotion %v", pure, test.pure, early, late)
			}
		})
	}
}

func TestAPatchChangesNoRepository(t *testing.T) {
	t.Parallel()
	repo := bareRepo("testdata/repo.git")
	in := func(name string) string { return "testdata/repo.git/" + name }
	for name, cs := range map[string]workspace.Changeset{
		"configuration":     modify(in("config"), gitConfig, "[core]\n"),
		"configuration too": create(in("config.worktree"), "[core]\n"),
		"of another case":   create(in("Hooks/pre-commit"), "#!/bin/sh\n"),
		"hook":              create(in("hooks/post-checkout"), "#!/bin/sh\n"),
		"alternates":        create(in("objects/info/alternates"), "/x\n"),
		"commondir":         create(in("commondir"), "../x\n"),
		"HEAD":              modify(in("HEAD"), gitHead, "ref: refs/heads/x\n"),
		"reference":         create(in("refs/heads/x"), strings.Repeat("0", 40)),
		"todo of a rebase":  create(in("rebase-merge/git-rebase-todo"), "exec touch PROOF\n"),
		"lock":              create(in("config.lock"), ""),
		"deleted":           remove(in("config"), gitConfig),
		"moved away":        renames(in("config"), "config", gitConfig),
		"HEAD deleted":      remove(in("HEAD"), gitHead),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, early, late := refusals(t, treetest.New(t, repo), cs); !early || !late {
				t.Errorf("refused before any box %v, by the promotion %v", early, late)
			}
		})
	}
}

// The directory that a commondir names need not look like a repository itself.
func TestAPatchChangesNothingThatARepositoryBorrows(t *testing.T) {
	t.Parallel()
	linked := treetest.Files{"W/HEAD": gitHead, "W/commondir": "../common\n", "common/objects/x": "", "common/refs/x": ""}
	with := func(more treetest.Files) treetest.Files {
		tree := maps.Clone(linked)
		maps.Copy(tree, more)
		return tree
	}
	without := func(name string) treetest.Files {
		tree := maps.Clone(linked)
		delete(tree, name)
		return tree
	}
	for name, test := range map[string]struct {
		before treetest.Files
		cs     workspace.Changeset
	}{
		"configuration":     {linked, create("common/config", gitConfig)},
		"of another case":   {linked, create("Common/Config", gitConfig)},
		"hook":              {linked, create("common/hooks/post-checkout", "#!/bin/sh\n")},
		"an ignored one":    {with(treetest.Files{".gitignore": "W\n"}), create("common/config", gitConfig)},
		"in a cache":        {treetest.Files{"node_modules/w/HEAD": gitHead, "node_modules/w/CommonDir": "../../a\n", "a/objects/x": "", "a/refs/x": ""}, create("a/config", gitConfig)},
		"objects last":      {without("common/objects/x"), create("common/objects/x", "")},
		"by an object name": {with(treetest.Files{"W/HEAD": strings.Repeat("a", 40)}), create("common/config", gitConfig)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, early, late := refusals(t, treetest.New(t, test.before), test.cs); !early || !late {
				t.Errorf("refused before any box %v, by the promotion %v", early, late)
			}
		})
	}
	// The danger is real: git itself runs what the directory names.
	dir := treetest.New(t, with(treetest.Files{"sub/.git": "gitdir: ../W\n"}))
	proof := filepath.Join(t.TempDir(), "proof")
	treetest.Fill(t, dir, treetest.Files{"common/config": "[core]\n\tfsmonitor = touch " + proof + "\n"})
	cmd := exec.CommandContext(t.Context(), "git", "status")
	cmd.Dir = filepath.Join(dir, "sub")
	_ = cmd.Run()
	if _, err := os.Stat(proof); err != nil {
		t.Errorf("git runs nothing: %v", err)
	}
}

func TestWhatIsNoRepositoryIsWritten(t *testing.T) {
	t.Parallel()
	fixture := bareRepo("testdata/repo.git")
	root := bareRepo(".")
	maps.Copy(root, treetest.Files{"main/.git": "gitdir: ../worktrees/main\n", "main/src/config/a.py": "a\n"})
	for name, test := range map[string]struct {
		before treetest.Files
		cs     workspace.Changeset
	}{
		"HEAD alone":               {nil, create("docs/HEAD", gitHead)},
		"configuration alone":      {nil, creates(treetest.Files{"config": "", "docs/config": gitConfig, "src/config/a.py": "", "hooks/a": "", "info/b": "", "logs/c": "", "index": ""})},
		"refs alone":               {nil, creates(treetest.Files{"refs/a.md": "", "docs/refs/b.md": ""})},
		"objects and refs":         {nil, creates(treetest.Files{"app/objects/a.py": "", "app/refs/b.py": "", "app/config": ""})},
		"a HEAD that is none":      {nil, creates(treetest.Files{"api/HEAD": "# How HEAD requests are answered\n", "api/objects/a": "", "api/refs/b": ""})},
		"an empty HEAD":            {nil, creates(treetest.Files{"api/HEAD": "", "api/objects/a": "", "api/refs/b": ""})},
		"head as a directory":      {nil, creates(treetest.Files{"parts/head/index.html": "", "parts/objects/a": "", "parts/refs/b": ""})},
		"other names":              {nil, creates(treetest.Files{"api/head.py": "", "api/objects.py": "", "api/refs.py": "", "api/HEAD.md": gitHead})},
		"in different directories": {treetest.Files{"a/HEAD": gitHead, "b/objects/x": ""}, create("c/refs/x", "")},
		"beside a fixture":         {fixture, creates(treetest.Files{"testdata/config": "", "testdata/a.txt": "", "src/hooks/a.py": ""})},
		"a note in a fixture":      {fixture, create("testdata/repo.git/README.md", "")},
		"a work tree in a bare":    {root, both(modify("main/src/config/a.py", "a\n", "b\n"), create("main/index.html", ""))},
		"beside a work tree":       {treetest.Files{".git/HEAD": gitHead, ".git/objects/": "", ".git/refs/": "", ".git/worktrees/x/HEAD": gitHead, ".git/worktrees/x/commondir": "../..\n", "app/objects/a": ""}, creates(treetest.Files{"app/refs/b.py": "", "app/config": ""})},
		"a commondir alone":        {treetest.Files{"docs/commondir": "x\n", "docs/HEAD": "none\n", "app/objects/a": ""}, creates(treetest.Files{"app/refs/b.py": "", "app/config": ""})},
		"beside a linked one":      {treetest.Files{"W/HEAD": gitHead, "W/commondir": "../common\n", "common/objects/x": "", "common/refs/x": ""}, creates(treetest.Files{"config": "", "hooks/a.py": "", "common/a.py": ""})},
		"a git repository around":  {treetest.Files{".git/HEAD": gitHead, ".git/objects/": "", ".git/refs/": "", "HEAD": gitHead}, creates(treetest.Files{"config": "", "hooks/a.py": ""})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if pure, early, late := refusals(t, treetest.New(t, test.before), test.cs); pure || early || late {
				t.Errorf("refused by the changeset alone %v, before any box %v, by the promotion %v", pure, early, late)
			}
		})
	}
}

// However many promotions write the files, and in whatever order, git never finds a repository.
func TestNoOrderOfPromotionsMakesARepository(t *testing.T) {
	t.Parallel()
	bare := []string{"docs/HEAD", "docs/config", "docs/objects/x", "docs/refs/x"}
	linked := []string{"W/HEAD", "W/commondir", "common/objects/x", "common/config"}
	tried := 0
	for _, files := range [][]string{bare, linked} {
		permute(files, func(order []string) {
			tried++
			dir := treetest.New(t, treetest.Files{"README.md": "", "common/refs/x": "", "sub/a": ""})
			var refused []string
			for i, name := range order {
				content := map[string]string{"HEAD": gitHead, "config": gitConfig, "commondir": "../common\n"}[path.Base(name)]
				p, err := prepareIn(t.Context(), dir, create(name, content), fmt.Sprint("run-", i), nil, nil)
				if err == nil {
					err = errors.Join(p.Commit(t.Context()), p.Close())
				}
				var bad *workspace.PathError
				switch {
				case errors.As(err, &bad):
					refused = append(refused, name)
				case err != nil:
					t.Fatal(err)
				}
			}
			if len(refused) == 0 {
				t.Errorf("%q: all were written", order)
			}
			treetest.Fill(t, dir, treetest.Files{"sub/.git": "gitdir: ../W\n"})
			for _, at := range []string{"docs", "W", "common", "sub"} {
				cmd := exec.CommandContext(t.Context(), "git", "rev-parse", "--git-dir")
				cmd.Dir, cmd.Env = filepath.Join(dir, at), append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
				if out, err := cmd.Output(); err == nil {
					t.Errorf("%q without %q: in %s git finds the repository %s", order, refused, at, out)
				}
			}
		})
	}
	if tried != 48 {
		t.Errorf("%d orders were tried", tried)
	}
}

// permute calls do with every permutation of list.
func permute(list []string, do func([]string)) {
	var from func(i int)
	from = func(i int) {
		if i == len(list) {
			do(list)
			return
		}
		for k := i; k < len(list); k++ {
			list[i], list[k] = list[k], list[i]
			from(i + 1)
			list[i], list[k] = list[k], list[i]
		}
	}
	from(0)
}

// TestRepositoriesAreThoseOfGit asks git about each layout, so that a rule of git that the check does not have shows
// up.
func TestRepositoriesAreThoseOfGit(t *testing.T) {
	t.Parallel()
	heads := []string{"", gitHead, "ref:refs/x", "ref: x", strings.Repeat("a", 40), strings.Repeat("A", 64) + "x", strings.Repeat("a", 39), "#\n"}
	for _, head := range heads {
		for _, rest := range [][]string{{}, {"objects/"}, {"refs/"}, {"objects/", "refs/"}, {"commondir"}, {"refs/", "commondir"}} {
			tree := treetest.Files{"HEAD": head}
			for _, name := range rest {
				tree[name] = "../x\n" // content of a commondir
			}
			dir := treetest.New(t, treetest.Files{"x/objects/": "", "x/refs/": ""})
			treetest.Fill(t, filepath.Join(dir, "docs"), tree)
			cmd := exec.CommandContext(t.Context(), "git", "rev-parse", "--git-dir")
			cmd.Dir, cmd.Env = filepath.Join(dir, "docs"), append(os.Environ(), "GIT_CEILING_DIRECTORIES="+dir)
			out, err := cmd.Output()
			git := err == nil && strings.TrimSpace(string(out)) == "."
			pure := creates(prefixed("docs/", tree)).Check() != nil
			if git && !pure {
				t.Errorf("HEAD %q with %q: git takes it for a repository, and nothing refuses it", head, rest)
			}
			if pure && !git && head != "ref: x" { // a later git might accept it
				t.Errorf("HEAD %q with %q is refused, and git does not take it for a repository", head, rest)
			}
		}
	}
}

// prefixed returns tree below prefix, with a file in each directory.
func prefixed(prefix string, tree treetest.Files) treetest.Files {
	list := treetest.Files{}
	for name, content := range tree {
		if strings.HasSuffix(name, "/") {
			name += "keep"
		}
		list[prefix+name] = content
	}
	return list
}
