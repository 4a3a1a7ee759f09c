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

// A holdRule names paths by the texts of acting.Compile.
type holdRule struct {
	kind   string
	reason string
	block  bool
	names  []string
	// Names that are not meant, though they fit.
	except []string
	// Those with one of which a file acts, as acting.Keys has them.
	keys []string
	// How files that act outside the box name others which then do so too.
	mode named.Mode
	// The two, compiled.
	covers, leaves []acting.Pattern
}

// compiled completes rules. No name of a file that acts outside may be written twice in
// them: a test sees to it.
func compiled(rules []holdRule) []holdRule {
	for i := range rules {
		rules[i].covers, rules[i].leaves = acting.Compile(rules[i].names), acting.Compile(rules[i].except)
	}
	return rules
}

// actingRules makes a rule of each tool whose files act on one occasion.
func actingRules(when acting.Kind, kind string) (rules []holdRule) {
	for _, row := range acting.Rows(when) {
		rules = append(rules, holdRule{kind: kind, reason: row.Why, block: true, names: row.Names, keys: acting.Keys(row.Tool), mode: modes[when]})
	}
	return rules
}

// modes are how the files of each occasion are read.
var modes = map[acting.Kind]named.Mode{
	acting.OnOpen: named.Commands, acting.OnInstall: named.Manifest, acting.InCI: named.Jobs, acting.OnCommit: named.Commands, acting.ByAgent: named.Instructions,
}

// toolConfig are the files that configure the tools which judge a patch.
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

// alsoConfig are files of other rules that configure these tools too.
var alsoConfig = []string{"pyproject.toml", "setup.cfg", "package.json"}

// configuresTools reports whether the tools that judge a patch read their
// configuration from a file of this name by themselves, wherever it lies.
func configuresTools(name string) bool {
	return acting.NewPath(name).In(configPatterns())
}

var configPatterns = sync.OnceValue(func() []acting.Pattern { return acting.Compile(slices.Concat(toolConfig, alsoConfig)) })

// heldByName reports whether a change to a file of this name is held, or shown, for its
// name alone.
func heldByName(name string) bool {
	_, ok := ruleFor(name)
	return ok
}

// blockedByName reports whether such a change waits for an approval for its name alone.
func blockedByName(name string) bool {
	rule, _ := ruleFor(name)
	return rule.block
}

// holdRules are tried in order; the first that fits a path counts.
var holdRules = sync.OnceValue(func() []holdRule { return compiled(rulesOfNames()) })

// rulesOfNames is the table of holdRules, made when the first changeset is reviewed.
func rulesOfNames() []holdRule {
	return slices.Concat(
		[]holdRule{
			// Above all: a patch must not set the limits and exceptions by which it is
			// judged, not even for the next run.
			{kind: Agent, reason: "It configures the agent itself.", block: true, names: []string{"agent.toml", ".agent.toml"}},
			unseenRule,
			// Python starts these by itself, in every program and in every tool.
			{kind: Tooling, reason: "Python runs it at the start of every program that finds it.", block: true, names: []string{"sitecustomize.py", "usercustomize.py", "sitecustomize/", "usercustomize/", "*._pth"}},
		},
		// The box can neither prove nor contain what runs elsewhere, with write access and tokens.
		actingRules(acting.InCI, CI),
		[]holdRule{
			{kind: CI, reason: "It runs on the build server, with that server's secrets.", block: true, names: []string{".ci/"}, mode: named.Jobs},
			// Attributes name filter programs, modules name places to fetch from, and
			// code owners decide who has to agree.
			{kind: Git, reason: "It changes what git does with the repository, or who must review.", block: true, mode: named.Commands, names: []string{
				".gitattributes", ".gitmodules", ".gitconfig", ".lfsconfig", ".mailmap", "codeowners", ".githooks/",
			}},
		},
		// These run on the machine of whoever opens the directory or commits, with the rights
		// of that person; text for other agents is code to them.
		actingRules(acting.OnOpen, Tooling),
		actingRules(acting.OnCommit, Tooling),
		actingRules(acting.ByAgent, Tooling),
		[]holdRule{
			// Scripts of workflows, rules of bots. What people read there acts on nothing.
			{
				kind: CI, reason: "Workflows of GitHub, or services that act on the repository, may use it.", block: true, names: []string{".github/"}, mode: named.Jobs,
				except: []string{"*.md", "*.png", "*.jpg", "*.gif", "*.svg", ".github/issue_template/", ".github/pull_request_template/", ".github/discussion_template/", "funding.yml"},
			},
			// A new dependency is somebody else's code, fetched after the gates have
			// passed. Scripts in these files run on installing it.
			{kind: Dependencies, reason: "It changes what is installed, or scripts that run on installing.", block: true, names: lang.Manifests(), mode: named.Manifest},
			{kind: Dependencies, reason: "It is code of others, which is built or loaded in the place of their package.", block: true, names: []string{"/vendor/"}},
			// A gate that is told to look away proves nothing: a patch that needs this
			// must say so to a person.
			{kind: Tooling, reason: "It configures the tools that judge the patch.", block: true, names: toolConfig},
			// A privileged container or a mounted root directory is one line.
			{kind: Tooling, reason: "It decides what a container may do when it is started with it.", block: true, names: []string{
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
			// It is loaded or linked where it is found, be it in the place of a module of that name.
			{kind: Runner, reason: "It is machine code or assembly, which nothing here reads, and programs that find it load or link it.", block: true, names: []string{
				"*.so", "*.so.*", "*.pyd", "*.dll", "*.dylib", "*.node", "*.a", "*.o", "*.obj", "*.lib", "*.syso", "*.s", "*.asm", "*.jar", "*.class", "*.whl", "*.egg", "*.exe",
				"*.wasm", "*.phar", "*.war", "*.ear", "*.apk", "*.deb", "*.rpm", "*.msi", "*.pkl", "*.pickle", "*.joblib",
			}},
			// The table of what acts can never be whole, and tools keep what they act by at the top, in names that a listing does
			// not show. So one is ordinary only where it is known to be.
			{
				kind: Tooling, reason: nameIsHidden, block: true, names: []string{"/.*/"}, except: plainHidden,
			},
		})
}

// plainHidden are names at the top that no tool acts by on its own: .github has a rule itself, sites are built by some, others say what is left out, how text looks and which version is meant,
// or are there to be copied.
var plainHidden = []string{
	"/.github/", "/.storybook/", "/.vitepress/", "/.vuepress/", "/.*ignore", "/.gitkeep", "/.keep", "/.git-blame-ignore-revs", "/.nojekyll", "/.well-known/", "/.aiexclude",
	"/.env.example", "/.env.*.example", "/.env.sample", "/.env.template", "/.env.dist", "/.env-example",
	"/.nvmrc", "/.node-version", "/.python-version", "/.ruby-version", "/.java-version", "/.go-version", "/.terraform-version",
	"/.markdownlint.json", "/.markdownlint.yaml", "/.markdownlint.yml", "/.markdownlintrc", "/.yamllint", "/.yamllint.yml", "/.yamllint.yaml", "/.codespellrc", "/.cspell.json", "/.spell-dict", "/.spelling", "/.wordlist", "/.wordlist.txt", "/.dictionary", "/.dictionary.txt",
	"/.browserslistrc", "/.all-contributorsrc", "/.clang-format", "/.jsbeautifyrc", "/.typos.toml", "/.vale.ini", "/.vale/", "/.hadolint.yaml", "/.sqlfluff", "/.npmpackagejsonlintrc.json",
	"/.changeset/*.md", "/.changes/", "/.changelog/", "/.release-notes/", "/.zenodo.json", "/.cff", "/.licenserc.yaml", "/.reuse/", "/.hgtags", "/.tx/config", "/.weblate",
}

// nameIsHidden is the reason for a hidden name at the top; saysAVersion has the exception.
const nameIsHidden = "Its name is hidden, like the names of files that tools act on, and it is not one that is known to be harmless."

// mereVersion matches the text of a file that says a version and no more.
var mereVersion = lazyregexp.New(`^\s*v?\d+(?:\.\d+)*(?:[-+.][0-9A-Za-z.+-]{1,40})?\s*$`)

// saysAVersion reports whether a file says a version, before and after: a tool may read it, and finds nothing to do there.
func saysAVersion(c workspace.Change) bool {
	return (c.Op == workspace.Create || c.Op == workspace.Modify && mereVersion.Match(c.Before)) && mereVersion.Match(c.After)
}

// ruleFor finds the first rule that fits name.
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

// unseenRule holds what lies where no scan looks: among installed dependencies, byte code and caches. A tool may believe it, and nobody
// who reads the project later will see it.
var unseenRule = holdRule{
	kind: Unseen, reason: "It lies among caches, byte code or installed dependencies, which no later run looks at.", block: true,
	names: slices.Concat(unseenNames(workspace.LeftDirs(), "/"), unseenNames(workspace.LeftFiles(), ""), []string{
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
