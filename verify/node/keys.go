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

// These are the keys of a package.json that configure the linters.
var (
	eslintKeys    = []string{"eslintConfig", "eslintIgnore"}
	stylelintKeys = []string{"stylelint"}
)

// judgingKeys are the keys of a package.json that configure a judging tool, as a file of its own would. judgingKinds are the
// kinds of scripts that start one.
var (
	judgingKeys  = slices.Concat([]string{"jest", "mocha", "vitest", "ava", "tap", "babel", "prettier"}, eslintKeys, stylelintKeys)
	judgingKinds = []string{"test", "lint", "stylelint"}
)

// PackageKeys returns those keys of a package.json, and its scripts of these kinds as "scripts.name", along with the scripts
// to which test, tests and unit lead. Any other file, and one that cannot be read, has none.
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

// ChangedKeys lists, for each package.json, the keys that differ in another view.
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
