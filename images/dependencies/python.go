package dependencies

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"agent/sandbox/workspace/deps"
	"agent/sandbox/workspace/lazyregexp"
)

// Where the script finds what pip is to install, and at which versions.
const (
	requirementsFile = "python/requirements.txt"
	laterFile        = "python/later.txt" // what may be left out if it does not fit with these
	constraintsFile  = "python/constraints.txt"
)

// requirement matches a name with extras, versions and a marker, as in PEP 508, without an address.
var requirement = lazyregexp.New(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(\[[A-Za-z0-9._,\s-]*\])?\s*(\(?[<>=!~][^;@/\\]*)?\s*(;[^@\\]*)?$`)

// laterOption matches the start of an option after a requirement: pip takes some of these as settings for building the package.
var laterOption = lazyregexp.New(`\s-`)

// isRequirement reports whether a line is one requirement and nothing else, once its digests are removed. A dollar sign
// stands for a variable of the installer, and a character that does not print may end a line for pip.
func isRequirement(line string) bool {
	odd := func(r rune) bool { return r == '$' || r != '\t' && !unicode.IsPrint(r) }
	return requirement.MatchString(line) && !strings.ContainsFunc(line, odd) && !laterOption.MatchString(line)
}

// hashOption matches the digest of one archive, which may follow a requirement.
var hashOption = lazyregexp.New(`[ \t]--hash=(sha256|sha384|sha512):[0-9a-f]+\b`)

// A pythonWants gathers what the Python projects of a workspace ask for: they share one place.
type pythonWants struct {
	files        map[string][]byte
	requirements []string
	tests        []string // what only definitions of tests request
	constraints  []string
	seen         map[string]bool // files that were read
	hashed       bool
	d            *Set
	// asked is what definitions of tests and requirement lines ask of the workspace's projects, by their directories.
	asked map[string]*demand
	// own holds the normalized names of these projects.
	own map[string]bool
	// later is what such definitions request from an index, each with its file.
	later []laterLine
	// tested says that the workspace names what its tests need, in an extra, a group or a requirements file with such a name.
	tested bool
}

// readPython finds the requirements of every file. Requirements with the digests of a lock file replace the pyproject.toml
// next to them, since pip wants a digest for everything or for nothing.
func (d *Set) readPython(files map[string][]byte) {
	// They share one place, because one run of the tests imports from all of them. Projects that want two versions of a
	// package cannot be tested together, and pip says so.
	w := &pythonWants{files: files, seen: map[string]bool{}, d: d, asked: map[string]*demand{}, own: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if isRequirements(name) {
			w.read(name, &w.requirements)
			w.tested = w.tested || testRequirements.MatchString(path.Base(name))
		}
	}
	w.pipenv()
	if !w.hashed {
		w.definitions()
		w.projects()
		w.others()
	}
	if len(w.requirements)+len(w.tests) == 0 {
		return
	}
	d.add(requirementsFile, text(w.requirements))
	if len(w.tests) > 0 {
		d.add(laterFile, text(w.tests))
	}
	d.add(constraintsFile, text(w.constraints))
	d.steps = append(d.steps, step{kind: "pip", root: ".", may: mayDrop})
}

// text returns the lines as a sorted file, each once.
func text(lines []string) []byte {
	lines = slices.Compact(slices.Sorted(slices.Values(lines)))
	return []byte(strings.Join(append(lines, ""), "\n"))
}

// testRequirements matches the names of files that list what tests need.
var testRequirements = lazyregexp.New(`dev|test`)

// isRequirements reports whether a file lists requirements, by its name: requirements-dev.txt, test-requirements.txt,
// requirements/tests.txt.
func isRequirements(p string) bool {
	return path.Ext(p) == ".txt" && (strings.Contains(path.Base(p), "requirements") || path.Base(path.Dir(p)) == "requirements")
}

// read takes in a requirements file. A line that is not a requirement is noted if it says where packages come from, and
// otherwise skipped: the workspace itself need not be installed.
func (w *pythonWants) read(name string, into *[]string) {
	// Files may include each other in a circle. A file that is included both for its versions and for its packages counts
	// where it is met first.
	if w.seen[name] {
		return
	}
	w.seen[name] = true
	for _, line := range deps.Requirements(w.files[name]) {
		// "--option=value" and "--option value" are the same.
		option, value, _ := strings.Cut(strings.Replace(line, "=", " ", 1), " ")
		value = path.Join(path.Dir(name), strings.TrimSpace(value))
		switch {
		case option == "-e" || option == "--editable":
			w.local(path.Dir(name), strings.TrimSpace(strings.TrimPrefix(line, option)))
		case w.local(path.Dir(name), line):
		case option == "-r" || option == "--requirement":
			w.read(value, into)
		case option == "-c" || option == "--constraint":
			w.read(value, &w.constraints)
		case strings.HasPrefix(line, "-"):
			w.d.notef("%s: %.80q is left out: set the package index with PIP_INDEX_URL instead", name, option)
		default:
			w.add(name, line, into)
		}
	}
}

// add takes in one requirement.
func (w *pythonWants) add(name, line string, into *[]string) {
	// Options of a single requirement are settings for building it. Only digests are kept; the rest must be a requirement
	// and nothing else.
	hashes := hashOption.FindAllString(line, -1)
	bare := strings.TrimSpace(hashOption.ReplaceAllString(line, ""))
	if !isRequirement(bare) {
		w.d.notef("%s: %.80q is not installed: it is not a name with versions: ask for a version in an index, or keep it in the workspace", name, line)
		return
	}
	w.hashed = w.hashed || len(hashes) > 0
	*into = append(*into, bare+strings.Join(hashes, ""))
}

// elsewhere notes a package that an index does not have, or for which it has another one of the same name.
func (w *pythonWants) elsewhere(file, name string) {
	w.d.notef("%s: %.80q is not installed: it does not come from an index: ask for a version in one, or keep it in the workspace", file, name)
}

// otherSources maps the normalized names of packages that a project's tools do not take from an index to their source:
// "workspace" or "outside".
func otherSources(p deps.Pyproject) map[string]string {
	lists := []map[string]any{p.Tool.Poetry.Dependencies, p.Tool.UV.Sources}
	for _, group := range p.Tool.Poetry.Group {
		lists = append(lists, group.Dependencies)
	}
	found := make(map[string]string)
	for _, list := range lists {
		for name, value := range list {
			items, several := value.([]any)
			if !several {
				items = []any{value}
			}
			for _, item := range items {
				from, _ := item.(map[string]any)
				for kind, where := range map[string]string{"git": "outside", "url": "outside", "path": "workspace", "workspace": "workspace"} {
					if from[kind] != nil {
						found[deps.PythonName(name)] = where
					}
				}
			}
		}
	}
	return found
}

// pinned lists the versions of a lock file as constraints. A package that has several versions there, for several systems,
// is left to pip.
func pinned(content []byte) []string {
	// A file that cannot be read pins nothing, and pip chooses.
	locked, err := deps.ReadLocked(content)
	if err != nil {
		return nil
	}
	versions := make(map[string][]string)
	for _, p := range locked {
		versions[p.Name] = append(versions[p.Name], p.Version)
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		line := fmt.Sprintf("%s==%s", name, versions[name][0])
		if len(versions[name]) == 1 && isRequirement(line) {
			list = append(list, line)
		}
	}
	return list
}
