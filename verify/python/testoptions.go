package python

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// testOptions are the arguments that pytest gets in addition to those of every workspace.
type testOptions struct {
	// asked and paths come from the project's own commands: they find more tests. The paths are left out when tests are
	// requested by name.
	asked, paths []string
	// forced holds what replaces the configuration's addopts, and other options that make pytest start here.
	forced []string
	// dropped lists the options of the configuration that this pytest does not know.
	dropped []string
}

// These say whether an option of a plugin takes the next word as its value.
const (
	noValue = iota
	oneValue
	mayHaveValue
)

// pluginOptions maps options of pytest's better-known plugins to the plugin and to whether a value follows. The plugins are
// not loaded here (run_tests.py), or need not be there, so pytest knows none of these options.
var pluginOptions = map[string]struct {
	plugin string
	value  int
}{
	"--cov": {"pytest_cov", mayHaveValue}, "--cov-report": {"pytest_cov", oneValue}, "--cov-config": {"pytest_cov", oneValue},
	"--cov-append": {"pytest_cov", noValue}, "--cov-branch": {"pytest_cov", noValue}, "--no-cov": {"pytest_cov", noValue},
	"--cov-fail-under": {"pytest_cov", oneValue}, "--cov-context": {"pytest_cov", oneValue}, "--no-cov-on-fail": {"pytest_cov", noValue},
	"-n": {"xdist", oneValue}, "--numprocesses": {"xdist", oneValue}, "--dist": {"xdist", oneValue}, "--maxprocesses": {"xdist", oneValue},
	"--tx": {"xdist", oneValue}, "--looponfail": {"xdist", noValue}, "--max-worker-restart": {"xdist", oneValue},
	"--timeout": {"pytest_timeout", oneValue}, "--timeout-method": {"pytest_timeout", oneValue}, "--session-timeout": {"pytest_timeout", oneValue},
	"--randomly-seed": {"randomly", oneValue}, "--randomly-dont-reorganize": {"randomly", noValue}, "--randomly-dont-reset-seed": {"randomly", noValue},
	"--random-order": {"random_order", noValue}, "--random-order-bucket": {"random_order", oneValue},
	"--benchmark-skip": {"benchmark", noValue}, "--benchmark-disable": {"benchmark", noValue}, "--benchmark-only": {"benchmark", noValue},
	"--benchmark-columns": {"benchmark", oneValue}, "--benchmark-autosave": {"benchmark", noValue}, "--benchmark-sort": {"benchmark", oneValue},
	"--benchmark-group-by": {"benchmark", oneValue}, "--benchmark-warmup": {"benchmark", mayHaveValue},
	"--codspeed": {"codspeed", noValue}, "--mypy": {"mypy", noValue}, "--flake8": {"flake8", noValue},
	"--pycodestyle": {"pycodestyle", noValue}, "--ruff": {"ruff", noValue}, "--ruff-format": {"ruff", noValue}, "--black": {"black", noValue}, "--isort": {"isort", noValue},
	"--reruns": {"rerunfailures", oneValue}, "--reruns-delay": {"rerunfailures", oneValue}, "--force-sugar": {"sugar", noValue}, "--old-summary": {"sugar", noValue},
	"--html": {"html", oneValue}, "--self-contained-html": {"html", noValue}, "--ds": {"django", oneValue}, "--reuse-db": {"django", noValue},
	"--create-db": {"django", noValue}, "--no-migrations": {"django", noValue}, "--nomigrations": {"django", noValue}, "--picked": {"picked", mayHaveValue},
	"--instafail": {"instafail", noValue}, "--disable-socket": {"socket", noValue}, "--allow-hosts": {"socket", oneValue}, "--allow-unix-socket": {"socket", noValue},
	"--forked": {"forked", noValue}, "--splits": {"split", oneValue}, "--group": {"split", oneValue}, "--typeguard-packages": {"typeguard", oneValue},
	"--nbval": {"nbval", noValue}, "--nbval-lax": {"nbval", noValue}, "--hypothesis-show-statistics": {"hypothesis", noValue},
	"--hypothesis-profile": {"hypothesis", oneValue}, "--spec": {"spec", noValue}, "--emoji": {"emoji", noValue}, "--xdoctest": {"xdoctest", noValue},
	"--subprocess-vcr": {"subprocess_vcr", oneValue}, "--record-mode": {"recording", oneValue}, "--block-network": {"recording", noValue},
	"--snapshot-warn-unused": {"syrupy", noValue}, "--markdown-docs": {"markdown_docs", noValue}, "--doctest-plus": {"doctestplus", noValue},
	"--doctest-rst": {"doctestplus", noValue}, "--remote-data": {"remotedata", mayHaveValue}, "--mpl": {"mpl", noValue}, "--memray": {"memray", noValue},
}

// strictOptions make pytest refuse anything that belongs to a missing plugin.
var strictOptions = []string{"--strict", "--strict-config", "--strict-markers"}

// optionsOf returns the options for pytest in a root, for a view. It leaves out options of that view's configuration that
// cannot be used here, and adds those that the commands of the base ask for. unknown are the options that pytest has
// refused.
func optionsOf(v check.View, root string, unknown []string) (o testOptions) {
	config := readPytest(v, root)
	kept, dropped := withoutPlugins(config.addopts, unknown, func(p string) bool {
		p = path.Join(root, p)
		return v.Has(p) || v.HasDir(p)
	})
	o.dropped = dropped
	if len(dropped) > 0 || config.native {
		o.forced = append(o.forced, "-o", "addopts="+quoteWords(kept))
	}
	if config.native {
		o.forced = append(o.forced, config.overrides...)
	}
	if strings.Contains(config.text, "required_plugins") {
		o.forced = append(o.forced, "-o", "required_plugins=")
	}
	if strings.Contains(config.text, "error") && (strings.Contains(config.text, "filterwarnings") || strings.Contains(config.text, "-W")) {
		// A warning about a missing plugin must not end the session.
		o.forced = append(o.forced, "-W", "ignore::pytest.PytestConfigWarning", "-W", "ignore::pytest.PytestUnknownMarkWarning")
	}
	o.ask(v, root, config, unknown)
	return o
}

// withoutPlugins removes from addopts the options of plugins that are not loaded.
func withoutPlugins(words, unknown []string, there func(p string) bool) (kept, dropped []string) {
	for i := 0; i < len(words); i++ {
		word := words[i]
		name, _, inOne := strings.Cut(word, "=")
		if strings.HasPrefix(word, "-n") && !strings.HasPrefix(word, "--") && len(word) > 2 {
			name, inOne = "-n", true // as in -n4 and -nauto
		}
		option, listed := pluginOptions[name]
		refused := slices.Contains(unknown, name) || slices.Contains(unknown, word)
		if word == "-p" && i+1 < len(words) && slices.Contains(unknown, "-p "+words[i+1]) {
			refused, option.value = true, oneValue
		}
		loaded := listed && slices.ContainsFunc(words, func(w string) bool { return strings.TrimPrefix(w, "-p") == option.plugin })
		if !refused && (!listed || loaded) && !slices.Contains(strictOptions, word) {
			kept = append(kept, word)
			continue
		}
		if slices.Contains(strictOptions, word) {
			continue // it takes no value, and leaving it out loses no test
		}
		dropped = append(dropped, name)
		if next := i + 1; !inOne && next < len(words) && !strings.HasPrefix(words[next], "-") {
			// The word after an unlisted option is its value, unless it is a path.
			if option.value == oneValue || option.value == mayHaveValue || !listed && !there(words[next]) {
				i++
			}
		}
	}
	return kept, dropped
}

// pytestFile is the configuration of pytest in a root.
type pytestFile struct {
	text    string
	addopts []string
	// testpaths says where pytest begins, according to the configuration.
	testpaths []string
	// names are patterns for the names of test files.
	names []string
	// native marks a table that only newer versions of pytest read; overrides is its content as options.
	native    bool
	overrides []string
}

var (
	// iniAddopts and iniTestpaths match the value of a key in an INI file, with its continuation lines.
	iniAddopts   = lazyregexp.New(`(?m)^addopts\s*[=:]((?:.*)(?:\n[ \t]+.*)*)`)
	iniTestpaths = lazyregexp.New(`(?m)^testpaths\s*[=:]((?:.*)(?:\n[ \t]+.*)*)`)
	iniNames     = lazyregexp.New(`(?m)^python_files\s*[=:]((?:.*)(?:\n[ \t]+.*)*)`)
	iniComment   = lazyregexp.New(`(?m)^\s*[#;].*$|\s[#;].*$`)
)

// readPytest reads the file that configures pytest in a root: the first in pytest's order.
func readPytest(v check.View, root string) (f pytestFile) {
	for _, name := range pytestConfig {
		p := path.Join(root, name)
		if !v.Has(p) || !pytestMarks[name].MatchString(v.Text(p)) {
			continue
		}
		f.text = v.Text(p)
		if path.Ext(name) == ".toml" {
			f.readTable()
			return f
		}
		section := f.text
		for _, head := range []string{"\n[pytest]", "\n[tool:pytest]"} {
			if _, rest, ok := strings.Cut("\n"+f.text, head); ok {
				section, _, _ = strings.Cut(rest, "\n[")
			}
		}
		value := func(re *lazyregexp.Regexp) []string {
			if m := re.FindStringSubmatch(section); m != nil {
				return shellWords(strings.ReplaceAll(iniComment.ReplaceAllString(m[1], ""), "\n", " "))
			}
			return nil
		}
		f.addopts, f.testpaths, f.names = value(iniAddopts), value(iniTestpaths), value(iniNames)
		return f
	}
	return f
}

// listKeys are the pytest keys whose values are lists of lines; other keys hold words.
var listKeys = []string{"filterwarnings", "markers"}

// readTable reads the table of pyproject.toml.
func (f *pytestFile) readTable() {
	var file struct {
		Tool struct {
			Pytest map[string]any `toml:"pytest"`
		} `toml:"tool"`
	}
	if toml.Unmarshal([]byte(f.text), &file) != nil {
		return
	}
	table, ini := file.Tool.Pytest["ini_options"].(map[string]any)
	if !ini {
		table, f.native = file.Tool.Pytest, len(file.Tool.Pytest) > 0
	}
	words := func(key string) []string {
		switch value := table[key].(type) {
		case string:
			return shellWords(strings.ReplaceAll(value, "\n", " "))
		case []any:
			return texts(value)
		}
		return nil
	}
	f.addopts, f.testpaths, f.names = words("addopts"), words("testpaths"), words("python_files")
	if !f.native {
		return
	}
	for _, key := range []string{"testpaths", "python_files", "python_classes", "python_functions", "filterwarnings", "markers", "pythonpath", "norecursedirs", "doctest_optionflags", "usefixtures", "xfail_strict"} {
		switch value := table[key].(type) {
		case string:
			f.overrides = append(f.overrides, "-o", key+"="+value)
		case bool:
			f.overrides = append(f.overrides, "-o", fmt.Sprintf("%s=%t", key, value))
		case []any:
			text := quoteWords(texts(value))
			if slices.Contains(listKeys, key) {
				text = strings.Join(texts(value), "\n")
			}
			f.overrides = append(f.overrides, "-o", key+"="+text)
		}
	}
}

// shellWords splits a text into words as a shell does.
func shellWords(text string) (words []string) {
	for _, call := range shellCalls(strings.NewReplacer(";", " ", "|", " ", "&", " ").Replace(text)) {
		words = append(words, call...)
	}
	return words
}

// quoteWords joins words so that pytest splits them back into the same words.
func quoteWords(words []string) string {
	quoted := slices.Clone(words)
	for i, w := range quoted {
		if w == "" || strings.ContainsAny(w, " \t'\"\\#&|;") {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'"'"'`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// These match the options and plugins that pytest does not know, in the error that it gives up with.
var (
	unrecognized  = lazyregexp.New(`error: unrecognized arguments: (.*)`)
	notImportable = lazyregexp.New(`Error importing plugin "([\w.]+)"`)
)

func refusedOptions(res guest.Result) (names []string) {
	text := check.Clean(check.Bytes(res.Stderr))
	if m := unrecognized.FindStringSubmatch(text); m != nil && res.Exit == 4 {
		for _, word := range strings.Fields(m[1]) {
			if name, _, _ := strings.Cut(word, "="); strings.HasPrefix(name, "-") {
				names = append(names, name)
			}
		}
	}
	for _, m := range notImportable.FindAllStringSubmatch(text, -1) {
		names = append(names, "-p "+m[1])
	}
	return names
}

// hadOption reports whether the configuration of the base gives pytest an option.
func hadOption(v check.View, root, name string) bool {
	words := readPytest(check.OnBase(v.Base), root).addopts
	for i, word := range words {
		if option, _, _ := strings.Cut(word, "="); option == name || i > 0 && words[i-1]+" "+word == name || "-p "+strings.TrimPrefix(word, "-p") == name {
			return true
		}
	}
	return false
}

// hasNamedTests reports whether there are files that the configuration at the top declares as tests by its own patterns.
func hasNamedTests(v check.View) bool {
	names := readPytest(v, ".").names
	return len(names) > 0 && slices.ContainsFunc(v.Paths(), func(p string) bool {
		return path.Ext(p) == ".py" && slices.ContainsFunc(names, func(name string) bool {
			if !strings.ContainsAny(name, "*?[") {
				return path.Base(p) == name
			}
			ok, err := path.Match(name, path.Base(p))
			return err == nil && ok
		})
	})
}
