package node

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

// Packages describes the npm packages of a workspace.
var Packages = &check.Family{Unit: "packages", Roots: scriptRoots, Needs: scriptNeeds, Around: true, Shared: func(p string) bool {
	return slices.Contains([]string{
		"package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "pnpm-workspace.yaml", ".npmrc", ".yarnrc", ".yarnrc.yml",
	}, path.Base(p)) || scriptConfig.MatchString(p) || strings.Contains("/"+p, "/node_modules/")
}}

// scriptRoots lists the directories of the npm packages.
func scriptRoots(v check.View) []string {
	return dirs(Roots(v), func(r Root) string { return r.Dir })
}

var (
	// scriptConfig matches the configuration of the compiler, aliased a setting in it that lets names stand for paths, and
	// based one that makes these paths begin outside.
	scriptConfig = lazyregexp.New(`(^|/)[jt]sconfig[^/]*\.json$`)
	aliased      = lazyregexp.New(`"(?:paths|baseUrl|rootDirs)"\s*:`)
	based        = lazyregexp.New(`"baseUrl"\s*:\s*"[^"]*\.\.`)
	// scriptText matches the files that may name another package.
	scriptText = lazyregexp.New(`\.(?:[cm]?[jt]s|[jt]sx|jsonc?|vue|svelte|astro|mdx|css|scss|less|html)$|(?:^|/)\.\w+rc(?:\.ya?ml)?$`)
	// scriptName matches the start of a quoted package name.
	scriptName = lazyregexp.New(`["'\x60]((?:@[\w.-]+/)?[\w.-]+)`)
)

// scriptNeeds reads which packages the packages of a workspace name, and which of their paths lead out of them. A package
// needs the one that encloses it, for the tools that are configured there.
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
		// To list packages, or to have them compiled, is not to need what is in them.
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
