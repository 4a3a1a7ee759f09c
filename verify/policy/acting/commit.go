package acting

// onCommit lists what managers of git hooks run when somebody commits.
var onCommit = []Row{
	{"Husky", []string{".husky/", ".huskyrc", ".huskyrc.*", "husky.config.*"}, "Husky runs it when somebody commits.", "https://typicode.github.io/husky/"},
	{
		"Lefthook",
		[]string{"lefthook.*", ".lefthook.*", "lefthook-local.*", ".lefthook-local.*", ".lefthook/", ".lefthook-local/", ".config/lefthook*"},
		"Lefthook runs its commands when somebody commits.",
		"https://lefthook.dev/configuration/",
	},
	{
		"pre-commit",
		[]string{".pre-commit-config.yaml", ".pre-commit-config.yml", ".pre-commit-hooks.yaml", "prek.toml"},
		"pre-commit fetches and runs the hooks that it names when somebody commits.",
		"https://pre-commit.com/",
	},
	{"Overcommit", []string{".overcommit.yml", ".git-hooks/"}, "Overcommit runs it when somebody commits.", "https://github.com/sds/overcommit"},
	{"lint-staged", []string{".lintstagedrc", ".lintstagedrc.*", "lint-staged.config.*"}, "lint-staged runs its commands when somebody commits.", "https://github.com/lint-staged/lint-staged"},
	{"simple-git-hooks", []string{".simple-git-hooks.*", "simple-git-hooks.*"}, "simple-git-hooks makes git hooks of its commands.", "https://github.com/toplenboren/simple-git-hooks"},
	{"commitlint", []string{"commitlint.config.*", ".commitlintrc", ".commitlintrc.*"}, "commitlint loads it, and what it names, when somebody commits.", "https://commitlint.js.org/reference/configuration.html"},
	{"CaptainHook", []string{"captainhook.json"}, "CaptainHook runs its actions when somebody commits.", "https://docs.captainhook.info/"},
	{"GrumPHP", []string{"grumphp.yml", "grumphp.yaml", "grumphp.*.dist"}, "GrumPHP runs its tasks when somebody commits.", "https://github.com/phpro/grumphp"},
	{"cargo-husky", []string{".cargo-husky/"}, "cargo-husky makes git hooks of it.", "https://github.com/rhysd/cargo-husky"},
	{"Trunk", []string{".trunk/"}, "Trunk fetches and runs the tools that it names, when somebody commits too.", "https://docs.trunk.io/code-quality/linters/configure-linters"},
}
