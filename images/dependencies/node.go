package dependencies

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"agent/sandbox/workspace/deps"
	"agent/sandbox/workspace/lazyregexp"
)

// npmFields are the fields of a package.json that decide what is installed. Scripts, settings of package managers, and the
// version of a package manager to run instead are not among them.
var npmFields = []string{
	"name", "version", "dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta",
	"bundleDependencies", "bundledDependencies", "workspaces", "overrides", "resolutions",
}

// npmLists are the fields that list packages and where these come from.
var npmLists = append(slices.Clone(deps.PackageLists), "overrides", "resolutions")

// registryPlaceholder stands for the registry in lock files until the script inserts the user's.
const registryPlaceholder = "https://registry.invalid"

// readNode finds the directories in which Node packages are installed: those with a lock file; the roots of workspaces that
// are below none of these; and, below none of either, those whose package.json alone asks for something.
func (d *Set) readNode(files map[string][]byte) {
	var roots []string
	spaces := nodeSpaces(files)
	for _, s := range spaces {
		maps.Copy(d.members, s.links(files))
	}
	// Directories with a lock file come first. The members of a workspace are installed with the whole; see isMember.
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Base(name) == "package.json" && lockIn(files, path.Dir(name)).kind != "" && !isMember(spaces, path.Dir(name)) {
			roots = append(roots, path.Dir(name))
		}
	}
	free := func(dir string) bool {
		return !slices.ContainsFunc(roots, func(r string) bool { return below(dir, r) })
	}
	var tops []string // a workspace inside another one is installed by itself, too
	for _, s := range spaces {
		if free(s.root) {
			tops = append(tops, s.root)
		}
	}
	roots = append(roots, tops...)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if dir := path.Dir(name); path.Base(name) == "package.json" && free(dir) && lists(files[name], nil) {
			roots = append(roots, dir)
		}
	}
	for _, root := range roots {
		part, err := readNodeRoot(files, root, spaces)
		if err != nil {
			d.notef("the packages of %s are not installed: %v", path.Join(root, "package.json"), err)
			continue
		}
		// A place inside another one yields some files twice: the first counts.
		for name, content := range part.files {
			if _, ok := d.files[name]; !ok {
				d.add(name, content)
			}
		}
		d.Notes = append(d.Notes, part.Notes...)
		for _, s := range part.steps {
			s.resolve(d, files)
			d.steps = append(d.steps, s)
		}
		for _, dir := range part.node {
			if !slices.Contains(d.node, dir) {
				d.node = append(d.node, dir)
			}
		}
	}
}

// below reports whether dir is root or lies in it.
func below(dir, root string) bool {
	return root == "." || dir == root || strings.HasPrefix(dir, root+"/")
}

// readNodeRoot gathers what is needed to install in one directory.
func readNodeRoot(files map[string][]byte, root string, spaces []nodeSpace) (part Set, err error) {
	// Without a lock file, the day of the installation decides what is installed. The image keeps that until the manifest
	// changes, so that two runs see the same.
	lock := lockIn(files, root)
	settings, pnpm := files[path.Join(root, "pnpm-workspace.yaml")]
	locked, foreignLocked, lockErr := cleanLock(lock, files[path.Join(root, lock.name)])
	asks, unused := false, ""
	if errors.Is(lockErr, errElsewhere) {
		unused = fmt.Sprintf("%s is not used, and versions come from package.json: %v", path.Join(root, lock.name), lockErr)
		pnpm, lock, lockErr = pnpm || lock.kind == "pnpm", lockFile{}, nil
	}
	kind := lock.kind
	switch {
	case kind == "" && pnpm:
		kind = "pnpm-unlocked"
	case kind == "":
		kind = "npm-unlocked"
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		dir := path.Dir(name)
		if path.Base(name) != "package.json" || !below(dir, root) {
			continue
		}
		content, foreign, err := cleanPackage(files[name])
		switch {
		case err != nil && dir == root:
			return part, fmt.Errorf("%s: %w", name, err)
		case err != nil: // tests of a program that reads such files bring broken ones
			part.notef("%s is left out of the install: %v", name, err)
			continue
		}
		for _, why := range foreign {
			part.notef("%s: without %v", name, why)
		}
		space := spaceAbove(spaces, dir)
		if slices.Contains([]string{"npm-unlocked", "yarn"}, kind) && space.root == root {
			content = workspaceSpec.ReplaceAll(content, []byte(`:"*"`))
		}
		if kind == "yarn" {
			content = yarnPackage(content)
		}
		asks = asks || lists(content, space.members)
		part.add(path.Join("node", name), content)
		part.node = append(part.node, dir)
	}
	if !asks {
		return Set{Notes: part.Notes}, nil
	}
	switch {
	case lockErr != nil:
		return part, fmt.Errorf("%s: %w", lock.name, lockErr)
	case unused != "":
		part.notef("%s", unused)
	case lock.kind != "":
		if len(part.Notes) == 0 { // otherwise they are most likely the same
			for _, why := range foreignLocked {
				part.notef("%s: without %v", path.Join(root, lock.name), why)
			}
		}
		part.add(path.Join("node", root, lock.name), locked)
	}
	if settings != nil && strings.HasPrefix(kind, "pnpm") {
		members, foreign, err := cleanMembers(settings)
		if err != nil {
			return part, fmt.Errorf("pnpm-workspace.yaml: %w", err)
		}
		for _, why := range foreign {
			part.notef("%s: without %v", path.Join(root, "pnpm-workspace.yaml"), why)
		}
		part.add(path.Join("node", root, "pnpm-workspace.yaml"), members)
	}
	part.steps = []step{{kind: kind, root: root}}
	return part, nil
}

// workspaceSpec matches a request for a workspace member in a cleaned package.json. npm and Yarn 1 find members by name.
var workspaceSpec = lazyregexp.New(`:"workspace:[^"]*"`)

// cleanPackage keeps the fields of a package.json that decide what is installed, without packages that come from elsewhere
// than the registry: foreign says which ones, and why.
func cleanPackage(content []byte) (clean []byte, foreign []error, err error) {
	// It is written anew, from the names of its fields alone: of two fields with one name this reader takes the last, and no
	// other reader sees the first.
	fields, err := deps.ReadPackage(content)
	if err != nil {
		return nil, nil, err
	}
	kept := make(map[string]any)
	for _, name := range npmFields {
		if v, ok := fields[name]; ok {
			kept[name] = v
		}
	}
	for _, name := range npmLists {
		foreign = append(foreign, dropForeign(kept[name])...)
	}
	// pnpm reads these from a field of its own and compares them with its lock file.
	if own, ok := fields["pnpm"].(map[string]any); ok {
		settings := make(map[string]any)
		for _, name := range []string{"overrides", "packageExtensions"} {
			if v, ok := own[name]; ok {
				settings[name] = v
				foreign = append(foreign, dropForeign(v)...)
			}
		}
		kept["pnpm"] = settings
	}
	clean, err = json.Marshal(kept)
	return clean, foreign, err
}

// dropForeign removes from a list the packages that do not come from the registry, and says why. Overrides may be nested to
// any depth. Anything that is neither a list nor a string is for the package manager to reject.
func dropForeign(list any) (foreign []error) {
	packages, _ := list.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		spec, isText := packages[name].(string)
		if version, ok := unpatched(spec); ok {
			packages[name] = version
			foreign = append(foreign, fmt.Errorf("the workspace's patch of %.100q", name))
		} else if err := cleanSpec(spec); isText && err != nil {
			delete(packages, name)
			foreign = append(foreign, fmt.Errorf("%.100q, which %w", name, err))
		}
		foreign = append(foreign, dropForeign(packages[name])...)
	}
	return foreign
}

// patched matches the version that Yarn 2 and newer write for a package of the registry of which the workspace, or Yarn
// itself, keeps a patch: "patch:NAME@npm%3A^1.2.3#PATH".
var patched = lazyregexp.New(`^patch:@?[^@]+@(?:npm(?::|%3A))?([^#:/]+)#`)

// unpatched returns the version of such a package in the registry; ok is false for other packages.
func unpatched(spec string) (version string, ok bool) {
	m := patched.FindStringSubmatch(spec)
	if m == nil {
		return "", false
	}
	version, err := url.PathUnescape(m[1])
	return version, err == nil && cleanSpec(version) == nil
}

// dropLocked removes the same packages from a package-lock.json, with everything below them. npm then finds it in step with
// the package.json, unless a package of the registry needs one of them.
func dropLocked(doc map[string]any) (foreign []error) {
	packages, _ := doc["packages"].(map[string]any)
	for _, place := range slices.Sorted(maps.Keys(packages)) {
		entry, _ := packages[place].(map[string]any)
		for _, list := range deps.PackageLists {
			dropForeign(entry[list])
		}
		resolved, _ := entry["resolved"].(string)
		if _, err := cleanAddress(resolved); err == nil || resolved == "" || entry["link"] == true || strings.HasPrefix(resolved, "file:") {
			continue
		}
		foreign = append(foreign, fmt.Errorf("%.100q, which %w", strings.TrimPrefix(place, "node_modules/"), elsewhere(resolved)))
		maps.DeleteFunc(packages, func(p string, _ any) bool { return p == place || strings.HasPrefix(p, place+"/") })
	}
	// npm before 7 wrote these, and later versions repeat them for it.
	old, _ := doc["dependencies"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(old)) {
		fields, _ := old[name].(map[string]any)
		version, _ := fields["version"].(string)
		if err := cleanSpec(version); err != nil {
			delete(old, name)
			if packages == nil {
				foreign = append(foreign, fmt.Errorf("%.100q, which %w", name, err))
			}
		}
	}
	return foreign
}

// errElsewhere is wrapped by the errors of elsewhere.
var errElsewhere = errors.New("does not come from the registry")

// elsewhere returns the error for a version that is an address, with the cure.
func elsewhere(address string) error {
	return fmt.Errorf("%w (%.80q): ask for a version of it there, or keep it in the workspace", errElsewhere, address)
}

// cleanSpec judges one version in a package.json.
func cleanSpec(spec string) error {
	// A range of versions and a tag contain neither a colon nor a slash. A file of the workspace either is one of those that
	// are sent, or is missing.
	scheme, _, named := strings.Cut(spec, ":")
	switch {
	case named && slices.Contains([]string{"npm", "workspace", "catalog", "file", "link"}, scheme):
		return nil
	case named || strings.Contains(spec, "/"): // an address, or an owner and a repository
		return elsewhere(spec)
	}
	return nil
}

// packageAddress matches the part of an address that all registries share: the package's name, "-", the archive, and the
// digest that Yarn appends. Host and path before it are where this registry happens to be. A query does not match: it might
// make the server return something else.
var packageAddress = lazyregexp.New(`^https?://[^\s#?]*?/((?:@[\w.~-]+(?:/|%2[fF]))?[\w.~-]+/-/[\w.~+-]+\.tgz)(#[0-9a-f]+)?$`)

// cleanAddress turns an address in a lock file into one in the user's registry.
func cleanAddress(address string) (string, error) {
	m := packageAddress.FindStringSubmatch(address)
	if m == nil {
		return "", fmt.Errorf("a package %w", elsewhere(address))
	}
	return registryPlaceholder + "/" + m[1] + m[2], nil
}

// cleanLock changes every address in a lock file to one in the user's registry. The digests of the content stay, so that
// nothing but what was locked is accepted. foreign says what was left out. An address elsewhere that cannot be left out is
// an errElsewhere.
func cleanLock(lock lockFile, content []byte) (clean []byte, foreign []error, err error) {
	switch lock.kind {
	case "":
		return nil, nil, nil
	case "pnpm":
		return cleanPnpm(content)
	case "yarn":
		clean, err = cleanYarn(content)
		return clean, nil, err
	}
	doc, err := deps.ReadPackage(content)
	if err != nil {
		return nil, nil, err
	}
	foreign = dropLocked(doc)
	if err := cleanNpm(doc); err != nil {
		return nil, nil, err
	}
	clean, err = json.Marshal(doc)
	return clean, foreign, err
}

// cleanNpm walks a package-lock.json.
func cleanNpm(value any) error {
	// This finds an address wherever it is: the form of the file has changed three times, and newer versions of npm read
	// that of an older one.
	switch value := value.(type) {
	case []any:
		for _, v := range value {
			if err := cleanNpm(v); err != nil {
				return err
			}
		}
	case map[string]any:
		// A link leads to a directory of the workspace, by its path.
		linked := value["link"] == true
		for _, key := range slices.Sorted(maps.Keys(value)) {
			text, isText := value[key].(string)
			switch {
			case key == "resolved" && isText && !linked && !strings.HasPrefix(text, "file:"):
				address, err := cleanAddress(text)
				if err != nil {
					return err
				}
				value[key] = address
			case key == "version" && isText && strings.Contains(text, "://"):
				return fmt.Errorf("a package %w", elsewhere(text))
			case slices.Contains(deps.PackageLists, key):
				if err := cleanLists(value[key]); err != nil {
					return err
				}
			default:
				if err := cleanNpm(value[key]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// cleanLists checks a field that lists names and versions or, in old lock files, whole packages.
func cleanLists(list any) error {
	packages, _ := list.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		var err error
		switch p := packages[name].(type) {
		case string:
			err = cleanSpec(p)
		default:
			err = cleanNpm(p)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
	}
	return nil
}

// patchHash matches what follows a version in a pnpm-lock.yaml if the workspace keeps a patch of that package.
var patchHash = lazyregexp.New(`\(patch_hash=[^()]*\)`)

// cleanPnpm walks a pnpm-lock.yaml. Packages of the registry have no address there unless it is unusual. Packages of which
// the workspace keeps patches are taken as the registry has them: the patches are files that are not sent.
func cleanPnpm(content []byte) (clean []byte, foreign []error, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(content, &doc); err != nil {
		return nil, nil, err
	}
	if doc.Kind == yaml.DocumentNode && doc.Content[0].Kind == yaml.MappingNode {
		foreign = dropPatches(doc.Content[0])
	}
	if err := cleanPnpmNode(&doc, len(foreign) > 0); err != nil {
		return nil, nil, err
	}
	clean, err = yaml.Marshal(&doc)
	return clean, foreign, err
}

// dropPatches removes the list of patches from a pnpm-lock.yaml, and says for which packages.
func dropPatches(top *yaml.Node) (foreign []error) {
	for i := 0; i+1 < len(top.Content); i += 2 {
		if top.Content[i].Value != "patchedDependencies" {
			continue
		}
		for k, list := 0, top.Content[i+1].Content; k < len(list); k += 2 {
			foreign = append(foreign, fmt.Errorf("the workspace's patch of %.100q", list[k].Value))
		}
		top.Content = slices.Delete(top.Content, i, i+2)
		break
	}
	return foreign
}

// cleanPnpmNode walks one node of the tree of nodes rather than a map: what it does not touch is written as it was read,
// whatever this version of pnpm puts there. patches says whether some were removed.
func cleanPnpmNode(n *yaml.Node, patches bool) error {
	// An alias could expand a small file to one that exceeds any memory.
	if n.Kind == yaml.AliasNode {
		return errors.New("it has an alias, which no lock file needs")
	}
	if patches && n.Kind == yaml.ScalarNode {
		n.Value = patchHash.ReplaceAllString(n.Value, "")
	}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && i+1 < len(n.Content) {
			value := n.Content[i+1]
			switch {
			case child.Value == "tarball" && !strings.HasPrefix(value.Value, "file:"):
				address, err := cleanAddress(value.Value)
				if err != nil {
					return err
				}
				value.SetString(address)
			// This is the archive of a program, such as Node itself. A package may have that name too.
			case child.Value == "url" && strings.Contains(value.Value, "://"):
				return fmt.Errorf("a package %w", elsewhere(value.Value))
			case child.Value == "repo" || child.Value == "gitHosted" || strings.Contains(child.Value, "://"):
				return fmt.Errorf("a package %w", elsewhere(child.Value))
			}
		}
		if err := cleanPnpmNode(child, patches); err != nil {
			return err
		}
	}
	return nil
}

// cleanMembers keeps from a pnpm-workspace.yaml which packages are members, and which versions they share: pnpm also takes
// settings from this file.
func cleanMembers(content []byte) (clean []byte, foreign []error, err error) {
	var all, kept map[string]any
	if err := yaml.Unmarshal(content, &all); err != nil {
		return nil, nil, err
	}
	kept = make(map[string]any)
	for _, name := range []string{"packages", "catalog", "catalogs", "overrides"} {
		if v, ok := all[name]; ok {
			kept[name] = v
		}
		if name != "packages" {
			foreign = append(foreign, dropForeign(kept[name])...)
		}
	}
	clean, err = yaml.Marshal(kept)
	return clean, foreign, err
}

// resolved matches the line of a yarn.lock with a package's address.
var resolved = lazyregexp.New(`^\s+"?resolved"?\s+"?([^"\s]+)"?\s*$`)

// cleanYarn goes through the lines of a yarn.lock of Yarn 1.
func cleanYarn(content []byte) ([]byte, error) {
	var out bytes.Buffer
	// The form is Yarn's own, in which every address has a line to itself. On any other line, an
	// address is the name of a package.
	for line := range strings.Lines(string(content)) {
		if m := resolved.FindStringSubmatch(line); m != nil {
			address, err := cleanAddress(m[1])
			if err != nil {
				return nil, err
			}
			line = fmt.Sprintf("  resolved %q\n", address)
		} else if strings.Contains(line, "://") && !strings.HasPrefix(line, "#") {
			return nil, fmt.Errorf("a package %w", elsewhere(strings.TrimSpace(line)))
		}
		out.WriteString(line)
	}
	return out.Bytes(), nil
}
