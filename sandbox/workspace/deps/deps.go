// Package deps reads the manifests and lock files of package managers: npm, pnpm, yarn,
// pip, Poetry, uv, PDM, Cargo and Go.
//
// ReadPackage, Requirements, ReadPyproject, ReadLocked and RequiresModules read one file each,
// for all packages; lock files that are written anew to install from, package
// images/dependencies reads itself. Changes compares two versions of one for a person
// who approves, and decides nothing; EffectOf decides whether one can change what is installed at all. Nothing is installed, fetched or executed, and text that
// no manager would accept is an error in words, never a panic.
package deps

import (
	"slices"
	"strings"
)

// packages is what a manifest or a lock file names: versions by name. Of a
// package that it has several times all versions are there, with commas.
//
// It is for the eye of a person who approves, and decides nothing: the hold is
// there whether these lists differ or not.
type packages map[string]string

// add notes one more version of a package.
func (p packages) add(name, version string) {
	if name == "" {
		return
	}
	// Sorted, so that both sides of a change give one text for one set.
	known := strings.Split(p[name], ", ")
	switch {
	case p[name] == "":
		p[name] = version
	case !slices.Contains(known, version):
		p[name] = strings.Join(slices.Sorted(slices.Values(append(known, version))), ", ")
	}
}
