package python

import (
	"path"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// versionFile matches the setting that makes building a project write its version, taken from git, into a module that the
// project then imports.
var versionFile = lazyregexp.New(`(?m)^\s*(?:[\w.]*\.)?(?:version[-_]file|write_to)\s*=\s*["']([\w./-]+\.py)["']`)

// writtenVersion is the content of that module, under the names that the writers use.
const writtenVersion = "version = __version__ = \"0.0.0\"\nversion_tuple = __version_tuple__ = (0, 0, 0)\n"

// versionFiles creates in a root what building the project would create: without the module, none of its tests could import
// the project. What the workspace already has stays as it is.
func versionFiles(v check.View, root string) (made workspace.Changeset) {
	text := v.Text(path.Join(root, "pyproject.toml"))
	for _, m := range versionFile.FindAllStringSubmatch(text, -1) {
		p := path.Join(root, m[1])
		if !v.Has(p) && v.HasDir(path.Dir(p)) && len(made.Changes) == 0 {
			made.Changes = append(made.Changes, workspace.Change{Op: workspace.Create, Path: p, After: []byte(writtenVersion), Mode: 0o644})
		}
	}
	return made
}
