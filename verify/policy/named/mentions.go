package named

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lang"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// mentions lists the words of a file that may name others, by how the file is read. called says that another file named it.
func mentions(p, text string, mode Mode, called bool) (list []mention) {
	base := strings.ToLower(path.Base(p))
	l := lang.Detect(p, text)
	switch {
	case base == "package.json" || base == "composer.json":
		return fromScripts(text)
	case l != nil && l.Prose && mode == Instructions, l == nil && mode == Instructions:
		return fromImports(text)
	case mode == Manifest && (base == "pyproject.toml" || base == "setup.cfg"):
		return fromPatterns(text, listed, dynamicList)
	case mode == Manifest && (l == nil || l.Values != lang.Code):
		return fromPatterns(text, listed, nestedList)
	case mode == Manifest && !called:
		return nil // what it names are the product's own files
	}
	list = fromCommands(p, text, l, mode)
	if mode == Instructions {
		list = append(list, fromPatterns(text, imported, quotedText)...)
	}
	if l != nil && l.Family == lang.Script {
		for _, name := range Imports(text) {
			// Modules next to a script are parts of it; the program's own modules are elsewhere.
			if called && path.Dir(p) != "." && strings.HasPrefix(name, "./") && strings.Count(name, "/") == 1 {
				list = append(list, mention{name, loaded}, mention{name + path.Ext(p), loaded})
			}
		}
	}
	return list
}

var (
	// nestedList matches a list that a list of requirements includes.
	nestedList = lazyregexp.New(`(?m)^[ \t]*(?:-r|-c|--requirement|--constraint)[ \t=]*["']?([^\s"'#]+)`)
	// dynamicList matches lists from which setuptools reads requirements.
	dynamicList = lazyregexp.New(`(?m)^[ \t]*(?:(?:optional-)?dependencies(?:\.[\w-]+)?|install_requires|[\w-]+)[ \t]*=[ \t]*(?:\{[ \t]*)?file[ \t]*[=:][ \t]*\[?[ \t]*["']?([^\s"',\]]*(?:requirements|depend|constraints|deps)[^\s"',\]]*)`)
	// quotedText matches a text for people that the configuration of an agent names, in quotes or after a key.
	quotedText = lazyregexp.New(`["' \t]((?:\./)?[\w./-]+\.(?:md|mdc|txt))(?:["'\s]|$)`)
	// atPath matches an import in instructions, at the start of a word.
	atPath = lazyregexp.New("(?:^|[\\s(])@((?:\\./|\\.\\./)*[\\w-][\\w./-]*[\\w-])")
	// codeSpan matches code in a line of prose, where nothing is imported.
	codeSpan = lazyregexp.New("`[^`\n]*`")
)

// fromPatterns lists what group 1 of an expression matches.
func fromPatterns(text, how string, form *lazyregexp.Regexp) (list []mention) {
	for _, m := range form.FindAllStringSubmatch(text, check.MostFollowed) {
		list = append(list, mention{m[1], how})
	}
	return list
}

// fromImports lists what instructions import, outside of code: https://code.claude.com/docs/en/memory.
func fromImports(text string) (list []mention) {
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		if !fenced && strings.Contains(line, "@") {
			list = append(list, fromPatterns(codeSpan.ReplaceAllString(line, " "), imported, atPath)...)
		}
	}
	return list
}

// onInstall lists the scripts of npm and Composer that run on installation: https://docs.npmjs.com/cli/v11/using-npm/scripts
// and https://getcomposer.org/doc/articles/scripts.md. Other scripts are started by name.
var onInstall = []string{
	"preinstall", "install", "postinstall", "preprepare", "prepare", "postprepare",
	"pre-install-cmd", "post-install-cmd", "pre-update-cmd", "post-update-cmd", "pre-autoload-dump", "post-autoload-dump", "post-root-package-install", "post-create-project-cmd",
}

// fromScripts lists the files named by the scripts of a package that run on installation.
func fromScripts(text string) (list []mention) {
	var about struct {
		Scripts map[string]any `json:"scripts"`
	}
	if json.Unmarshal([]byte(text), &about) != nil {
		return nil
	}
	for _, event := range onInstall {
		commands, _ := about.Scripts[event].([]any)
		for _, c := range append(commands, about.Scripts[event]) {
			command, _ := c.(string)
			for _, m := range inLine(command, "") {
				list = append(list, mention{m.word, installer})
			}
		}
	}
	return list
}

// Keys of definitions below which nothing runs (what starts a job, what is kept of it and what a tool looks at), and
// keys that name other definitions.
var (
	watched = []string{
		"paths", "paths-ignore", "paths_ignore", "changes", "file", "files", "exclude", "path", "artifacts", "cache", "key", "key_files", "exists", "watch", "ignore", "types", "labels", "hashfiles", "description", "name", "title",
	}
	includes = []string{"local", "include", "template", "templates", "import", "configuration_path", "configuration-path", "config_path", "config-path"}
)

var (
	// keyed matches a key of YAML, JSON or TOML before its value.
	keyed = lazyregexp.New(`^(\s*(?:-\s+)*)["']?([A-Za-z_][\w.$-]*)["']?\s*(?::(?:\s|$)|:["'\[{]|\s=\s)\s*`)
	// comment matches a comment in a shell script or in YAML.
	comment = lazyregexp.New(`(?:^|\s)#.*$`)
	// lead matches text before a path that stands for a directory of the workspace: "$(dirname "$0")/", "${{ github.workspace }}/".
	lead = lazyregexp.New(`(?:\$\([^()\n]*(?:\([^()\n]*\)[^()\n]*)?\)|\$\{\{[^{}\n]*\}\}|\$\{[^{}\n]*\}|\$\w+|%\w+%)["']?[/\\]`)
	// separators matches what separates commands; jsonText undoes the escapes of JSON strings.
	separators = lazyregexp.New("&&|\\|\\||[;|&()`\\[\\]{},]|<<<?")
	jsonText   = strings.NewReplacer(`\"`, `"`, `\n`, "\n", `\\`, `/`)
)

// fromCommands lists what the commands in a file run, and what a definition of a build server includes.
func fromCommands(p, text string, l *lang.Language, mode Mode) (list []mention) {
	braced := l != nil && l.Values == lang.Code || strings.HasPrefix(strings.ToLower(path.Ext(p)), ".json")
	if braced {
		text = jsonText.Replace(text)
	}
	type level struct {
		indent int
		key    string
	}
	var above []level
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if !braced {
			line = comment.ReplaceAllString(line, "")
		}
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		if strings.TrimSpace(line) == "" {
			continue
		}
		item := strings.HasPrefix(strings.TrimSpace(line), "- ")
		for len(above) > 0 && (above[len(above)-1].indent > indent || above[len(above)-1].indent == indent && !item) {
			above = above[:len(above)-1]
		}
		key := ""
		if m := keyed.FindStringSubmatch(line); m != nil {
			key = strings.ToLower(m[2])
			above = append(above, level{len(m[1]), key})
		} else if len(above) > 0 {
			key = above[len(above)-1].key
		}
		if slices.ContainsFunc(above, func(a level) bool { return slices.Contains(watched, a.key) }) {
			continue
		}
		if mode == Jobs && slices.Contains(includes, key) {
			list = append(list, inInclude(line)...)
		}
		list = append(list, inLine(line, key)...)
	}
	return list
}

// inInclude lists the words of a line that names other definitions.
func inInclude(line string) (list []mention) {
	for _, w := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" \t\"'[]{},", r) }) {
		w, _, _ = strings.Cut(w, "@") // of a repository
		if ext := path.Ext(w); ext != "" && !strings.HasSuffix(w, ":") && !strings.Contains(w, "://") {
			list = append(list, mention{w, included})
		}
	}
	return list
}

// wrappers start the command after them, readers do not run the files given to them, and interpreters do.
var (
	wrappers     = strings.Fields("sudo time exec env nohup nice command if then else elif do while until ! run RUN CMD ENTRYPOINT xvfb-run timeout xargs eval retry")
	readers      = strings.Fields("shellcheck shfmt chmod chown cat cp mv rm ls test [ [[ git echo printf grep egrep sed awk head tail diff tar zip touch curl wget hashFiles install ruff black mypy flake8 eslint prettier")
	interpreters = strings.Fields("bash sh zsh dash ksh source . pwsh powershell cmd python py node nodejs ruby perl php bun deno tsx ts-node groovy load run call")
)

// inLine lists what the commands on a line run. The commands may follow a key.
func inLine(line, key string) (list []mention) {
	line = lead.ReplaceAllString(line, "./")
	if key != "" {
		line = keyed.ReplaceAllString(line, "")
	}
	for _, part := range separators.Split(line, check.MostFollowed) {
		if m := keyed.FindStringIndex(part); m != nil {
			part = part[m[1]:]
		}
		words := strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(" \t\"'<>", r) })
		list = append(list, inCommand(words)...)
	}
	return list
}

var (
	assigned = lazyregexp.New(`^\w+=`)
	duration = lazyregexp.New(`^[\d.]+[smhd]?$`)
)

// inCommand lists what a command runs: the command itself if it is a path, the file given to an interpreter, and
// words that begin as only a path in the workspace does.
func inCommand(words []string) (list []mention) {
	for len(words) > 0 {
		w := strings.TrimLeft(words[0], "@-")
		if w != "" && !assigned.MatchString(w) && !slices.Contains(wrappers, w) && !(duration.MatchString(w) || strings.HasPrefix(words[0], "-")) {
			break
		}
		words = words[1:]
	}
	if len(words) == 0 || slices.Contains(readers, words[0]) {
		return nil
	}
	start, pip := true, false
	for i, w := range words {
		name := strings.TrimRight(strings.TrimPrefix(w, "@"), "0123456789.")
		pip = pip || strings.HasSuffix(name, "pip") || w == "uv"
		switch {
		case strings.HasPrefix(w, "-"):
			if pip && i+1 < len(words) && slices.Contains([]string{"-r", "-c", "--requirement", "--constraint"}, w) {
				list = append(list, mention{words[i+1], listed})
			}
			start = start && w != "-m"
		case slices.Contains(interpreters, name) || w == ".":
			start = true
		case start && isPath(w), strings.HasPrefix(w, "./"), strings.HasPrefix(w, `.\`):
			list = append(list, mention{strings.ReplaceAll(strings.TrimLeft(w, "@"), `\`, "/"), run})
			start = false
		case w == "upload" && words[0] == "buildkite-agent" && i+1 < len(words):
			list = append(list, mention{words[i+1], included})
		default:
			start = start && i > 0
		}
	}
	return list
}

// isPath reports whether a word can be the path of a file in the workspace.
func isPath(w string) bool {
	return !strings.HasPrefix(w, "/") && !strings.HasPrefix(w, "~") && (strings.Contains(w, "/") || path.Ext(w) != "") && !strings.ContainsAny(w, ":$")
}
