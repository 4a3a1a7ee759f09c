package report

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"agent/sandbox/workspace/lazyregexp"
)

// structureConflicts falls with each file in which a merge conflict was left.
func structureConflicts(f *Facts) value {
	var details []Detail
	for _, e := range f.Files {
		if e.Conflict > 0 && !aside(e.Path) && !prose(e.Path) {
			details = append(details, Detail{Status: Fail, File: e.Path, Line: e.Conflict, Message: "it contains an unresolved merge conflict", Next: "choose a side and remove the markers"})
		}
	}
	return value{score: falling(len(details)), details: details, words: some(len(f.Files), "file")}
}

// built matches what compilers and packagers produce.
var built = lazyregexp.New(`(?i)\.(?:o|obj|class|pyd|exe|ilk|pdb)$|(?:^|/)[^/]+\.egg-info/|(?:^|/)\.DS_Store$`)

// structureBuilt falls with the files that a compiler or a packager produced, once for each directory.
func structureBuilt(f *Facts) value {
	seen, details := map[string]bool{}, []Detail{}
	for _, e := range f.Files {
		if !built.MatchString(e.Path) || aside(e.Path) {
			continue
		}
		// A directory of them is one thing to do.
		if dir := path.Dir(e.Path); !seen[dir] {
			seen[dir] = true
			details = append(details, Detail{Status: Warn, File: e.Path, Message: "it is generated from sources and kept with them", Next: "remove it and add it to .gitignore"})
		}
	}
	return value{score: falling(len(details)), details: details}
}

// Above largeFile bytes a file slows down every clone; above hugeFile hosts refuse it.
const (
	largeFile = 5 << 20
	hugeFile  = 50 << 20
)

// structureLarge falls with each file of more than 5 MiB.
func structureLarge(f *Facts) value {
	var details []Detail
	for _, e := range f.Files {
		if e.Size <= largeFile {
			continue
		}
		d := Detail{Status: Note, File: e.Path, Message: fmt.Sprintf("it has %d MiB, and every clone gets it", e.Size>>20), Next: "keep it elsewhere, or in Git LFS"}
		if e.Size > hugeFile {
			d.Status = Warn
		}
		details = append(details, d)
	}
	return value{score: falling(len(details)), details: details}
}

// windows matches a part of a path that Windows cannot store.
var windows = lazyregexp.New(`(?i)^(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\.|$)|[<>:"|?*\\]|[. ]$`)

// structureNames falls with each name that some systems cannot store, or that is not what it looks like.
func structureNames(f *Facts) value {
	var details []Detail
	folded := map[string]string{}
	n := 0
	add := func(p, message, next string) {
		d := Detail{Status: Warn, File: p, Message: message, Next: next}
		if aside(p) {
			d.Status = Note
		} else {
			n++
		}
		details = append(details, d)
	}
	for _, e := range f.Files {
		low := strings.ToLower(e.Path)
		if other, ok := folded[low]; ok {
			add(e.Path, "it differs from "+other+" only in case: case-insensitive systems check out only one of the two", "rename one")
		}
		folded[low] = e.Path
		for part := range strings.SplitSeq(e.Path, "/") {
			switch {
			case strings.ContainsFunc(part, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' }):
				add(e.Path, "its name holds invisible characters", "rename it")
			case windows.MatchString(part):
				add(e.Path, "Windows cannot check it out by this name", "rename it if anybody is to work on it there")
			default:
				continue
			}
			break
		}
	}
	return value{score: falling(n), details: details}
}

// structureLinks is the share of symbolic links that lead to something in the workspace.
func structureLinks(f *Facts) value {
	var details []Detail
	all, bad := 0, 0
	for _, l := range f.Links {
		all++
		if !l.Broken && !l.Outside {
			continue
		}
		d := Detail{Status: Warn, File: l.Path, Message: "the link to " + l.Target + " leads nowhere", Next: "correct it, or remove it"}
		if l.Outside {
			d.Message = "the link to " + l.Target + " leads out of the workspace: others do not have its target"
		}
		if aside(l.Path) {
			d.Status = Note
		} else {
			bad++
		}
		details = append(details, d)
	}
	return share(bad, all, details)
}
