// Package acting is the table of the files that act outside the box: files that editors and shells run when a
// directory is opened, package managers on installation, build servers and hosts on a push, and git on a commit, and
// files that other coding agents take as instructions.
//
// Each row is a tool: the names of its files, what it does with them, and where its documentation says so. Whether a
// change of such a file needs approval is up to package policy. The table contains no ordinary source or
// documentation, and no files that only a gate runs.
package acting

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"unicode"

	"agent/sandbox/workspace"
)

// A Kind says when a file acts.
type Kind int

// The kinds.
const (
	OnOpen    Kind = iota // an editor, a shell or a debugger that is started in a directory
	OnInstall             // a package manager or a build tool, before anything of the program runs
	InCI                  // a build server or a host, with its secrets
	OnCommit              // git, through a manager of hooks
	ByAgent               // another coding agent, with the rights of the person
)

// A Row is one tool.
type Row struct {
	Tool string
	// Names are its files, for Compile.
	Names []string
	// Why is a sentence for the person who approves a change of one.
	Why string
	// Source is the address of the documentation that says so.
	Source string
}

// keys lists, for some tools, the keys at the top of their JSON files of which one must be there for a file to act,
// since other tools use the same file names.
var keys = map[string][]string{
	"Heroku apps": {"scripts", "buildpacks", "addons", "environments"},
	".NET SDK":    {"sdk", "msbuild-sdks", "tools"},
}

// Keys lists the keys by which files of a tool act, or nil if they act whatever they contain.
func Keys(tool string) []string { return slices.Clone(keys[tool]) }

// Acts reports whether a file with this text acts by one of the keys, as Keys returns them.
func Acts(keys []string, text []byte) bool {
	if keys == nil {
		return true
	}
	var top map[string]any
	if json.Unmarshal(text, &top) != nil { // it may have comments
		return slices.ContainsFunc(keys, func(key string) bool { return strings.Contains(string(text), `"`+key+`"`) })
	}
	return slices.ContainsFunc(keys, func(key string) bool {
		switch top[key].(type) {
		case map[string]any, []any:
			return true
		}
		return false // a text to translate, for example
	})
}

// table has the rows of each kind.
var table = map[Kind][]Row{OnOpen: onOpen, OnInstall: onInstall, InCI: slices.Concat(inCI, onHosts), OnCommit: onCommit, ByAgent: byAgent}

// Rows lists the tools of a kind.
func Rows(k Kind) []Row { return slices.Clone(table[k]) }

// A Pattern names paths. path.Match compares its text part by part with the last parts of a path, so that a name fits
// in any directory. A text that begins with a slash is compared with all parts. A text that ends in a slash covers
// everything below such a directory, and anything in its place. A text in lower case ignores case. A text with
// capitals must fit exactly: such names are otherwise ordinary words.
type Pattern struct {
	parts                []string
	rooted, below, exact bool
}

// Compile parses the texts of patterns.
func Compile(texts []string) (list []Pattern) {
	for _, text := range texts {
		list = append(list, Pattern{
			parts:  strings.Split(strings.Trim(text, "/"), "/"),
			rooted: strings.HasPrefix(text, "/"), below: strings.HasSuffix(text, "/"), exact: text != strings.ToLower(text),
		})
	}
	return list
}

// A Path is a path as the least exact file systems see it: with slashes in place of backslashes, and without what
// some of them ignore, which are characters without width, and dots and spaces at the end of a name.
type Path struct {
	exact, folded []string
}

// NewPath parses a path, with slashes or backslashes.
func NewPath(name string) Path {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\\':
			return '/'
		case unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, name)
	parts := strings.Split(clean, "/")
	for i, part := range parts {
		if short := strings.TrimRight(part, ". "); short != "" {
			parts[i] = short
		}
	}
	return Path{parts, strings.Split(workspace.Fold(strings.Join(parts, "/")), "/")}
}

// In reports whether one of the patterns fits p.
func (p Path) In(list []Pattern) bool {
	return slices.ContainsFunc(list, p.fits)
}

// A Set is a set of patterns with an index, for matching every path of a workspace.
type Set struct {
	// The patterns by the last part of their text, folded, and those that have a metacharacter of path.Match there.
	named map[string][]Pattern
	rest  []Pattern
}

// NewSet makes a set of patterns.
func NewSet(list []Pattern) Set {
	s := Set{named: map[string][]Pattern{}}
	for _, p := range list {
		if last := strings.ToLower(p.parts[len(p.parts)-1]); strings.ContainsAny(last, `*?[\`) {
			s.rest = append(s.rest, p)
		} else {
			s.named[last] = append(s.named[last], p)
		}
	}
	return s
}

// Has reports whether one of the patterns fits p.
func (s Set) Has(p Path) bool {
	return slices.ContainsFunc(p.folded, func(part string) bool { return p.In(s.named[part]) }) || p.In(s.rest)
}

func (p Path) fits(pattern Pattern) bool {
	parts := p.folded
	if pattern.exact {
		parts = p.exact
	}
	first, last := 0, len(parts)-len(pattern.parts)
	if !pattern.below {
		first = last
	}
	if pattern.rooted {
		last = min(last, 0)
	}
	for at := max(first, 0); at <= last; at++ {
		if matches(pattern.parts, parts[at:]) {
			return true
		}
	}
	return false
}

// matches reports whether patterns match the parts that a path begins with.
func matches(want, parts []string) bool {
	for i, pattern := range want {
		if ok, err := path.Match(pattern, parts[i]); !ok || err != nil {
			return false
		}
	}
	return true
}
