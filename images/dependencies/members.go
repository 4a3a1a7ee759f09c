package dependencies

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"agent/sandbox/workspace/deps"
	"agent/sandbox/workspace/lazyregexp"
)

// A nodeSpace is a workspace in the sense of npm, pnpm and yarn: packages of one source that import each other by name.
type nodeSpace struct {
	root    string
	pnpm    bool
	members map[string]string // directories by name, without the root's own
}

// memberName matches names of packages, none of which leads out of node_modules.
var memberName = lazyregexp.New(`^(@[a-zA-Z0-9~_-][\w.~-]*/)?[a-zA-Z0-9~_-][\w.~-]*$`)

// nodeSpaces finds the workspaces of Node, by their roots. A nested one comes after the one that contains it.
func nodeSpaces(files map[string][]byte) []nodeSpace {
	var spaces []nodeSpace
	for _, name := range slices.Sorted(maps.Keys(files)) {
		root := path.Dir(name)
		if path.Base(name) != "package.json" || inModules(name) {
			continue
		}
		patterns := memberPatterns(files[name])
		settings, pnpm := files[path.Join(root, "pnpm-workspace.yaml")]
		if pnpm {
			var own struct{ Packages []string }
			patterns = nil
			if yaml.Unmarshal(settings, &own) == nil { // a file that cannot be read names nothing
				patterns = own.Packages
			}
		}
		if s := (nodeSpace{root, pnpm, map[string]string{}}); len(patterns) > 0 {
			s.fill(files, patterns)
			spaces = append(spaces, s)
		}
	}
	return spaces
}

// inModules reports whether a file lies in an installed package.
func inModules(name string) bool { return strings.Contains("/"+name, "/node_modules/") }

// memberPatterns returns the patterns of a package.json, in either of the forms that npm and yarn read.
func memberPatterns(content []byte) (patterns []string) {
	fields, err := deps.ReadPackage(content)
	if err != nil {
		return nil
	}
	list := fields["workspaces"]
	if nested, ok := list.(map[string]any); ok {
		list = nested["packages"]
	}
	items, _ := list.([]any)
	for _, item := range items {
		if p, ok := item.(string); ok {
			patterns = append(patterns, p)
		}
	}
	return patterns
}

// fill finds the packages that the patterns name. If two have the same name, which installers refuse, the first counts.
func (s nodeSpace) fill(files map[string][]byte, patterns []string) {
	var in, out []*regexp.Regexp
	for _, p := range patterns {
		bare, not := strings.CutPrefix(p, "!")
		re, err := regexp.Compile(glob(path.Join(s.root, bare, "package.json")))
		switch {
		case err != nil: // matches nothing
		case not:
			out = append(out, re)
		default:
			in = append(in, re)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		matches := func(re *regexp.Regexp) bool { return re.MatchString(name) }
		if inModules(name) || path.Dir(name) == s.root || !slices.ContainsFunc(in, matches) || slices.ContainsFunc(out, matches) {
			continue
		}
		fields, err := deps.ReadPackage(files[name])
		own, _ := fields["name"].(string)
		if _, taken := s.members[own]; err == nil && !taken && memberName.MatchString(own) {
			s.members[own] = path.Dir(name)
		}
	}
}

// globParts splits a pattern of paths.
var globParts = lazyregexp.New(`\*\*/|\*+|[?{},]|[^*?{},]+`)

// glob returns the regular expression for a path pattern as npm and pnpm read it.
func glob(pattern string) string {
	means := map[string]string{"**/": "(?:.*/)?", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}
	return "^(?:" + globParts.ReplaceAllStringFunc(pattern, func(part string) string {
		if to, ok := means[part]; ok {
			return to
		}
		if part[0] == '*' {
			return "[^/]*"
		}
		return regexp.QuoteMeta(part)
	}) + ")$"
}

// links maps the paths where the packages of a workspace find each other to the directories that are meant, as an installer
// would link them.
func (s nodeSpace) links(files map[string][]byte) map[string]string {
	links := map[string]string{}
	if !s.pnpm {
		for name, dir := range s.members {
			links[path.Join(s.root, "node_modules", name)] = dir
		}
		return links
	}
	// pnpm gives each package only those that it asks for.
	for _, from := range append(slices.Sorted(maps.Values(s.members)), s.root) {
		for _, name := range asked(files[path.Join(from, "package.json")]) {
			if dir, ok := s.members[name]; ok {
				links[path.Join(from, "node_modules", name)] = dir
			}
		}
	}
	return links
}

// isMember reports whether a directory is a member of a workspace of npm or yarn. These ignore a lock file there, and npm,
// if started in a member, removes what the others have installed.
func isMember(spaces []nodeSpace, dir string) bool {
	for _, s := range spaces {
		for _, member := range s.members {
			if !s.pnpm && member == dir {
				return true
			}
		}
	}
	return false
}

// spaceAbove returns the innermost workspace that contains a directory, zero for none.
func spaceAbove(spaces []nodeSpace, dir string) (space nodeSpace) {
	for _, s := range spaces {
		if below(dir, s.root) {
			space = s
		}
	}
	return space
}

// asked lists the packages that a package.json asks for. What others must bring along (peers) is installed for their sake.
func asked(content []byte) (names []string) {
	fields, err := deps.ReadPackage(content)
	if err != nil {
		return nil
	}
	for _, field := range deps.PackageLists[:3] {
		list, _ := fields[field].(map[string]any)
		names = append(names, slices.Sorted(maps.Keys(list))...)
	}
	return names
}

// lists reports whether a package.json asks for any package other than members of its workspace.
func lists(content []byte, members map[string]string) bool {
	return slices.ContainsFunc(asked(content), func(name string) bool { return members[name] == "" })
}
