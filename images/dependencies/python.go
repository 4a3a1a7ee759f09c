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

// Where the script finds what pip is to install, and which versions it is to take.
const (
	requirementsFile = "python/requirements.txt"
	constraintsFile  = "python/constraints.txt"
)

// requirement is a name with extras, versions and a marker, as PEP 508 has it, without an address.
var requirement = lazyregexp.New(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(\[[A-Za-z0-9._,\s-]*\])?\s*(\(?[<>=!~][^;@/\\]*)?\s*(;[^@\\]*)?$`)

// laterOption begins an option behind a requirement: pip takes some of them for how a package is built.
var laterOption = lazyregexp.New(`\s-`)

// isRequirement reports whether a line is one requirement and nothing else, without its digests. A dollar sign stands for
// a variable of the installer, and what is not printed may end a line for pip.
func isRequirement(line string) bool {
	odd := func(r rune) bool { return r == '$' || r != '\t' && !unicode.IsPrint(r) }
	return requirement.MatchString(line) && !strings.ContainsFunc(line, odd) && !laterOption.MatchString(line)
}

// hashOption is the digest of one archive, which may follow a requirement.
var hashOption = lazyregexp.New(`[ \t]--hash=(sha256|sha384|sha512):[0-9a-f]+\b`)

// A pythonWants gathers what the Python projects of a workspace ask for: they share one place.
type pythonWants struct {
	files        map[string][]byte
	requirements []string
	constraints  []string
	seen         map[string]bool // files that were read
	hashed       bool
	d            *Set
}

// readPython finds the requirements of every file. Those with the digests of a lock file stand for the
// pyproject.toml beside them, since pip wants a digest for everything or for nothing.
func (d *Set) readPython(files map[string][]byte) {
	// One place for all of them, because one run of the tests imports from all:
	// projects that want two versions of a package cannot be tested together,
	// and pip says so.
	w := &pythonWants{files: files, seen: map[string]bool{}, d: d}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) == ".txt" && strings.HasPrefix(path.Base(name), "requirements") || path.Base(path.Dir(name)) == "requirements" {
			w.read(name, &w.requirements)
		}
	}
	w.pipenv()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Base(name) == "pyproject.toml" && !w.hashed {
			w.project(name)
		}
	}
	if len(w.requirements) == 0 {
		return
	}
	d.add(requirementsFile, text(w.requirements))
	d.add(constraintsFile, text(w.constraints))
	d.steps = append(d.steps, step{kind: "pip", root: ".", may: mayDrop})
}

// text is a sorted file of lines, each once.
func text(lines []string) []byte {
	lines = slices.Compact(slices.Sorted(slices.Values(lines)))
	return []byte(strings.Join(append(lines, ""), "\n"))
}

// read takes in a requirements file. What is no requirement is noted, if it says where packages come from, or else
// passed over: the workspace itself needs no installing.
func (w *pythonWants) read(name string, into *[]string) {
	// Files may include each other in a circle. One that is included both for
	// its versions and for its packages counts where it is met first.
	if w.seen[name] {
		return
	}
	w.seen[name] = true
	for _, line := range deps.Requirements(w.files[name]) {
		// "--option=value" and "--option value" are the same.
		option, value, _ := strings.Cut(strings.Replace(line, "=", " ", 1), " ")
		value = path.Join(path.Dir(name), strings.TrimSpace(value))
		switch {
		// The workspace itself lies on the path already.
		case line == "." || strings.HasPrefix(line, "./") || option == "-e" || option == "--editable":
		case option == "-r" || option == "--requirement":
			w.read(value, into)
		case option == "-c" || option == "--constraint":
			w.read(value, &w.constraints)
		case strings.HasPrefix(line, "-"):
			w.d.notef("%s: %.80q is left out: where packages come from is your setting (PIP_INDEX_URL)", name, option)
		default:
			w.add(name, line, into)
		}
	}
}

// add takes in one requirement.
func (w *pythonWants) add(name, line string, into *[]string) {
	// Options of a single requirement are settings of how it is built. Digests
	// alone are kept; what remains must be a requirement and nothing else.
	hashes := hashOption.FindAllString(line, -1)
	bare := strings.TrimSpace(hashOption.ReplaceAllString(line, ""))
	if !isRequirement(bare) {
		w.d.notef("%s: %.80q is not installed: it is no name with versions: ask for a version in an index, or keep it in the workspace", name, line)
		return
	}
	w.hashed = w.hashed || len(hashes) > 0
	*into = append(*into, bare+strings.Join(hashes, ""))
}

// elsewhere notes a package that an index does not have, or has another one of its name.
func (w *pythonWants) elsewhere(file, name string) {
	w.d.notef("%s: %.80q is not installed: it comes from elsewhere than an index: ask for a version in one, or keep it in the workspace", file, name)
}

// project takes in a pyproject.toml, with the versions of the lock file beside it.
func (w *pythonWants) project(name string) {
	p, err := deps.ReadPyproject(w.files[name])
	if err != nil {
		w.d.notef("%s: its dependencies are not installed: it is not readable", name)
		return
	}
	others := otherSources(p)
	list, read := wants(p), map[string]bool{}
	for i := 0; i < len(list); i++ {
		r := list[i]
		m := requirement.FindStringSubmatch(r)
		switch {
		case m != nil && p.Project.Name != "" && deps.PythonName(m[1]) == deps.PythonName(p.Project.Name):
			// What is published of the project is not what is judged, but its extras are asked for.
			for extra := range strings.FieldsFuncSeq(m[2], func(r rune) bool { return strings.ContainsRune("[], \t", r) }) {
				if !read[extra] {
					list = append(list, p.Project.Optional[extra]...)
				}
				read[extra] = true
			}
		case m == nil || others[deps.PythonName(m[1])] == "":
			w.add(name, r, &w.requirements)
		case others[deps.PythonName(m[1])] != "workspace":
			w.elsewhere(name, m[1])
		}
	}
	for _, lock := range []string{"uv.lock", "poetry.lock", "pdm.lock"} {
		w.constraints = append(w.constraints, pinned(w.files[path.Join(path.Dir(name), lock)])...)
	}
}

// forTests reports whether a group of that name is what the tests of a project need.
func forTests(name string) bool {
	return slices.Contains([]string{"dev", "test", "tests", "testing"}, strings.ToLower(name))
}

// wants lists what a project needs to run and to be tested. Poetry's own notation of versions is left to its lock
// file.
func wants(p deps.Pyproject) []string {
	// Extras and groups that are for something else, as for its documentation,
	// are often large and never imported by a test.
	list := slices.Clone(p.Project.Dependencies)
	for _, name := range slices.Sorted(maps.Keys(p.Project.Optional)) {
		if forTests(name) {
			list = append(list, p.Project.Optional[name]...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Groups)) {
		for _, item := range p.Groups[name] {
			if text, ok := item.(string); ok && forTests(name) {
				list = append(list, text)
			}
		}
	}
	poetry := slices.Sorted(maps.Keys(p.Tool.Poetry.Dependencies))
	for _, name := range slices.Sorted(maps.Keys(p.Tool.Poetry.Group)) {
		if forTests(name) {
			poetry = append(poetry, slices.Sorted(maps.Keys(p.Tool.Poetry.Group[name].Dependencies))...)
		}
	}
	return append(list, slices.DeleteFunc(poetry, func(name string) bool { return name == "python" })...)
}

// otherSources says which packages the tools of a project do not take from an index, by their plain names: from the
// "workspace", or from "outside".
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

// pinned lists the versions of a lock file as constraints. A package that it has in several versions, for several
// systems, is left to pip.
func pinned(content []byte) []string {
	// What cannot be read fixes nothing, and pip chooses.
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
