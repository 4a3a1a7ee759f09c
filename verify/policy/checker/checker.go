// Package checker tells by a project's own configuration whether it uses the tool that a suppression speaks to. It holds the
// table of those tools, and decides nothing about a suppression.
package checker

import (
	"iter"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/policy/acting"
)

// checkers match what a project says of itself that has other tools check what comments of a family hide.
// Those of a family that is not here are asked themselves.
var checkers = map[string]*lazyregexp.Regexp{
	"ruff": lazyregexp.New(`(?i)\bruff\b`), "noqa": lazyregexp.New(`(?i)\b(?:ruff|flake8|pycodestyle|pyflakes)\b`), "type: ignore": lazyregexp.New(`(?i)\b(?:mypy|pyright|pyre|pyrefly|ty)\b`),
	"pylint": lazyregexp.New(`(?i)pylint`), "nosec": lazyregexp.New(`(?i)bandit|semgrep|gosec`),
	"eslint": lazyregexp.New(`(?i)eslint|oxlint|\bxo\b|\bstandard\b`), "tslint": lazyregexp.New(`(?i)tslint`), "deno-lint": lazyregexp.New(`(?i)\bdeno\b`),
	"typescript": lazyregexp.New(`(?i)\btsc\b|typescript|checkJs`), "biome": lazyregexp.New(`(?i)biome`), "nolint": lazyregexp.New(`(?i)golangci`),
	"staticcheck": lazyregexp.New(`(?i)staticcheck|golangci`), "revive": lazyregexp.New(`(?i)revive|golangci`), "shellcheck": lazyregexp.New(`(?i)shellcheck`),
	"stylelint": lazyregexp.New(`(?i)stylelint`), "scanner": lazyregexp.New(`(?i)sonar|semgrep|gitleaks|trufflehog|ggshield|checkov|tfsec|trivy|kics|snyk|codeql|lgtm|detect-secrets`), "html-validate": lazyregexp.New(`(?i)html-?validate`),
}

// longestConfig bounds what is read of one file, in bytes.
const longestConfig = 1 << 20

// Known reports whether a row of the table says which tools obey a family of suppressions.
func Known(family string) bool { return checkers[family] != nil }

// Named reports whether one of the files of a project's configuration and builds, given by path and text, names a tool
// that obeys a family of suppressions. Of a family that is not known it is true.
func Named(family string, files iter.Seq2[string, string]) bool {
	form := checkers[family]
	if form == nil {
		return true
	}
	for p, text := range files {
		if form.MatchString(p) || form.MatchString(text[:min(len(text), longestConfig)]) {
			return true
		}
	}
	return false
}

// builds are the files that say what a project has checked: of build servers, of hooks of commits, and of what
// starts tools by a name.
var builds = acting.Compile(slices.Concat(named(acting.InCI), named(acting.OnCommit), []string{
	"makefile", "gnumakefile", "*.mk", "justfile", "taskfile.yml", "taskfile.yaml", "magefile.go", "package.json", "tox.ini", "noxfile.py", "pyproject.toml",
}))

// named lists the names of the files of a kind.
func named(k acting.Kind) (list []string) {
	for _, row := range acting.Rows(k) {
		list = append(list, row.Names...)
	}
	return list
}

// Runs reports whether a build, a hook of commits or a CI definition of a project, given by its paths and their texts, names a tool
// that obeys a family of suppressions.
func Runs(family string, paths []string, text func(p string) string) bool {
	return Named(family, func(yield func(p, text string) bool) {
		for _, p := range paths {
			if !strings.Contains("/"+p, "/node_modules/") && acting.NewPath(p).In(builds) && !yield(p, text(p)) {
				return
			}
		}
	})
}
