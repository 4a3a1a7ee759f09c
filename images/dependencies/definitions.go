package dependencies

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"agent/sandbox/workspace/deps"
	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
)

// A laterLine is a request that a definition of tests makes to an index. It counts only if nothing else names the package.
type laterLine struct{ file, text string }

// maxLater bounds these requests, and how often a tox.ini may refer to the value of another section.
const maxLater = 1000

// testEnv matches the names of environments in which tox, nox and hatch run tests.
var testEnv = lazyregexp.New(`^(?:py(?:py|thon)?[\d.{},]*(?:-.*)?|(?:hatch[-_])?(?:unit[-_]?)?tests?(?:[-_].*)?|pytest|unit|coverage|cov|default|dev)$`)

// definitions reads where tools that run tests say what these need: tox, nox and hatch, in the order of file names.
func (w *pythonWants) definitions() {
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		text := w.files[name]
		if lang.BesideTests(name) {
			continue
		}
		switch path.Base(name) {
		case "tox.ini", "setup.cfg":
			w.tox(name, text)
		case "tox.toml", "hatch.toml":
			var file map[string]any
			if toml.Unmarshal(text, &file) == nil {
				w.environments(name, file)
			}
		case "pyproject.toml":
			p, err := deps.ReadPyproject(text)
			if err != nil {
				continue // see projects
			}
			for _, tool := range []any{p.Tool.Hatch, p.Tool.Tox} {
				table, _ := tool.(map[string]any)
				if old, ok := table["legacy_tox_ini"].(string); ok {
					w.tox(name, []byte(old))
				}
				w.environments(name, table)
			}
		case "noxfile.py":
			if len(text) <= maxScript {
				w.nox(name, string(text))
			}
		}
	}
}

// others takes in what definitions request from an index and nothing else names.
func (w *pythonWants) others() {
	named := maps.Clone(w.own)
	for _, line := range w.requirements {
		if m := requirement.FindStringSubmatch(hashOption.ReplaceAllString(line, "")); m != nil {
			named[deps.PythonName(m[1])] = true
		}
	}
	for _, l := range w.later {
		m := requirement.FindStringSubmatch(l.text)
		if m != nil && named[deps.PythonName(m[1])] {
			continue
		}
		if m != nil {
			named[deps.PythonName(m[1])] = true
		}
		w.add(l.file, l.text, &w.tests)
	}
}

// arguments takes in the arguments of an installer in dir, from file: requirements, files of them, groups, extras and workspace projects.
func (w *pythonWants) arguments(file, dir string, args []string) {
	own := w.ask(dir)
	for i := 0; i < len(args); i++ {
		arg := strings.TrimSpace(args[i])
		option, value, ok := strings.Cut(arg, "=")
		if short := len(arg) > 2 && strings.HasPrefix(arg, "-") && arg[1] != '-'; short {
			option, value, ok = arg[:2], strings.TrimSpace(arg[2:]), true
		}
		switch option {
		case "-r", "--requirement", "--requirements", "-c", "--constraint", "-e", "--editable", "--group", "--extra", "--only-group":
			if !ok && i+1 < len(args) {
				i++
				value = args[i]
			}
		}
		switch option {
		case "-r", "--requirement", "--requirements":
			w.read(path.Join(dir, value), &w.requirements)
		case "-c", "--constraint":
			w.read(path.Join(dir, value), &w.constraints)
		case "-e", "--editable":
			w.local(dir, value)
		case "--group", "--only-group":
			own.groups = append(own.groups, value)
		case "--extra":
			own.extras = append(own.extras, value)
		default:
			switch {
			case strings.HasPrefix(arg, "-"):
				// What follows an unknown option is its value and not a package.
				if !ok && !installFlag.MatchString(arg) {
					i++
				}
			case len(w.later) < maxLater && !w.local(dir, arg) && !notTested(arg):
				w.later = append(w.later, laterLine{file, arg})
			}
		}
	}
}

// notTested reports whether an argument is nothing that a test imports: a tool that builds, publishes or reports, or a word
// that only a shell or CI can resolve.
func notTested(arg string) bool {
	m := requirement.FindStringSubmatch(arg)
	return m == nil && strings.ContainsAny(arg, "$`{}<>*?") || m != nil && slices.Contains(ciTools, deps.PythonName(m[1]))
}

// installFlag matches options of installers that take no value. (pip.pypa.io/en/stable/cli/pip_install)
var installFlag = lazyregexp.New(`^(?:-[UIqv]+|--(?:upgrade|quiet|verbose|pre|user|system|force-reinstall|ignore-installed|no-[a-z-]+|disable-[a-z-]+|prefer-binary|break-system-packages|require-hashes|use-pep517|frozen|locked|active|inexact|all-extras|all-groups|dev|isolated|only-dev))$`)

var (
	// toxFactor matches the condition in front of a line of tox, as in "py3{1,2}: pytest".
	toxFactor = lazyregexp.New(`^([\w!{},.-]+):\s+(.*)$`)
	toxValue  = lazyregexp.New(`^\{\[([^\]{}]+)\]([\w.-]+)\}$`)
	// toxTop replaces the names of the directory of the tox.ini.
	toxTop = strings.NewReplacer("{toxinidir}/", "./", "{tox_root}/", "./", "{toxinidir}", ".", "{tox_root}", ".")
)

// tox reads the environments of a tox.ini in which tests run. (tox.wiki/en/stable/config.html)
func (w *pythonWants) tox(name string, text []byte) {
	sections, err := deps.Sections(text)
	if err != nil {
		return // as tox would
	}
	own, named := w.ask(path.Dir(name)), 0
	var lines func(value string, depth int) []string
	lines = func(value string, depth int) (found []string) {
		for _, line := range deps.Requirements([]byte(value)) {
			line = toxTop.Replace(line)
			if m := toxFactor.FindStringSubmatch(line); m != nil {
				if !strings.HasPrefix(m[1], "!") && !slices.Contains([]string{"py", "test", "tests"}, m[1]) {
					continue // it is for some environments alone
				}
				line = m[2]
			}
			if m := toxValue.FindStringSubmatch(line); m != nil {
				if named++; depth < maxLiteral && named <= maxLater {
					found = append(found, lines(sections[m[1]][m[2]], depth+1)...)
				}
				continue
			}
			if line != "" && !strings.Contains(line, "{") {
				found = append(found, line)
			}
		}
		return found
	}
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		env, _ := strings.CutPrefix(section, "testenv:")
		if section != "testenv" && (env == section || !testEnv.MatchString(env)) {
			continue
		}
		values := sections[section]
		for _, line := range lines(values["deps"], 0) {
			option, rest, _ := strings.Cut(line, " ")
			if strings.HasPrefix(line, "-") && rest != "" {
				w.arguments(name, path.Dir(name), []string{option, rest})
			} else {
				w.arguments(name, path.Dir(name), []string{line})
			}
		}
		for _, line := range lines(values["extras"], 0) {
			own.extras = append(own.extras, words(line)...)
		}
		for _, line := range lines(values["dependency_groups"], 0) {
			own.groups = append(own.groups, words(line)...)
		}
	}
}

// environments reads the tables of tox and of hatch in which tests run. (hatch.pypa.io/latest/config/environment)
func (w *pythonWants) environments(name string, tool map[string]any) {
	own := w.ask(path.Dir(name))
	env := func(table any) {
		t, _ := table.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(t)) {
			list, _ := t[key].([]any)
			switch texts := stringsOf(list); key {
			case "deps", "dependencies", "extra-dependencies":
				for _, line := range texts {
					w.arguments(name, path.Dir(name), []string{toxTop.Replace(line)})
				}
			case "extras", "features":
				own.extras = append(own.extras, texts...)
			case "dependency_groups", "dependency-groups":
				own.groups = append(own.groups, texts...)
			}
		}
	}
	env(tool["env_run_base"])
	for _, key := range []string{"env", "envs"} {
		envs, _ := tool[key].(map[string]any)
		for _, e := range slices.Sorted(maps.Keys(envs)) {
			if testEnv.MatchString(e) {
				env(envs[e])
			}
		}
	}
}

var (
	noxSession = lazyregexp.New(`(?m)^def[ \t]+(\w+)\(`)
	noxInstall = lazyregexp.New(`\.(install|run|run_install|run_always)\(((?:[^()"'#]|"[^"\n]*"|'[^'\n]*'|#[^\n]*|\([^()]*\))*)\)`)
	noxGroups  = lazyregexp.New(`dependency_groups\(([^()]*)\)`)
	noxText    = lazyregexp.New(`([A-Za-z]*)(?:"([^"\n]*)"|'([^'\n]*)')`)
)

// nox reads what the test sessions of a noxfile.py install, where this is written literally. (nox.thea.codes)
func (w *pythonWants) nox(name, text string) {
	sessions := noxSession.FindAllStringSubmatchIndex(text, -1)
	for i, at := range sessions {
		end := len(text)
		if i+1 < len(sessions) {
			end = sessions[i+1][0]
		}
		if !testEnv.MatchString(text[at[2]:at[3]]) {
			continue
		}
		for _, call := range noxInstall.FindAllStringSubmatch(text[at[1]:end], -1) {
			args := call[2]
			for _, m := range noxGroups.FindAllStringSubmatch(args, -1) {
				w.ask(path.Dir(name)).groups = append(w.ask(path.Dir(name)).groups, literalsOf(m[1])...)
			}
			list := literalsOf(noxGroups.ReplaceAllString(args, ""))
			if call[1] != "install" {
				if len(list) < 3 || list[0] != "uv" || list[1] != "sync" {
					continue
				}
				list = list[2:]
			}
			w.arguments(name, path.Dir(name), list)
		}
	}
}

// literalsOf returns the strings in a piece of Python that have no prefix.
func literalsOf(text string) (found []string) {
	for _, m := range noxText.FindAllStringSubmatch(text, -1) {
		if m[1] == "" {
			found = append(found, m[2]+m[3])
		}
	}
	return found
}

var (
	// ciInstall matches a line of a CI definition that installs Python packages.
	ciInstall = lazyregexp.New(`(?m)(?:^|[\s;&|"'(])(?:pip3?|(?:uv|python[\d.]*\s+-m)\s+pip)\s+install\s+([^\n;&|]*)`)
	// ciValue matches a value that CI substitutes, as from a matrix.
	ciValue = lazyregexp.New(`\$\{\{[^{}]*\}\}`)
	// ciWord matches a word of a shell, in quotes or not.
	ciWord = lazyregexp.New(`"([^"\n]*)"|'([^'\n]*)'|([^\s"']+)`)
	// ciTools are tools that build, publish and report.
	ciTools = strings.Fields("pip setuptools wheel build twine tox tox-uv tox-gh-actions tox-gh nox uv poetry hatch hatchling flit pdm pre-commit codecov coveralls virtualenv pipenv")
)

// ci reads what CI definitions install with pip. It is the last resort if a project says nowhere else what its tests need.
func (w *pythonWants) ci() {
	for _, name := range slices.Sorted(maps.Keys(w.files)) {
		if !isCI(name) || path.Base(name) == "Dockerfile" { // an image is made to run a program
			continue
		}
		for _, m := range ciInstall.FindAllStringSubmatch(strings.ReplaceAll(string(w.files[name]), "\\\n", " "), -1) {
			var args []string
			for _, line := range deps.Requirements([]byte(ciValue.ReplaceAllString(m[1], "$$"))) {
				for _, word := range ciWord.FindAllStringSubmatch(line, -1) {
					args = append(args, word[1]+word[2]+word[3])
				}
			}
			w.arguments(name, ".", args)
		}
	}
}
