package python

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// The commands in a project's own definitions say what it promises about itself: which type checker it runs, over which
// files, and whether examples in documentation are tests. These commands are read and never run.

// A command is one call of a tool.
type command struct {
	// Tool is one of pytest, mypy, pyright, ty, unittest or doctest.
	Tool string
	Args []string
	// Files and Exclude match the files that a pre-commit hook covers and those that it skips; nil means no rule.
	Files, Exclude *regexp.Regexp
}

// commandTools maps the names under which the relevant programs are started to their tools.
var commandTools = map[string]string{
	"pytest": PytestName, "py.test": PytestName, "mypy": MypyName, "dmypy": MypyName, "pyright": PyrightName, "basedpyright": PyrightName,
	"ty": TyName, "unittest": "unittest", "doctest": "doctest",
}

// commandsOf lists the commands that the definitions of a root run at the base revision: a patch cannot choose who judges
// it.
func commandsOf(v check.View, root string) []command {
	base := check.OnBase(v.Base)
	return check.Recall(base, "commands", func() map[string][]command { return listCommands(base) })[root]
}

func listCommands(base check.View) map[string][]command {
	all := map[string][]command{}
	for _, p := range base.Paths() {
		if root, read := definition(p); read != nil && (root == "." || !check.Installed(root)) {
			all[root] = append(all[root], read(base.Text(p))...)
		}
	}
	return all
}

// ciFiles matches definitions of continuous integration, which lie at the top or in directories of their own there.
var ciFiles = lazyregexp.New(`^(?:\.github/workflows/[^/]+|\.circleci/config|\.gitlab-ci|\.travis|\.cirrus|azure-pipelines|appveyor|\.appveyor|tasks|Taskfile)\.ya?ml$`)

// shellScripts matches scripts whose names say that they check the project.
var shellScripts = lazyregexp.New(`^(?:scripts?|ci|tools|\.ci)/[\w-]*(?:tests?|check|lint|types?|mypy|coverage)[\w-]*(?:\.sh)?$`)

// definition returns the root for which a file defines commands, and the function that reads them; nil if the file defines
// none.
func definition(p string) (root string, read func(text string) []command) {
	root = path.Dir(p)
	if ciFiles.MatchString(p) {
		return ".", yamlCommands
	}
	if shellScripts.MatchString(p) {
		return ".", func(text string) []command { return commandLines(strings.Split(joinLines(text), "\n")) }
	}
	switch path.Base(p) {
	case "tox.ini", "setup.cfg":
		return root, iniCommands
	case "pyproject.toml", "tox.toml", "hatch.toml", "pixi.toml":
		return root, tomlCommands
	case "Makefile", "makefile", "GNUmakefile", "justfile", "Justfile":
		return root, makeCommands
	case "noxfile.py", "tasks.py":
		return root, noxCommands
	case ".pre-commit-config.yaml":
		return root, hookCommands
	}
	return "", nil
}

// joinLines joins lines that end in a backslash with the next one.
func joinLines(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", " ")
}

// factors matches the factors in front of a tox command, as in "py3{1,2}: pytest".
var factors = lazyregexp.New(`^[\w!{},.-]+:\s+`)

// iniCommands reads the keys of tox that hold commands.
func iniCommands(text string) []command {
	var lines []string
	in := false
	for line := range strings.Lines(joinLines(text)) {
		body := strings.TrimSpace(line)
		switch {
		case body == "" || body[0] == '#' || body[0] == ';':
			continue
		case line[0] != ' ' && line[0] != '\t':
			key, value, found := strings.Cut(body, "=")
			in = found && strings.HasPrefix(key, "commands")
			body = strings.TrimSpace(value)
		}
		if in {
			lines = append(lines, factors.ReplaceAllString(body, ""))
		}
	}
	return commandLines(lines)
}

// makeCommands reads the recipes of a Makefile.
func makeCommands(text string) []command {
	var lines []string
	for line := range strings.Lines(joinLines(text)) {
		if line[0] == '\t' || line[0] == ' ' {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return commandLines(lines)
}

// scriptKeys are the keys of continuous integration that hold shell text.
var scriptKeys = []string{"run", "script", "before_script", "after_script", "command", "commands", "cmd", "cmds", "test_script"}

// yamlCommands reads the shell text of a definition of continuous integration.
func yamlCommands(text string) []command {
	var root any
	if yaml.Unmarshal([]byte(text), &root) != nil {
		return nil
	}
	var lines []string
	walkText(root, "", func(key, value string) {
		if slices.Contains(scriptKeys, key) {
			lines = append(lines, strings.Split(joinLines(value), "\n")...)
		}
	})
	return commandLines(lines)
}

// walkText calls do for each string in a document, with the nearest key above it.
func walkText(node any, key string, do func(key, value string)) {
	switch n := node.(type) {
	case string:
		do(key, n)
	case []any:
		for _, item := range n {
			walkText(item, key, do)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(n)) {
			walkText(n[k], k, do)
		}
	}
}

// tomlCommands reads the TOML tables in which tools keep commands.
func tomlCommands(text string) []command {
	var file map[string]any
	if toml.Unmarshal([]byte(text), &file) != nil {
		return nil
	}
	tool, _ := file["tool"].(map[string]any)
	var found []command
	for _, name := range []string{"hatch", "poe", "pdm", "taskipy", "tox", "rye", "pixi"} {
		found = append(found, tableCommands(tool[name], "")...)
	}
	// A file that belongs to a single tool has no table around these keys.
	for _, name := range []string{"env", "env_run_base", "envs", "tasks"} {
		found = append(found, tableCommands(file[name], "")...)
	}
	return found
}

// tableCommands reads a table of commands. Entries that an environment only installs are not commands.
func tableCommands(node any, key string) (found []command) {
	if strings.Contains(key, "depend") || slices.Contains([]string{"deps", "extras", "features", "help", "description"}, key) {
		return nil
	}
	switch n := node.(type) {
	case string:
		if key == "legacy_tox_ini" {
			return iniCommands(n)
		}
		return commandLines([]string{joinLines(n)})
	case []any:
		// A list of words is one command, as in tox.toml; a list of lists or of texts is several.
		words := texts(n)
		if len(words) == len(n) && len(words) > 1 && !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, " ") }) {
			if c, ok := toolCall(words); ok {
				return []command{c}
			}
		}
		for _, item := range n {
			found = append(found, tableCommands(item, key)...)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(n)) {
			found = append(found, tableCommands(n[k], k)...)
		}
	}
	return found
}

// texts returns the strings among the items of a list.
func texts(list []any) (found []string) {
	for _, item := range list {
		if text, ok := item.(string); ok {
			found = append(found, text)
		}
	}
	return found
}

var (
	// sessionRun matches a call that runs a command in a noxfile.py or tasks.py.
	sessionRun = lazyregexp.New(`(?m)^[^#\n]*\.run(?:_always)?\(((?:[^()"']|"[^"\n]*"|'[^'\n]*')*)\)`)
	literal    = lazyregexp.New(`"([^"\n]*)"|'([^'\n]*)'`)
)

// noxCommands reads the literal arguments of session.run.
func noxCommands(text string) (found []command) {
	for _, m := range sessionRun.FindAllStringSubmatch(text, -1) {
		var words []string
		for _, l := range literal.FindAllStringSubmatch(m[1], -1) {
			words = append(words, l[1]+l[2])
		}
		if len(words) == 1 {
			found = append(found, commandLines(words)...)
		} else if c, ok := toolCall(words); ok {
			found = append(found, c)
		}
	}
	return found
}

// hookCommands reads the hooks of pre-commit that check types.
func hookCommands(text string) (found []command) {
	var file struct {
		Exclude string `yaml:"exclude"`
		Repos   []struct {
			Hooks []struct {
				ID      string   `yaml:"id"`
				Entry   string   `yaml:"entry"`
				Args    []string `yaml:"args"`
				Files   string   `yaml:"files"`
				Exclude string   `yaml:"exclude"`
				Names   *bool    `yaml:"pass_filenames"`
			} `yaml:"hooks"`
		} `yaml:"repos"`
	}
	if yaml.Unmarshal([]byte(text), &file) != nil {
		return nil
	}
	for _, repo := range file.Repos {
		for _, h := range repo.Hooks {
			c := command{Tool: commandTools[h.ID], Args: h.Args}
			if c.Tool == "" {
				called := commandLines([]string{h.Entry})
				if len(called) != 1 {
					continue
				}
				c.Tool, c.Args = called[0].Tool, slices.Concat(called[0].Args, h.Args)
			}
			if c.Tool == PytestName {
				continue
			}
			if h.Names == nil || *h.Names {
				c.Files, c.Exclude = pattern(h.Files), pattern(check.Join([]string{file.Exclude, h.Exclude}, "|"))
			}
			found = append(found, c)
		}
	}
	return found
}

// pattern compiles an expression from a configuration. It returns nil for an empty one and for one that only Python
// understands.
func pattern(text string) *regexp.Regexp {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	// Python's verbose form, which pre-commit's own documentation uses.
	if rest, verbose := strings.CutPrefix(text, "(?x)"); verbose {
		text = strings.Join(strings.Fields(rest), "")
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil
	}
	return re
}
