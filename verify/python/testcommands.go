package python

import (
	"path"
	"slices"
	"strings"

	"agent/verify/check"
	"agent/verify/python/modules"
)

// harmless maps the options of pytest that say which tests there are and what a warning is to whether a value follows. No
// other option of a command says anything about the program.
var harmless = map[string]bool{
	"--doctest-modules": false, "--doctest-continue-on-failure": false, "--doctest-ignore-import-errors": false,
	"--doctest-glob": true, "--import-mode": true, "-W": true, "--pythonwarnings": true, "-p": true, "--pyargs": false,
}

// doctests reports whether an option turns examples in documentation into tests.
func doctests(option string) bool {
	return option == "--doctest-modules" || strings.HasPrefix(option, "--doctest-glob")
}

// ask takes over from the commands of the base what the configuration does not say.
func (o *testOptions) ask(v check.View, root string, config pytestFile, unknown []string) {
	base := check.OnBase(v.Base)
	var warnings [][]string
	calls := 0
	for _, c := range commandsOf(v, root) {
		if c.Tool == "doctest" {
			c.Args = doctestFiles(base, root, c.Args)
		}
		if c.Tool != PytestName && c.Tool != "doctest" || len(c.Args) == 0 && c.Tool == "doctest" {
			continue
		}
		options, paths := testArguments(base, root, c.Args)
		options = slices.DeleteFunc(options, func(w string) bool { return slices.Contains(config.addopts, w) || slices.Contains(unknown, w) })
		if c.Tool == PytestName {
			calls++
			warnings = append(warnings, slices.DeleteFunc(slices.Clone(options), func(w string) bool { return !strings.HasPrefix(w, "-W") }))
		}
		options = slices.DeleteFunc(options, func(w string) bool { return strings.HasPrefix(w, "-W") || slices.Contains(o.asked, w) })
		// A command does not override where the configuration says that tests are, unless the command adds examples: elsewhere
		// these are not tests.
		if slices.ContainsFunc(options, doctests) {
			o.paths = append(o.paths, paths...)
		}
		o.asked = append(o.asked, options...)
	}
	// Warnings are errors for the tests only if every command that runs them says so.
	for i, list := range warnings {
		for _, w := range list {
			if i == 0 && !slices.ContainsFunc(warnings, func(other []string) bool { return !slices.Contains(other, w) }) {
				o.asked = append(o.asked, w)
			}
		}
	}
	switch {
	case len(o.paths) == 0:
	case len(config.testpaths) > 0:
		o.paths = append(o.paths, config.testpaths...)
	case strings.Contains(config.text, "python_files"):
		o.paths = nil // a configuration with its own names for tests has them anywhere
	default:
		o.paths = append(o.paths, testDirectories(v, root)...)
	}
	slices.Sort(o.paths)
	o.paths = slices.Compact(o.paths)
}

// testArguments separates the harmless options and the paths of one pytest command. A plugin option counts only if the
// plugin is the workspace's own, or is switched off.
func testArguments(base check.View, root string, args []string) (options, paths []string) {
	for i := 0; i < len(args); i++ {
		word := args[i]
		name, value, inOne := strings.Cut(word, "=")
		if len(word) > 2 && (strings.HasPrefix(word, "-W") || strings.HasPrefix(word, "-p")) && word[1] != '-' {
			name, value, inOne = word[:2], strings.TrimPrefix(word[2:], "="), true
		}
		takes, known := harmless[name]
		switch {
		case known && takes && !inOne && i+1 < len(args):
			i++
			value = args[i]
			fallthrough
		case known && takes && inOne:
			_, own := modules.File(base, root, value)
			if name != "-p" || own || strings.HasPrefix(value, "no:") {
				options = append(options, name+map[bool]string{true: "=", false: ""}[strings.HasPrefix(name, "--")]+value)
			}
		case known:
			options = append(options, word)
		case !strings.HasPrefix(word, "-"):
			file, _, _ := strings.Cut(word, "::")
			if p, ok := testPlace(base, root, path.Clean(file)); ok {
				paths = append(paths, p)
			}
		case slices.Contains([]string{"-k", "-m", "-c", "-o", "-r", "--junitxml", "--junit-xml", "--basetemp", "--rootdir", "--ignore", "--deselect"}, word),
			pluginOptions[word].value == oneValue:
			i++
		case pluginOptions[word].value == mayHaveValue && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-"):
			i++
		}
	}
	return options, paths
}

// testPlace returns a path of a command as it lies in a root. A package that is installed for the command lies in src here.
func testPlace(base check.View, root, p string) (string, bool) {
	if strings.HasPrefix(p, "..") || path.IsAbs(p) {
		return "", false
	}
	for _, place := range []string{p, path.Join("src", p)} {
		if at := path.Join(root, place); base.Has(at) || base.HasDir(at) || place == "." {
			return place, true
		}
	}
	return "", false
}

// testDirectories returns the places directly in a root that hold its tests; for tests in src, their own directories.
func testDirectories(v check.View, root string) (places []string) {
	for _, p := range slices.Concat(v.Paths(), unittests(v)) {
		if !check.Below(path.Dir(p), root) || !IsTest(p) && !slices.Contains(unittests(v), p) {
			continue
		}
		place, _, _ := strings.Cut(within(root, p), "/")
		if place == "src" {
			place = path.Dir(within(root, p))
		}
		if !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	return places
}

// doctestFiles turns a call of python -m doctest into pytest arguments.
func doctestFiles(base check.View, root string, args []string) (options []string) {
	for _, word := range args {
		p, ok := testPlace(base, root, path.Clean(word))
		switch {
		case strings.HasPrefix(word, "-") || !ok:
		case path.Ext(p) == ".py":
			options = append(options, "--doctest-modules", p)
		default:
			options = append(options, "--doctest-glob="+path.Base(p), p)
		}
	}
	return options
}
