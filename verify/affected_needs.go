package verify

import (
	"bytes"
	"encoding/json"
	"go/parser"
	"go/token"
	"go/version"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"agent/verify/check"
)

// goFamily is the modules of Go.
var goFamily = &check.Family{Unit: "modules", Roots: goRoots, Needs: goNeeds, Shared: func(p string) bool {
	return slices.Contains([]string{"go.mod", "go.sum", "go.work", "go.work.sum"}, path.Base(p)) || strings.Contains("/"+p, "/vendor/")
}}

// scriptFamily is the packages of npm.
var scriptFamily = &check.Family{Unit: "packages", Roots: scriptRoots, Needs: scriptNeeds, Around: true, Shared: func(p string) bool {
	return slices.Contains([]string{
		"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc", ".yarnrc", ".yarnrc.yml",
	}, path.Base(p)) || scriptConfig.MatchString(p) || strings.Contains("/"+p, "/node_modules/")
}}

var (
	// goModuleLine is the line that names a module, goVersion the one for its language.
	goModuleLine = regexp.MustCompile(`(?m)^module[ \t]+["\x60]?([^\s"\x60(]+)`)
	goVersion    = regexp.MustCompile(`(?m)^go[ \t]+(\S+)`)
	// goReplaced is the right side of a replacement by a directory.
	goReplaced = regexp.MustCompile(`=>\s*["\x60]?(\.[^\s"\x60]*)`)
)

// goNeeds reads what the modules of a workspace require, replace and import. With
// go.work one may import another that its go.mod does not name.
func goNeeds(v check.View, r check.Reach) (map[string][]string, bool) {
	needs, names := map[string][]string{}, map[string]string{}
	for root := range r {
		text := v.Text(path.Join(root, "go.mod"))
		name, language := goModuleLine.FindStringSubmatch(text), goVersion.FindStringSubmatch(text)
		// Before 1.17 a go.mod does not name what its requirements require.
		if name == nil || names[name[1]] != "" || language == nil || version.Compare("go"+language[1], "go1.17") < 0 {
			return nil, false
		}
		names[name[1]] = root
	}
	for _, p := range v.Paths() {
		root, ok := r.Owner(p)
		name := path.Base(p)
		if name != "go.mod" && name != "go.work" && (!ok || path.Ext(p) != ".go" || goIgnored(path.Dir(p))) {
			continue
		}
		data, err := v.Read(p)
		if err != nil {
			return nil, false
		}
		if name == "go.work" {
			// It replaces for all of its modules.
			if goReplaced.Match(data) {
				return nil, false
			}
			continue
		}
		words, ok := goNames(name, data)
		if !ok {
			return nil, false
		}
		for _, word := range words {
			for dir := word; dir != "." && dir != "/"; dir = path.Dir(dir) {
				if other, ok := names[dir]; ok {
					needs[root] = append(needs[root], other)
				}
			}
		}
		needs[root] = append(needs[root], r.Above(p, data)...)
		for _, m := range goReplaced.FindAllSubmatch(data, -1) {
			other, _ := r.Owner(path.Join(path.Dir(p), string(m[1])))
			needs[root] = append(needs[root], other)
		}
	}
	return needs, true
}

// goNames lists what may name another package: the words of a go.mod, or what a
// file of Go imports.
func goNames(name string, data []byte) (names []string, ok bool) {
	if name == "go.mod" {
		return strings.FieldsFunc(string(data), func(c rune) bool { return strings.ContainsRune(" \t\r\n\"`", c) }), true
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", data, parser.ImportsOnly)
	if err != nil {
		return nil, false
	}
	for _, spec := range file.Imports {
		text, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, false
		}
		names = append(names, text)
	}
	return names, true
}

// scriptRoots lists the directories of the packages of npm.
func scriptRoots(v check.View) []string {
	return dirs(packageRoots(v), func(r packageRoot) string { return r.dir })
}

var (
	// scriptConfig matches the configuration of the compiler; aliased what in it says
	// that names stand for paths, based that these begin outside.
	scriptConfig = regexp.MustCompile(`(^|/)[jt]sconfig[^/]*\.json$`)
	aliased      = regexp.MustCompile(`"(?:paths|baseUrl|rootDirs)"\s*:`)
	based        = regexp.MustCompile(`"baseUrl"\s*:\s*"[^"]*\.\.`)
	// scriptText matches the files that may name another package.
	scriptText = regexp.MustCompile(`\.(?:[cm]?[jt]s|[jt]sx|jsonc?|vue|svelte|astro|mdx|css|scss|less|html)$|(?:^|/)\.\w+rc(?:\.ya?ml)?$`)
	// scriptName matches the beginning of a quoted name of a package.
	scriptName = regexp.MustCompile(`["'\x60]((?:@[\w.-]+/)?[\w.-]+)`)
)

// scriptNeeds reads what the packages of a workspace name and which paths out of
// them they have. A package needs the one around it, for the tools that are
// configured there.
func scriptNeeds(v check.View, r check.Reach) (map[string][]string, bool) {
	needs, names := map[string][]string{}, map[string]string{}
	inside := map[string][]string{}
	for root := range r {
		var manifest struct {
			Name string `json:"name"`
		}
		if json.Unmarshal([]byte(v.Text(path.Join(root, "package.json"))), &manifest) != nil {
			return nil, false
		}
		if manifest.Name != "" && names[manifest.Name] != "" {
			return nil, false
		}
		names[manifest.Name] = root
		for outer := range r {
			if outer != root && check.Below(root, outer) {
				needs[root] = append(needs[root], outer)
				inside[outer] = append(inside[outer], root)
			}
		}
	}
	for _, p := range v.Paths() {
		root, ok := r.Owner(p)
		if !ok || !scriptText.MatchString(p) || strings.Contains("/"+p, "/node_modules/") || strings.HasSuffix(p, "-lock.json") {
			continue
		}
		data, err := v.Read(p)
		config := scriptConfig.MatchString(p)
		if err != nil || config && (based.Match(data) || len(inside[root]) > 0 && aliased.Match(data)) {
			return nil, false
		}
		for _, m := range scriptName.FindAllSubmatch(data, -1) {
			if other, ok := names[string(m[1])]; ok {
				needs[root] = append(needs[root], other)
			}
		}
		needs[root] = append(needs[root], r.Above(p, data)...)
		// Which packages there are, or are compiled, is no need of what is in them.
		if config || path.Base(p) == "package.json" {
			continue
		}
		for _, inner := range inside[root] {
			if bytes.Contains(data, []byte(strings.TrimPrefix(inner, root+"/"))) {
				needs[root] = append(needs[root], inner)
			}
		}
	}
	return needs, true
}
