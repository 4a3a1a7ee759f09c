package policy

import (
	"slices"
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

// A name that stands in two rules would be judged by whichever comes first.
func TestNoRuleNamesTheSamePlaceTwice(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, rule := range holdRules {
		for _, name := range rule.names {
			if seen[name] != "" {
				t.Errorf("%s is held for two reasons: %s and %s", name, seen[name], rule.reason)
			}
			seen[name] = rule.reason
		}
	}
}

// A kind is a row of the table, and a rule has one of them.
func TestEveryKindHasARow(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, k := range kinds {
		if k.name == "" || k.what == "" || seen[k.name] {
			t.Errorf("the row %+v lacks a part or stands twice", k)
		}
		seen[k.name] = true
	}
	for _, rule := range holdRules {
		if !seen[rule.kind] {
			t.Errorf("%q is no kind", rule.kind)
		}
	}
	if slices.Contains(Kinds(), Self) {
		t.Error("the agent's own parts may be approved unseen")
	}
}
