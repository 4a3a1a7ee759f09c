// Package checker determines from a project's own configuration whether the project uses the tool that a suppression
// addresses. It holds the table of those tools, and decides nothing about a suppression.
package checker

import (
	"iter"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/policy/acting"
)

// checkers matches, for a family of suppressions, what shows in a project's text that it uses a tool that obeys the
// family. For a family that is not in the table, the tools themselves are asked.
var checkers = map[string]*lazyregexp.Regexp{
	"ruff": lazyregexp.New(`(?i)\bruff\b`), "noqa": lazyregexp.New(`(?i)\b(?:ruff|flake8|pycodestyle|pyflakes)\b`), "type: ignore": lazyregexp.New(`(?i)\b(?:mypy|pyright|pyre|pyrefly|ty)\b`),
	"pylint": lazyregexp.New(`(?i)pylint`), "nosec": lazyregexp.New(`(?i)bandit|semgrep|gosec`),
	"eslint": lazyregexp.New(`(?i)eslint|oxlint|\bxo\b|\bstandard\b`), "tslint": lazyregexp.New(`(?i)tslint`), "deno-lint": lazyregexp.New(`(?i)\bdeno\b`),
	"typescript": lazyregexp.New(`(?i)\btsc\b|typescript|checkJs`), "biome": lazyregexp.New(`(?i)biome`), "nolint": lazyregexp.New(`(?i)golangci`),
	"staticcheck": lazyregexp.New(`(?i)staticcheck|golangci`), "revive": lazyregexp.New(`(?i)revive|golangci`), "shellcheck": lazyregexp.New(`(?i)shellcheck`),
	"stylelint": lazyregexp.New(`(?i)stylelint`), "scanner": lazyregexp.New(`(?i)sonar|semgrep|gitleaks|trufflehog|ggshield|checkov|tfsec|trivy|kics|snyk|codeql|lgtm|detect-secrets`), "html-validate": lazyregexp.New(`(?i)html-?validate`),
}

// longestConfig bounds how much is read of one file, in bytes.
const longestConfig = 1 << 20

// Known reports whether a row of the table says which tools obey a family of suppressions.
func Known(family string) bool { return checkers[family] != nil }

// Named reports whether one of the files of a project's configuration and builds, given by path and text, names a
// tool that obeys a family of suppressions. For an unknown family it is true.
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

// builds matches the files that say what a project has checked: files of build servers, commit hooks, and files of
// what starts tools by name.
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

// Runs reports whether a build, a commit hook or a CI definition of a project, given by its paths and their texts,
// names a tool that obeys a family of suppressions.
func Runs(family string, paths []string, text func(p string) string) bool {
	return Named(family, func(yield func(p, text string) bool) {
		for _, p := range paths {
			if !strings.Contains("/"+p, "/node_modules/") && acting.NewPath(p).In(builds) && !yield(p, text(p)) {
				return
			}
		}
	})
}
