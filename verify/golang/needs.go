package golang

import (
	"go/parser"
	"go/token"
	"go/version"
	"path"
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// Modules describes the modules of Go.
var Modules = &check.Family{Unit: "modules", Roots: Roots, Needs: goNeeds, Shared: func(p string) bool {
	return slices.Contains([]string{"go.mod", "go.sum", "go.work", "go.work.sum"}, path.Base(p)) || strings.Contains("/"+p, "/vendor/")
}}

var (
	// goModuleLine matches the line that names a module, and goVersion the line with its language version.
	goModuleLine = lazyregexp.New(`(?m)^module[ \t]+["\x60]?([^\s"\x60(]+)`)
	goVersion    = lazyregexp.New(`(?m)^go[ \t]+(\S+)`)
	// goReplaced matches the right side of a replacement by a directory.
	goReplaced = lazyregexp.New(`=>\s*["\x60]?(\.[^\s"\x60]*)`)
)

// goNeeds reads what the modules of a workspace require, replace and import. With go.work, a module may import another one
// that its go.mod does not name.
func goNeeds(v check.View, r check.Reach) (map[string][]string, bool) {
	needs, names := map[string][]string{}, map[string]string{}
	for root := range r {
		text := v.Text(path.Join(root, "go.mod"))
		name, language := goModuleLine.FindStringSubmatch(text), goVersion.FindStringSubmatch(text)
		// Before 1.17, a go.mod does not name the requirements of its requirements.
		if name == nil || names[name[1]] != "" || language == nil || version.Compare("go"+language[1], "go1.17") < 0 {
			return nil, false
		}
		names[name[1]] = root
	}
	for _, p := range v.Paths() {
		root, ok := r.Owner(p)
		name := path.Base(p)
		if name != "go.mod" && name != "go.work" && (!ok || path.Ext(p) != ".go" || Ignored(path.Dir(p))) {
			continue
		}
		data, err := v.Read(p)
		if err != nil {
			return nil, false
		}
		if name == "go.work" {
			// Its replacements apply to all of its modules.
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

// goNames lists what may name another package: the words of a go.mod, or the imports of a Go file.
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
