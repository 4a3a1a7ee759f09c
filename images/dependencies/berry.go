package dependencies

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"agent/sandbox/workspace/lazyregexp"
)

// A yarn.lock of Yarn 2 or newer says the same as one of Yarn 1, in another form: which version each requested range means.
// Rewritten in the form of Yarn 1, it lets Yarn 1 install by it. Yarn 1 runs nothing that the workspace brings, such as the
// plugins of newer Yarns and their own releases (yarnPath).

// A berryEntry is what such a file says about one package.
type berryEntry struct {
	Version, Resolution string
	Dependencies        map[string]string
	DependenciesMeta    map[string]struct{ Optional bool } `yaml:"dependenciesMeta"`
	Conditions          string
}

// exactVersion matches one version of a package.
var exactVersion = lazyregexp.New(`^\d+\.\d+\.\d+[\w.+-]*$`)

// asClassic returns files with lock files of Yarn 2 or newer rewritten in the form of Yarn 1; those that cannot be read stay unchanged.
func asClassic(files map[string][]byte) map[string][]byte {
	files = maps.Clone(files)
	for name, content := range files {
		if path.Base(name) == "yarn.lock" && isBerry(content) {
			if text := classic(content); text != nil {
				files[name] = text
			}
		}
	}
	return files
}

// classic rewrites a lock file of Yarn 2 or newer in the form of Yarn 1, nil for one that cannot be read. It leaves out what
// comes from elsewhere than the registry, and what is for other machines than this one. The result has no digests: those of
// newer Yarns are of their own archives.
func classic(lock []byte) []byte {
	var all map[string]berryEntry
	if yaml.Unmarshal(lock, &all) != nil {
		return nil
	}
	byName, away := map[string][]string{}, map[string]bool{}
	entries := map[string]berryEntry{} // packages of the registry, by the first pattern that asks for them
	asks := map[string][]string{}
	for asked, e := range all {
		name, version, _ := strings.Cut(e.Resolution, "@npm:")
		if !memberName.MatchString(name) || version != e.Version || !exactVersion.MatchString(version) {
			continue
		}
		var patterns []string
		for one := range strings.SplitSeq(asked, ", ") {
			if i := strings.Index(one[min(1, len(one)):], "@") + 1; i > 0 {
				if spec, ok := registrySpec(one[i+1:]); ok {
					patterns = append(patterns, one[:i]+"@"+spec)
				}
			}
		}
		if !fitsHere(e.Conditions) {
			for _, p := range patterns {
				away[p] = true
			}
		} else if len(patterns) > 0 {
			entries[patterns[0]], asks[patterns[0]] = e, patterns
			byName[name] = append(byName[name], patterns[0])
		}
	}
	known := map[string]bool{}
	for _, patterns := range asks {
		for _, p := range patterns {
			known[p] = true
		}
	}
	// The manifest's `resolutions` choose a version that is listed under their range, and not under the one that a package asks for.
	for _, first := range slices.Sorted(maps.Keys(entries)) {
		for name, asked := range entries[first].Dependencies {
			spec, ok := registrySpec(asked)
			if p := name + "@" + spec; ok && !known[p] && !away[p] && len(byName[name]) == 1 {
				known[p] = true
				asks[byName[name][0]] = append(asks[byName[name][0]], p)
			}
		}
	}
	var out strings.Builder
	out.WriteString("# yarn lockfile v1\n")
	for _, first := range slices.Sorted(maps.Keys(entries)) {
		writeClassic(&out, entries[first], asks[first], away)
	}
	return []byte(out.String())
}

// writeClassic writes the entry of Yarn 1 for one package that these patterns ask for.
func writeClassic(out *strings.Builder, e berryEntry, patterns []string, away map[string]bool) {
	slices.Sort(patterns)
	var quoted []string
	for _, p := range slices.Compact(patterns) {
		quoted = append(quoted, strconv.Quote(p))
	}
	name, _, _ := strings.Cut(e.Resolution, "@npm:")
	fmt.Fprintf(out, "\n\n%s:\n  version %q\n  resolved \"%s/%s/-/%s-%s.tgz\"\n", strings.Join(quoted, ", "), e.Version, registryPlaceholder, name, path.Base(name), e.Version)
	var needed, optional strings.Builder
	for _, dep := range slices.Sorted(maps.Keys(e.Dependencies)) {
		spec, ok := registrySpec(e.Dependencies[dep])
		switch {
		case !ok || !memberName.MatchString(dep) || away[dep+"@"+spec]:
		case e.DependenciesMeta[dep].Optional:
			fmt.Fprintf(&optional, "    %q %q\n", dep, spec)
		default:
			fmt.Fprintf(&needed, "    %q %q\n", dep, spec)
		}
	}
	if needed.Len() > 0 {
		out.WriteString("  dependencies:\n" + needed.String())
	}
	if optional.Len() > 0 {
		out.WriteString("  optionalDependencies:\n" + optional.String())
	}
}

var (
	// plainRange matches a range of versions, or a tag.
	plainRange = lazyregexp.New(`^[\w.*^~<>=|+ -]+$`)
	// aliased matches a request for a package of the registry under another name.
	aliased = lazyregexp.New(`^npm:(?:@[\w.~-]+/)?[\w.~-]+@[\w.*^~<>=|+ -]+$`)
)

// registrySpec returns a range in the form of Yarn 1. ok is false if it asks for something outside the registry. For a
// package that Yarn or the workspace patches, it returns the version in the registry.
func registrySpec(spec string) (plain string, ok bool) {
	if version, patched := unpatched(spec); patched {
		return version, true
	}
	if aliased.MatchString(spec) {
		return spec, true
	}
	plain = strings.TrimPrefix(spec, "npm:")
	return plain, plainRange.MatchString(plain)
}

// fitsHere reports whether a package is for the machine that runs the boxes. Conditions have the form that Yarn writes:
// "os=linux & (cpu=x64 | cpu=arm64) & libc=glibc".
func fitsHere(conditions string) bool {
	cpu := map[string]string{"amd64": "x64", "386": "ia32"}
	here := []string{"os=linux", "libc=glibc", "cpu=" + cmp.Or(cpu[runtime.GOARCH], runtime.GOARCH)}
	for all := range strings.SplitSeq(conditions, "&") {
		fits := strings.TrimSpace(all) == ""
		for one := range strings.SplitSeq(strings.Trim(strings.TrimSpace(all), "()"), "|") {
			bare, not := strings.CutPrefix(strings.TrimSpace(one), "!")
			fits = fits || slices.Contains(here, bare) != not
		}
		if !fits {
			return false
		}
	}
	return true
}

// yarnPackage turns a package.json, as cleanPackage writes it, into one that Yarn 1 installs. In Yarn 1 only private
// packages have workspaces, and only packages with a version are members.
func yarnPackage(content []byte) []byte {
	var fields map[string]any
	if json.Unmarshal(content, &fields) != nil {
		return content
	}
	if fields["workspaces"] != nil {
		fields["private"] = true
	}
	if version, _ := fields["version"].(string); version == "" {
		fields["version"] = "0.0.0"
	}
	if made, err := json.Marshal(fields); err == nil {
		return made
	}
	return content
}
