package dependencies

import (
	"fmt"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// maxDebian bounds how many Debian packages a workspace may name.
const maxDebian = 200

// debianName matches a permitted name of a Debian package: Debian Policy, 5.6.1. Such a name is never an option of apt.
var debianName = lazyregexp.New(`^[a-z0-9][a-z0-9+.-]{0,98}[a-z0-9+.]$`)

// CheckDebian rejects names that no Debian package can have.
func CheckDebian(names []string) error {
	if len(names) > maxDebian {
		return fmt.Errorf("%d Debian packages, at most %d are allowed", len(names), maxDebian)
	}
	for _, name := range names {
		if !debianName.MatchString(name) {
			return fmt.Errorf("%.100q is not the name of a Debian package: use lower-case letters, digits and any of . + -", name)
		}
	}
	return nil
}

// WithDebian adds Debian packages, which are installed first. It leaves out and notes names that CheckDebian rejects, which
// somebody else's archive may contain.
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

// Debian lists the Debian packages to install, sorted, and the index of their step; -1 for none.
func (d Set) Debian() (names []string, at int) {
	return d.wordsOf("apt")
}

// wordsOf lists the arguments of the step of a kind, and the index of that step; -1 for none.
func (d Set) wordsOf(kind string) (words []string, at int) {
	at = slices.IndexFunc(d.steps, func(s step) bool { return s.kind == kind })
	if at < 0 {
		return nil, at
	}
	return strings.Fields(d.steps[at].settings), at
}
