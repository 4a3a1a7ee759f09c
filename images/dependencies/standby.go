package dependencies

import (
	"slices"
	"strings"

	"agent/sandbox/workspace/deps"
)

// standby is the kind of a step that installs from Debian what could not be requested from pip, as far as the archive has it.
const standby = "apt-standby"

// Standby replaces step i, if it is pip's, with Debian's packages: if no index answers, they are better than nothing. It
// reports whether there are any to look for. Their versions are those of the archive, whatever the workspace asks for.
func (d Set) Standby(i int) (Set, bool) {
	if d.steps[i].kind != "pip" {
		return d, false
	}
	var groups []string
	for line := range strings.Lines(string(d.files[requirementsFile]) + string(d.files[laterFile])) {
		m := requirement.FindStringSubmatch(strings.TrimSpace(hashOption.ReplaceAllString(line, "")))
		if m == nil {
			continue
		}
		if group := debianNames(deps.PythonName(m[1])); group != "" {
			groups = append(groups, group)
		}
	}
	groups = slices.Compact(slices.Sorted(slices.Values(groups)))
	if len(groups) == 0 || len(groups) > maxDebian {
		return d, false
	}
	d = d.Without(i)
	d.steps = slices.Insert(d.steps, 0, step{kind: standby, root: ".", settings: strings.Join(groups, " ")})
	return d, true
}

// debianNames lists the names that Debian may give a Python package, joined by "|", most likely first. Debian's Python
// Policy, 4.3, names it after the module, which often is the package name without that of the language.
func debianNames(name string) string {
	var names []string
	for _, bare := range []string{name, strings.TrimPrefix(name, "python-"), strings.TrimSuffix(name, "-python"), strings.TrimPrefix(name, "py")} {
		if full := "python3-" + strings.Trim(bare, "-"); bare != "" && debianName.MatchString(full) && !slices.Contains(names, full) {
			names = append(names, full)
		}
	}
	return strings.Join(names, "|")
}

// OnStandby lists what a step in place of pip looks for, each as its possible names, and the index of the step; -1 for none.
func (d Set) OnStandby() (groups []string, at int) {
	return d.wordsOf(standby)
}
