package exec

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/orchestrator/run"
	"agent/sandbox/guest"
	"agent/sandbox/workbench"
	"agent/sandbox/workspace"
)

// maxNamed is how many of the things left behind a document names.
const maxNamed = 100

// leftOver is what changed and is in no patch.
type leftOver struct {
	named []run.DocumentLeft
	// count is how many there are that somebody may have wanted, and quiet how many caches and build products.
	count, quiet int
}

// takeOut returns how the content of a workbench differs from base, as a changeset, and what was left behind.
func takeOut(ctx context.Context, box Box, base *workspace.Manifest) (workspace.Changeset, leftOver, error) {
	found, err := box.Extract(ctx, rules(), known(base))
	if err != nil {
		return workspace.Changeset{}, leftOver{}, err
	}
	files := make(map[string]workspace.Taken, len(found.Files))
	for name, f := range found.Files {
		files[name] = workspace.Taken{Content: f.Content, Exec: f.Exec}
	}
	cs, skips, err := base.Taken(ctx, files, found.Gone)
	return cs, left(found, skips), err
}

// rules says what is taken out of a workbench at all. Caches are not searched: they may hold more files than everything else.
func rules() guest.Rules {
	return guest.Rules{
		Skip: append(workspace.LeftDirs(), ".git", ".hg", ".svn", ".jj"), MaxFile: workspace.MaxContent, MaxFiles: maxFiles, MaxBytes: maxBytes,
		MaxDepth: workspace.MaxDepth + 1, // one more, so that what is too deep is refused by its path
	}
}

// known lists the files and links of a workspace.
func known(base *workspace.Manifest) []guest.Known {
	var list []guest.Known
	for _, e := range base.Entries {
		switch e.Kind {
		case workspace.File:
			list = append(list, guest.Known{Path: e.Path, Digest: e.Digest, Exec: e.Mode&0o111 != 0, Size: e.Size})
		case workspace.Symlink:
			list = append(list, guest.Known{Path: e.Path})
		}
	}
	return list
}

// left combines what the box left behind with what the host did. Reasons from the box are in its own words.
func left(found workbench.Extract, skips []workspace.Skip) leftOver {
	l := leftOver{count: found.LeftCount}
	for _, f := range found.Left {
		l.named = append(l.named, run.DocumentLeft{Path: f.Path, Reason: f.Reason})
	}
	for _, s := range skips {
		if s.Quiet {
			l.quiet++
			continue
		}
		l.count++
		l.named = append(l.named, run.DocumentLeft{Path: s.Path, Reason: s.Reason})
	}
	l.named = l.named[:min(len(l.named), maxNamed)]
	slices.SortStableFunc(l.named, func(a, b run.DocumentLeft) int { return strings.Compare(a.Path, b.Path) })
	return l
}

// notes tells people what was left behind.
func (l leftOver) notes() (list []string) {
	const most = 5
	if l.count > 0 {
		var parts []string
		for _, n := range l.named[:min(len(l.named), most)] {
			parts = append(parts, path.Clean(n.Path)+" ("+n.Reason+")")
		}
		text := "left out of the patch: " + strings.Join(parts, ", ")
		if more := l.count - len(parts); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		list = append(list, text)
	}
	if l.quiet > 0 {
		list = append(list, fmt.Sprintf("left out of the patch: %s in caches or ignored by git", run.Count(l.quiet, "file")))
	}
	return list
}
