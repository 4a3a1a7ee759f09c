// Package requires reports what a Python workspace asks to have installed, from the text of the files that say so.
package requires

import (
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// named matches the files in which a project names what it needs.
var named = lazyregexp.New(`(?:^|/)(?:pyproject\.toml|setup\.py|setup\.cfg|tox\.ini|Pipfile|environment\.ya?ml|[\w-]*requirements[\w-]*\.(?:txt|in)|requirements/[^/]+\.(?:txt|in))$`)

// In reports whether a file with this path may say what is to be installed.
func In(p string) bool { return named.MatchString(p) }

// Names reports whether a workspace asks for a distribution that may provide a top-level module: most are named like their module.
func Names(v check.View, module string) bool {
	files := check.Recall(v, "requirement files", func() []string {
		return slices.DeleteFunc(slices.Clone(v.Paths()), func(p string) bool { return !In(p) })
	})
	name := regexp.MustCompile(`(?i)\b` + strings.ReplaceAll(regexp.QuoteMeta(module), "_", "[-_.]") + `\b`)
	return slices.ContainsFunc(files, func(p string) bool { return name.MatchString(v.Text(p)) })
}
