package python

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/python/modules"
)

// The configuration of mypy and of pytest may name workspace code that runs inside the tool: a plugin. The author of a
// plugin decides what the tool finds, so a plugin comes from the base revision, like the configuration itself.

var (
	// mypyPlugins matches the list in either form of configuration, INI or TOML, up to the next key or section.
	mypyPlugins = lazyregexp.New(`(?ms)^[ \t]*plugins\s*=(.*?)(?:^[\w-]+\s*=|^\[|\z)`)
	// pytestOption matches the option that loads a plugin early, pytestPlugins the variable of a conftest.py or a test
	// module.
	pytestOption  = lazyregexp.New(`(?:^|[\s"'=])-p[\s=,"']*([\w.]+:?)`)
	pytestPlugins = lazyregexp.New(`(?s)\bpytest_plugins\s*=\s*([(\[][^)\]]*|[^\n]*)`)
	// addopts matches the start of pytest's options, configKey their end: another key or a section.
	addopts     = lazyregexp.New(`^\s*["']?addopts["']?\s*=`)
	configKey   = lazyregexp.New(`^(?:\[|[\w"'.-]+\s*=)`)
	namesPytest = lazyregexp.New(`\b(?:pytest|py\.test)\b`)
	// plugin matches one name in such a list, a module or a file.
	plugin = lazyregexp.New(`[\w./-]+`)
)

// mypyConfig and pytestConfig name the files in which the tools find what loads plugins.
var (
	mypyConfig   = []string{"mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"}
	pytestConfig = []string{"pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"}
)

// TypePlugins lists the files of base that run inside mypy, the workspace files that they import, and the files of cand that
// would take the place of an import.
func TypePlugins(base, cand check.View) []string {
	names := map[string][]string{}
	for _, p := range mypyFiles(base) {
		names[path.Dir(p)] = append(names[path.Dir(p)], pluginNames(base.Text(p))...)
	}
	return modules.Reached(base, names, cand)
}

// pluginNames lists the plugins of mypy that a configuration names, along with other words.
func pluginNames(text string) (names []string) {
	for _, m := range mypyPlugins.FindAllStringSubmatch(text, -1) {
		names = append(names, plugin.FindAllString(m[1], -1)...)
	}
	return names
}

// TestPlugins is TypePlugins for pytest.
func TestPlugins(base, cand check.View) []string {
	names := map[string][]string{}
	for _, root := range TestRoots(base) {
		// These are the plugins that the project's own commands load; see testArguments.
		for _, word := range optionsOf(base, root, nil).asked {
			if name, ok := strings.CutPrefix(word, "-p"); ok && !strings.HasPrefix(name, "no:") {
				names[root] = append(names[root], name)
			}
		}
	}
	for _, p := range base.Paths() {
		dir, name := path.Dir(p), path.Base(p)
		if slices.Contains(pytestConfig, name) {
			for _, m := range pytestOption.FindAllStringSubmatch(ofPytest(base.Text(p)), -1) {
				// "-p no:name" loads nothing.
				if m[1] != "no:" {
					names[dir] = append(names[dir], m[1])
				}
			}
		}
		if name == "conftest.py" {
			for _, m := range pytestPlugins.FindAllStringSubmatch(base.Text(p), -1) {
				names[dir] = append(names[dir], plugin.FindAllString(m[1], -1)...)
			}
		}
	}
	return hooked(base, names, cand)
}

// takesPart matches what a pytest plugin contains if it has a part in how tests run.
var takesPart = lazyregexp.New(`\b(?:pytest|pluggy|hookimpl|pytest_\w+)\b`)

// hooked lists the plugins behind names, keyed by the directory of the file that names them. Of the files that these reach,
// it lists those with a part in how pytest runs tests, and what each imports itself. From a package that is the product (`-p
// anyio`), all of the product is reached, and usually none of it has such a part.
func hooked(base check.View, names map[string][]string, cand check.View) []string {
	parts := map[string]bool{}
	add := func(dir, name string, counts func(file string) bool) {
		for _, side := range []check.View{base, cand} {
			if file, ok := modules.File(side, dir, name); ok && counts(file) {
				parts[file] = true
			}
		}
	}
	for dir, list := range names {
		for _, name := range list {
			add(dir, name, func(file string) bool { return path.Base(file) != "__init__.py" })
		}
	}
	reached := modules.Reached(base, names, cand)
	for _, p := range reached {
		if parts[p] || takesPart.MatchString(base.Text(p)) || takesPart.MatchString(cand.Text(p)) {
			parts[p] = true
			for _, name := range modules.Imported(base.Text(p)) {
				add(path.Dir(p), name, func(string) bool { return true })
			}
		}
	}
	return slices.DeleteFunc(reached, func(p string) bool { return !parts[p] })
}

// ofPytest returns what a configuration says to pytest: its addopts and the commands that name pytest, one a line. Other
// tools have their own -p option, such as mypy's for a package.
func ofPytest(text string) string {
	var said strings.Builder
	inOptions := false
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		if addopts.MatchString(line) {
			inOptions = true
		} else if configKey.MatchString(line) {
			inOptions = false
		}
		if inOptions || namesPytest.MatchString(line) {
			said.WriteString(line)
		}
	}
	return said.String()
}

// mypyFiles lists where mypy may read its configuration: at the top, and in each
// directory below that has one.
func mypyFiles(v check.View) (files []string) {
	for _, dir := range slices.Sorted(maps.Keys(TypeProjects(v))) {
		for _, name := range mypyConfig {
			files = append(files, path.Join(dir, name))
		}
	}
	return files
}

// keptDir is the directory of a box that holds the tree of the base, for mypy's plugins.
const keptDir = "/tmp/agent-base"

// plugged reports whether a configuration of mypy in a base names plugins.
func plugged(base check.View) bool {
	return slices.ContainsFunc(mypyFiles(base), func(p string) bool { return mypyPlugins.MatchString(base.Text(p)) })
}

// KeepTree preserves the workspace of a box as it is before cs is applied, and returns the directory that holds it.
func KeepTree(ctx context.Context, b check.Bench, cs workspace.Changeset) (tree string, err error) {
	var paths []string
	for _, c := range cs.Changes {
		paths = append(paths, c.Path, check.OldPath(c))
	}
	list, err := json.Marshal(paths)
	if err != nil {
		return "", fmt.Errorf("list what the patch changes: %w", err)
	}
	res, out, done := b.Command(ctx, guest.Command{
		Args: []string{b.Tools.Python, "-I", "-B", b.Tools.Plugins, "keep", keptDir, check.Work}, Dir: "/", Stdin: list,
	})
	if !done {
		return "", fmt.Errorf("keep the plugins of mypy: %s", out.Detail)
	}
	if res.Exit != 0 {
		return "", fmt.Errorf("keep the plugins of mypy: exit status %d: %s", res.Exit, check.LastLine(check.Clean(check.Bytes(res.Stderr))))
	}
	return keptDir, nil
}

// mypyArgs returns the start of a mypy command, which takes plugins from the base where that is kept.
func mypyArgs(b check.Bench) []string {
	if b.Kept == "" {
		return []string{b.Tools.Mypy}
	}
	// The module paths stay those that mypy has by itself.
	return []string{b.Tools.Python, b.Tools.Plugins, "run", b.Kept, check.Work}
}

// stubless returns the variant of a candidate without the stubs that it adds next to modules. With such a stub, a type
// checker does not look at the module.
func stubless(base, cand check.View) []check.Variant {
	module := func(stub string) string { return strings.TrimSuffix(stub, ".pyi") + ".py" }
	adds := func(p string) bool {
		return strings.HasSuffix(p, ".pyi") && !base.Has(p) && cand.Has(p) && cand.Has(module(p))
	}
	return []check.Variant{{Back: adds, Counts: func(p string) bool { return strings.HasSuffix(p, ".py") && adds(p+"i") }}}
}
