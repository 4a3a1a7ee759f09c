package dependencies

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
)

// A pipfilePackage holds what is read about a package in a Pipfile.lock.
type pipfilePackage struct {
	Version, Markers, Path string
	Extras, Hashes         []string
}

// line returns the package as a line of a requirements file.
func (p pipfilePackage) line(name string) string {
	if len(p.Extras) > 0 {
		name += "[" + strings.Join(p.Extras, ",") + "]"
	}
	name += p.Version
	if p.Markers != "" {
		name += " ; " + p.Markers
	}
	for _, h := range p.Hashes {
		name += " --hash=" + h
	}
	return name
}

// pipenv takes in every Pipfile.lock, with its digests, unless requirements are listed: these are often made from it, and
// then say the same without digests.
func (w *pythonWants) pipenv() {
	listed := len(w.requirements) > 0
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		_, locked := w.files[path.Join(path.Dir(name), "Pipfile.lock")]
		switch base := path.Base(name); {
		case base == "Pipfile" && !locked && !listed:
			w.d.notef("the packages of %s are not installed: run `pipenv lock` and commit its Pipfile.lock", name)
		case base == "Pipfile.lock" && listed:
			w.d.notef("%s is not read: the requirements files are used instead", name)
		case base == "Pipfile.lock":
			w.pipfile(name)
		}
	}
}

// pipfile takes in one Pipfile.lock.
func (w *pythonWants) pipfile(name string) {
	var lock struct{ Default, Develop map[string]pipfilePackage }
	if err := json.Unmarshal(w.files[name], &lock); err != nil {
		w.d.notef("the packages of %s are not installed: it cannot be parsed: run `pipenv lock`", name)
		return
	}
	for _, list := range []map[string]pipfilePackage{lock.Default, lock.Develop} {
		for _, pack := range slices.Sorted(maps.Keys(list)) {
			switch p := list[pack]; {
			case p.Path != "": // the workspace is on the path
			case p.Version == "":
				w.elsewhere(name, pack)
			default:
				w.add(name, p.line(pack), &w.requirements)
			}
		}
	}
}
