package selfbuild

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent/images"
)

// keepVersions is how many versions stay, the current and the previous one among them.
const keepVersions = 5

// pod is the directory of a version.
func (j *Journal) pod(name string) string { return filepath.Join(j.dir, "versions", name) }

// keepSource writes the source of a version outside of every workspace. What a killed process left half-written is
// replaced.
func (j *Journal) keepSource(v Version, tree images.Tree) (err error) {
	if err := os.MkdirAll(j.pod(v.Name()), 0o700); err != nil {
		return fmt.Errorf("keep the source: %w", err)
	}
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
func (j *Journal) keepVersion(v Version) error {
	if err := writeFile(filepath.Join(j.pod(v.Name()), "version.json"), v); err != nil {
		return fmt.Errorf("keep version %s: %w", v.Name(), err)
	}
	return nil
}

// readVersion reads what keepVersion wrote.
func readVersion(pod string) (v Version, err error) {
	text, err := os.ReadFile(filepath.Join(pod, "version.json"))
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	return v, err
}

// Versions lists the versions that are kept in dir, the newest first. Those that never proved themselves are none.
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

// Differences lists the paths in which a tree is not what the version of dir was built from.
func Differences(dir string, v Version, tree images.Tree) ([]string, error) {
	f, err := os.Open(filepath.Join(dir, "versions", v.Name(), "source.tar"))
	if err != nil {
		return nil, fmt.Errorf("read the source of version %s: %w", v.Name(), err)
	}
	defer f.Close()
	was := map[string]string{}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the source of version %s: %w", v.Name(), err)
		}
		if h.Typeflag == tar.TypeDir {
			continue
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, io.MultiReader(r, strings.NewReader(h.Linkname))); err != nil {
			return nil, fmt.Errorf("read the source of version %s: %w", v.Name(), err)
		}
		was[h.Name] = fmt.Sprintf("%o %x", h.Mode, sum.Sum(nil))
	}
	var paths []string
	for _, f := range tree.Files() {
		if !f.Mode.IsDir() && was[f.Path] != fmt.Sprintf("%o %s", f.Mode.Perm(), f.Digest) {
			paths = append(paths, f.Path)
		}
		delete(was, f.Path)
	}
	return slices.Concat(paths, slices.Sorted(maps.Keys(was))), nil
}

// prune drops the oldest versions beyond what stays.
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

// drop removes a version: its tag, and with it the image where nothing else has it, and its source.
func (j *Journal) drop(ctx context.Context, name string) error {
	if err := j.tags.RemoveImage(ctx, j.name+":"+name); err != nil {
		return fmt.Errorf("remove version %s: %w", name, err)
	}
	return os.RemoveAll(j.pod(name))
}
