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

// keepVersions is how many versions stay, the current and the previous one among them.
// Images share what they stand on, and one costs about the size of the program.
const keepVersions = 5

// pod is the directory of a version.
// name is that of Version.Name: hex digits, and so no path that leads elsewhere.
func (j *Journal) pod(name string) string { return filepath.Join(j.dir, "versions", name) }

// keepSource writes the source of a version outside of every workspace. What a killed process left half-written is
// replaced.
// It is on the disk when this returns. The directory has no version.json then: only a version that proved itself has
// one, and by it others tell.
func (j *Journal) keepSource(v Version, tree images.Tree) (err error) {
	if err := os.MkdirAll(j.pod(v.Name()), 0o700); err != nil {
		return fmt.Errorf("keep the source: %w", err)
	}
	// Exclusively at first: the source of a version that is kept must not be emptied by a build of the same that fails.
	f, err := os.OpenFile(filepath.Join(j.pod(v.Name()), "source.tar"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		// An image is there only when its source is whole; the same digest is the same bytes.
		if _, err := readVersion(j.pod(v.Name())); err == nil {
			return nil
		}
		f, err = os.OpenFile(filepath.Join(j.pod(v.Name()), "source.tar"), os.O_TRUNC|os.O_WRONLY, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the source: %w", err)
	}
	// After the footer, which Close of the archive writes below.
	defer func() { err = errors.Join(err, f.Sync(), f.Close()) }()
	w := tar.NewWriter(f)
	for _, file := range tree.Files() {
		if err := addFile(w, tree, file); err != nil {
			return fmt.Errorf("keep %s of the source: %w", file.Path, err)
		}
	}
	return w.Close()
}

// addFile writes one entry. It has no times: one source is one archive.
// Owners are left out too: they are those of the machine. A file that is no longer of the size that the tree tells is
// an error of the archive, since its header is written first.
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

// keepVersion writes what is known of a version beside its source.
// It is replaced as the journal is, so that a directory is a version or is none, and never half of one.
func (j *Journal) keepVersion(v Version) error {
	if err := writeFile(filepath.Join(j.pod(v.Name()), "version.json"), v); err != nil {
		return fmt.Errorf("keep version %s: %w", v.Name(), err)
	}
	return nil
}

// readVersion reads what keepVersion wrote.
// The error wraps fs.ErrNotExist where nothing proved itself, or is still at it.
func readVersion(pod string) (v Version, err error) {
	text, err := os.ReadFile(filepath.Join(pod, "version.json"))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	return v, err
}

// Versions lists the versions that are kept in dir, the newest first. Those that never proved themselves are none.
// It takes no lock. A directory without a file is passed over; one whose file cannot be read is an error, and not a
// version less, as prune goes by this list.
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

// prune drops the oldest versions beyond what stays.
// The current and the previous version stay however old they are: after rollbacks they need not be the newest.
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

// sweep drops what was kept of attempts that were killed: a source without a version.
// No attempt goes on then, whose source would be one.
func (j *Journal) sweep(ctx context.Context) error {
	pods, err := filepath.Glob(filepath.Join(j.dir, "versions", "*"))
	for _, pod := range pods {
		if _, absent := os.Stat(filepath.Join(pod, "version.json")); errors.Is(absent, fs.ErrNotExist) && !j.state.holds(Version{Source: filepath.Base(pod)}) {
			err = errors.Join(err, j.drop(ctx, filepath.Base(pod)))
		}
	}
	return err
}

// drop removes a version: its tag, and with it the image where nothing else has it, and its source.
// The tag goes first: a version without its image is still listed, and so dropped again by the next prune, while an
// image without its version would be found by nobody.
func (j *Journal) drop(ctx context.Context, name string) error {
	if err := j.tags.RemoveImage(ctx, j.name+":"+name); err != nil {
		return fmt.Errorf("remove version %s: %w", name, err)
	}
	return os.RemoveAll(j.pod(name))
}
