// Package dependencies finds out what a workspace wants to have installed, from its
// manifests and lock files.
//
// It keeps of them names, versions and digests, read and written anew; Go's own files go to Go
// as they are, which is made for hostile ones. What could lead an
// installer to another machine than the user's registry, or make it run something, is
// refused and noted: an address, a setting of a package manager, a script. Nothing is
// installed here, and nothing is asked of a registry.
package dependencies

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Where what is installed lies in an image, and where a box has the workspace.
const (
	installedDir = "/deps"
	workDir      = "/work"
)

// The bounds of what is read of a workspace to install from.
const (
	MaxFile  = 32 << 20 // bytes of one file
	maxFiles = 2000
)

// A Set is what a workspace wants to have installed, made from its manifests and lock files by Read.
//
// It is a value to compare and to hand to an installer; what it holds of the
// workspace's bytes has been read and written anew, or it is plain text with
// no meaning but names, versions and digests.
type Set struct {
	// Scripts says that packages may run code of theirs while they are installed.
	Scripts bool
	// Notes tell people what was left out, and why.
	Notes []string

	steps []step
	files map[string][]byte
	// Directories with a package.json below a place where Node packages are installed, "." for the root.
	node []string
	// Packages of the workspace by the path where others of it look for them; see nodeSpace.
	members map[string]string
	// See Importing.
	imports map[string][]string
}

// A step is one run of a package manager.
type step struct {
	kind string // apt, apt-standby, npm, pnpm, yarn, pip, go
	root string // directory in the workspace; "." for pip, which installs for all at once

	// The options that it is given of what the workspace says, and those of a second attempt, with the file that has
	// them; "" for none.
	settings, retry, from string
	// What may be done when it is refused, one a line: of Node how many other attempts, and of npm and Python what is left out.
	may string
}

// Empty reports whether there is nothing to install.
func (d Set) Empty() bool { return len(d.steps) == 0 }

// Uninstalled leaves of d what takes no registry: that packages of a workspace find each other.
func (d Set) Uninstalled() Set { return Set{members: d.members} }

// Equal reports whether the same is to be installed, and to be found by the same names.
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

// Steps are the runs of package managers in order, two words each: the kind (apt, apt-standby, npm, pnpm,
// yarn, each also with -unlocked, pip, go) and the directory below that of its language.
func (d Set) Steps() []string {
	var words []string
	for _, s := range d.steps {
		words = append(words, s.kind, s.root)
	}
	return words
}

// Arguments are Steps for the script that installs, five words each: behind the directory stand the options, those of a
// second attempt, and what may be done when the package manager refuses.
func (d Set) Arguments() []string {
	var words []string
	for _, s := range d.steps {
		words = append(words, s.kind, s.root, s.settings, s.retry, s.may)
	}
	return words
}

// Options are what of the workspace's settings decides what is installed, for each step.
func (d Set) Options() []string {
	var words []string
	for _, s := range d.steps {
		words = append(words, s.settings, s.retry)
	}
	return words
}

// Files are what the package managers are given, by slash-separated path below the
// directory of each language: node, python, go.
func (d Set) Files() map[string][]byte { return d.files }

// Links says which directories of a workspace are to be links: to what is installed for them and, where an installer
// has made no such links, to packages of the workspace. These lead to where a box has it, with the patch.
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

// notef remembers something for people.
func (d *Set) notef(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// add gives the package managers a file.
func (d *Set) add(name string, content []byte) {
	if d.files == nil {
		d.files = map[string][]byte{}
	}
	d.files[name] = content
}

// Concerns reports whether the file at p takes part in what is installed. Of a .npmrc and of CI definitions that is what
// decides which versions fit each other: a workspace must not choose where packages come from.
func Concerns(p string) bool {
	// Names are compared as the package managers do it, case and all.
	base := path.Base(p)
	switch base {
	case "package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "yarn.lock",
		"pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "tox.toml", "hatch.toml", "noxfile.py", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile", "Pipfile.lock", "go.mod", "go.sum", "go.work", "go.work.sum":
		return true
	case "modules.txt":
		// Only that it is there counts.
		return path.Base(path.Dir(p)) == "vendor"
	}
	if base == ".npmrc" || isCI(p) || unread(base) != nil {
		return true
	}
	return isRequirements(p) || path.Ext(p) == ".txt" && strings.HasPrefix(base, "constraints")
}

// Read finds out what is to be installed from the files of a workspace, by slash-separated path, that Concerns
// names. What is kept of them are names and versions: everything that could lead an installer elsewhere, or
// make it run something, is left out and noted.
func Read(files map[string][]byte) Set {
	d := Set{members: map[string]string{}}
	// Each file costs a comparison with each other one; no workspace that a
	// person made comes near.
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
