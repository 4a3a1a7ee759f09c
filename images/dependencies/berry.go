package dependencies

import (
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"agent/sandbox/workspace/lazyregexp"
)

// A yarn.lock of Yarn 2 or newer says for each range that is asked for which version it means. Nothing but Yarn itself installs
// by it, so that of it counts what the manifests name: a project that asks for "^11.7.5" has been tested with that, and may not
// work with what the registry has today.

// exactVersion matches one version of a package.
var exactVersion = lazyregexp.New(`^\d+\.\d+\.\d+[\w.+-]*$`)

// pinnedLists are the fields of a package.json whose packages are installed.
var pinnedLists = []string{"dependencies", "devDependencies", "optionalDependencies"}

// pins reads which versions a lock file of Yarn 2 or newer has chosen, by what is asked for, as in "mocha@npm:^11.7.5"; nil of one
// that cannot be read. Packages that come from elsewhere than the registry, or under another name, are none of them.
func pins(lock []byte) map[string]string {
	var entries map[string]struct {
		Version    string `yaml:"version"`
		Resolution string `yaml:"resolution"`
	}
	if yaml.Unmarshal(lock, &entries) != nil {
		return nil
	}
	chosen := map[string]string{}
	for asked, e := range entries {
		for one := range strings.SplitSeq(asked, ", ") {
			if name, _, ok := strings.Cut(one, "@npm:"); ok && e.Resolution == name+"@npm:"+e.Version && exactVersion.MatchString(e.Version) {
				chosen[one] = e.Version
			}
		}
	}
	return chosen
}

// pinPackage puts the chosen versions into a package.json, as cleanPackage writes it, in the place of the ranges.
func pinPackage(content []byte, chosen map[string]string) []byte {
	var fields map[string]any
	if len(chosen) == 0 || json.Unmarshal(content, &fields) != nil {
		return content
	}
	for list, packages := range fields {
		named, _ := packages.(map[string]any)
		if !slices.Contains(pinnedLists, list) {
			continue
		}
		for name, asked := range named {
			spec, _ := asked.(string)
			if version := chosen[name+"@npm:"+strings.TrimPrefix(spec, "npm:")]; version != "" {
				named[name] = version
			}
		}
	}
	if pinned, err := json.Marshal(fields); err == nil {
		return pinned
	}
	return content
}
