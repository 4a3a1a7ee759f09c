package dependencies

import (
	"bytes"
	"cmp"
	"maps"
	"path"
	"slices"
)

// A lockFile is a file in which a package manager keeps versions, and how it is used here.
type lockFile struct {
	name string
	kind string // the package manager that installs by it, as in a step; "" for a file that is not read
	// For a file that is not read: the manifest next to it that counts instead, and what fixes the versions all the same.
	manifest, cure string
}

// lockFiles are the known lock files, in order of precedence within one directory.
var lockFiles = []lockFile{
	{name: "pnpm-lock.yaml", kind: "pnpm"},
	{name: "yarn.lock", kind: "yarn", manifest: "package.json", cure: "commit the pnpm-lock.yaml that `pnpm import` makes from it"},
	{name: "npm-shrinkwrap.json", kind: "npm"},
	{name: "package-lock.json", kind: "npm"},
	{name: "bun.lock", manifest: "package.json", cure: npmLockCure},
	{name: "bun.lockb", manifest: "package.json", cure: npmLockCure},
	{name: "deno.lock", manifest: "package.json", cure: npmLockCure},
	{name: "Pipfile.lock", kind: "pip"},
	{name: "uv.lock", kind: "pip"},
	{name: "poetry.lock", kind: "pip"},
	{name: "pdm.lock", kind: "pip"},
	{name: "pylock.toml", manifest: "pyproject.toml", cure: "commit the requirements.txt that `uv export` makes"},
	{name: "pixi.lock", manifest: "pyproject.toml", cure: "commit the uv.lock that `uv lock` makes"},
	{name: "conda-lock.yml", manifest: "pyproject.toml", cure: "commit the uv.lock that `uv lock` makes"},
}

const npmLockCure = "commit the package-lock.json that `npm install --package-lock-only` makes"

// unread returns the row of a file that is never read, whatever its content, or nil.
func unread(base string) *lockFile {
	i := slices.IndexFunc(lockFiles, func(l lockFile) bool { return l.name == base && l.kind == "" })
	if i < 0 {
		return nil
	}
	return &lockFiles[i]
}

// metadata begins a yarn.lock of Yarn 2 or newer, which has another form and other digests than one of Yarn 1.
var metadata = []byte("\n__metadata:")

// isBerry reports whether a yarn.lock is of Yarn 2 or newer.
func isBerry(content []byte) bool { return bytes.Contains(append([]byte("\n"), content...), metadata) }

// reads reports whether the content of a lock file is understood.
func (l lockFile) reads(content []byte) bool {
	return l.kind != "" && (l.kind != "yarn" || !isBerry(content))
}

// lockIn returns the Node lock file in dir that counts, zero for none.
func lockIn(files map[string][]byte, dir string) lockFile {
	for _, l := range lockFiles {
		if content, ok := files[path.Join(dir, l.name)]; ok && l.kind != "pip" && l.reads(content) {
			return l
		}
	}
	return lockFile{}
}

// noteUnread notes, for lock files that are not read, where the versions come from instead.
func (d *Set) noteUnread(files map[string][]byte) {
	if d.Empty() {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, l := range lockFiles {
			dir := path.Dir(name)
			if _, beside := files[path.Join(dir, l.manifest)]; l.name != path.Base(name) || l.manifest == "" || !beside || l.reads(files[name]) {
				continue
			}
			what := name
			if l.kind == "yarn" {
				what += ", written by Yarn 2 or newer,"
			}
			from := l.manifest
			if l.manifest == "package.json" {
				from = cmp.Or(lockIn(files, dir).name, from)
			}
			d.notef("%s is not read: versions come from %s: %s", what, path.Join(dir, from), l.cure)
		}
	}
}
