package node

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/node/lintreport"
	"agent/verify/node/npmscript"
)

// A packageLinter is a linter that workspaces bring with them as an npm package, with its plugins. Its configuration is
// code, so it has a box of its own, in which the configuration and its imports are as before the patch. As with the test
// runners, a package that reports as the linter does stands in for it in the proof.
type packageLinter struct {
	// name is that of the package, of its program and of the group of its check.
	name string
	// config lists the files that configure it, and keys the keys of package.json that do.
	config, keys []string
	// kinds are the names, before the first colon, of the scripts that start it.
	kinds []string
	// options are the script options that are left out; see runnerOptions.
	options map[string]bool
	// look is what it looks at if no script says so.
	look string
	// certain lists the rules that find certain faults. They alone count where nothing in the project starts the linter; nil
	// for all rules.
	certain []string
	// args returns the arguments that make a version of it write its report, of errors only.
	args func(version, report string) []string
	// parse reads the report of a run that ended with an exit status. trouble says why it cannot be taken for an answer, ""
	// if it can.
	parse func(exit int, data []byte) (found []check.Finding, trouble string)
	// status is its exit status when it finds errors, according to its documentation.
	status int
	// planted is the report of the planted package, about the file faulty and by the rule named here.
	planted, faulty, rule string
}

// check makes the check of a linter.
func (l packageLinter) check() check.Check {
	return check.Check{
		Name: l.name, Gate: check.GateLint, Group: l.name, Run: l.run, Applies: l.applies, Judge: judgeInstalled(l.name), Family: Packages, Places: l.places,
		Config: l.config, Inside: l.own,
		Planted: map[string]string{
			"package.json": fmt.Sprintf(`{"devDependencies": {%q: "1"}}`, l.name), l.config[0]: "", l.faulty: "a\n",
			"node_modules/" + l.name + "/package.json":    fmt.Sprintf(`{"version": "1.0.0", "bin": {%q: "./run.cjs"}}`, l.name),
			"node_modules/" + l.name + "/run.cjs":         strings.Replace(plantedRunner, "exit(1)", fmt.Sprintf("exit(%d)", l.status), 1),
			"node_modules/" + l.name + "/lib/report.json": l.planted,
		},
		Prove: check.Proves(l.run, map[string]string{l.faulty: l.rule}),
	}
}

// uses lists the packages that it lints, as in the base: what it looks at is configuration.
func (l packageLinter) uses(v check.View) []packageUse {
	base := v.Unpatched()
	return slices.DeleteFunc(l.started(base, packageUses(base, l.name, l.kinds...)), func(u packageUse) bool {
		return !slices.ContainsFunc(base.Paths(), func(p string) bool {
			return (slices.Contains(l.config, path.Base(p)) || PackageKeys(base, p)[l.keys[0]] != nil) && (path.Dir(p) == "." || strings.HasPrefix(u.root+"/", path.Dir(p)+"/"))
		})
	})
}

// started completes the uses without a lint script: scripts for other things may start the linter too, and so may a hook or
// a CI definition.
func (l packageLinter) started(base check.View, uses []packageUse) []packageUse {
	for i, u := range uses {
		if !u.assumed {
			continue
		}
		var scripts map[string]string
		for _, r := range Roots(base) {
			if r.Dir == u.root {
				scripts = r.Scripts
			}
		}
		steps := npmscript.Read(scripts, slices.Sorted(maps.Keys(scripts))...)
		at := slices.IndexFunc(steps, func(s npmscript.Step) bool {
			return s.Starts(l.name) && !strings.Contains(strings.Join(s.Words, " "), "--fix")
		})
		if at >= 0 {
			uses[i] = stepUse(steps[at])
			uses[i].root = u.root
			continue
		}
		uses[i].assumed = !slices.ContainsFunc(base.Paths(), func(p string) bool { return l.names(base, u.root, p) })
	}
	return uses
}

// hooks matches the files that say what runs before a commit, or on a build server.
var hooks = lazyregexp.New(`^(?:\.github/workflows/[^/]+|\.circleci/config|\.gitlab-ci|\.travis|azure-pipelines|\.pre-commit-config|lefthook|\.lefthook|\.lintstagedrc)\.(?:ya?ml|json)$|` +
	`^(?:\.husky/[^/]+|\.lintstagedrc|(?:\.lintstagedrc|lint-staged\.config)\.[cm]?js|Makefile|justfile)$`)

// names reports whether the file at p is a hook or a definition that names the linter as a command, or a package.json, at
// the root or at the top, whose keys for hooks do.
func (l packageLinter) names(base check.View, root, p string) bool {
	text := ""
	switch {
	case hooks.MatchString(p):
		text = base.Text(p)
	case p == "package.json" || p == path.Join(root, "package.json"):
		var keys map[string]json.RawMessage
		if json.Unmarshal([]byte(base.Text(p)), &keys) != nil {
			return false
		}
		for _, name := range []string{"lint-staged", "husky", "pre-commit", "simple-git-hooks", "scripts"} {
			text += string(keys[name]) + "\n"
		}
	default:
		return false
	}
	return regexp.MustCompile(`(?:^|[\s"'&|;(\[/])` + l.name + `(?:$|[\s"'\],])`).MatchString(text)
}

// places lists the directories of its uses.
func (l packageLinter) places(v check.View) []string { return dirs(l.uses(v), packageUse.dir) }

// applies returns the reason why it has nothing to do, or "".
func (l packageLinter) applies(v check.View) string {
	if len(l.uses(v)) > 0 {
		return ""
	}
	return "no package.json has " + l.name + " and a configuration for it"
}

// run runs the linter as the scripts of each package do.
func (l packageLinter) run(ctx context.Context, b check.Bench) check.Outcome {
	uses := l.uses(b.View)
	found, total, done := installed(ctx, b, l.name, l.name, uses)
	if !done {
		return total
	}
	total.Output = ""
	for i, u := range check.InOrder(b, uses, packageUse.dir) {
		if found[i] == nil {
			total.Blocked = cmp.Or(total.Blocked, Absent(l.name, u.root))
			continue
		}
		report, args := fmt.Sprintf("/tmp/agent-%s-%d.json", l.name, i), without(u.args, l.options)
		if len(args) == 0 {
			args = []string{l.look}
		}
		cmd := useCommand(b, u, *found[i], append(args, l.args(found[i].Version, report)...)...)
		cmd.Collect = []string{report}
		var kept []string
		var res guest.Result
		var out check.Outcome
		var done bool
		b, kept, res, out, done = configuredByBase(ctx, b, cmd, fmt.Sprintf("/tmp/agent-%s-%d.loads", l.name, i))
		total.Kept = append(total.Kept, kept...)
		if total = check.AddCost(total, out); !done {
			return total
		}
		total.Detail = l.name + " " + check.Shorten(found[i].Version)
		findings, trouble := l.read(res, report)
		total.Blocked = cmp.Or(total.Blocked, trouble)
		counted, note := l.counted(u, findings)
		total.Detail += note
		total.Findings = append(total.Findings, counted...)
	}
	total.Findings = check.NewSources(b.View).Fill(total.Findings)
	return total
}

// counted returns the findings that count in a package, and a note about the others.
func (l packageLinter) counted(u packageUse, found []check.Finding) (counted []check.Finding, note string) {
	if !u.assumed || l.certain == nil {
		return found, ""
	}
	for _, f := range found {
		if slices.Contains(l.certain, f.Rule) {
			counted = append(counted, f)
		}
	}
	return counted, ", faults only: no command of the project starts it"
}

// read reads the findings. trouble says why they are incomplete, "" if they are not. The linter is the workspace's own
// program, so whatever keeps it from judging is the workspace's doing.
func (l packageLinter) read(res guest.Result, report string) (found []check.Finding, trouble string) {
	found, trouble = l.parse(res.Exit, res.Files[report])
	switch {
	case trouble == lintreport.Unread:
		return nil, strings.TrimSuffix(fmt.Sprintf("%s ended with exit status %d: %s", l.name, res.Exit, nodeComplaint(res)), ": ")
	case trouble != "":
		return nil, trouble
	case res.Exit != 0 && res.Exit != l.status || (res.Exit != 0) != (len(found) > 0):
		return nil, fmt.Sprintf("%s's exit status %d does not match its %d errors: %s", l.name, res.Exit, len(found), nodeComplaint(res))
	}
	return found, ""
}

// own lists the files of its box that come from the base: the code of the configuration, and each package.json that would
// configure the linter differently.
func (l packageLinter) own(base, cand check.View) []string {
	own := l.code(base, cand)
	for p, names := range ChangedKeys(base, cand) {
		if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(l.keys, name) }) {
			own = append(own, p)
		}
	}
	return own
}

// moduleImport matches what a JavaScript module imports from a file.
var moduleImport = lazyregexp.New(`(?:\bfrom|\bimport|\brequire)\s*\(?\s*["'](\.[^"']*)["']`)

// lintExtends matches the keys of a configuration, in any of its forms, that name files of it, with the value: a plain one,
// a list in brackets or a YAML list. lintFile matches the paths in that value.
var (
	lintExtends = lazyregexp.New(`["']?\b(?:extends|plugins|parser|processors?|customSyntax)["']?\s*[:=]\s*(\[[^\]]*\]|(?:\s*-[ \t]+[^\n]+)+|[^\s,]+)`)
	lintFile    = lazyregexp.New(`\.{1,2}/[^"'\s,\]]+`)
)

// configNames lists the paths that the text of a configuration, or of a part of one, names as further parts of it.
func configNames(text string) (names []string) {
	for _, m := range moduleImport.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	for _, m := range lintExtends.FindAllStringSubmatch(text, -1) {
		names = append(names, lintFile.FindAllString(m[1], -1)...)
	}
	return names
}

// code lists the files that make up the configuration: those of the base, and those that cand would have in their place.
func (l packageLinter) code(base, cand check.View) []string {
	var found []string
	follow := func(from string) {
		for _, name := range configNames(base.Text(from)) {
			stem := path.Join(path.Dir(from), name)
			for _, end := range []string{"", ".js", ".cjs", ".mjs", ".ts", ".json", ".yml", ".yaml", "/index.js", "/index.cjs", "/index.mjs", "/index.ts"} {
				if p := stem + end; (base.Has(p) || cand.Has(p)) && !slices.Contains(found, p) && len(found) < check.MostFollowed {
					found = append(found, p)
				}
			}
		}
	}
	for _, p := range base.Paths() {
		if slices.Contains(l.config, path.Base(p)) {
			follow(p)
		}
	}
	for i := 0; i < len(found); i++ {
		follow(found[i])
	}
	slices.Sort(found)
	return found
}
