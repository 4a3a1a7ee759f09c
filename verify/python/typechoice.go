package python

import (
	"bytes"
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"agent/verify/check"
)

// pyrightFiles and tyFiles are the files at the root that configure pyright and ty.
var (
	pyrightFiles = []string{"pyrightconfig.json", "pyproject.toml"}
	tyFiles      = []string{"ty.toml", "pyproject.toml"}
)

// typesApply returns a function that says why a type checker of Python is not the one that the project has chosen, or "".
func typesApply(name string) func(v check.View) string {
	return func(v check.View) string {
		if reason := applies(v); reason != "" {
			return reason
		}
		roots := typeRoots(v)
		if len(rootsOf(roots, name)) > 0 {
			return ""
		}
		chosen := slices.Compact(slices.Sorted(maps.Values(roots)))
		return "the workspace checks its types with " + strings.Join(chosen, " and ")
	}
}

// typeChecker names the type checker that a directory configures, "" for none. mypy comes first.
func typeChecker(v check.View, dir string) string {
	switch {
	case configured(v, dir, mypyConfig, "mypy"):
		return MypyName
	case configured(v, dir, pyrightFiles, "pyright"):
		return PyrightName
	case configured(v, dir, tyFiles, "ty"):
		return TyName
	}
	return ""
}

// TypeProjects maps the directories that configure a type checker for Python to that checker; the top has mypy if it
// configures none. The base decides, as it does about all configuration: a patch cannot choose who judges it.
func TypeProjects(v check.View) map[string]string {
	base := check.OnBase(v.Base)
	return check.Recall(base, "type projects", func() map[string]string { return listTypeProjects(base) })
}

func listTypeProjects(base check.View) map[string]string {
	projects, names := map[string]string{".": cmp.Or(typeChecker(base, "."), MypyName)}, slices.Concat(mypyConfig, pyrightFiles, tyFiles)
	for _, p := range base.Paths() {
		dir := path.Dir(p)
		if dir == "." || !slices.Contains(names, path.Base(p)) || check.Installed(dir) {
			continue
		}
		if name := typeChecker(base, dir); name != "" {
			projects[dir] = name
		}
	}
	return projects
}

// typeRoots returns those of the projects that have Python files; each check takes its own.
func typeRoots(v check.View) map[string]string {
	projects, roots := TypeProjects(v), map[string]string{}
	for _, p := range v.Paths() {
		if check.IsPython(p) {
			root := check.Nearest(projects, p)
			roots[root] = projects[root]
		}
	}
	return roots
}

// rootsOf lists the roots of one check, sorted.
func rootsOf(roots map[string]string, name string) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(roots)), func(root string) bool { return roots[root] != name })
}

// typed runs a check in each of its roots, or at the top if nothing is configured, as in the proof.
func typed(b check.Bench, name string, do func(b check.Bench, roots []string, root string) check.Outcome) check.Outcome {
	chosen := typeRoots(b.View)
	roots, run := slices.Sorted(maps.Keys(chosen)), rootsOf(chosen, name)
	if len(run) == 0 {
		roots, run = []string{"."}, []string{"."}
	}
	return b.OverRoots(roots, run, func(b check.Bench, root string) check.Outcome { return do(b, roots, root) })
}

// configured reports whether one of a directory's files configures a tool. A file of the tool's own does so by being there,
// a file that tools share by its table or section.
func configured(v check.View, dir string, files []string, tool string) bool {
	return slices.ContainsFunc(files, func(name string) bool {
		name = path.Join(dir, name)
		if !v.Has(name) {
			return false
		}
		shared := path.Base(name) == "setup.cfg" || path.Base(name) == "pyproject.toml"
		if !shared {
			return true
		}
		// A file that cannot be read selects nothing.
		text, err := v.Read(name)
		if path.Ext(name) != ".toml" {
			return err == nil && bytes.Contains(append([]byte("\n"), text...), []byte("\n["+tool+"]"))
		}
		var file struct {
			Tool map[string]any `toml:"tool"`
		}
		return err == nil && toml.Unmarshal(text, &file) == nil && file.Tool[tool] != nil
	})
}
