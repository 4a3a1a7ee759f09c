package node

import (
	"agent/verify/check"
)

// packageLinters lists them all.
func packageLinters() []packageLinter { return []packageLinter{eslint, stylelint} }

// Linters are the checks of them all.
func Linters() (list []check.Check) {
	for _, l := range packageLinters() {
		list = append(list, l.check())
	}
	return list
}

// LinterCode lists the files that their configuration is made of: those of the base, and
// what cand would have in their place.
func LinterCode(base, cand check.View) (files []string) {
	for _, l := range packageLinters() {
		files = append(files, l.code(base, cand)...)
	}
	return files
}
