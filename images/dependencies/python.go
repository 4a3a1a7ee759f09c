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
	laterFile        = "python/later.txt" // what may be left out where it does not fit with these
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
	tests        []string // what only definitions of tests ask for
	constraints  []string
	seen         map[string]bool // files that were read
	hashed       bool
	d            *Set
	// What definitions of tests and lines of requirements ask of the projects of the workspace, by their directory.
	asked map[string]*demand
	// The plain names of these projects.
	own map[string]bool
	// What such definitions ask of an index, and whose definitions they are.
	later []laterLine
	// The workspace says what its tests need, in an extra, a group or a file of requirements of such a name.
	tested bool
}

// readPython finds the requirements of every file. Those with the digests of a lock file stand for the
// pyproject.toml beside them, since pip wants a digest for everything or for nothing.
func (d *Set) readPython(files map[string][]byte) {
	// One place for all of them, because one run of the tests imports from all:
	// projects that want two versions of a package cannot be tested together,
	// and pip says so.
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

// text is a sorted file of lines, each once.
func text(lines []string) []byte {
	lines = slices.Compact(slices.Sorted(slices.Values(lines)))
	return []byte(strings.Join(append(lines, ""), "\n"))
}

// testRequirements matches names of files that list what tests need.
var testRequirements = lazyregexp.New(`dev|test`)

// isRequirements reports whether a file lists requirements, by its name: requirements-dev.txt, test-requirements.txt,
// requirements/tests.txt.
func isRequirements(p string) bool {
	return path.Ext(p) == ".txt" && (strings.Contains(path.Base(p), "requirements") || path.Base(path.Dir(p)) == "requirements")
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
		case option == "-e" || option == "--editable":
			w.local(path.Dir(name), strings.TrimSpace(strings.TrimPrefix(line, option)))
		case w.local(path.Dir(name), line):
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
