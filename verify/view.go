package verify

import (
	"path"
	"slices"

	"agent/sandbox/workspace"
	"agent/verify/check"
)

// staticConfig reports whether a file configures a static gate, in whatever
// directory it lies.
func staticConfig(p string) bool {
	return slices.ContainsFunc(checks(), func(c check.Check) bool { return slices.Contains(c.Config, path.Base(p)) })
}

// splitConfig separates the changes to the static gates' configuration from
// the rest.
func splitConfig(cs workspace.Changeset) (config, rest workspace.Changeset) {
	return check.SplitChanges(cs, staticConfig)
}
