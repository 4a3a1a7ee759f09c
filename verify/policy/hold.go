// Package policy reads off a changeset what a person should see before it is written,
// and which of it must not be written without approval: each such thing is a Hold.
//
// Review is the one list of them all. ReviewText judges the text of a changeset and nothing
// else: names of files that act outside the box or configure the tools that judge, packages
// that are installed, credentials, paths that the project protects itself, and places where
// the text makes a check weaker, by a suppression, a test that tests less, a type that lets
// everything through. The last are read off the lines, without running anything, and counted
// over the whole changeset, so that moving is no weakening. With the workspace come the code
// and the configuration of the tools that judge, and what git would hide from every later
// run. What only a gate can tell comes from package verify, as the same Hold.
//
// Nothing of a text is believed or executed, whatever it holds is read in bounded time,
// and no reason shows a credential or what a terminal obeys. Whether somebody approves is
// the business of the run.
package policy

import (
	"context"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/deps"
	"agent/sandbox/workspace/lang"
)

// A Hold is a change that a person should see before it is written.
//
// Block tells the two sorts apart. Changes that act outside the box, on the
// person's machine or on a server, or that soften the gates, block: without
// approval they are not written. The rest belongs to everyday patches (a
// Makefile, a conftest.py, a Dockerfile) and is listed at the checkpoint.
type Hold struct {
	Path string `json:"path"`
	// One of the kinds, as CI.
	Kind string `json:"kind"`
	// A sentence for the person who approves.
	Reason string `json:"reason"`
	// Not written without approval.
	Block bool `json:"block"`
}

// A holdRule names paths by patterns of path.Match in lower case. A pattern
// without a slash is compared with the last part of a path; one that ends in a
// slash with every directory on the way, from the root or anywhere.
type holdRule struct {
	kind   string
	reason string
	block  bool
	names  []string
}

// toolConfig are the files that configure the tools which judge a patch.
var toolConfig = []string{
	"ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini", "pytest.ini", ".pytest.ini", "tox.ini", "noxfile.py", ".flake8", ".pylintrc", "pylintrc", ".coveragerc",
	"pyrightconfig.json", "ty.toml", ".isort.cfg", ".bandit",
	".eslintrc", ".eslintrc.*", "eslint.config.*", ".eslintignore", "tsconfig*.json", "jsconfig*.json", "biome.json", "biome.jsonc",
	".prettierrc", ".prettierrc.*", "prettier.config.*", ".prettierignore", ".stylelintrc", ".stylelintrc.*", "stylelint.config.*", ".htmlvalidate.json",
	"jest.config.*", "vitest.config.*", "playwright.config.*", "vitest.workspace.*", "babel.config.*", ".babelrc", ".mocharc.*", ".oxlintrc.json",
	".golangci.yml", ".golangci.yaml", ".golangci.toml", "staticcheck.conf", "clippy.toml", "rustfmt.toml", ".rubocop.yml",
	".shellcheckrc", ".editorconfig", "sonar-project.properties", "codecov.yml", ".codecov.yml",
}

// alsoConfig are files of other rules that configure these tools too.
var alsoConfig = []string{"pyproject.toml", "setup.cfg", "package.json"}

// configuresTools reports whether the tools that judge a patch read their
// configuration from a file of this name by themselves, wherever it lies.
func configuresTools(name string) bool {
	lower := strings.ToLower(name)
	return slices.ContainsFunc(slices.Concat(toolConfig, alsoConfig), func(p string) bool { return fits(p, lower) })
}

// heldByName reports whether a change to a file of this name is held, or shown, for its
// name alone.
func heldByName(name string) bool {
	_, ok := ruleFor(name)
	return ok
}

// holdRules are tried in order; the first that fits a path counts.
var holdRules = []holdRule{
	// Above all: a patch must not set the limits and exceptions by which it is
	// judged, not even for the next run.
	{Agent, "It configures the agent itself.", true, []string{"agent.toml", ".agent.toml"}},
	unseenRule,
	// Python starts these by itself, in every program and in every tool.
	{Tooling, "Python runs it at the start of every program that finds it.", true, []string{"sitecustomize.py", "usercustomize.py"}},
	// A workflow is code that runs elsewhere with write access and tokens. The
	// box can neither prove nor contain it.
	{CI, "It runs on the build server, with that server's secrets.", true, []string{
		".github/workflows/", ".github/actions/", "action.yml", "action.yaml", ".gitlab-ci.yml", ".gitlab/", "jenkinsfile", "jenkinsfile.*",
		".circleci/", ".woodpecker/", ".woodpecker*", ".drone.yml", ".travis.yml", "appveyor.yml", ".appveyor.yml",
		"azure-pipelines*.yml", "azure-pipelines*.yaml", "bitbucket-pipelines.yml", ".buildkite/", ".gitea/", ".forgejo/", ".teamcity/",
		".cirrus.yml", "cloudbuild.yaml", "buildspec.yml", "dependabot.yml", "renovate.json", ".ci/",
	}},
	// Attributes name filter programs, modules name places to fetch from, and
	// code owners decide who has to agree.
	{Git, "It changes what git does with the repository, or who must review.", true, []string{
		".gitattributes", ".gitmodules", ".gitconfig", ".lfsconfig", ".mailmap", "codeowners", ".githooks/",
	}},
	// Editors and hook managers run what these files say as soon as somebody
	// opens the directory or commits.
	{Tooling, "It starts programs on the machine of whoever opens or commits to the project.", true, []string{
		".vscode/", ".idea/", ".fleet/", ".zed/", ".devcontainer/", ".devcontainer.json", "devcontainer.json", "*.code-workspace", ".envrc",
		".husky/", ".pre-commit-config.yaml", "lefthook.yml", ".lefthook.yml", ".overcommit.yml", ".mise.toml", "mise.toml", ".tool-versions",
	}},
	// Text for other agents is code to them, and they run with the rights of
	// the person.
	{Tooling, "It instructs other coding agents or gives them tools.", true, []string{
		".mcp.json", "mcp.json", ".claude/", ".codex/", ".cursor/", ".cursorrules", ".windsurf/", ".gemini/", ".aider*", ".continue/",
		"agents.md", "claude.md", "gemini.md", "copilot-instructions.md",
	}},
	// A new dependency is somebody else's code, fetched after the gates have
	// passed. Scripts in these files run on installing it.
	{Dependencies, "It changes what is installed, or scripts that run on installing.", true, lang.Manifests()},
	// A gate that is told to look away proves nothing: a patch that needs this
	// must say so to a person.
	{Tooling, "It configures the tools that judge the patch.", true, toolConfig},
	// A privileged container or a mounted root directory is one line.
	{Tooling, "It decides what a container may do when it is started with it.", true, []string{
		"compose.yaml", "compose.yml", "compose.*.yaml", "compose.*.yml", "docker-compose*.yml", "docker-compose*.yaml",
	}},
	// These run in the box as well, so the gates have seen what they do there.
	// They are shown because they also run where there is no box.
	{Tooling, "It runs whenever the project is built or tested.", false, []string{
		"makefile", "gnumakefile", "*.mk", "justfile", "taskfile.yml", "rakefile", "cmakelists.txt", "conftest.py",
		"dockerfile", "dockerfile.*", "*.dockerfile", "containerfile", "vite.config.*", "webpack.config.*", "rollup.config.*", "next.config.*", "gulpfile.*", "gruntfile.*",
	}},
}

// entryFiles are those whose loss ends a program; see ReviewText.
var entryFiles = []string{"main.jsx", "main.tsx", "index.html", "vite.config.js", "vite.config.ts"}

// Review lists all that a person should see of cs, a changeset to base, before it is written:
// what its text tells, then gates, which verify found while it judged, then what changes the
// tools that judge, then what git hides. protect and gates may be nil. What git gives no
// answer about is held too.
func Review(ctx context.Context, base *workspace.Manifest, cs workspace.Changeset, protect *Protection, gates []Hold) []Hold {
	return slices.Concat(ReviewText(cs, protect), gates, toolHolds(base, cs), hiddenHolds(ctx, base, cs))
}

// ReviewText lists what the text of cs alone tells, in the order of the paths, then what
// weakens a check, then what protect names, which may be nil: CI definitions, git
// attributes and modules, code owners, dependency manifests and lock files (with
// the packages that change),
// tool configuration, editor and agent hooks, agent.toml, the deletion or
// emptying of an entry page, lines that introduce a credential, and what makes
// checks weaker: suppressions, tests that test less, and types and handlers
// that let everything through. Those with Block are not to be written without
// approval.
func ReviewText(cs workspace.Changeset, protect *Protection) []Hold {
	var holds []Hold
	for _, c := range cs.Sorted() {
		for _, name := range slices.Compact([]string{c.Path, c.From}) {
			if rule, ok := ruleFor(name); ok {
				h := Hold{Path: name, Kind: rule.kind, Reason: rule.reason, Block: rule.block}
				if list := packageChanges(c, name); rule.kind == Dependencies && list != "" {
					h.Reason = strings.TrimSuffix(h.Reason, ".") + ": " + list
				}
				holds = append(holds, h)
			}
		}
		emptied := c.Op == workspace.Delete || c.Op == workspace.Modify && len(c.After) == 0 && len(c.Before) > 0
		if emptied && slices.Contains(entryFiles, strings.ToLower(path.Base(c.Path))) {
			holds = append(holds, Hold{
				Path: c.Path, Kind: Tooling, Block: true, Reason: "It is where the program starts, and nothing is left of it.",
			})
		}
		holds = append(holds, secretHolds(c)...)
	}
	holds = append(holds, weakHolds(cs)...)
	return append(holds, protect.holds(cs)...)
}

// packageChanges is deps.Changes of a change, for the name that the hold is about: of a
// rename either the old or the new one, each told by itself.
func packageChanges(c workspace.Change, name string) string {
	before, after := c.Before, c.After
	// A creation has no bytes before it and a deletion none after.
	if c.Op == workspace.Rename { // the file of that name comes or goes
		if name == c.From {
			after = nil
		} else {
			before = nil
		}
	}
	return deps.Changes(name, before, after)
}

// ruleFor finds the first rule that fits name.
func ruleFor(name string) (holdRule, bool) {
	if name == "" {
		return holdRule{}, false
	}
	lower := strings.ToLower(name)
	for _, rule := range holdRules {
		if slices.ContainsFunc(rule.names, func(p string) bool { return fits(p, lower) }) {
			return rule, true
		}
	}
	return holdRule{}, false
}

// fits compares one pattern of a holdRule with a path in lower case.
func fits(pattern, name string) bool {
	if strings.HasSuffix(pattern, "/") {
		return strings.HasPrefix(name, pattern) || strings.Contains(name, "/"+pattern)
	}
	ok, err := path.Match(pattern, path.Base(name))
	return ok && err == nil
}
