package verify

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// projectMarks are the files that make a directory below the top a project with
// tests of its own, and what must stand in those that many tools share: one that
// says only how ruff or flake8 works makes none.
var projectMarks = map[string]*regexp.Regexp{
	"setup.py":       regexp.MustCompile(``),
	"pytest.ini":     pytestMarks["pytest.ini"],
	".pytest.ini":    pytestMarks[".pytest.ini"],
	"tox.ini":        regexp.MustCompile(`(?m)^\[(?:tox|testenv[^]]*|pytest)\]`),
	"setup.cfg":      regexp.MustCompile(`(?m)^\[(?:metadata|options|tool:pytest)\]`),
	"pyproject.toml": regexp.MustCompile(`(?m)^\s*\[\s*(?:project|build-system|tool\s*\.\s*(?:poetry|pytest))\b`),
}

// pytestMarks do the same for what configures pytest.
var pytestMarks = map[string]*regexp.Regexp{
	"pytest.ini":     regexp.MustCompile(``),
	".pytest.ini":    regexp.MustCompile(``),
	"pyproject.toml": regexp.MustCompile(`(?m)^\s*\[\s*tool\s*\.\s*pytest\b`),
	"tox.ini":        regexp.MustCompile(`(?m)^\[pytest\]`),
	"setup.cfg":      regexp.MustCompile(`(?m)^\[tool:pytest\]`),
}

// testPaths matches the option that says where pytest begins.
var testPaths = regexp.MustCompile(`(?m)^\s*["']?testpaths["']?\s*=`)

// apart reports whether a directory is no place for projects of the workspace: it
// holds what was installed, or what tests work on.
func apart(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool {
		return part[0] == '.' || slices.Contains([]string{"node_modules", "site-packages", "vendor", "testdata", "fixtures"}, part)
	})
}

// pytestConfigured returns the text of what configures pytest in a directory.
func (v view) pytestConfigured(dir string) (text string, ok bool) {
	for _, name := range pytestConfig {
		// In pytest's own order: the first counts alone.
		if p := path.Join(dir, name); v.has(p) && pytestMarks[name].MatchString(v.text(p)) {
			return v.text(p), true
		}
	}
	return "", false
}

// testedFromAbove reports whether a directory says nothing to pytest, and the
// configuration above that pytest goes by says itself where all tests are.
func (v view) testedFromAbove(dir string) bool {
	for at := dir; ; at = path.Dir(at) {
		if text, ok := v.pytestConfigured(at); ok {
			return at != dir && testPaths.MatchString(text)
		}
		if at == "." {
			return false
		}
	}
}

// testProjects lists the directories below the top with a project of their own.
func (v view) testProjects() (dirs []string) {
	for _, p := range v.paths() {
		mark, dir := projectMarks[path.Base(p)], path.Dir(p)
		if mark != nil && dir != "." && !apart(dir) && mark.MatchString(v.text(p)) && !v.testedFromAbove(dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// importPaths lists the directories that a root imports from, the nearest first:
// itself, the projects that it lies in, the top, those that any of them
// depends on by their place, and src in each.
func (v view) importPaths(root string) (dirs []string) {
	var projects []string
	for dir := root; ; dir = path.Dir(dir) {
		if dir == root || dir == "." || v.isProject(dir) {
			projects = append(projects, dir)
		}
		if dir == "." {
			break
		}
	}
	for i := 0; i < len(projects); i++ {
		for _, other := range v.beside(projects[i]) {
			if !slices.Contains(projects, other) {
				projects = append(projects, other)
			}
		}
	}
	for _, dir := range projects {
		dirs = append(dirs, dir)
		if src := path.Join(dir, "src"); v.hasDir(src) {
			dirs = append(dirs, src)
		}
	}
	return dirs
}

// isProject reports whether a directory has what makes it a project.
func (v view) isProject(dir string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(projectMarks)), func(name string) bool {
		return v.has(path.Join(dir, name)) && projectMarks[name].MatchString(v.text(path.Join(dir, name)))
	})
}

// What a project depends on by its place: a path in pyproject.toml, as uv, poetry and
// pdm have it, or a line of requirements. Of uv's workspace it is named alone.
var (
	placedDependency = regexp.MustCompile(`\bpath\s*=\s*["'](\.[^"']*)["']|["'][\w.-]+\s*@\s*file:(?://\$\{PROJECT_ROOT\})?/*(\.[^"']*)["']`)
	placedLine       = regexp.MustCompile(`(?m)^\s*(?:-e\s+|--editable[= ]\s*)?(?:file:)?(\.{1,2}(?:/[^\s#;\[]*)?)\s*(?:\[[^\]]*\])?\s*(?:[#;].*)?$`)
	namedDependency  = regexp.MustCompile(`(?m)^\s*["']?([\w.-]+)["']?\s*=\s*\{[^}\n]*\bworkspace\s*=\s*true`)
	projectName      = regexp.MustCompile(`(?m)^name\s*=\s*["']([\w.-]+)["']`)
)

// beside lists the projects of the workspace that one depends on.
func (v view) beside(dir string) (found []string) {
	add := func(place string) {
		if place = path.Join(dir, place); v.isProject(place) {
			found = append(found, place)
		}
	}
	text := v.text(path.Join(dir, "pyproject.toml"))
	for _, m := range placedDependency.FindAllStringSubmatch(text, -1) {
		add(m[1] + m[2])
	}
	for _, name := range []string{"requirements.txt", "requirements-dev.txt", "dev-requirements.txt"} {
		for _, m := range placedLine.FindAllStringSubmatch(v.text(path.Join(dir, name)), -1) {
			add(m[1])
		}
	}
	for _, m := range namedDependency.FindAllStringSubmatch(text, -1) {
		for _, p := range v.paths() {
			if path.Base(p) != "pyproject.toml" || apart(path.Dir(p)) {
				continue
			}
			if name := projectName.FindStringSubmatch(v.text(p)); name != nil && sameProject(name[1], m[1]) {
				found = append(found, path.Dir(p))
			}
		}
	}
	return found
}

// sameProject compares names of projects as Python's indexes do.
func sameProject(a, b string) bool {
	plain := func(name string) string {
		return strings.ToLower(strings.NewReplacer("_", "-", ".", "-").Replace(name))
	}
	return plain(a) == plain(b)
}

// pythonRoots lists the directories from which pytest is run, sorted: the
// top, and each project below that has tests.
//
// Those of the base count with those of the patch. So a patch that takes a
// project's configuration away leaves its tests where they were run before, and
// one that brings a project has its tests run.
func pythonRoots(v view) []string {
	projects := map[string]string{}
	for _, side := range []view{onBase(v.base), v} {
		for _, dir := range side.testProjects() {
			projects[dir] = ""
		}
	}
	own, used := map[string]bool{}, map[string]bool{}
	for _, root := range append(slices.Collect(maps.Keys(projects)), ".") {
		_, own[root] = v.pytestConfigured(root)
	}
	tests := unittests(v)
	for _, p := range v.paths() {
		// Whoever configures pytest may have other names for tests.
		if root := nearest(projects, p); !used[root] {
			used[root] = own[root] || isTest(p) || slices.Contains(tests, p)
		}
	}
	roots := slices.DeleteFunc(slices.Sorted(maps.Keys(used)), func(root string) bool { return !used[root] })
	if len(roots) == 0 {
		return []string{"."}
	}
	return roots
}

// rooted makes roots of a list what nearest asks for.
func rooted(roots []string) map[string]string {
	set := map[string]string{}
	for _, root := range roots {
		set[root] = ""
	}
	return set
}

// insideOf lists the roots inside one of them.
func insideOf(roots []string, root string) (inner []string) {
	for _, r := range roots {
		if r != root && below(r, root) {
			inner = append(inner, r)
		}
	}
	return inner
}

// overRoots runs a tool in some of the roots of a workspace, one after the
// other, and sums what it finds. A root's results are those of its own files: what
// it says of another one's, which goes by another configuration, is left out.
//
// All of them have the time that one has. What keeps one root from being judged
// stands in Roots, and hides nothing of the others; a root alone is Blocked.
func (b bench) overRoots(roots, run []string, do func(b bench, root string) outcome) outcome {
	all, total := rooted(roots), outcome{Roots: map[string]string{}}
	deadline := time.Now().Add(b.timeout)
	for i, root := range run {
		if i > 0 {
			b.timeout = max(time.Until(deadline).Round(time.Second), time.Second)
		}
		out := do(b, root)
		if len(roots) > 1 {
			out = out.within(func(file string) bool { return nearest(all, file) == root })
		}
		if len(run) == 1 {
			return out
		}
		total = add(total, out)
		total.Tests, total.Findings = append(total.Tests, out.Tests...), append(total.Findings, out.Findings...)
		total.Roots[root] = out.Blocked
		if out.Verdict == Timeout {
			total.Detail += fmt.Sprintf(", what was left for %s of the time that all directories share", root)
		}
		if out.Verdict != "" {
			return total
		}
		total.Output, total.Detail = tail(present([]string{total.Output, out.Output}, "\n"), maxTail), out.Detail
	}
	return total
}

// within is an outcome without the tests and findings of other files. What is
// told of no file stays.
func (o outcome) within(mine func(file string) bool) outcome {
	o.Tests = slices.DeleteFunc(slices.Clone(o.Tests), func(t testResult) bool {
		file, _, _ := strings.Cut(t.ID, "::")
		return !mine(file)
	})
	o.Findings = slices.DeleteFunc(slices.Clone(o.Findings), func(f Finding) bool { return f.File != "" && !mine(f.File) })
	return o
}

// blocked reports whether something kept a tool from judging all of a workspace.
func (o outcome) blocked() bool {
	for _, why := range o.Roots {
		if why != "" {
			return true
		}
	}
	return o.Blocked != ""
}

// byRoot makes a judgement one that leaves out the roots which could not be
// judged before the patch, and that fails for a root which cannot be judged any
// more, under a rule.
func byRoot(rule string, judge func(base, cand outcome, d diff) Gate) func(base, cand outcome, d diff) Gate {
	return func(base, cand outcome, d diff) Gate {
		seen := func(file string) bool { return base.Roots[nearest(base.Roots, file)] == "" }
		g := judge(base.within(seen), cand.within(seen), d)
		if cand.Verdict != "" {
			return g
		}
		left := 0
		for _, root := range slices.Sorted(maps.Keys(base.Roots)) {
			if why := base.Roots[root]; why != "" {
				left++
				g.Detail += fmt.Sprintf("; %s not judged: already before the patch, %s", root, why)
			}
		}
		for _, root := range slices.Sorted(maps.Keys(cand.Roots)) {
			why := cand.Roots[root]
			told := func(f Finding) bool { return f.File != "" && f.Message != "" && strings.HasSuffix(why, f.Message) }
			if why == "" || sameMessage(base.Roots[root], why) {
				continue
			}
			if !slices.ContainsFunc(g.Findings, told) {
				g.Findings = append(g.Findings, Finding{Rule: rule, Message: root + ": " + why})
			}
			g.Verdict = Fail
		}
		if left > 0 && left == len(base.Roots) && g.Verdict == Pass {
			g.Verdict = ""
		}
		return g
	}
}
