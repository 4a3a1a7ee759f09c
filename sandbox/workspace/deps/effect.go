package deps

import (
	"encoding/json"
	"errors"
	"go/version"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"agent/sandbox/workspace/lazyregexp"
)

// An Effect is what a change to a manifest can cause, beyond the file itself.
type Effect struct {
	// It may change what is installed, or what runs on installing. It is true unless the change is known to do neither.
	Installs bool
	// Tools names the tools that check the program and whose setup in the file changes, sorted.
	Tools []string
	// Scripts names the scripts that change and run only when started by name, sorted.
	Scripts []string
}

// EffectOf compares two versions of a manifest by what package managers make of them. A file that is created, deleted
// or cannot be read, or that has another name, may change anything.
func EffectOf(name string, before, after []byte) Effect {
	if base := path.Base(name); base == "go.sum" || base == "go.work.sum" {
		return Effect{Installs: before == nil || after == nil || !onlyLosesSums(before, after)}
	}
	split, ok := map[string]func([]byte) (parts, error){
		"package.json": splitPackage, "pyproject.toml": splitPyproject, "setup.cfg": splitSetup, "setup.py": splitProgram,
		"package-lock.json": splitLock, "go.mod": splitModule,
	}[path.Base(name)]
	if !ok || before == nil || after == nil {
		return Effect{Installs: true}
	}
	was, errBefore := split(before)
	is, errAfter := split(after)
	if errBefore != nil || errAfter != nil {
		return Effect{Installs: true}
	}
	if was.language != "" && version.Compare("go"+was.language, "go"+is.language) <= 0 {
		is.language = was.language // it requires more: what is installed is the same, from the same place
	}
	return Effect{!reflect.DeepEqual(was.rest, is.rest) || was.language != is.language, differing(was.tools, is.tools), differing(was.scripts, is.scripts)}
}

// differing lists the keys of two tables whose values differ.
func differing(a, b map[string]any) (keys []string) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if !reflect.DeepEqual(a[k], b[k]) {
			keys = append(keys, k)
		}
	}
	return keys
}

// parts are a manifest taken apart, without what it only says about the project.
type parts struct {
	// What may affect an installation.
	rest map[string]any
	// By tool, the setup of those that check the program.
	tools map[string]any
	// Scripts that no installation runs.
	scripts map[string]any
	// The minimum Go version in a go.mod, which every Go tool from 1.21 on obeys.
	language string
}

// What a project says about itself, to people and to those that import or publish it, by format.
// (docs.npmjs.com/cli/v11/configuring-npm/package-json; packaging.python.org/specifications/pyproject-toml;
// python-poetry.org/docs/pyproject; setuptools.pypa.io/en/latest/userguide/declarative_config)
var (
	packageAbout = strings.Fields(`version description keywords author contributors maintainers license homepage repository bugs funding
		files exports main module browser types typings typesVersions sideEffects man`)
	projectAbout = strings.Fields("version description readme authors maintainers keywords classifiers urls license license-files")
	poetryAbout  = strings.Fields("version description readme authors maintainers keywords classifiers urls license homepage repository documentation")
	setupAbout   = strings.Fields(`version description long_description long_description_content_type author author_email maintainer maintainer_email
		keywords classifiers url project_urls download_url license license_file license_files platforms`)
)

// Tables in which a tool keeps size limits, or the version of the project; anything else in them may make it run
// something. (github.com/ai/size-limit; github.com/siddharthkp/bundlesize; callowayproject.github.io/bump-my-version;
// github.com/mbarkhau/bumpver; commitizen-tools.github.io/commitizen; python-semantic-release.readthedocs.io)
var (
	sizeKeepers    = strings.Fields("size-limit bundlesize bundlewatch")
	versionKeepers = strings.Fields("bumpversion bumpver commitizen semantic_release")
	size           = lazyregexp.New(`^\d[\d.]* ?(?:[kKmM]?i?[bB]|m?s)?$`)
	versionNumber  = lazyregexp.New(`^v?\d+(?:\.\w+)*(?:[-+][\w.]+)?$`)
)

// blank replaces by "" each text of the named tables that the pattern matches, and each number, at any depth.
func blank(tables map[string]any, names []string, pattern *lazyregexp.Regexp) {
	var within func(any) any
	within = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for k := range v {
				v[k] = within(v[k])
			}
		case []any:
			for i := range v {
				v[i] = within(v[i])
			}
		case string:
			if pattern.MatchString(v) {
				return ""
			}
		case float64:
			return ""
		}
		return v
	}
	for _, name := range names {
		if table, ok := tables[name]; ok {
			tables[name] = within(table)
		}
	}
}

// lifecycle matches scripts that a package manager runs by itself: on installing, packing or publishing, or around
// another script. (docs.npmjs.com/cli/v11/using-npm/scripts; pnpm.io/scripts)
var lifecycle = lazyregexp.New(`^(?:(?:pre|post).*|install|uninstall|prepare.*|publish|pack|dependencies|shrinkwrap|version|restart|start|stop)$|pnpm`)

// splitPackage takes a package.json apart. It leaves the setup of tools where it is: verify/node compares that.
func splitPackage(text []byte) (parts, error) {
	p := parts{tools: map[string]any{}, scripts: map[string]any{}}
	if err := json.Unmarshal(text, &p.rest); err != nil {
		return p, err
	}
	without(p.rest, packageAbout)
	blank(p.rest, sizeKeepers, size)
	if scripts, ok := p.rest["scripts"].(map[string]any); ok {
		for name, script := range scripts {
			if !lifecycle.MatchString(name) {
				p.scripts[name] = script
				delete(scripts, name)
			}
		}
		if len(scripts) == 0 {
			delete(p.rest, "scripts")
		}
	}
	return p, nil
}

// splitLock takes a package-lock.json apart, which repeats what the package says about itself.
func splitLock(text []byte) (parts, error) {
	var p parts
	if err := json.Unmarshal(text, &p.rest); err != nil {
		return p, err
	}
	delete(p.rest, "version")
	if packages, ok := p.rest["packages"].(map[string]any); ok {
		if own, ok := packages[""].(map[string]any); ok {
			without(own, packageAbout)
		}
	}
	return p, nil
}

// splitModule takes a go.mod apart. A retraction concerns the module's own versions, and comments affect no
// installation. (go.dev/ref/mod#go-mod-file)
func splitModule(text []byte) (parts, error) {
	f, _, err := readModule(text)
	if err != nil {
		return parts{}, err
	}
	p := parts{rest: map[string]any{}}
	eachDirective(f, func(directive string, words []string) {
		switch {
		case directive == "retract":
		case directive == "go" && len(words) == 1:
			p.language = words[0]
		default:
			p.rest[directive+" "+strings.Join(words, " ")] = true
		}
	})
	return p, nil
}

// checkers are tables of pyproject.toml and sections of setup.cfg that set up tools that check the program, and nothing
// that is installed.
var checkers = strings.Fields(`ruff flake8 mypy pyright basedpyright ty pyrefly pylint pycodestyle pydocstyle pytest coverage black isort bandit vulture
	autopep8 yapf codespell interrogate docformatter djlint`)

// splitPyproject takes a pyproject.toml apart.
func splitPyproject(text []byte) (parts, error) {
	p := parts{tools: map[string]any{}}
	if err := toml.Unmarshal(text, &p.rest); err != nil {
		return p, err
	}
	if project, ok := p.rest["project"].(map[string]any); ok {
		without(project, projectAbout)
	}
	tools, _ := p.rest["tool"].(map[string]any)
	if poetry, ok := tools["poetry"].(map[string]any); ok {
		without(poetry, poetryAbout)
	}
	blank(tools, versionKeepers, versionNumber)
	for name, table := range tools {
		if slices.Contains(checkers, name) {
			p.tools[name] = table
			delete(tools, name)
		}
	}
	if len(tools) == 0 {
		delete(p.rest, "tool")
	}
	return p, nil
}

// splitSetup takes a setup.cfg apart. A value that makes setuptools read another file or run the project's code is not
// mere description.
func splitSetup(text []byte) (parts, error) {
	p := parts{rest: map[string]any{}, tools: map[string]any{}}
	sections, err := Sections(text)
	if err != nil {
		return p, err
	}
	for name, section := range sections {
		tool, _, _ := strings.Cut(strings.TrimPrefix(name, "tool:"), ":")
		tool, _, _ = strings.Cut(tool, "-") // [mypy-package.*]
		switch {
		case slices.Contains(checkers, tool):
			p.tools[tool] = addSection(p.tools[tool], name, section)
		case name == "metadata":
			maps.DeleteFunc(section, func(key, value string) bool {
				return slices.Contains(setupAbout, strings.ReplaceAll(key, "-", "_")) && !strings.Contains(value, "attr:")
			})
			fallthrough
		default:
			if slices.Contains(versionKeepers, name) && versionNumber.MatchString(section["current_version"]) {
				section["current_version"] = ""
			}
			p.rest[name] = section
		}
	}
	return p, nil
}

// splitProgram takes a setup.py apart. It recognises only what the file says about the project in plain strings.
func splitProgram(text []byte) (parts, error) {
	rest, ok := setupWithoutWords(string(text))
	if !ok {
		return parts{}, errors.New("it cannot be split into words")
	}
	return parts{rest: map[string]any{"": rest}}, nil
}

// addSection adds a section to those of a tool, which may have several.
func addSection(of any, name string, section map[string]string) map[string]any {
	all, ok := of.(map[string]any)
	if !ok {
		all = map[string]any{}
	}
	all[name] = section
	return all
}

// without deletes keys from a table.
func without(table map[string]any, keys []string) {
	for _, k := range keys {
		delete(table, k)
	}
}
