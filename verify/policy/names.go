package policy

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
)

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

// unseenRule holds what lies where no scan looks: among installed
// dependencies, byte code and caches. A tool may believe it, and nobody who
// reads the project later will see it.
var unseenRule = holdRule{
	Unseen, "It lies among caches, byte code or installed dependencies, which no later run looks at.", true,
	slices.Concat(unseenNames(workspace.LeftDirs(), "/"), unseenNames(workspace.LeftFiles(), ""), []string{
		".venv/", "site-packages/", "pyvenv.cfg", "activate", "*.egg-link", "*.pth",
	}),
}

// unseenNames makes patterns of a holdRule of names, but for the directories of
// editors, which have a rule that says more.
func unseenNames(names []string, end string) (list []string) {
	for _, name := range names {
		if name != ".vscode" && name != ".idea" {
			list = append(list, strings.ToLower(name)+end)
		}
	}
	return list
}
