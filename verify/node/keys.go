package node

import (
	"encoding/json"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"agent/verify/check"
	"agent/verify/node/npmscript"
)

// The keys of a package.json that configure the linters.
var (
	eslintKeys    = []string{"eslintConfig", "eslintIgnore"}
	stylelintKeys = []string{"stylelint"}
)

// judgingKeys are the keys of a package.json that configure a tool which judges, as
// a file of its own would; scripts of the kinds judgingKinds start one.
var (
	judgingKeys  = slices.Concat([]string{"jest", "mocha", "vitest", "ava", "tap", "babel", "prettier"}, eslintKeys, stylelintKeys)
	judgingKinds = []string{"test", "lint", "stylelint"}
)

// PackageKeys reads those keys of a package.json, and its scripts as
// "scripts.name", with those that the script test leads to. Another file and one that cannot be read have none.
func PackageKeys(v check.View, p string) map[string]any {
	var all map[string]any
	if path.Base(p) != "package.json" || json.Unmarshal([]byte(v.Text(p)), &all) != nil {
		return nil
	}
	found := map[string]any{}
	for _, key := range judgingKeys {
		if value, ok := all[key]; ok {
			found[key] = value
		}
	}
	scripts, _ := all["scripts"].(map[string]any)
	texts := map[string]string{}
	for name, script := range scripts {
		texts[name], _ = script.(string)
	}
	var reached []string
	for _, s := range npmscript.Read(texts, "test", "tests", "unit") {
		reached = append(reached, s.Script)
	}
	for name, script := range scripts {
		if kind, _, _ := strings.Cut(name, ":"); slices.Contains(judgingKinds, kind) || slices.Contains(reached, name) {
			found["scripts."+name] = script
		}
	}
	return found
}

// ChangedKeys lists by package.json which of its keys another view has otherwise.
func ChangedKeys(base, cand check.View) map[string][]string {
	changed := map[string][]string{}
	for _, p := range slices.Concat(slices.Collect(maps.Keys(cand.Changed)), slices.Collect(maps.Keys(cand.Gone))) {
		before, after, names := PackageKeys(base, p), PackageKeys(cand, p), map[string]any{}
		maps.Copy(names, before)
		maps.Copy(names, after)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			if !reflect.DeepEqual(before[name], after[name]) {
				changed[p] = append(changed[p], name)
			}
		}
	}
	return changed
}
