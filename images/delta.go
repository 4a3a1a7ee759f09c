package images

import (
	"context"
	"errors"
	"io/fs"
	"path"
)

// Bounds of a Delta. It is sent to every box anew, some ten of them for a patch: within these bounds that takes each box no
// more than a few hundredths of a second, and the host holds little of it in memory.
const (
	maxDeltaFiles = 256
	maxDeltaBytes = 8 << 20 // of content, before and after
)

// everyone may read all files of a snapshot.
const everyone fs.FileMode = 0o444

// A Delta turns one tree into another. First the deleted files go, with the directories that this leaves empty; then the
// written files come, with the directories that they need. Both lists contain regular files, sorted by path.
type Delta struct {
	Delete []string
	// Write has the modes that the files have in a snapshot.
	Write []File
}

// Near finds the snapshot of tree in a workspace, or the snapshot of an earlier tree and the Delta that turns it into tree,
// if at most 256 files and 8 MiB suffice. It builds nothing: the error wraps ErrAbsent if Snapshot must build. Near calls
// earlier only if tree itself has no snapshot; earlier may return nil.
func (b *Builder) Near(ctx context.Context, toolchain Image, tree Tree, workspace string, earlier func() Tree) (Image, Delta, error) {
	img, err := b.findSnapshot(ctx, toolchain, tree, workspace)
	if !errors.Is(err, ErrAbsent) {
		return img, Delta{}, err
	}
	was := earlier()
	if was == nil {
		return Image{}, Delta{}, err
	}
	// The links count: if one comes or goes with what the workspace has there, the image differs.
	d, ok := difference(withLinks(was, toolchain.links).Files(), withLinks(tree, toolchain.links).Files())
	if !ok {
		return Image{}, Delta{}, err
	}
	img, err = b.findSnapshot(ctx, toolchain, was, workspace)
	return img, d, err
}

// difference returns the Delta from old to now. ok is false if that is too much, or involves more than files: a link, a
// directory that is empty on one side only, or another kind of entry under the same path.
func difference(old, now []File) (d Delta, ok bool) {
	filledOld, filledNow := filled(old), filled(now)
	bytes := int64(0)
	for len(old)+len(now) > 0 {
		var was, is File
		// Both are sorted.
		before := len(now) == 0 || len(old) > 0 && old[0].Path <= now[0].Path
		after := len(old) == 0 || len(now) > 0 && now[0].Path <= old[0].Path
		if before {
			was, old = old[0], old[1:]
		}
		if after {
			is, now = now[0], now[1:]
		}
		switch {
		case before && after && was.Mode.Type() != is.Mode.Type():
			return Delta{}, false
		case was.Mode.IsDir() || is.Mode.IsDir():
			// Directories that contain something come and go with it.
			hollow, bare := before && !filledOld[was.Path], after && !filledNow[is.Path]
			if bare && !hollow || hollow && !after {
				return Delta{}, false
			}
			continue
		case before && after && was.Mode.Perm()|everyone == is.Mode.Perm()|everyone && was.Digest == is.Digest && was.Target == is.Target:
			continue
		case (was.Mode | is.Mode).Type() != 0:
			return Delta{}, false
		case after:
			is.Mode |= everyone
			d.Write = append(d.Write, is)
		default:
			d.Delete = append(d.Delete, was.Path)
		}
		bytes += was.Size + is.Size
		if len(d.Write)+len(d.Delete) > maxDeltaFiles || bytes > maxDeltaBytes {
			return Delta{}, false
		}
	}
	return d, true
}

// filled returns the directories that contain something.
func filled(files []File) map[string]bool {
	dirs := map[string]bool{}
	for _, f := range files {
		dirs[path.Dir(f.Path)] = true
	}
	return dirs
}
