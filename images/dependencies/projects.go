package dependencies

import (
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/deps"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A pythonProject is what a Python project needs according to the files of one directory. Names of extras and groups are normalized.
type pythonProject struct {
	name   string
	file   string // the first of these files
	needs  []string
	extras map[string][]string
	// groups are dependency groups: an entry that is not a string includes another group (PEP 735).
	groups map[string][]any
	// others maps normalized names to where its tools take them from instead of an index; see otherSources.
	others map[string]string
}

// A demand is what definitions of tests and requirement lines ask of a project of the workspace.
type demand struct{ extras, groups []string }

// ask returns what is asked of the project in dir.
func (w *pythonWants) ask(dir string) *demand {
	if w.asked[dir] == nil {
		w.asked[dir] = &demand{}
	}
	return w.asked[dir]
}

// ownPlace matches a requirement that is a directory of the workspace, with extras of the project there.
var ownPlace = lazyregexp.New(`^(?:file:)?(\.{1,2}(?:/[\w./-]*)?)\s*(?:\[([\w.,\s-]*)\])?\s*(?:;.*)?$`)

// archive matches a package in a file, which is never given to an installer.
var archive = lazyregexp.New(`(?i)\.(?:whl|zip|tgz|tar(?:\.\w+)?)$`)

// local takes in a line that asks for a project of the workspace itself, which a box already has on its path: only its
// extras count. It reports whether line is such a request. A path is relative to the top, where installers are started, or
// to the directory of the file with the line.
func (w *pythonWants) local(dir, line string) bool {
	m := ownPlace.FindStringSubmatch(strings.Trim(line, `"'`))
	if m == nil || archive.MatchString(m[1]) {
		return false
	}
	at := path.Clean(m[1])
	if !w.hasProject(at) {
		at = path.Join(dir, m[1])
	}
	w.ask(at).extras = append(w.ask(at).extras, words(m[2])...)
	return true
}

// hasProject reports whether a directory has a Python project.
func (w *pythonWants) hasProject(dir string) bool {
	return slices.ContainsFunc([]string{"pyproject.toml", "setup.cfg", "setup.py"}, func(name string) bool {
		_, ok := w.files[path.Join(dir, name)]
		return ok
	})
}

// words splits a text at spaces and commas.
func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) })
}

// projects takes in the Python projects, with the versions of the lock files next to a pyproject.toml.
func (w *pythonWants) projects() {
	dirs := map[string]*pythonProject{}
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		read, ok := map[string]func(string, *pythonProject) bool{
			"pyproject.toml": w.pyproject, "setup.cfg": w.setupConfig, "setup.py": w.setupScript,
		}[path.Base(name)]
		if !ok || lang.BesideTests(name) { // there they are data for tests
			continue
		}
		dir := path.Dir(name)
		if dirs[dir] == nil {
			dirs[dir] = &pythonProject{file: name, extras: map[string][]string{}, groups: map[string][]any{}}
		}
		if !read(name, dirs[dir]) {
			w.d.notef("%s: its dependencies are not installed: it cannot be parsed", name)
		}
	}
	for _, p := range dirs {
		w.tested = w.tested || slices.ContainsFunc(slices.Concat(slices.Collect(maps.Keys(p.extras)), slices.Collect(maps.Keys(p.groups))), forTests)
	}
	// What the CI of a project in another language installs besides is not needed by tests in Python.
	if !w.tested && len(w.later) == 0 && len(dirs)+len(w.requirements) > 0 {
		w.ci()
	}
	named := map[string][]string{}
	for _, l := range w.later {
		if m := requirement.FindStringSubmatch(l.text); m != nil {
			named[deps.PythonName(m[1])] = append(named[deps.PythonName(m[1])], words(strings.Trim(m[2], "[]"))...)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		w.project(dir, dirs[dir], named)
	}
}

// project takes in what the project in dir needs to run and to be tested. named has the extras of packages that definitions ask for; the
// project may be one of these. Extras and groups for other purposes, such as documentation, are often large and never imported by tests.
func (w *pythonWants) project(dir string, p *pythonProject, named map[string][]string) {
	name, list, read := p.file, p.needs, map[string]bool{}
	extra := func(name string) {
		if key := deps.PythonName(name); !read["["+key] {
			read["["+key] = true
			list = append(list, p.extras[key]...)
		}
	}
	var group func(name string)
	group = func(name string) {
		key := deps.PythonName(name)
		if read[key] {
			return
		}
		read[key] = true
		for _, item := range p.groups[key] {
			switch item := item.(type) {
			case string:
				list = append(list, item)
			case map[string]any:
				included, _ := item["include-group"].(string)
				group(included)
			}
		}
	}
	own := w.ask(dir)
	w.own[deps.PythonName(p.name)] = true
	if p.name != "" {
		own.extras = append(own.extras, named[deps.PythonName(p.name)]...)
	}
	for _, key := range slices.Sorted(maps.Keys(p.extras)) {
		if forTests(key) {
			extra(key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.groups)) {
		if forTests(key) {
			group(key)
		}
	}
	for _, name := range own.extras {
		extra(name)
	}
	for _, name := range own.groups {
		group(name)
	}
	for i := 0; i < len(list); i++ {
		r := list[i]
		m := requirement.FindStringSubmatch(r)
		switch {
		case m != nil && p.name != "" && deps.PythonName(m[1]) == deps.PythonName(p.name):
			// A published version of the project is not what is judged, but its extras are requested.
			for _, name := range words(strings.Trim(m[2], "[]")) {
				extra(name)
			}
		case m == nil || p.others[deps.PythonName(m[1])] == "":
			w.add(name, r, &w.requirements)
		case p.others[deps.PythonName(m[1])] != "workspace":
			w.elsewhere(name, m[1])
		}
	}
	for _, lock := range []string{"uv.lock", "poetry.lock", "pdm.lock"} {
		w.constraints = append(w.constraints, pinned(w.files[path.Join(dir, lock)])...)
	}
}

// forTests reports whether a name is one of extras and groups that a project's tests need.
func forTests(name string) bool { return testExtra.MatchString(deps.PythonName(name)) }

var testExtra = lazyregexp.New(`^(?:dev|develop|development|(?:unit-?)?tests?|testing|pytest)(?:-(?:deps|dependencies|requirements|requires|reqs?))?$`)

// pyproject reads a pyproject.toml. It leaves Poetry's own notation of versions to Poetry's lock file.
func (w *pythonWants) pyproject(name string, into *pythonProject) bool {
	p, err := deps.ReadPyproject(w.files[name])
	if err != nil {
		return false
	}
	into.name, into.others = p.Project.Name, otherSources(p)
	into.needs = append(into.needs, p.Project.Dependencies...)
	for key, list := range p.Project.Optional {
		into.extras[deps.PythonName(key)] = append(into.extras[deps.PythonName(key)], list...)
	}
	for key, list := range p.Groups {
		into.groups[deps.PythonName(key)] = append(into.groups[deps.PythonName(key)], list...)
	}
	into.needs = append(into.needs, p.Tool.UV.Dev...)
	for _, key := range slices.Sorted(maps.Keys(p.Tool.PDM.Dev)) {
		if forTests(key) {
			into.needs = append(into.needs, p.Tool.PDM.Dev[key]...)
		}
	}
	poetry := slices.Concat(slices.Sorted(maps.Keys(p.Tool.Poetry.Dependencies)), slices.Sorted(maps.Keys(p.Tool.Poetry.Dev)))
	for _, key := range slices.Sorted(maps.Keys(p.Tool.Poetry.Group)) {
		if forTests(key) {
			poetry = append(poetry, slices.Sorted(maps.Keys(p.Tool.Poetry.Group[key].Dependencies))...)
		}
	}
	into.needs = append(into.needs, slices.DeleteFunc(poetry, func(name string) bool { return name == "python" })...)
	return true
}

// setupConfig reads a setup.cfg. (setuptools.pypa.io/en/latest/userguide/declarative_config)
func (w *pythonWants) setupConfig(name string, into *pythonProject) bool {
	sections, err := deps.Sections(w.files[name])
	if err != nil {
		return false
	}
	if own := sections["metadata"]["name"]; into.name == "" && !strings.Contains(own, ":") {
		into.name = own
	}
	lines := func(value string) []string {
		if strings.HasPrefix(value, "file:") {
			return nil // a requirements file is read because of its name
		}
		return deps.Requirements([]byte(value))
	}
	into.needs = slices.Concat(into.needs, lines(sections["options"]["install_requires"]), lines(sections["options"]["tests_require"]))
	for key, value := range sections["options.extras_require"] {
		into.extras[deps.PythonName(key)] = append(into.extras[deps.PythonName(key)], lines(value)...)
	}
	return true
}
