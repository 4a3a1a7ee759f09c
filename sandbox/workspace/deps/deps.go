// Package deps reads the manifests and lock files of package managers: npm, pnpm, yarn, pip, pipenv, setuptools,
// Poetry, uv, PDM, Cargo, Composer and Go.
//
// ReadPackage, Requirements, ReadPyproject, ReadLocked and RequiresModules read one file each, for all other packages.
// Package images/dependencies itself reads the lock files that it rewrites to install from. Changes compares two
// versions of a file for a person who approves, and decides nothing; EffectOf decides whether a change can affect what
// is installed at all. The package installs, fetches and executes nothing. Text that no manager would accept is an
// error in words, never a panic.
package deps

import (
	"slices"
	"strings"
)

// packages is what a manifest or a lock file names: versions by name. A package that it lists several times has all its
// versions, separated by commas.
//
// It is for a person who approves, and decides nothing: the hold exists whether these lists differ or not.
type packages map[string]string

// add records one more version of a package.
func (p packages) add(name, version string) {
	if name == "" {
		return
	}
	// Sorted, so that the same set gives the same text on both sides of a change.
	known := strings.Split(p[name], ", ")
	switch {
	case p[name] == "":
		p[name] = version
	case !slices.Contains(known, version):
		p[name] = strings.Join(slices.Sorted(slices.Values(append(known, version))), ", ")
	}
}
