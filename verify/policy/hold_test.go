package policy

import (
	"os"
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"

	"github.com/google/go-cmp/cmp"
)

// A19, C11–C13.
func TestHoldsNameWhatAPersonMustSee(t *testing.T) {
	t.Parallel()
	type hold struct {
		kind  string
		block bool
	}
	for name, want := range map[string]hold{
		".github/workflows/ci.yml": {"ci", true}, ".github/actions/x/action.yml": {"ci", true}, "sub/.github/workflows/x.yml": {"ci", true},
		"action.yml": {"ci", true}, ".gitlab-ci.yml": {"ci", true}, "Jenkinsfile": {"ci", true}, ".circleci/config.yml": {"ci", true},
		".woodpecker.yml": {"ci", true}, ".woodpecker/x.yml": {"ci", true}, "azure-pipelines.yml": {"ci", true}, ".GitHub/Workflows/x.yml": {"ci", true},
		".gitattributes": {"git", true}, "x/.gitattributes": {"git", true}, ".gitmodules": {"git", true}, ".gitconfig": {"git", true},
		"CODEOWNERS": {"git", true}, ".github/CODEOWNERS": {"git", true},
		"package.json": {"dependencies", true}, "web/package-lock.json": {"dependencies", true}, "requirements-dev.txt": {"dependencies", true},
		"pyproject.toml": {"dependencies", true}, "setup.py": {"dependencies", true}, "setup.cfg": {"dependencies", true}, "go.sum": {"dependencies", true},
		"Cargo.lock": {"dependencies", true}, "poetry.lock": {"dependencies", true}, "uv.lock": {"dependencies", true}, ".npmrc": {"dependencies", true},
		"ruff.toml": {"tooling", true}, "mypy.ini": {"tooling", true}, ".eslintrc.json": {"tooling", true}, "tsconfig.base.json": {"tooling", true},
		"pytest.ini": {"tooling", true}, "tox.ini": {"tooling", true}, ".golangci.yml": {"tooling", true},
		".pre-commit-config.yaml": {"tooling", true}, ".husky/pre-push": {"tooling", true}, ".vscode/tasks.json": {"tooling", true}, ".idea/x.xml": {"tooling", true},
		".envrc": {"tooling", true}, ".mcp.json": {"tooling", true}, ".claude/settings.json": {"tooling", true}, ".codex/x": {"tooling", true},
		"AGENTS.md": {"tooling", true}, "docs/CLAUDE.md": {"tooling", true}, ".devcontainer/devcontainer.json": {"tooling", true}, "compose.yaml": {"tooling", true},
		"Makefile": {"tooling", false}, "tests/conftest.py": {"tooling", false}, "Dockerfile": {"tooling", false}, "vite.config.ts": {"tooling", false},
		"agent.toml": {"agent", true},
		"src/app.py": {}, "README.md": {}, "github/workflows/x.yml": {}, "src/makefile.py": {}, ".gitignore": {}, "docs/requirements.md": {},
	} {
		var got hold
		list := ReviewText(create(name, "x"), nil)
		if len(list) > 1 {
			t.Errorf("%s: %v", name, list)
		}
		if len(list) == 1 {
			got = hold{list[0].Kind, list[0].Block}
			if list[0].Path != name || list[0].Reason == "" {
				t.Errorf("%s: %+v", name, list[0])
			}
		}
		if got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestHoldsLookAtBothEndsOfARename(t *testing.T) {
	t.Parallel()
	cs := workspace.Changeset{Changes: []workspace.Change{
		{Op: workspace.Rename, Path: "old-ci.yml", From: ".github/workflows/ci.yml"},
		{Op: workspace.Rename, Path: "agent.toml", From: "x.toml"},
		{Op: workspace.Rename, Path: "plain.py", From: "simple.py"},
	}}
	var got []string
	for _, h := range ReviewText(cs, nil) {
		got = append(got, h.Kind+" "+h.Path)
	}
	if diff := cmp.Diff([]string{"agent agent.toml", "ci .github/workflows/ci.yml"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheLossOfAnEntryPageIsHeld(t *testing.T) {
	t.Parallel()
	for _, cs := range []workspace.Changeset{remove("web/index.html", "<p>"), modify("main.jsx", "x", "")} {
		if holds := ReviewText(cs, nil); len(holds) != 1 || !holds[0].Block {
			t.Errorf("%v: %v", cs.Changes[0].Path, holds)
		}
	}
	if holds := ReviewText(modify("index.html", "a", "b"), nil); len(holds) != 0 {
		t.Errorf("an everyday edit: %v", holds)
	}
}

// A name in two rules would be judged by the first of them.
func TestNoRuleNamesTheSamePlaceTwice(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, rule := range holdRules() {
		for _, name := range rule.names {
			if seen[name] != "" {
				t.Errorf("%s is held for two reasons: %s and %s", name, seen[name], rule.reason)
			}
			seen[name] = rule.reason
		}
	}
}

// Each kind is one complete row of the table, and each rule has one of these kinds.
func TestEveryKindHasARow(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range kinds {
		if k.name == "" || k.what == "" || seen[k.name] {
			t.Errorf("the row %+v lacks a part or stands twice", k)
		}
		seen[k.name] = true
	}
	for _, rule := range holdRules() {
		if !seen[rule.kind] {
			t.Errorf("%q is no kind", rule.kind)
		}
	}
	if slices.Contains(Kinds(), Self) {
		t.Error("the agent's own parts may be approved unseen")
	}
}

// Git's configuration determines which files git reads or runs on the host, whatever their names.
func TestWhatTheRepositoryHasGitReadOrRunIsHeld(t *testing.T) {
	t.Parallel()
	text := func(settings string) string {
		return "[core]\n\trepositoryformatversion = 0\n\tbare = false\n" + settings
	}
	for what, test := range map[string]struct {
		settings string
		tree     files
		held     []string
		free     []string
	}{
		"hooks":                    {"\thooksPath = tools/hooks\n", nil, []string{"tools/hooks/pre-commit", "tools/hooks/lib/x.sh"}, []string{"tools/hooks.md", "tools/x", "pre-commit"}},
		"hooks beside all":         {"\thooksPath = .\n", nil, []string{"pre-commit"}, []string{"a.py", "src/pre-commit"}},
		"settings":                 {"[include]\n\tpath = ../team.inc\n", files{"team.inc": ""}, []string{"team.inc"}, []string{"src/team.inc"}},
		"settings yet to be":       {"[include]\n\tpath = ../conf/git\n", nil, []string{"conf/git"}, []string{"conf/git.md"}},
		"settings on a condition":  {"[includeIf \"onbranch:x\"]\n\tpath = ../team.inc\n", nil, []string{"team.inc"}, nil},
		"settings of settings":     {"[include]\n\tpath = ../a.inc\n", files{"a.inc": "[include]\n\tpath = conf/b.inc\n"}, []string{"a.inc", "conf/b.inc"}, []string{"b.inc"}},
		"hooks named by settings":  {"[include]\n\tpath = ../a.inc\n", files{"a.inc": "[core]\n\thooksPath = h\n"}, []string{"h/post-merge"}, []string{"a.py"}},
		"nothing":                  {"[remote \"origin\"]\n\turl = tools/hooks\n", nil, nil, []string{"tools/hooks/pre-commit", "team.inc", "a.py"}},
		"what a rule holds anyway": {"\thooksPath = .githooks\n", nil, []string{".githooks/pre-commit"}, nil},
	} {
		dir := newTree(t, test.tree)
		git(t, dir, "init", "-q")
		fill(t, dir, files{".git/config": text(test.settings)})
		m := scan(t, dir)
		for _, name := range test.held {
			if holds := Review(t.Context(), m, create(name, "x"), nil, nil); len(holds) != 1 || holds[0].Kind != Git || !holds[0].Block || holds[0].Path != name {
				t.Errorf("%s, %s: %+v", what, name, holds)
			}
		}
		for _, name := range test.free {
			if holds := Review(t.Context(), m, create(name, "x"), nil, nil); len(holds) > 0 {
				t.Errorf("%s, %s: %+v", what, name, holds)
			}
		}
	}
	// Both ends of a rename in a directory below the repository are held. If git does not answer, the change is held.
	top := newTree(t, files{"app/a.py": ""})
	git(t, top, "init", "-q")
	fill(t, top, files{".git/config": text("\thooksPath = app/h\n")})
	m := scan(t, top+"/app")
	moved := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Rename, From: "h/x", Path: "y"}, {Op: workspace.Rename, From: "z", Path: "h/w"}}}
	if holds := gitHolds(t.Context(), m, moved); len(holds) != 2 || holds[0].Path != "h/w" || holds[1].Path != "h/x" {
		t.Errorf("renames: %+v", holds)
	}
	// The outer repository may name files in a nested one.
	git(t, top+"/app", "init", "-q")
	nested := scan(t, top)
	if holds := gitHolds(t.Context(), nested, create("app/h/x", "")); len(holds) != 1 {
		t.Errorf("in a nested repository: %+v", holds)
	}
	if err := os.RemoveAll(top + "/app/.git"); err != nil {
		t.Fatal(err)
	}
	fill(t, top, files{".git/config": "[core"})
	if holds := gitHolds(t.Context(), m, create("a.py", "")); len(holds) != 1 || !holds[0].Block || !strings.Contains(holds[0].Reason, "does not say") {
		t.Errorf("with settings that git cannot read: %+v", holds)
	}
	loose := scan(t, newTree(t, files{"config": "[core]\n\thooksPath = .\n"}))
	if holds := gitHolds(t.Context(), loose, create("pre-commit", "")); len(holds) > 0 {
		t.Errorf("without a repository: %+v", holds)
	}
}
