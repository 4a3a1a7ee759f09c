package policy

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"agent/verify/check"
	"agent/verify/verifytest"
)

// workflow returns a GitHub workflow with these steps.
func workflow(steps string) map[string]string {
	return map[string]string{".github/workflows/ci.yml": "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - uses: actions/checkout@v4\n" + steps}
}

// with adds files to a workspace.
func with(files map[string]string, more ...string) map[string]string {
	files = maps.Clone(files)
	for i := 0; i+1 < len(more); i += 2 {
		files[more[i]] = more[i+1]
	}
	return files
}

// A namedCase is a workspace, a file that a patch changes, and the kind and part of the reason of its hold, or "" for no hold.
type namedCase struct {
	name          string
	files         map[string]string
	changed, kind string
	reason        string
}

const shebang = "#!/bin/sh\nset -e\n"

var namedCases = []namedCase{
	// What a build server runs and includes.
	{"a step", workflow("      - run: ./ci/release.sh\n"), "ci/release.sh", CI, "run by .github/workflows/ci.yml"},
	{"a step of lines", workflow("      - run: |\n          pip install -e .\n          bash -e ci/release.sh v1\n"), "ci/release.sh", CI, "run by"},
	{"behind others", workflow("      - run: pip install x && FOO=1 sudo -E tools/x.sh --all\n"), "tools/x.sh", CI, "run by"},
	{"in a directory", workflow("      - run: ./x.sh\n        working-directory: ops\n"), "ops/x.sh", CI, "run by"},
	{"after cd", workflow("      - run: cd ops && ./x.sh\n"), "ops/x.sh", CI, "run by"},
	{"from the workspace", workflow("      - run: \"${{ github.workspace }}/ops/x.sh\"\n"), "ops/x.sh", CI, "run by"},
	{"a release", workflow("      - run: python scripts/release.py\n"), "scripts/release.py", CI, "run by"},
	{"without an end", with(workflow("      - run: ./bin/up\n"), "bin/up", shebang), "bin/up", CI, "run by"},
	{"of Windows", workflow("      - run: .\\ops\\x.ps1\n        shell: pwsh\n"), "ops/x.ps1", CI, "run by"},
	{"a list for pip", workflow("      - run: python -m pip install -q -r ops/tools.list\n"), "ops/tools.list", CI, "taken in by"},
	{"two hops", with(workflow("      - run: ./ci/release.sh\n"), "ci/release.sh", shebang+`. "$(dirname "$0")/lib.sh"`+"\n"), "ci/lib.sh", CI, "run by ci/release.sh, which takes effect through .github/workflows/ci.yml"},
	{"a script of .github", map[string]string{".github/scripts/a.sh": shebang + "bash ops/x.sh\n"}, "ops/x.sh", CI, "run by .github/scripts/a.sh"},
	{"GitLab, an include", map[string]string{".gitlab-ci.yml": "include:\n  - local: /ci/build.yml\n"}, "ci/build.yml", CI, "included by .gitlab-ci.yml"},
	{"GitLab, a list", map[string]string{".gitlab-ci.yml": "include: ['ci/build.yml', 'ci/b.yml']\n"}, "ci/b.yml", CI, "included by"},
	{"GitLab, of an include", map[string]string{".gitlab-ci.yml": "include:\n  - local: /ci/build.yml\n", "ci/build.yml": "a:\n  script:\n    - ops/x.sh\n"}, "ops/x.sh", CI, "run by ci/build.yml"},
	{"Azure, a template", map[string]string{"azure-pipelines.yml": "steps:\n- template: ops/steps.yml\n"}, "ops/steps.yml", CI, "included by"},
	{"Jenkins", map[string]string{"Jenkinsfile": "pipeline { stages { stage('a') { steps { sh 'ops/x.sh' } } } }\n"}, "ops/x.sh", CI, "run by"},
	{"a host", map[string]string{"netlify.toml": "[build]\n  command = \"./ops/x.sh\"\n"}, "ops/x.sh", CI, "run by"},
	{"a Procfile", map[string]string{"Procfile": "release: ops/x.sh\n"}, "ops/x.sh", CI, "run by"},
	// What git hooks, editors and agents run and read.
	{"pre-commit", map[string]string{".pre-commit-config.yaml": "repos:\n  - repo: local\n    hooks:\n      - id: check\n        entry: tools/check.sh\n        language: script\n"}, "tools/check.sh", Tooling, "run by .pre-commit-config.yaml"},
	{"husky", map[string]string{".husky/pre-commit": "node scripts/check.mjs\n"}, "scripts/check.mjs", Tooling, "run by"},
	{"an editor", map[string]string{".devcontainer/devcontainer.json": `{"name": "x", "postCreateCommand": "bash ${containerWorkspaceFolder}/ops/x.sh"}`}, "ops/x.sh", Tooling, "run by"},
	{"direnv", map[string]string{".envrc": "source ops/env.sh\n"}, "ops/env.sh", Tooling, "run by"},
	{"a hook of an agent", map[string]string{".claude/settings.json": `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"sh tools/start.sh"}]}]}}`}, "tools/start.sh", Tooling, "run by .claude/settings.json"},
	{"a hook in its project", map[string]string{".claude/settings.json": `{"hooks":{"Stop":[{"hooks":[{"command":"\"$CLAUDE_PROJECT_DIR\"/tools/stop.py"}]}]}}`}, "tools/stop.py", Tooling, "run by"},
	{"an import", map[string]string{"CLAUDE.md": "# Project\n\nSee @docs/conventions.md for the rules.\n"}, "docs/conventions.md", Tooling, "imported by CLAUDE.md"},
	{"an import of an import", map[string]string{"CLAUDE.md": "@docs/a.md", "docs/a.md": "- @./b.md\n"}, "docs/b.md", Tooling, "imported by docs/a.md, which takes effect through CLAUDE.md"},
	{"instructions of opencode", map[string]string{"opencode.json": `{"instructions": ["docs/style.md"]}`}, "docs/style.md", Tooling, "imported by"},
	// What is installed, and runs at that time.
	{"a list of a list", map[string]string{"requirements.txt": "-r deps/base.list\n"}, "deps/base.list", Dependencies, "taken in by requirements.txt"},
	{"a list of that", map[string]string{"requirements.txt": "-r deps/base.list\n", "deps/base.list": "--constraint=pins.cfg\n"}, "deps/pins.cfg", Dependencies, "taken in by deps/base.list"},
	{"a list of setuptools", map[string]string{"pyproject.toml": "[tool.setuptools.dynamic]\ndependencies = {file = [\"conf/deps.lst\"]}\n"}, "conf/deps.lst", Dependencies, "taken in by"},
	{"npm", map[string]string{"package.json": `{"scripts": {"postinstall": "node scripts/post.js"}}`}, "scripts/post.js", Dependencies, "run on installing by package.json"},
	{"npm, below", map[string]string{"web/package.json": `{"scripts": {"prepare": "husky || node build/prepare.mjs"}}`}, "web/build/prepare.mjs", Dependencies, "run on installing by"},
	{"npm, a part", map[string]string{"package.json": `{"scripts": {"postinstall": "node scripts/post.js"}}`, "scripts/post.js": "require('./lib')\n"}, "scripts/lib.js", Dependencies, "loaded by scripts/post.js"},
	{"Composer", map[string]string{"composer.json": `{"scripts": {"post-install-cmd": ["php ops/x.php"]}}`}, "ops/x.php", Dependencies, "run on installing by"},

	// The product and its tests, which gates judge.
	{"tests that a job runs", workflow("      - run: python tests/run.py\n"), "tests/run.py", "", ""},
	{"a build that a job runs", workflow("      - run: node scripts/build.js && npm test\n"), "scripts/build.js", "", ""},
	{"a program that a job runs", workflow("      - run: go run ./cmd/x\n"), "cmd/x/main.go", "", ""},
	{"a script that a job runs", workflow("      - run: python src/shop/main.py\n"), "src/shop/main.py", "", ""},
	{"a module of it", workflow("      - run: python -m shop.release\n"), "shop/release.py", "", ""},
	{"a release that is tested", with(workflow("      - run: python scripts/release.py\n"), "tests/test_release.py", "from scripts import release\n"), "scripts/release.py", "", ""},
	{"a shell program that is tested", with(workflow("      - run: ./nvx.sh --version\n"), "test/all.bats", "@test 'a' { ./nvx.sh; }\n"), "nvx.sh", "", ""},
	{"a test of a shell", workflow("      - run: ./tests/test_install.sh\n"), "tests/test_install.sh", "", ""},
	{"scripts by name", map[string]string{"package.json": `{"main": "src/a.js", "bin": "src/a.js", "files": ["x.sh"], "scripts": {"build": "node src/a.js", "test": "sh x.sh", "lint": "node src/a.js"}}`}, "src/a.js", "", ""},
	{"a shell script by name", map[string]string{"package.json": `{"scripts": {"test": "sh x.sh", "prepublish": "sh x.sh"}}`}, "x.sh", "", ""},
	{"what a job is started by", map[string]string{".github/workflows/ci.yml": "on:\n  push:\n    paths:\n      - 'install.sh'\n      - ops/x.sh\njobs: {}\n"}, "ops/x.sh", "", ""},
	{"what a job reads", workflow("      - run: shellcheck ./ops/x.sh\n      - run: cp ops/x.sh dist/\n"), "ops/x.sh", "", ""},
	{"what a job keeps", workflow("      - uses: actions/upload-artifact@v4\n        with:\n          path: ops/x.sh\n"), "ops/x.sh", "", ""},
	{"a comment", workflow("      # see ./ops/x.sh\n      - run: make\n"), "ops/x.sh", "", ""},
	{"data of a job", workflow("      - run: kubectl apply -f deploy/app.yml\n"), "deploy/app.yml", "", ""},
	{"another of that name", workflow("      - run: ./ci/release.sh\n"), "docs/release.sh", "", ""},
	{"a directory", workflow("      - run: ruff check src && ls ops\n"), "src/a.py", "", ""},
	{"a program that an agent reads", map[string]string{"CLAUDE.md": "See @src/main.py and @package.json.\n"}, "src/main.py", "", ""},
	{"a name in code", map[string]string{"CLAUDE.md": "Write `@docs/a.md` or\n```\n@docs/a.md\n```\nto me@docs/a.md.\n"}, "docs/a.md", "", ""},
	{"a text that is only spoken of", map[string]string{"AGENTS.md": "Read docs/a.md and [b](docs/a.md).\n"}, "docs/a.md", "", ""},
	{"a server of tools", map[string]string{".mcp.json": `{"mcpServers": {"x": {"command": "node", "args": ["src/index.js"]}}}`}, "src/index.js", "", ""},
	{"a program that an editor starts", map[string]string{"x.code-workspace": `{"configurations": [{"program": "${workspaceFolder}/src/index.js"}]}`}, "src/index.js", "", ""},
	{"a readme of a project", map[string]string{"pyproject.toml": "[project]\nname = \"x\"\nreadme = {file = \"README.md\"}\n[tool.setuptools.dynamic]\nversion = {file = \"VERSION\"}\n"}, "README.md", "", ""},
	{"scripts that a project installs", map[string]string{"setup.py": "setup(scripts=['bin/tool.py', 'bin/run.sh'])\n"}, "bin/run.sh", "", ""},
	{"what a gemspec names", map[string]string{"x.gemspec": "s.executables = ['bin/x']\nload './lib/x/version.rb'\n"}, "lib/x/version.rb", "", ""},
	{"tests of pre-commit", map[string]string{".pre-commit-config.yaml": "repos:\n  - repo: local\n    hooks:\n      - id: x\n        entry: pytest\n        files: ops/x.sh\n        exclude: tools/y.sh\n"}, "ops/x.sh", "", ""},
}

func TestWhatActingFilesNameIsHeld(t *testing.T) {
	t.Parallel()
	for _, c := range namedCases {
		files := maps.Clone(c.files)
		if _, ok := files[c.changed]; !ok {
			files[c.changed] = shebang[:len(shebang)-len("set -e\n")]
			if !strings.HasSuffix(c.changed, ".sh") {
				files[c.changed] = "one\n"
			}
		}
		base := verifytest.Scan(t, files)
		cs := verifytest.Change(t, base, map[string]string{c.changed: files[c.changed] + "two\n"})
		got := ""
		for _, h := range namedHolds(check.OnBase(base), check.NewView(base, cs), cs) {
			got += fmt.Sprint(h.Path, " ", h.Kind, " ", h.Block, " ", h.Reason)
		}
		if (got != "") != (c.kind != "") || c.kind != "" && (!strings.HasPrefix(got, c.changed+" "+c.kind+" true It is ") || !strings.Contains(got, c.reason)) {
			t.Errorf("%s: %q", c.name, got)
		}
		if c.kind == "" || files[c.changed][:2] == "#!" {
			continue
		}
		// A new file at a path that a file names is held just the same.
		delete(files, c.changed)
		base = verifytest.Scan(t, files)
		cs = verifytest.Change(t, base, map[string]string{c.changed: "new\n"})
		if holds := namedHolds(check.OnBase(base), check.NewView(base, cs), cs); len(holds) != 1 {
			t.Errorf("%s: a new one: %+v", c.name, holds)
		}
	}
}

// A text that is also meant for people is shown and does not block.
func TestAReadmeThatInstructionsImportIsShown(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{"CLAUDE.md": "See @README.md.\n", "README.md": "a\n"})
	cs := verifytest.Change(t, base, map[string]string{"README.md": "b\n"})
	if holds := toolHolds(base, cs); len(holds) != 1 || holds[0].Block || holds[0].Kind != Tooling {
		t.Errorf("%+v", holds)
	}
}

// If a patch makes one file name another and changes both, the named one is held as well.
func TestWhatThePatchNamesIsFollowed(t *testing.T) {
	t.Parallel()
	base := verifytest.Scan(t, map[string]string{".envrc": "layout python\n", "ops/x.sh": shebang})
	cs := verifytest.Change(t, base, map[string]string{".envrc": ". ./ops/x.sh\n", "ops/x.sh": shebang + "id\n"})
	if holds := toolHolds(base, cs); len(holds) != 1 || holds[0].Path != "ops/x.sh" {
		t.Errorf("%+v", holds)
	}
}
