package python

import (
	"maps"
	"path"
	"slices"

	"agent/sandbox/workspace/deps"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// ProjectMarks maps the files that make a directory below the top a project with tests of its own to what must be in them.
// Files that many tools share must say more: one that only configures ruff or flake8 makes no project.
var ProjectMarks = map[string]*lazyregexp.Regexp{
	"setup.py":       lazyregexp.New(``),
	"pytest.ini":     pytestMarks["pytest.ini"],
	".pytest.ini":    pytestMarks[".pytest.ini"],
	"tox.ini":        lazyregexp.New(`(?m)^\[(?:tox|testenv[^]]*|pytest)\]`),
	"setup.cfg":      lazyregexp.New(`(?m)^\[(?:metadata|options|tool:pytest)\]`),
	"pyproject.toml": lazyregexp.New(`(?m)^\s*\[\s*(?:project|build-system|tool\s*\.\s*(?:poetry|pytest))\b`),
}

// pytestMarks does the same for the files that configure pytest.
var pytestMarks = map[string]*lazyregexp.Regexp{
	"pytest.ini":     lazyregexp.New(``),
	".pytest.ini":    lazyregexp.New(``),
	"pyproject.toml": lazyregexp.New(`(?m)^\s*\[\s*tool\s*\.\s*pytest\b`),
	"tox.ini":        lazyregexp.New(`(?m)^\[pytest\]`),
	"setup.cfg":      lazyregexp.New(`(?m)^\[tool:pytest\]`),
}

// testPaths matches the option that says where pytest begins.
var testPaths = lazyregexp.New(`(?m)^\s*["']?testpaths["']?\s*=`)

// pytestConfigured returns the text of the file that configures pytest in a directory.
func pytestConfigured(v check.View, dir string) (text string, ok bool) {
	for _, name := range pytestConfig {
		// This is pytest's own order: only the first file counts.
		if p := path.Join(dir, name); v.Has(p) && pytestMarks[name].MatchString(v.Text(p)) {
			return v.Text(p), true
		}
	}
	return "", false
}

// testedFromAbove reports whether a directory says nothing to pytest, and the configuration above that pytest then uses
// itself says where all tests are.
func testedFromAbove(v check.View, dir string) bool {
	for at := dir; ; at = path.Dir(at) {
		if text, ok := pytestConfigured(v, at); ok {
			return at != dir && testPaths.MatchString(text)
		}
		if at == "." {
			return false
		}
	}
}

// testProjects lists the directories below the top with a project of their own.
func testProjects(v check.View) (dirs []string) {
	for _, p := range v.Paths() {
		mark, dir := ProjectMarks[path.Base(p)], path.Dir(p)
		if mark != nil && dir != "." && !check.Installed(dir) && mark.MatchString(v.Text(p)) && !testedFromAbove(v, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// importPaths lists the directories that a root imports from, nearest first: the root itself, the projects that it lies in,
// the top, the projects that any of them depends on by path, and src in each.
func importPaths(v check.View, root string) (dirs []string) {
	var projects []string
	for dir := root; ; dir = path.Dir(dir) {
		if dir == root || dir == "." || isProject(v, dir) {
			projects = append(projects, dir)
		}
		if dir == "." {
			break
		}
	}
	for i := 0; i < len(projects); i++ {
		for _, other := range projectsBeside(v, projects[i]) {
			if !slices.Contains(projects, other) {
				projects = append(projects, other)
			}
		}
	}
	for _, dir := range projects {
		dirs = append(dirs, dir)
		if src := path.Join(dir, "src"); v.HasDir(src) {
			dirs = append(dirs, src)
		}
	}
	return dirs
}

// isProject reports whether a directory has a file that makes it a project.
func isProject(v check.View, dir string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(ProjectMarks)), func(name string) bool {
		return v.Has(path.Join(dir, name)) && ProjectMarks[name].MatchString(v.Text(path.Join(dir, name)))
	})
}

// These match dependencies on other projects of the workspace: a path in pyproject.toml, in the forms of uv, poetry and pdm,
// or a line of requirements. In a workspace of uv, a dependency is given by its name alone.
var (
	placedDependency = lazyregexp.New(`\bpath\s*=\s*["'](\.[^"']*)["']|["'][\w.-]+\s*@\s*file:(?://\$\{PROJECT_ROOT\})?/*(\.[^"']*)["']`)
	placedLine       = lazyregexp.New(`(?m)^\s*(?:-e\s+|--editable[= ]\s*)?(?:file:)?(\.{1,2}(?:/[^\s#;\[]*)?)\s*(?:\[[^\]]*\])?\s*(?:[#;].*)?$`)
	namedDependency  = lazyregexp.New(`(?m)^\s*["']?([\w.-]+)["']?\s*=\s*\{[^}\n]*\bworkspace\s*=\s*true`)
	projectName      = lazyregexp.New(`(?m)^name\s*=\s*["']([\w.-]+)["']`)
)

// projectsBeside lists the projects of the workspace that the project in dir depends on.
func projectsBeside(v check.View, dir string) (found []string) {
	add := func(place string) {
		if place = path.Join(dir, place); isProject(v, place) {
			found = append(found, place)
		}
	}
	text := v.Text(path.Join(dir, "pyproject.toml"))
	for _, m := range placedDependency.FindAllStringSubmatch(text, -1) {
		add(m[1] + m[2])
	}
	for _, name := range []string{"requirements.txt", "requirements-dev.txt", "dev-requirements.txt"} {
		for _, m := range placedLine.FindAllStringSubmatch(v.Text(path.Join(dir, name)), -1) {
			add(m[1])
		}
	}
	for _, m := range namedDependency.FindAllStringSubmatch(text, -1) {
		for _, p := range v.Paths() {
			if path.Base(p) != "pyproject.toml" || check.Installed(path.Dir(p)) {
				continue
			}
			if name := projectName.FindStringSubmatch(v.Text(p)); name != nil && sameProject(name[1], m[1]) {
				found = append(found, path.Dir(p))
			}
		}
	}
	return found
}

// sameProject compares project names as Python's package indexes do.
func sameProject(a, b string) bool { return deps.PythonName(a) == deps.PythonName(b) }

// TestRoots lists the directories from which pytest runs, sorted: the top, and each project below it that has tests.
//
// Projects of the base count as well as those of the patch. So a patch that removes a project's configuration leaves its
// tests where they ran before, and a patch that adds a project has its tests run.
func TestRoots(v check.View) []string {
	projects := map[string]string{}
	for _, side := range []check.View{check.OnBase(v.Base), v} {
		for _, dir := range testProjects(side) {
			projects[dir] = ""
		}
	}
	own, used := map[string]bool{}, map[string]bool{}
	for _, root := range append(slices.Collect(maps.Keys(projects)), ".") {
		_, own[root] = pytestConfigured(v, root)
	}
	tests := unittests(v)
	for _, p := range v.Paths() {
		// A root that configures pytest may name its tests differently.
		if root := check.Nearest(projects, p); !used[root] {
			used[root] = own[root] || IsTest(p) || slices.Contains(tests, p)
		}
	}
	roots := slices.DeleteFunc(slices.Sorted(maps.Keys(used)), func(root string) bool { return !used[root] })
	if len(roots) == 0 {
		return []string{"."}
	}
	return roots
}
