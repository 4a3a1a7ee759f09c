package dependencies

import (
	"fmt"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// maxDebian bounds the packages of Debian that a workspace may name.
const maxDebian = 200

// debianName is what a package of Debian may be called: Debian Policy, 5.6.1. It is never an option of apt.
var debianName = lazyregexp.New(`^[a-z0-9][a-z0-9+.-]{0,98}[a-z0-9+.]$`)

// CheckDebian refuses names that no package of Debian can have.
func CheckDebian(names []string) error {
	if len(names) > maxDebian {
		return fmt.Errorf("%d packages of Debian are more than %d", len(names), maxDebian)
	}
	for _, name := range names {
		if !debianName.MatchString(name) {
			return fmt.Errorf("%.100q is no name of a Debian package: small letters, digits, +, - and . make one", name)
		}
	}
	return nil
}

// WithDebian adds packages of Debian, which are installed first. Names that CheckDebian refuses, as an archive of somebody
// else's may have, are left out and noted.
func (d Set) WithDebian(names []string) Set {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		err := CheckDebian([]string{name})
		if err != nil {
			d.notef("nothing is installed: %v", err)
		}
		return err != nil
	})
	if len(names) == 0 {
		return d
	}
	names = slices.Sorted(slices.Values(names))
	d.steps = slices.Insert(slices.Clone(d.steps), 0, step{kind: "apt", root: ".", settings: strings.Join(slices.Compact(names), " ")})
	return d
}

// Debian lists the packages of Debian that are to be installed, sorted, and the place of their step; -1 for none.
func (d Set) Debian() (names []string, at int) {
	return d.wordsOf("apt")
}

// wordsOf lists what the step of a kind is given, and the place of that step; -1 for none.
func (d Set) wordsOf(kind string) (words []string, at int) {
	at = slices.IndexFunc(d.steps, func(s step) bool { return s.kind == kind })
	if at < 0 {
		return nil, at
	}
	return strings.Fields(d.steps[at].settings), at
}
