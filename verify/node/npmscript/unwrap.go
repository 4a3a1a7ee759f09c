package npmscript

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// setting matches a variable that a script sets.
var setting = lazyregexp.New(`^(\w+)=(.*)$`)

// A wrapper is a program that starts another one. takes lists its options with a value in the next word. words may follow it
// before the program; with only, one of them must, and two dashes may then precede the program's arguments.
type wrapper struct {
	takes []string
	words []string
	only  bool
}

// wrappers lists the wrappers by name. What else they do, such as measuring coverage, proves nothing.
var wrappers = map[string]wrapper{
	"cross-env": {}, "env": {takes: []string{"-u", "--unset"}}, "time": {}, "nice": {takes: []string{"-n"}},
	"npx": {takes: []string{"-p", "--package"}}, "bunx": {takes: []string{"-p", "--package"}},
	"npm": {words: []string{"exec", "x"}, only: true}, "pnpm": {words: []string{"exec", "dlx"}}, "yarn": {words: []string{"exec", "run", "dlx"}},
	"c8": {takes: coverageValues}, "nyc": {takes: coverageValues}, "dotenv": {takes: []string{"-e", "-v", "-c"}},
	"istanbul": {takes: coverValues, words: []string{"cover", "test"}, only: true}, "isparta": {takes: coverValues, words: []string{"cover"}, only: true},
	"env-cmd": {takes: []string{"-f", "--file", "-e", "--environments", "-r", "--rc-file"}}, "dotenvx": {takes: []string{"-f", "--env-file", "-e", "--env"}, words: []string{"run"}, only: true},
}

// coverageValues are the options of c8 and nyc that take a value.
var coverageValues = []string{
	"--reporter", "-r", "--exclude", "-x", "--include", "-n", "--lines", "--branches", "--functions", "--statements", "--temp-directory", "--temp-dir", "-t",
	"--report-dir", "--reports-dir", "-o", "--src", "--extension", "-e", "--require", "-i", "--cwd", "--nycrc-path", "--config", "-c", "--exclude-node-modules",
}

// coverValues are those of istanbul, from before it was called nyc.
var coverValues = []string{"--config", "--root", "-x", "--dir", "--report", "--print", "--default-excludes", "-i", "--context"}

// ProgramName returns the name of the program that a word of a script calls.
func ProgramName(word string) string {
	base := path.Base(word)
	if i := strings.IndexByte(base, '@'); i > 0 {
		base = base[:i] // the version that npx is to start
	}
	return strings.TrimPrefix(strings.TrimSuffix(base, path.Ext(base)), "_")
}

// unwrap removes from a command what only starts it: settings, and programs that start another one.
func unwrap(words []string, scripts map[string]string) (env map[string]string, rest []string) {
	env = map[string]string{}
	for len(words) > 0 {
		if m := setting.FindStringSubmatch(words[0]); m != nil {
			env[m[1]], words = m[2], words[1:]
			continue
		}
		inner, ok := unwrapped(words, scripts)
		if !ok {
			return env, words
		}
		words = inner
	}
	return env, words
}

// throughOwn removes from a step the project's own program that starts a runner or a linter, as in "node scripts/run.js
// mocha test". What is known of the runner is then known of the step. A name with nothing after it may be anything.
func (s *Step) throughOwn(scripts map[string]string) {
	w := s.Words
	if len(w) < 4 || w[0] != "node" || !ownProgram.MatchString(w[1]) || strings.Contains(w[1], "node_modules/") {
		return
	}
	env, inner := unwrap(w[2:], scripts)
	if len(inner) > 1 && (slices.Contains(Runners, inner[0]) || slices.Contains(Linters, inner[0])) {
		s.Env, s.Through, s.Words = Joined(s.Env, env), w[1], inner
	}
}

// ownProgram matches a program of the project itself.
var ownProgram = lazyregexp.New(`^(?:\./)?[\w.-]+(?:/[\w.-]+)*\.[cm]?js$`)

// unwrapped removes one wrapper with its options; ok is false if there is none.
func unwrapped(words []string, scripts map[string]string) (inner []string, ok bool) {
	name := ProgramName(words[0])
	w, ok := wrappers[name]
	if !ok || path.Base(words[0]) != words[0] && !strings.Contains(words[0], "node_modules/") {
		return nil, false
	}
	i := 1
	if w.words != nil {
		switch {
		case len(words) < 2:
			return nil, false
		case slices.Contains(w.words, words[1]) && (words[1] != "run" || len(words) > 2 && !hasScript(scripts, words[2])):
			i = 2
		// yarn and pnpm start a program if no script has its name.
		case w.only || strings.HasPrefix(words[1], "-") || hasScript(scripts, words[1]) || slices.Contains(managerWords, words[1]):
			return nil, false
		}
	}
	for ; i < len(words) && strings.HasPrefix(words[i], "-"); i++ {
		if slices.Contains(w.takes, words[i]) {
			i++
		}
	}
	if i >= len(words) || (name == "c8" || name == "nyc") && slices.Contains([]string{"report", "check-coverage", "merge", "instrument"}, words[i]) {
		return nil, false
	}
	if inner = words[i:]; w.only && len(inner) > 1 && inner[1] == "--" {
		inner = slices.Delete(slices.Clone(inner), 1, 2)
	}
	return inner, true
}

// hasScript reports whether there is a script of that name.
func hasScript(scripts map[string]string, name string) bool {
	_, ok := scripts[name]
	return ok
}

// managerWords are the package managers' own commands.
var managerWords = []string{
	"run", "run-script", "test", "t", "tst", "start", "install", "i", "ci", "add", "audit", "pack", "publish", "version", "exec", "dlx", "x", "workspace", "workspaces",
	"recursive", "link", "why", "dedupe", "licenses", "outdated", "prune", "rebuild", "create", "init", "config", "cache", "info",
}

// managers are the programs that run scripts of package.json.
var managers = []string{"npm", "yarn", "pnpm", "bun"}

// startedScripts lists the scripts of the same package that a command starts, and the arguments that it gives them.
func startedScripts(words []string, scripts map[string]string) (names, args []string, ok bool) {
	if len(words) == 0 {
		return nil, nil, false
	}
	switch name := ProgramName(words[0]); {
	case slices.Contains([]string{"run-s", "run-p", "npm-run-all", "npm-run-all2"}, name):
		for _, w := range words[1:] {
			if !strings.HasPrefix(w, "-") {
				pattern, _, _ := strings.Cut(w, " ")
				names = append(names, namedBy(pattern, scripts)...)
			}
		}
		return names, nil, len(names) > 0
	case name == "node" && len(words) == 3 && words[1] == "--run":
		return words[2:], nil, hasScript(scripts, words[2])
	case !slices.Contains(managers, name):
		return nil, nil, false
	}
	rest := words[1:]
	for len(rest) > 0 && slices.Contains([]string{"-s", "--silent", "-q", "--quiet", "run", "run-script"}, rest[0]) {
		rest = rest[1:]
	}
	if len(rest) == 0 || otherPackages(rest) {
		return nil, nil, false
	}
	target := rest[0]
	if name := ProgramName(words[0]); name == "pnpm" && len(target) > 2 && target[0] == '/' && target[len(target)-1] == '/' {
		names = matchedBy(target[1:len(target)-1], scripts)
		return names, nil, len(names) > 0
	}
	if target == "t" || target == "tst" {
		target = "test"
	}
	for _, a := range rest[1:] {
		if a != "--" && !slices.Contains([]string{"-s", "--silent", "--if-present"}, a) {
			args = append(args, a)
		}
	}
	// Without the word run, "bun test" is bun's own command.
	own := len(rest) == len(words)-1 && words[0] == "bun" && target == "test"
	return []string{target}, args, !own && hasScript(scripts, target)
}

// otherPackages reports whether options of a package manager name other packages.
func otherPackages(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		name, _, _ := strings.Cut(w, "=")
		return slices.Contains([]string{"-w", "--workspace", "--workspaces", "-ws", "-r", "--recursive", "--filter", "-F", "--prefix", "-C", "--cwd", "workspace", "workspaces", "recursive"}, name)
	})
}

// namedBy lists the scripts that a pattern of npm-run-all names: one star matches one part between colons, two match
// several.
func namedBy(pattern string, scripts map[string]string) (names []string) {
	if !strings.Contains(pattern, "*") {
		if hasScript(scripts, pattern) {
			return []string{pattern}
		}
		return nil
	}
	text := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*\*`, `.*`)
	return matchedBy("^"+strings.ReplaceAll(text, `\*`, `[^:]*`)+"$", scripts)
}

// matchedBy lists the scripts whose names match an expression, as pnpm starts them for one between slashes.
func matchedBy(text string, scripts map[string]string) (names []string) {
	wanted, err := regexp.Compile(text)
	if err != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(scripts)) {
		if wanted.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}
