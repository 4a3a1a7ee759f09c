package selfbuild

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"agent/images"
)

// keepVersions is how many versions stay, including the current and the previous one. Images share their lower layers, and one costs
// about the size of the program.
const keepVersions = 5

// pod returns the directory of a version. name is from Version.Name: hex digits, so the path cannot lead elsewhere.
func (j *Journal) pod(name string) string { return filepath.Join(j.dir, "versions", name) }

// keepSource writes the source of a version outside of every workspace, and replaces what a killed process left half-written. The
// source is on the disk when keepSource returns. The directory then has no version.json: only a version that proved itself has one,
// which is how others can tell.
func (j *Journal) keepSource(v Version, tree images.Tree) (err error) {
	if err := os.MkdirAll(j.pod(v.Name()), 0o700); err != nil {
		return fmt.Errorf("keep the source: %w", err)
	}
	// Exclusive at first: a failing build of the same source must not empty the source of a version that is kept.
	f, err := os.OpenFile(filepath.Join(j.pod(v.Name()), "source.tar"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		// An image exists only if its source is whole; the same digest means the same bytes.
		if _, err := readVersion(j.pod(v.Name())); err == nil {
			return nil
		}
		f, err = os.OpenFile(filepath.Join(j.pod(v.Name()), "source.tar"), os.O_TRUNC|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the source: %w", err)
	}
	// Deferred until after the footer, which Close of the archive writes below.
	defer func() { err = errors.Join(err, f.Sync(), f.Close()) }()
	w := tar.NewWriter(f)
	for _, file := range tree.Files() {
		if err := addFile(w, tree, file); err != nil {
			return fmt.Errorf("keep %s of the source: %w", file.Path, err)
		}
	}
	return w.Close()
}

// addFile writes one entry. It has no times, so that one source is one archive, and no owners, which are those of the machine. A file
// that no longer has the size that the tree says is an error of the archive, since its header is written first.
func addFile(w *tar.Writer, tree images.Tree, f images.File) error {
	h := &tar.Header{Name: f.Path, Mode: int64(f.Mode.Perm()), Size: f.Size, Linkname: f.Target, Typeflag: tar.TypeReg}
	switch {
	case f.Mode.IsDir():
		h.Typeflag, h.Size = tar.TypeDir, 0
	case f.Mode&fs.ModeSymlink != 0:
		h.Typeflag, h.Size = tar.TypeSymlink, 0
	}
	if err := w.WriteHeader(h); err != nil || h.Typeflag != tar.TypeReg {
		return err
	}
	r, err := tree.Open(f.Path)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, r.Close())
}

// keepVersion writes what is known about a version next to its source. It is replaced like the journal, so that a directory is either a
// version or not, and never half of one.
func (j *Journal) keepVersion(v Version) error {
	if err := writeFile(filepath.Join(j.pod(v.Name()), "version.json"), v); err != nil {
		return fmt.Errorf("keep version %s: %w", v.Name(), err)
	}
	return nil
}

// readVersion reads what keepVersion wrote. The error wraps fs.ErrNotExist if nothing proved itself, or has not finished doing so.
func readVersion(pod string) (v Version, err error) {
	text, err := os.ReadFile(filepath.Join(pod, "version.json"))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	return v, err
}

// Versions lists the versions that are kept in dir, newest first, without those that never proved themselves. It takes no lock. It
// skips a directory without a file; a file that cannot be read is an error and not a missing version, since prune relies on this list.
func Versions(dir string) ([]Version, error) {
	pods, err := filepath.Glob(filepath.Join(dir, "versions", "*"))
	if err != nil {
		return nil, err
	}
	var list []Version
	for _, pod := range pods {
		v, err := readVersion(pod)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read version %s: %w", filepath.Base(pod), err)
		}
		list = append(list, v)
	}
	slices.SortStableFunc(list, func(a, b Version) int { return b.Built.Compare(a.Built) })
	return list, nil
}

// prune drops the oldest versions beyond keepVersions. The current and the previous version stay however old they are: after rollbacks
// they need not be the newest.
func (j *Journal) prune(ctx context.Context) error {
	list, err := Versions(j.dir)
	if err != nil {
		return err
	}
	for n, v := range list {
		if n >= keepVersions && !j.state.holds(v) {
			if err := j.drop(ctx, v.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

// sweep drops what was kept of killed attempts: a source without a version. No attempt is in progress then, whose source would look the
// same.
func (j *Journal) sweep(ctx context.Context) error {
	pods, err := filepath.Glob(filepath.Join(j.dir, "versions", "*"))
	for _, pod := range pods {
		if _, absent := os.Stat(filepath.Join(pod, "version.json")); errors.Is(absent, fs.ErrNotExist) && !j.state.holds(Version{Source: filepath.Base(pod)}) {
			err = errors.Join(err, j.drop(ctx, filepath.Base(pod)))
		}
	}
	return err
}

// drop removes a version: its tag, with it the image if nothing else uses that, and its source. The tag goes first: a version without
// its image is still listed, so the next prune drops it again, while nothing would find an image without its version.
func (j *Journal) drop(ctx context.Context, name string) error {
	if err := j.tags.RemoveImage(ctx, j.name+":"+name); err != nil {
		return fmt.Errorf("remove version %s: %w", name, err)
	}
	return os.RemoveAll(j.pod(name))
}
