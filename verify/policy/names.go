package policy

import (
	"slices"
	"strings"
	"sync"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/policy/acting"
	"agent/verify/policy/named"
)

// A holdRule holds the paths that match its names, which are patterns in the syntax of acting.Compile.
type holdRule struct {
	kind   string
	reason string
	block  bool
	names  []string
	// Patterns of paths that are exempt although they match.
	except []string
	// The keys that make a file act, as acting.Keys returns them.
	keys []string
	// How files that act outside the box name other files, which then act too.
	mode named.Mode
	// names and except, compiled.
	covers, leaves []acting.Pattern
}

// compiled fills in the compiled patterns of rules. A test ensures that no name of a file that acts outside the box
// appears in them twice.
func compiled(rules []holdRule) []holdRule {
	for i := range rules {
		rules[i].covers, rules[i].leaves = acting.Compile(rules[i].names), acting.Compile(rules[i].except)
	}
	return rules
}

// actingRules returns a rule for each tool whose files act on the given occasion.
func actingRules(when acting.Kind, kind string) (rules []holdRule) {
	for _, row := range acting.Rows(when) {
		rules = append(rules, holdRule{kind: kind, reason: row.Why, block: true, names: row.Names, keys: acting.Keys(row.Tool), mode: modes[when]})
	}
	return rules
}

// modes says how the files of each occasion are read.
var modes = map[acting.Kind]named.Mode{
	acting.OnOpen: named.Commands, acting.OnInstall: named.Manifest, acting.InCI: named.Jobs, acting.OnCommit: named.Commands, acting.ByAgent: named.Instructions,
}

// toolConfig lists the files that configure the tools that judge a patch.
var toolConfig = []string{
	"ruff.toml", ".ruff.toml", "mypy.ini", ".mypy.ini", "pytest.ini", ".pytest.ini", "tox.ini", "tox.toml", "noxfile.py", ".flake8", ".pylintrc", "pylintrc", ".coveragerc",
	"pyrightconfig.json", "ty.toml", ".isort.cfg", ".bandit",
	".eslintrc", ".eslintrc.*", "eslint.config.*", ".eslintignore", "tsconfig*.json", "jsconfig*.json", "biome.json", "biome.jsonc",
	".prettierrc", ".prettierrc.*", "prettier.config.*", ".prettierignore", ".stylelintrc", ".stylelintrc.*", "stylelint.config.*", ".htmlvalidate.json",
	"jest.config.*", "vitest.config.*", "playwright.config.*", "vitest.workspace.*", "babel.config.*", ".babelrc", ".mocharc.*", ".oxlintrc.json",
	".golangci.yml", ".golangci.yaml", ".golangci.toml", "staticcheck.conf", "clippy.toml", "rustfmt.toml", ".rubocop.yml",
	".shellcheckrc", ".editorconfig", "sonar-project.properties", "codecov.yml", ".codecov.yml",
	"pytest.toml", ".pytest.toml", "ava.config.*", ".taprc", ".taprc.*", "mocha.opts", "jasmine.json", "karma.conf.*", "cypress.config.*", "cypress.json",
	".nycrc", ".nycrc.*", ".c8rc.*", ".swcrc", "tslint.json", "phpunit.xml", "phpunit.xml.dist", ".rspec",
}

// alsoConfig lists files that have rules of their own and also configure these tools.
var alsoConfig = []string{"pyproject.toml", "setup.cfg", "package.json"}

// configuresTools reports whether the tools that judge a patch read their configuration from a file of this name on
// their own, in whatever directory it is.
func configuresTools(name string) bool {
	return acting.NewPath(name).In(configPatterns())
}

var configPatterns = sync.OnceValue(func() []acting.Pattern { return acting.Compile(slices.Concat(toolConfig, alsoConfig)) })

// heldByName reports whether a change to a file of this name is held, or shown, because of the name alone.
func heldByName(name string) bool {
	_, ok := ruleFor(name)
	return ok
}

// blockedByName reports whether such a change needs approval because of the name alone.
func blockedByName(name string) bool {
	rule, _ := ruleFor(name)
	return rule.block
}

// holdRules returns the rules in the order in which they are tried: the first that fits a path applies.
var holdRules = sync.OnceValue(func() []holdRule { return compiled(rulesOfNames()) })

// rulesOfNames returns the table behind holdRules, which is built when the first changeset is reviewed.
func rulesOfNames() []holdRule {
	return slices.Concat(
		[]holdRule{
			// First of all: a patch must not set the limits and exceptions by which it is judged, not even for the next run.
			{kind: Agent, reason: "It configures the agent itself.", block: true, names: []string{"agent.toml", ".agent.toml"}},
			unseenRule,
			// Python runs these on its own, in every program and every tool.
			{kind: Tooling, reason: "Python runs it at the start of every program that finds it.", block: true, names: []string{"sitecustomize.py", "usercustomize.py", "sitecustomize/", "usercustomize/", "*._pth"}},
		},
		// The box can neither prove nor contain what runs elsewhere, with write access and tokens.
		actingRules(acting.InCI, CI),
		[]holdRule{
			{kind: CI, reason: "It runs on the build server, with that server's secrets.", block: true, names: []string{".ci/"}, mode: named.Jobs},
			// Attributes name filter programs, submodules name places to fetch from, and code owners decide who must agree.
			{kind: Git, reason: "It changes what git does with the repository, or who must review.", block: true, mode: named.Commands, names: []string{
				".gitattributes", ".gitmodules", ".gitconfig", ".lfsconfig", ".mailmap", "codeowners", ".githooks/",
			}},
		},
		// These run on the machine of the person who opens the directory or commits, with that person's rights.
		// Instructions for other agents are code to them.
		actingRules(acting.OnOpen, Tooling),
		actingRules(acting.OnCommit, Tooling),
		actingRules(acting.ByAgent, Tooling),
		[]holdRule{
			// Scripts of workflows and rules of bots. The files there that people read do not act.
			{
				kind: CI, reason: "Workflows of GitHub, or services that act on the repository, may use it.", block: true, names: []string{".github/"}, mode: named.Jobs,
				except: []string{"*.md", "*.png", "*.jpg", "*.gif", "*.svg", ".github/issue_template/", ".github/pull_request_template/", ".github/discussion_template/", "funding.yml"},
			},
			// A new dependency is other people's code, fetched after the gates have passed. Scripts in these files
			// run during installation.
			{kind: Dependencies, reason: "It changes what is installed, or scripts that run during installation.", block: true, names: lang.Manifests(), mode: named.Manifest},
			{kind: Dependencies, reason: "It is third-party code, which is built or loaded in place of its package.", block: true, names: []string{"/vendor/"}},
			// A gate that is configured to look away proves nothing, so a person must see a patch that needs this.
			{kind: Tooling, reason: "It configures the tools that judge the patch.", block: true, names: toolConfig},
			// A privileged container or a mounted root directory takes a single line.
			{kind: Tooling, reason: "It decides what a container that is started with it may do.", block: true, names: []string{
				"compose.yaml", "compose.yml", "compose.*.yaml", "compose.*.yml", "docker-compose*.yml", "docker-compose*.yaml",
			}},
			// These run in the box as well, so the gates have seen what they do there.
			// They are shown because they also run where there is no box.
			{kind: Tooling, reason: "It runs whenever the project is built or tested.", names: []string{
				"makefile", "gnumakefile", "*.mk", "justfile", "taskfile.yml", "rakefile", "cmakelists.txt", "conftest.py",
				"dockerfile", "dockerfile.*", "*.dockerfile", "containerfile", "vite.config.*", "webpack.config.*", "rollup.config.*", "next.config.*", "gulpfile.*", "gruntfile.*",
				"astro.config.*", "svelte.config.*", "nuxt.config.*", "metro.config.*", "postcss.config.*", "tailwind.config.*", "/.eleventy.js",
				"angular.json", "nx.json", "turbo.json", "lerna.json", "/mkdocs.yml", "book.toml", "docs/conf.py", "sconstruct", "/wscript", "meson.build",
				"xmake.lua", "magefile.go", "guardfile", "thorfile", "/dodo.py", "/fabfile.py", "tiltfile", "skaffold.yaml", "docker-bake.hcl", "docker-bake.json", "mprocs.yaml",
				"cmakepresets.json", "cmakeuserpresets.json", "buf.gen.yaml",
			}},
		},
		actingRules(acting.OnInstall, Dependencies),
		[]holdRule{
			// It is loaded or linked wherever it is found, even in place of a module with that name.
			{kind: Runner, reason: "It is machine code or assembly, which nothing here reads, and programs that find it load or link it.", block: true, names: []string{
				"*.so", "*.so.*", "*.pyd", "*.dll", "*.dylib", "*.node", "*.a", "*.o", "*.obj", "*.lib", "*.syso", "*.s", "*.asm", "*.jar", "*.class", "*.whl", "*.egg", "*.exe",
				"*.wasm", "*.phar", "*.war", "*.ear", "*.apk", "*.deb", "*.rpm", "*.msi", "*.pkl", "*.pickle", "*.joblib",
			}},
			// The table of files that act can never be complete, and tools keep such files at the top, under names
			// that a listing does not show. So a hidden name counts as ordinary only if it is known to be.
			{
				kind: Tooling, reason: nameIsHidden, block: true, names: []string{"/.*/"}, except: plainHidden,
			},
		})
}

// plainHidden lists names at the top that no tool acts on by itself. .github has its own rule; some of these build
// sites; others say what is left out, how text looks or which version is meant, or exist to be copied.
var plainHidden = []string{
	"/.github/", "/.storybook/", "/.vitepress/", "/.vuepress/", "/.*ignore", "/.gitkeep", "/.keep", "/.git-blame-ignore-revs", "/.nojekyll", "/.well-known/", "/.aiexclude",
	"/.env.example", "/.env.*.example", "/.env.sample", "/.env.template", "/.env.dist", "/.env-example",
	"/.nvmrc", "/.node-version", "/.python-version", "/.ruby-version", "/.java-version", "/.go-version", "/.terraform-version",
	"/.markdownlint.json", "/.markdownlint.yaml", "/.markdownlint.yml", "/.markdownlintrc", "/.yamllint", "/.yamllint.yml", "/.yamllint.yaml", "/.codespellrc", "/.cspell.json", "/.spell-dict", "/.spelling", "/.wordlist", "/.wordlist.txt", "/.dictionary", "/.dictionary.txt",
	"/.browserslistrc", "/.all-contributorsrc", "/.clang-format", "/.jsbeautifyrc", "/.typos.toml", "/.vale.ini", "/.vale/", "/.hadolint.yaml", "/.sqlfluff", "/.npmpackagejsonlintrc.json",
	"/.changeset/*.md", "/.changes/", "/.changelog/", "/.release-notes/", "/.zenodo.json", "/.cff", "/.licenserc.yaml", "/.reuse/", "/.hgtags", "/.tx/config", "/.weblate",
}

// nameIsHidden is the reason for a hidden name at the top; saysAVersion defines the exception.
const nameIsHidden = "Its name is hidden, like the names of files that tools act on, and it is not one that is known to be harmless."

// mereVersion matches the text of a file that states a version and nothing else.
var mereVersion = lazyregexp.New(`^\s*v?\d+(?:\.\d+)*(?:[-+.][0-9A-Za-z.+-]{1,40})?\s*$`)

// saysAVersion reports whether a file states only a version, before and after the change: a tool that reads it finds nothing to run.
func saysAVersion(c workspace.Change) bool {
	return (c.Op == workspace.Create || c.Op == workspace.Modify && mereVersion.Match(c.Before)) && mereVersion.Match(c.After)
}

// ruleFor returns the first rule that fits name.
func ruleFor(name string) (holdRule, bool) {
	if name == "" {
		return holdRule{}, false
	}
	p := acting.NewPath(name)
	i := slices.IndexFunc(holdRules(), func(rule holdRule) bool { return p.In(rule.covers) && !p.In(rule.leaves) })
	if i < 0 {
		return holdRule{}, false
	}
	return holdRules()[i], true
}

// unseenRule holds files where no scan looks: among installed dependencies, byte code and caches. A tool may rely on
// such a file, and no later reader of the project will see it.
var unseenRule = holdRule{
	kind: Unseen, reason: "It lies among caches, byte code or installed dependencies, which no later run looks at.", block: true,
	names: slices.Concat(unseenNames(workspace.LeftDirs(), "/"), unseenNames(workspace.LeftFiles(), ""), []string{
		".venv/", "site-packages/", "pyvenv.cfg", "activate", "*.egg-link", "*.pth",
	}),
}

// unseenNames turns names into patterns for a holdRule. It leaves out the directories of editors, which have a more specific rule.
func unseenNames(names []string, end string) (list []string) {
	for _, name := range names {
		if name != ".vscode" && name != ".idea" {
			list = append(list, strings.ToLower(name)+end)
		}
	}
	return list
}
