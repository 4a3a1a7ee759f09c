package policy

import (
	"slices"
	"strings"
	"testing"

	"agent/sandbox/workspace"
)

func TestAHoldOnDependenciesListsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ file, before, after, want string }{
		{
			"package.json", `{"dependencies":{"a":"^1","gone":"1"},"scripts":{"prepare":"y"}}`, `{"dependencies":{"a":"^2"},"devDependencies":{"new":"3"}}`,
			"updated a ^1 → ^2, removed gone 1, added new 3",
		},
		{"web/package.json", `{"dependencies":{"a":"1"},"engines":{"node":"1"}}`, `{"dependencies":{"a":"1"},"engines":{"node":"2"}}`, ""},
		{"package.json", `{}`, `{"dependencies":`, "what it lists cannot be read: unexpected end of JSON input"},
		{"package.json", `<<<`, `{"dependencies":{"a":"1"}}`, "added a 1"},
		{
			"package-lock.json", `{"packages":{"":{"name":"me","version":"1"},"node_modules/a":{"version":"1.0.0"}}}`,
			`{"packages":{"":{"version":"2"},"node_modules/a":{"version":"1.0.0"},"node_modules/b/node_modules/a":{"version":"0.9.0"}}}`, "updated a 1.0.0 → 0.9.0, 1.0.0",
		},
		{"package-lock.json", `{"dependencies":{"a":{"version":"1"}}}`, `{"dependencies":{"a":{"version":"1","dependencies":{"b":{"version":"2"}}}}}`, "added b 2"},
		{
			"pnpm-lock.yaml", "packages:\n  /@s/a@1.0.0(b@1):\n    x: y\n  /old/2.0.0:\n    x: y\n", "packages:\n  '@s/a@1.1.0':\n    x: y\n",
			"updated @s/a 1.0.0 → 1.1.0, removed old 2.0.0",
		},
		{
			"yarn.lock", "# yarn lockfile v1\n\n\"@s/a@^1\", \"@s/a@^1.1\":\n  version \"1.1.0\"\n  dependencies:\n    b \"1\"\n",
			"__metadata:\n  version: 8\n\n\"@s/a@npm:^1\":\n  version: 1.2.0\n\nc@1:\n  version \"3\"\n", "updated @s/a 1.1.0 → 1.2.0, added c 3",
		},
		{
			"requirements-dev.txt", "A_b==1 # why\nc>=2\n", "a-b==2 \\\n    --hash=sha256:00\nc>=2\n--index-url http://evil.example\n",
			"added --index-url http://evil.example, updated a-b 1 → 2",
		},
		{
			"pyproject.toml", "[project]\ndependencies = ['a>=1']\n", "[project]\ndependencies = ['a>=2']\n[dependency-groups]\ndev = ['b']\n[tool.poetry.group.x.dependencies]\nc = '^1'\n",
			"updated a >=1 → >=2, added b, added c ^1",
		},
		{"pyproject.toml", "[tool.hatch]\nx = 80\n", "[tool.hatch]\nx = 90\n", ""},
		{"uv.lock", "[[package]]\nname = 'a'\nversion = '1'\n", "[[package]]\nname = 'a'\nversion = '2'\n", "updated a 1 → 2"},
		{
			"go.mod", "module m\n\ngo 1.22\n\nrequire a.b/c v1.0.0\n", "module m\n\nrequire (\n\ta.b/c v1.1.0 // indirect\n\td v1\n)\n\nreplace d => ../d\n\nreplace a.b/c v1.1.0 => evil.example/c v1.1.1\n",
			"updated a.b/c v1.0.0 → v1.1.0, added d v1, added replace a.b/c v1.1.0 => evil.example/c v1.1.1, added replace d => ../d",
		},
		{"go.sum", "a v1.0.0 h1:x\na v1.0.0/go.mod h1:y\n", "a v1.1.0 h1:x\n", "updated a v1.0.0 → v1.1.0"},
		{"package.json", `{}`, `{"dependencies":{"a\u001b[2J` + "\u202e" + `":"1"}}`, "added a�[2J� 1"},
		{"requirements.txt", "", strings.Repeat("a", 200) + "\n", "added " + strings.Repeat("a", 100) + "…"},
		{"setup.py", "a", "b", ""},
	} {
		holds := slices.DeleteFunc(ReviewText(modify(c.file, c.before, c.after), nil), func(h Hold) bool { return h.Kind == Unseen })
		if len(holds) != 1 || holds[0].Kind != "dependencies" || !holds[0].Block {
			t.Fatalf("%s: %+v", c.file, holds)
		}
		_, got, _ := strings.Cut(holds[0].Reason, "installation: ")
		if got != c.want {
			t.Errorf("%s:\n got %q\nwant %q", c.file, got, c.want)
		}
	}
}

func TestAHoldOnDependenciesIsShort(t *testing.T) {
	t.Parallel()
	many := ""
	for _, letter := range "abcdefghijklmnopqrstuvwxyz" {
		many += string(letter) + "\n"
	}
	reason := ReviewText(create("requirements.txt", many), nil)[0].Reason
	if !strings.HasSuffix(reason, "added t, and 6 more") {
		t.Error(reason)
	}
	gone := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Rename, Path: "notes.md", From: "requirements.txt", Before: []byte("a==1\n"), After: []byte("a==1\n")}}}
	if reason := ReviewText(gone, nil)[0].Reason; !strings.HasSuffix(reason, ": removed a 1") {
		t.Error(reason)
	}
}

// A manifest is held for what its change can do; a changed version does nothing.
func TestAManifestIsHeldForWhatItChanges(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cs   workspace.Changeset
		want string // kinds, in capitals if they block
	}{
		"its version":        {modify("package.json", `{"version":"1"}`, `{"version":"2"}`), ""},
		"a linter":           {modify("pyproject.toml", "[tool.ruff]\nselect = ['ALL']\n", "[tool.ruff]\nselect = []\n"), "TOOLING"},
		"tests":              {modify("setup.cfg", "[tool:pytest]\ntestpaths = t\n", "[tool:pytest]\n"), "TOOLING"},
		"a script":           {modify("package.json", `{"scripts":{"snap":"a"}}`, `{"scripts":{"snap":"b"}}`), "tooling"},
		"a linter, packages": {modify("pyproject.toml", "", "[tool.mypy]\nstrict = false\n[project]\ndependencies = ['a']\n"), "TOOLING DEPENDENCIES"},
		"a new one":          {create("package.json", `{"version":"1"}`), "DEPENDENCIES"},
		"none left":          {create("package.json", `{"version":"1"}`).Reverse(), "DEPENDENCIES"},
		"another place": {workspace.Changeset{Changes: []workspace.Change{{
			Op: workspace.Rename, From: "a/package.json", Path: "package.json", Before: []byte(`{"version":"1"}`), After: []byte(`{"version":"1"}`), Mode: 0o644,
		}}}, "DEPENDENCIES DEPENDENCIES"},
		"what an editor runs": {modify(".vscode/tasks.json", "{}", `{"version":"2"}`), "TOOLING"},
	} {
		var kinds []string
		for _, h := range ReviewText(c.cs, nil) {
			kind := h.Kind
			if h.Block {
				kind = strings.ToUpper(kind)
			}
			kinds = append(kinds, kind)
		}
		if got := strings.Join(kinds, " "); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}
