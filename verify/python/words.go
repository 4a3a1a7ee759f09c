package python

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// placeholders are what tox, hatch and shells replace with a word, and what each stands for here.
var placeholders = []struct {
	form *lazyregexp.Regexp
	with string
}{
	{lazyregexp.New(`\{posargs(?::([^{}]*))?\}`), "$1"},
	{lazyregexp.New(`\{args(?::([^{}]*))?\}`), "$1"},
	{lazyregexp.New(`\{env:\w+:([^{}]*)\}`), "$1"},
	{lazyregexp.New(`\{(?:envpython|env_python)\}|\$\(PYTHON\d?\)|\$\{?PYTHON\d?\}?`), "python"},
	// Here the package as installed is that of the workspace.
	{lazyregexp.New(`\{(?:toxinidir|tox_root|root|env_site_packages_dir|envsitepackagesdir)\}/?`), "./"},
}

// commandLines reads the calls of tools in lines of shell text.
func commandLines(lines []string) (found []command) {
	for _, line := range lines {
		for _, p := range placeholders {
			line = p.form.ReplaceAllString(line, p.with)
		}
		for _, words := range shellCalls(line) {
			if c, ok := toolCall(words); ok {
				found = append(found, c)
			}
		}
	}
	return found
}

// shellCalls splits a line into calls, and each call into words. Quotes keep words together; nothing is expanded.
func shellCalls(line string) (calls [][]string) {
	var words []string
	var word strings.Builder
	var quote rune
	open := false // a word has begun, even an empty one in quotes
	end := func(call bool) {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
		if call && len(words) > 0 {
			calls, words = append(calls, words), nil
		}
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == ' ' || r == '\t':
			end(false)
		case r == '#' && !open:
			end(true)
			return calls
		case r == ';' || r == '&' || r == '|' || r == '\n':
			end(true)
		default:
			open = true
			word.WriteRune(r)
		}
	}
	end(true)
	return calls
}

var (
	// wrapper matches the words that may precede a tool: what starts it in an environment, and the options of that starter.
	wrapper = lazyregexp.New(`^(?:[-@!]+|python[\d.]*w?|env|uv|uvx|pipx|run|exec|poetry|hatch|pdm|pipenv|rye|pixi|coverage|time|sudo|xvfb-run|nice|command|[A-Za-z_]\w*=.*|-.*)$`)
	// valued lists the options of such starters that take a value.
	valued = []string{"--with", "--extra", "--group", "--python", "--package", "--env", "-e", "--rcfile", "--source", "--include", "--project", "--directory", "--from"}
)

// toolCall finds the tool that a call starts, and its arguments. It leaves out a word that only a shell could expand.
func toolCall(words []string) (c command, ok bool) {
	for i := 0; i < len(words); i++ {
		word := strings.TrimLeft(words[i], "@-!")
		if tool := commandTools[path.Base(word)]; tool != "" && (word == words[i] || i == 0) {
			args := slices.DeleteFunc(slices.Clone(words[i+1:]), func(w string) bool { return strings.ContainsAny(w, "${}`") })
			return command{Tool: tool, Args: args}, true
		}
		if !wrapper.MatchString(path.Base(word)) && !wrapper.MatchString(words[i]) {
			return command{}, false
		}
		if slices.Contains(valued, words[i]) {
			i++
		}
	}
	return command{}, false
}
