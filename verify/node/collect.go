package node

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/verify/check"
	"agent/verify/node/glob"
	"agent/verify/node/listing"
	"agent/verify/node/npmscript"
	"agent/verify/node/testreport"
)

// positionals splits arguments into options, with their values, and all other words.
func positionals(args, values []string) (options, rest []string) {
	for i := 0; i < len(args); i++ {
		switch {
		case slices.Contains(values, args[i]) && i+1 < len(args):
			options = append(options, args[i], args[i+1])
			i++
		case args[i] == "--":
		case strings.HasPrefix(args[i], "-"):
			options = append(options, args[i])
		default:
			rest = append(rest, strings.TrimPrefix(args[i], "./"))
		}
	}
	return options, rest
}

// collected lists the files that a runner collects in a package, relative to the package and sorted; nil if that is unknown.
func (r packageRunner) collected(v check.View, u packageUse) (files []string) {
	is := r.collects(v, u)
	for _, p := range v.Paths() {
		if check.Below(path.Dir(p), u.root) && !strings.Contains("/"+p, "/node_modules/") && is(inside(p, u.root)) && testreport.ScriptFile.MatchString(p) {
			files = append(files, inside(p, u.root))
		}
	}
	return files
}

// collects returns a function that reports whether a runner collects a file, by its path in the package.
func (r packageRunner) collects(v check.View, u packageUse) func(name string) bool {
	is := glob.Matching(r.patterns(v, u))
	// After a directory, uvu takes a regular expression for the paths in it.
	if _, given := positionals(r.arguments(u), r.values); r.name == UvuName && len(given) > 1 {
		if re, err := regexp.Compile("(?i)" + given[1]); err == nil {
			return func(name string) bool { return is(name) && re.MatchString(inside(name, path.Clean(given[0]))) }
		}
	}
	return is
}

// patterns returns the patterns by which the runner collects tests: from its arguments, else from its configuration, else
// its own.
func (r packageRunner) patterns(v check.View, u packageUse) []string {
	_, patterns := positionals(r.arguments(u), r.values)
	switch {
	// The arguments of these runners filter by a part of the path.
	case r.name == VitestName || r.name == JestName:
		patterns = nil
	case r.name == UvuName && len(patterns) > 1:
		patterns = patterns[:1]
	case r.name == MochaName:
		patterns = slices.Concat(patterns, configured(v, u.root, r.name))
		for i, p := range patterns {
			if v.HasDir(path.Join(u.root, p)) && !slices.Contains(u.args, "--recursive") {
				patterns[i] = path.Join(p, "*.{js,cjs,mjs,ts}")
			}
		}
	}
	if len(patterns) == 0 {
		patterns = configured(v, u.root, r.name)
	}
	if len(patterns) == 0 {
		patterns = r.defaults
	}
	return patterns
}

// configured reads the patterns that the configuration of a runner lists.
func configured(v check.View, root, runner string) []string {
	text := func(name string) string { return v.Text(path.Join(root, name)) }
	return listing.Patterns(runner, text("package.json"), text)
}

// Collects returns a function that reports whether the runners collect a file of a view, according to its scripts, the
// runners' configuration or their defaults. Such files are tests, whatever they are called, and not helpers of tests.
func Collects(v check.View) func(p string) bool {
	return check.Recall(v, "collected tests", func() func(string) bool {
		found := map[string]func(string) bool{} // by the package and its command
		add := func(root, name string, is func(string) bool) {
			if is != nil {
				found[root+"\n"+name] = func(p string) bool {
					return check.Below(path.Dir(p), root) && !strings.Contains("/"+p, "/node_modules/") && testreport.ScriptFile.MatchString(p) && is(inside(p, root))
				}
			}
		}
		for _, r := range packageRunners() {
			for i, u := range r.uses(v) {
				add(u.root, r.name+string(rune('a'+i%26)), r.collects(v, u))
			}
		}
		for _, p := range testPlans(v) {
			for _, s := range p.steps {
				switch {
				case s.Kind == npmscript.RunsNode:
					options, patterns := runnerPatterns(s.Words)
					if len(patterns) > 0 {
						add(p.Dir, s.Text, nodeCollects(patterns, options))
					}
				// A command tests with the files that it names.
				case s.Kind == npmscript.General && len(s.Words) > 0:
					add(path.Join(p.Dir, s.Dir), s.Text, named(s.Words))
				}
			}
		}
		return func(p string) bool {
			for _, is := range found {
				if is(p) {
					return true
				}
			}
			return false
		}
	})
}

// customs maps programs that run as they are to the files that they collect by themselves.
var customs = map[string][]string{
	"jasmine": {"spec/**/*[sS]pec.{js,mjs,cjs,ts}"}, "qunit": {"test/**/*.{js,mjs,cjs}"}, "lab": {"test/**/*.{js,mjs,cjs,ts}"},
}

// named returns a function that reports whether the words of a command name a file, or else its program collects it.
func named(words []string) func(name string) bool {
	var patterns []string
	for _, w := range words[1:] {
		if testreport.ScriptFile.MatchString(w) {
			patterns = append(patterns, strings.TrimPrefix(w, "./"))
		}
	}
	if len(patterns) == 0 {
		patterns = customs[npmscript.ProgramName(words[0])]
	}
	return glob.Matching(patterns)
}
