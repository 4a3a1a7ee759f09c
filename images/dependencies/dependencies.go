// Package dependencies finds out what a workspace wants to have installed, from its manifests and lock files.
//
// It keeps names, versions and digests from these files, which it parses and writes anew. Go's own files go to Go unchanged,
// since Go is made for hostile ones. The package refuses and notes whatever could lead an installer to another machine than
// the user's registry, or make it run something: an address, a setting of a package manager, a script. It installs nothing
// and asks no registry.
package dependencies

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Where installed packages lie in an image, and where a box has the workspace.
const (
	installedDir = "/deps"
	workDir      = "/work"
)

// The bounds of what is read from a workspace in order to install.
const (
	MaxFile  = 32 << 20 // bytes of one file
	maxFiles = 2000
)

// A Set is what a workspace wants to have installed, made by Read from its manifests and lock files.
//
// It is a value to compare and to hand to an installer. Whatever it holds of the workspace's bytes has been parsed and
// written anew, or is plain text that means nothing but names, versions and digests.
type Set struct {
	// Scripts says that packages may run code of their own during installation.
	Scripts bool
	// Notes tell people what was left out, and why.
	Notes []string

	steps []step
	files map[string][]byte
	// node lists the directories with a package.json below a place where Node packages are installed, "." for the root.
	node []string
	// members maps the paths where packages of the workspace look for others of it to these; see nodeSpace.
	members map[string]string
	// See Importing.
	imports map[string][]string
}

// A step is one run of a package manager.
type step struct {
	kind string // apt, apt-standby, npm, pnpm, yarn, pip, go
	root string // directory in the workspace; "." for pip, which installs for all at once

	// settings are the options that it gets from what the workspace says. retry are those of a second attempt, and from is
	// the file that has them; "" for none.
	settings, retry, from string
	// may says what is allowed after a refusal, one a line: for Node how many more attempts, for npm and Python what to leave out.
	may string
}

// Empty reports whether there is nothing to install.
func (d Set) Empty() bool { return len(d.steps) == 0 }

// Uninstalled returns the part of d that needs no registry: that packages of a workspace find each other.
func (d Set) Uninstalled() Set { return Set{members: d.members} }

// Equal reports whether the same is to be installed, and to be found under the same names.
func (d Set) Equal(other Set) bool {
	return d.Scripts == other.Scripts && slices.Equal(d.steps, other.steps) && maps.EqualFunc(d.files, other.files, bytes.Equal) && maps.Equal(d.Links(), other.Links())
}

// Managers names the package managers that install, each once.
func (d Set) Managers() []string {
	var names []string
	for _, s := range d.steps {
		name := s.manager()
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Steps returns the runs of package managers in order, two words each: the kind (apt, apt-standby, npm, pnpm, yarn, each
// also with -unlocked, pip, go) and the directory below that of its language.
func (d Set) Steps() []string {
	var words []string
	for _, s := range d.steps {
		words = append(words, s.kind, s.root)
	}
	return words
}

// Arguments returns the steps for the script that installs, five words each: kind and directory, the options, the options of
// a second attempt, and what is allowed when the package manager refuses.
func (d Set) Arguments() []string {
	var words []string
	for _, s := range d.steps {
		words = append(words, s.kind, s.root, s.settings, s.retry, s.may)
	}
	return words
}

// Options returns, for each step, those of the workspace's settings that decide what is installed.
func (d Set) Options() []string {
	var words []string
	for _, s := range d.steps {
		words = append(words, s.settings, s.retry)
	}
	return words
}

// Files returns the input of the package managers, by slash-separated path below the directory of each language: node,
// python, go.
func (d Set) Files() map[string][]byte { return d.files }

// Links returns the directories of a workspace that must be links: to what is installed for them and, where no installer
// made such links, to packages of the workspace. The latter lead to where a box has the workspace, with the patch.
func (d Set) Links() map[string]string {
	links := make(map[string]string)
	for at, dir := range d.members {
		if from, _, _ := strings.Cut("/"+at, "/node_modules/"); !slices.Contains(d.node, path.Join(".", from)) {
			links[at] = path.Join(workDir, dir)
		}
	}
	for _, dir := range d.node {
		links[path.Join(dir, "node_modules")] = path.Join(installedDir, "node", dir, "node_modules")
	}
	return links
}

// notef records something for people.
func (d *Set) notef(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// add adds a file to the input of the package managers.
func (d *Set) add(name string, content []byte) {
	if d.files == nil {
		d.files = map[string][]byte{}
	}
	d.files[name] = content
}

// Concerns reports whether the file at p affects what is installed. A .npmrc and CI definitions count only for which
// versions fit each other, and CI also for what pip installs: a workspace must not choose where packages come from.
func Concerns(p string) bool {
	// Names are compared as the package managers do, including case.
	base := path.Base(p)
	switch base {
	case "package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "yarn.lock",
		"pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "tox.toml", "hatch.toml", "noxfile.py", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile", "Pipfile.lock", "go.mod", "go.sum", "go.work", "go.work.sum":
		return true
	case "modules.txt":
		// Only its existence counts.
		return path.Base(path.Dir(p)) == "vendor"
	}
	if base == ".npmrc" || isCI(p) || unread(base) != nil {
		return true
	}
	return isRequirements(p) || path.Ext(p) == ".txt" && strings.HasPrefix(base, "constraints")
}

// Read finds out what to install from those files of a workspace, by slash-separated path, that Concerns reports. It keeps
// names and versions, and leaves out and notes everything that could lead an installer elsewhere or make it run something.
func Read(files map[string][]byte) Set {
	d := Set{members: map[string]string{}}
	// Each file is compared with each other one; no workspace made by a person comes near this number.
	if len(files) > maxFiles {
		d.notef("nothing is installed: the workspace has %d manifests and lock files, and at most %d are read", len(files), maxFiles)
		return d
	}
	files = asClassic(files)
	d.readNode(files)
	d.readPython(files)
	d.readGo(files)
	d.noteUnread(files)
	return d
}
