package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/node"
	"agent/verify/python"
)

// toolHolds lists the changes of cs to code that runs inside the tools that judge it, to the files that their configuration names, and to
// what a package.json says of them, and the stubs that hide a module from type checkers. The judgement itself is made with that code as
// base has it; from the next run on it would be what the patch made of it.
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
	holds = append(holds, stubHolds(before, after, cs)...)
	keys := node.ChangedKeys(before, after)
	for _, p := range slices.Sorted(maps.Keys(keys)) {
		holds = append(holds, Hold{
			Path: p, Kind: Tooling, Block: true, Reason: "It says otherwise how the tools that judge the patch are started or set up: " + strings.Join(keys[p], ", ") + ".",
		})
	}
	return holds
}

// A configuration is rarely one file: it extends others, whose names say nothing. What it names in this way is found here over all
// formats, by the keys under which the tools have it, by the options of scripts, and in a program by what it imports.
var (
	// extending matches a key behind which configuration is named, up to its value;
	// its group is one of those behind which a directory stands for no module.
	extending = lazyregexp.New(`(?:^|[^\w.-])["']?(?:extends?|plugins|parser|processors?|customSyntax|presets?|prettier|(references|projects?|tsconfig|tsConfig|configFile))["']?[ \t]*[:=][ \t]*`)
	// configOption matches an option that names it, in a script or a list of options.
	// Of short ones, which mean other things too, only what looks like it counts.
	configOption = lazyregexp.New(`(?:^|[\s"'=])(?:(?:--config|--config-file|--rcfile|--project|--options)(?:[= ]|["'],\s*["'])\s*["']?([^\s"'&|;,]+)|-[cp](?:[= ]|["'],\s*["'])\s*["']?([^\s"'&|;,]*(?:config|rc|\.json|\.toml|\.ini|\.cfg|\.ya?ml)[^\s"'&|;,]*))`)
	// moduleName matches what a program imports, from a file or a package.
	moduleName = lazyregexp.New(`(?:\bfrom|\bimport|\brequire|\brequire\.resolve)\s*\(?\s*["']([^"'\n]+)["']`)
	// yamlItems matches the items of a list of YAML behind its key.
	yamlItems = lazyregexp.New(`^(?:[ \t]*(?:#[^\n]*)?\n[ \t]*-[ \t]+[^\n]+)+`)
	yamlItem  = lazyregexp.New(`(?m)^[ \t]*-[ \t]+["']?([^\s"'#]+)`)
	quoted    = lazyregexp.New(`"([^"\n]*)"|'([^'\n]*)'`)
)

// configEnds are tried behind the name of a module, in the order in which the tools do.
var configEnds = []string{
	"", ".json", ".jsonc", ".json5", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".toml", ".yml", ".yaml",
	"/index.js", "/index.cjs", "/index.mjs", "/index.ts", "/index.json", "/tsconfig.json",
	"/jest-preset.js", "/jest-preset.json", "/jest-preset.cjs", "/jest-preset.mjs",
}

// longestConfig bounds what is read of one file, and longestValue of one value, in
// bytes.
const (
	longestConfig = 1 << 20
	longestValue  = 4 << 10
)

// A configSet is the files that the configuration of a workspace is made of, as far as
// others name them.
type configSet struct {
	base, cand check.View
	// Directories of the packages of the workspace, by their names.
	packages map[string]string
	// By path, the file that names it.
	named map[string]string
	todo  []string
}

// extended lists the files that configuration of the base names, and those that these name in turn, each with the first that does: as
// base has them, and what cand would have in their place. Those that a tool reads by their name alone are left out: a rule for their
// names holds them.
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

// follow adds what one file names.
func (c *configSet) follow(from string) {
	text := c.base.Text(from)
	if path.Base(from) == "package.json" {
		// The rest of it is about other things.
		keys, _ := json.Marshal(node.PackageKeys(c.base, from)) // it was JSON
		text = string(keys)
	}
	if len(text) > longestConfig {
		return
	}
	modules, files := namedIn(text)
	for _, name := range files {
		c.add(from, name, configEnds[:1])
	}
	// Playwright judges nothing here, and its configuration imports the program.
	if ext := path.Ext(from); strings.HasSuffix(ext, "js") || strings.HasSuffix(ext, "ts") && !strings.HasPrefix(path.Base(from), "playwright.") {
		for _, m := range moduleName.FindAllStringSubmatch(text, check.MostFollowed) {
			modules = append(modules, m[1])
		}
	}
	for _, name := range modules {
		// Without a place or an end it is the name of a package alone.
		if strings.Contains(name, "/") || slices.Contains(configEnds, path.Ext(name)) && path.Ext(name) != "" {
			c.add(from, name, configEnds)
		}
		c.fromPackage(from, name)
	}
}

// fromPackage adds what a name means as a package of the workspace, or a file of one: by
// itself, or with what eslint and prettier put before or behind it.
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

// leaves lists the strings in a value of JSON.
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

// add adds the files that a name in a file stands for, seen from where that lies.
func (c *configSet) add(from, name string, ends []string) {
	name = strings.TrimPrefix(name, "<rootDir>/")
	if !path.IsAbs(name) {
		c.addFile(from, path.Join(path.Dir(from), name), ends)
	}
}

// addFile adds the files that a path stands for. A program writes a module by the name
// that it has when it is compiled.
func (c *configSet) addFile(from, stem string, ends []string) {
	stems := []string{stem}
	if ext := path.Ext(stem); ext == ".js" || ext == ".mjs" || ext == ".cjs" {
		stems = append(stems, strings.TrimSuffix(stem, ext)+strings.Replace(ext, "js", "ts", 1))
	}
	for _, stem := range stems {
		for _, end := range ends {
			p := stem + end
			if c.named[p] != "" || !c.base.Has(p) && !c.cand.Has(p) || heldByName(p) || len(c.named) >= check.MostFollowed {
				continue
			}
			c.named[p] = from
			c.todo = append(c.todo, p)
		}
	}
}

// namedIn lists the names that a configuration has behind the keys of extending, and behind options: those of modules, and those of
// files. What is neither is found out by whoever looks for it.
func namedIn(text string) (modules, files []string) {
	for _, at := range extending.FindAllStringSubmatchIndex(text, check.MostFollowed) {
		names := namesOf(text[at[1]:min(len(text), at[1]+longestValue)])
		if at[2] >= 0 {
			files = append(files, names...)
		} else {
			modules = append(modules, names...)
		}
	}
	for _, m := range configOption.FindAllStringSubmatch(text, check.MostFollowed) {
		files = append(files, m[1]+m[2])
	}
	return modules, files
}

// namesOf lists the names that a text begins with: a string, a list in any format, a
// word, or the strings of an expression.
func namesOf(text string) (names []string) {
	switch {
	case text == "":
		return nil
	case text[0] == '"' || text[0] == '\'':
		if m := quoted.FindStringSubmatchIndex(text); m != nil && m[0] == 0 {
			return []string{text[1 : m[1]-1]}
		}
		return nil
	case text[0] == '[':
		return namesInList(text)
	}
	if list := yamlItems.FindString(text); list != "" {
		for _, m := range yamlItem.FindAllStringSubmatch(list, -1) {
			names = append(names, m[1])
		}
		return names
	}
	line, _, _ := strings.Cut(text, "\n")
	line, _, _ = strings.Cut(line, "}")
	if strings.HasPrefix(strings.TrimSpace(line), "{") {
		return nil // a table: what it holds has keys of its own
	}
	for _, m := range quoted.FindAllStringSubmatch(line, -1) {
		names = append(names, m[1]+m[2])
	}
	if len(names) == 0 {
		word, _, _ := strings.Cut(strings.TrimSpace(line), ",")
		word, _, _ = strings.Cut(word, " ")
		names = append(names, word)
	}
	return names
}

// namesInList lists the strings of a list in brackets, and in tables of it those that
// stand behind a name or a path: the rest are the options of what is named.
func namesInList(text string) (names []string) {
	var open []byte
	key := ""
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '[', '{', '(':
			open = append(open, c)
		case ']', '}', ')':
			if open = open[:max(0, len(open)-1)]; len(open) == 0 {
				return names
			}
		case '"', '\'':
			m := quoted.FindStringSubmatchIndex(text[i:])
			if m == nil || m[0] != 0 {
				continue
			}
			name := text[i+1 : i+m[1]-1]
			i += m[1] - 1
			switch rest := strings.TrimLeft(text[i+1:], " \t"); {
			case strings.HasPrefix(rest, ":"):
				key = name
			case !slices.Contains(open, '{') || key == "path" || key == "name" || key == "extends":
				names = append(names, name)
			}
		case ',':
			key = ""
		default:
			if !isNamePart(c) {
				continue
			}
			if word := wordBefore.FindStringSubmatch(text[i:min(len(text), i+40)]); word != nil && (i == 0 || !isNamePart(text[i-1])) {
				key = word[1]
			}
		}
	}
	return names
}

// wordBefore matches a key without quotes.
var wordBefore = lazyregexp.New(`^(\w+)\s*:`)

// isNamePart reports whether a byte is part of a word.
func isNamePart(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
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
