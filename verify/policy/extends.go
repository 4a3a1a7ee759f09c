package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/node"
	"agent/verify/policy/acting"
	"agent/verify/policy/named"
	"agent/verify/python"
)

// toolHolds lists the changes of cs to code that runs inside the tools that judge it, to files named by their configuration
// or by files that act outside the box, and to those tools' settings in a package.json, and the stubs that hide a module
// from type checkers. The judgement itself uses that code as it is in base; the next run would use it as patched.
func toolHolds(base *workspace.Manifest, cs workspace.Changeset) (holds []Hold) {
	before, after := check.NewView(base, workspace.Changeset{}), check.NewView(base, cs)
	inside := slices.Concat(python.TypePlugins(before, after), python.TestPlugins(before, after))
	inside = append(inside, node.LinterCode(before, after)...)
	own, _ := check.SplitChanges(cs, func(p string) bool { return slices.Contains(inside, p) })
	for _, c := range own.Changes {
		holds = append(holds, Hold{
			Path: c.Path, Kind: Tooling, Block: true, Reason: "It is a plugin of the tools that judge the patch, or part of one.",
		})
	}
	holds = append(holds, extendedHolds(before, after, cs, inside)...)
	holds = append(holds, namedHolds(before, after, cs)...)
	holds = append(holds, stubHolds(before, after, cs)...)
	keys := node.ChangedKeys(before, after)
	for _, p := range slices.Sorted(maps.Keys(keys)) {
		holds = append(holds, Hold{
			Path: p, Kind: Tooling, Block: true, Reason: "It changes how the tools that judge the patch are started or set up: " + strings.Join(keys[p], ", ") + ".",
		})
	}
	return holds
}

// configEnds lists the endings that are appended to the name of a module, in the order in which the tools try them.
var configEnds = []string{
	"", ".json", ".jsonc", ".json5", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".toml", ".yml", ".yaml",
	"/index.js", "/index.cjs", "/index.mjs", "/index.ts", "/index.json", "/tsconfig.json",
	"/jest-preset.js", "/jest-preset.json", "/jest-preset.cjs", "/jest-preset.mjs",
}

// A configSet is the set of files that make up the configuration of a workspace, as far as other files name them.
type configSet struct {
	base, cand check.View
	// The directories of the workspace's packages, by package name.
	packages map[string]string
	// For each path, the file that names it.
	named map[string]string
	todo  []string
}

// extended lists the files that the configuration in base names, and those that these files name in turn, each with
// the first file that names it. A listed file exists in base or in cand. Files that a tool reads because of their
// name alone are left out: a rule for their names holds them.
func extended(base, cand check.View) map[string]string {
	c := configSet{base: base, cand: cand, packages: map[string]string{}, named: map[string]string{}}
	for _, p := range base.Paths() {
		if strings.Contains("/"+p, "/node_modules/") {
			continue
		}
		if path.Base(p) == "package.json" {
			var about struct {
				Name string `json:"name"`
			}
			if json.Unmarshal([]byte(base.Text(p)), &about) == nil && about.Name != "" {
				c.packages[about.Name] = path.Dir(p)
			}
		}
		if configuresTools(p) {
			c.todo = append(c.todo, p)
		}
	}
	for i := 0; i < len(c.todo); i++ {
		c.follow(c.todo[i])
	}
	return c.named
}

// follow adds the files that one file names.
func (c *configSet) follow(from string) {
	text := c.base.Text(from)
	if path.Base(from) == "package.json" {
		// The rest of the file is about other things.
		keys, _ := json.Marshal(node.PackageKeys(c.base, from)) // it was JSON
		text = string(keys)
	}
	if len(text) > named.Longest {
		return
	}
	modules, files := named.Configuration(text)
	for _, name := range files {
		c.add(from, name, configEnds[:1])
	}
	// Playwright does not judge patches here, and its configuration imports the program.
	if ext := path.Ext(from); strings.HasSuffix(ext, "js") || strings.HasSuffix(ext, "ts") && !strings.HasPrefix(path.Base(from), "playwright.") {
		modules = append(modules, named.Imports(text)...)
	}
	for _, name := range modules {
		// A name without a directory or an extension can only be that of a package.
		if strings.Contains(name, "/") || slices.Contains(configEnds, path.Ext(name)) && path.Ext(name) != "" {
			c.add(from, name, configEnds)
		}
		c.fromPackage(from, name)
	}
}

// fromPackage adds the files that a name stands for as a package of the workspace or as a file in one. It tries the
// name as it is and with the prefixes and suffixes that eslint and stylelint add.
func (c *configSet) fromPackage(from, name string) {
	first, rest, _ := strings.Cut(name, "/")
	names := map[string]string{first: rest, "eslint-config-" + first: rest, "eslint-plugin-" + first: rest, "stylelint-config-" + first: rest}
	if strings.HasPrefix(name, "@") {
		second, rest, _ := strings.Cut(rest, "/")
		scoped := first + "/" + second
		names = map[string]string{scoped: rest, first + "/eslint-config": rest, first + "/eslint-config-" + second: rest, first + "/eslint-plugin": rest}
	}
	for _, one := range slices.Sorted(maps.Keys(names)) {
		dir, ok := c.packages[one]
		if !ok {
			continue
		}
		c.addFile(from, path.Join(dir, names[one]), configEnds)
		if names[one] != "" {
			continue
		}
		// Its package.json says which file is meant.
		var about map[string]any
		if json.Unmarshal([]byte(c.base.Text(path.Join(dir, "package.json"))), &about) == nil {
			for _, key := range []string{"main", "module", "exports", "tsconfig"} {
				for _, file := range leaves(about[key], 0) {
					c.addFile(from, path.Join(dir, file), configEnds)
				}
			}
		}
	}
}

// leaves lists the strings in a JSON value, down to a bounded depth.
func leaves(value any, depth int) (list []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, item := range v[:min(len(v), check.MostFollowed)] {
			list = append(list, leaves(item, depth+1)...)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if depth < 5 {
				list = append(list, leaves(v[key], depth+1)...)
			}
		}
	}
	return list
}

// add adds the files that name stands for, relative to the directory of the file from.
func (c *configSet) add(from, name string, ends []string) {
	name = strings.TrimPrefix(name, "<rootDir>/")
	if !path.IsAbs(name) {
		c.addFile(from, path.Join(path.Dir(from), name), ends)
	}
}

// addFile adds the files that a path stands for. Programs import a module by the name of its compiled file, so for
// .js, .mjs and .cjs it also looks for the TypeScript file.
func (c *configSet) addFile(from, stem string, ends []string) {
	stems := []string{stem}
	if ext := path.Ext(stem); ext == ".js" || ext == ".mjs" || ext == ".cjs" {
		stems = append(stems, strings.TrimSuffix(stem, ext)+strings.Replace(ext, "js", "ts", 1))
	}
	for _, stem := range stems {
		for _, end := range ends {
			p := stem + end
			if c.named[p] != "" || !c.base.Has(p) && !c.cand.Has(p) || blockedByName(p) || len(c.named) >= check.MostFollowed {
				continue
			}
			c.named[p] = from
			if !heldByName(p) { // a file that builds the program also imports it
				c.todo = append(c.todo, p)
			}
		}
	}
}

// followed returns the patterns of all rules with a mode: they cover the files whose references are followed.
var followed = sync.OnceValue(func() acting.Set {
	var all []acting.Pattern
	for _, rule := range holdRules() {
		if rule.mode != named.None {
			all = append(all, rule.covers...)
		}
	}
	return acting.NewSet(all)
})

// modesOf says how to read each file among paths that acts because of its name. It skips the files of installed packages.
func modesOf(paths []string) map[string]named.Mode {
	list := map[string]named.Mode{}
	for _, p := range paths {
		if !followed().Has(acting.NewPath(p)) || strings.Contains("/"+p, "/node_modules/") {
			continue
		}
		if rule, _ := ruleFor(p); rule.mode != named.None {
			list[p] = rule.mode
		}
	}
	return list
}

// namedHolds holds the changes of cs to files named by files that act outside the box, with the kind of the latter,
// since both act together.
func namedHolds(before, after check.View, cs workspace.Changeset) (holds []Hold) {
	modes := maps.Clone(check.Recall(before, "files that act outside", func() map[string]named.Mode { return modesOf(before.Paths()) }))
	touched := map[string]bool{}
	for _, c := range cs.Changes {
		touched[c.Path], touched[c.From] = true, true
	}
	maps.Copy(modes, modesOf(slices.Collect(maps.Keys(touched))))
	reached := named.Follow(before, after, modes, func(p string) bool { return touched[p] && !heldByName(p) })
	for _, p := range slices.Sorted(maps.Keys(reached)) {
		n := reached[p]
		rule, _ := ruleFor(n.Root)
		reason := fmt.Sprintf("It is %s by %s", n.How, check.Shorten(n.By))
		if n.By != n.Root {
			reason += ", which takes effect through " + check.Shorten(n.Root)
		}
		holds = append(holds, Hold{Path: p, Kind: rule.kind, Block: !n.Shared, Reason: reason + ". " + rule.reason})
	}
	return holds
}

// extendedHolds holds the changes of cs to files that configuration names.
func extendedHolds(before, after check.View, cs workspace.Changeset, held []string) (holds []Hold) {
	named := extended(before, after)
	own, _ := check.SplitChanges(cs, func(p string) bool { return named[p] != "" && !slices.Contains(held, p) })
	for _, c := range own.Changes {
		holds = append(holds, Hold{
			Path: c.Path, Kind: Tooling, Block: true, Reason: fmt.Sprintf("It is part of the configuration of the tools that judge the patch: %s names it.", check.Shorten(named[c.Path])),
		})
	}
	return holds
}
