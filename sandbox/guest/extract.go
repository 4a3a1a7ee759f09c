package guest

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Rules say what is extracted from /work, and how much.
type Rules struct {
	// Skip are names of directories that the guest does not enter.
	Skip []string `json:"skip"`
	// MaxFile is the size of the largest file in bytes; a larger one is left behind.
	MaxFile int64 `json:"max_file"`
	// MaxFiles and MaxBytes bound the number of changed files and their total size. More is a Problem.
	MaxFiles int   `json:"max_files"`
	MaxBytes int64 `json:"max_bytes"`
	// MaxDepth is how many directories may lie above a file.
	MaxDepth int `json:"max_depth"`
}

// A Known is a file or a link of the snapshot, as the host knows it. The stream after Rules has one JSON text for each.
type Known struct {
	Path string `json:"p"`
	// Digest is the hex SHA-256 of the content, "" for a link.
	Digest string `json:"d,omitempty"`
	// Exec says that someone may execute it.
	Exec bool  `json:"x,omitempty"`
	Size int64 `json:"n,omitempty"`
}

// MaxLeft is how many of the things left behind Extracted names.
const MaxLeft = 100

// An Extracted ends the tar stream of the regular files that changed.
type Extracted struct {
	// Gone are the known paths at which nothing is left.
	Gone []string `json:"gone,omitempty"`
	// Left is what changed and is not extracted, by path: the first MaxLeft of LeftCount.
	Left      []Left `json:"left,omitempty"`
	LeftCount int    `json:"left_count,omitempty"`
	// Problem says why the extraction is incomplete, in which case none of it is usable.
	Problem string `json:"problem,omitempty"`
}

// A Left is something that no patch can hold.
type Left struct {
	Path string `json:"path"`
	// Reason is the cause, such as "symbolic link".
	Reason string `json:"reason"`
}

// MaxExtracted is the largest payload of an Extracted frame.
const MaxExtracted = 64 << 20

// An extraction walks one directory.
type extraction struct {
	root  *os.Root
	rules Rules
	known map[string]Known
	to    *tar.Writer
	// files and bytes count what was written.
	files int
	bytes int64
	found Extracted
}

// A boundError ends an extraction that exceeds its bounds.
type boundError struct{ text string }

func (e *boundError) Error() string { return e.text }

// extract writes what differs below dir from the known files as a tar stream, and returns the rest of the answer.
// Nothing else runs meanwhile. The error is that of out; anything wrong in dir is a Problem.
func extract(dir string, rules Rules, known io.Reader, out io.Writer) (Extracted, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Extracted{Problem: err.Error()}, nil
	}
	defer root.Close() // only read
	x := &extraction{root: root, rules: rules, known: map[string]Known{}, to: tar.NewWriter(out)}
	for from := json.NewDecoder(known); ; {
		var k Known
		err := from.Decode(&k)
		if err == io.EOF {
			break
		}
		if err != nil {
			return Extracted{Problem: "read the known files: " + err.Error()}, nil
		}
		if !slices.ContainsFunc(strings.Split(k.Path, "/"), func(part string) bool { return slices.Contains(rules.Skip, part) }) {
			x.known[k.Path] = k
		}
	}
	var bound *boundError
	switch err := x.walk(".", 0); {
	case errors.As(err, &bound):
		return Extracted{Problem: bound.text}, nil
	case err != nil:
		return Extracted{}, err
	}
	for name := range x.known {
		x.found.Gone = append(x.found.Gone, name)
	}
	slices.Sort(x.found.Gone)
	return x.found, x.to.Close()
}

// walk extracts one directory. What cannot be read is left behind, by name.
func (x *extraction) walk(dir string, depth int) error {
	entries, err := x.list(dir)
	if err != nil {
		x.leave(dir, "cannot be read")
		x.forgive(dir)
		return nil
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch mode := e.Type(); {
		case slices.Contains(x.rules.Skip, e.Name()):
		case !utf8.ValidString(name):
			x.leave(strconv.QuoteToASCII(name), "its name is not UTF-8")
		case mode.IsDir() && depth >= x.rules.MaxDepth:
			x.leave(name, "too deep")
			x.forgive(name)
		case mode.IsDir():
			err = x.walk(name, depth+1)
		case mode.IsRegular():
			err = x.file(name)
		default:
			x.special(name, mode)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list reads a directory. If the directory's owner took away its own permission to do so, list restores that.
func (x *extraction) list(dir string) ([]fs.DirEntry, error) {
	place := filepath.FromSlash(dir)
	entries, err := fs.ReadDir(x.root.FS(), place)
	if errors.Is(err, fs.ErrPermission) && x.root.Chmod(place, 0o700) == nil {
		entries, err = fs.ReadDir(x.root.FS(), place)
	}
	return entries, err
}

// forgive counts what is known at and below name as unchanged, because it was not examined.
func (x *extraction) forgive(name string) {
	for known := range x.known {
		if known == name || name == "." || strings.HasPrefix(known, name+"/") {
			delete(x.known, known)
		}
	}
}

// special records what is not a regular file. A link that was known counts as the same link; its target does not matter
// here.
func (x *extraction) special(name string, mode fs.FileMode) {
	was, known := x.known[name]
	delete(x.known, name)
	if known && was.Digest == "" && mode&fs.ModeSymlink != 0 {
		return
	}
	x.leave(name, kindOf(mode))
}

// leave records what is left behind.
func (x *extraction) leave(name, reason string) {
	x.found.LeftCount++
	if len(x.found.Left) < MaxLeft {
		x.found.Left = append(x.found.Left, Left{name, reason})
	}
}

// file writes a regular file to the stream if it differs from what is known.
func (x *extraction) file(name string) error {
	was, known := x.known[name]
	delete(x.known, name)
	f, info, err := x.open(name)
	if err != nil {
		x.leave(name, "cannot be read")
		return nil
	}
	defer f.Close() // only read
	exec := info.Mode()&0o111 != 0
	if known && was.Digest != "" && was.Size == info.Size() && was.Exec == exec {
		h := sha256.New()
		if _, err := io.Copy(h, io.LimitReader(f, was.Size)); err == nil && hex.EncodeToString(h.Sum(nil)) == was.Digest {
			return nil
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	if info.Size() > x.rules.MaxFile {
		x.leave(name, fmt.Sprintf("%d bytes, and a file in a patch may have %d", info.Size(), x.rules.MaxFile))
		return nil
	}
	if x.files++; x.files > x.rules.MaxFiles {
		return &boundError{fmt.Sprintf("more than %d files changed", x.rules.MaxFiles)}
	}
	if x.bytes += info.Size(); x.bytes > x.rules.MaxBytes {
		return &boundError{fmt.Sprintf("the changed files have more than %d MiB in total", x.rules.MaxBytes>>20)}
	}
	head := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: info.Size(), Mode: 0o644}
	if exec {
		head.Mode = 0o755
	}
	if err := x.to.WriteHeader(head); err != nil {
		return err
	}
	_, err = io.CopyN(x.to, f, info.Size())
	return err
}

// open opens a regular file. If the file's owner took away its own permission to read it, open restores that.
func (x *extraction) open(name string) (*os.File, fs.FileInfo, error) {
	place := filepath.FromSlash(name)
	info, err := x.root.Lstat(place)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil, errors.Join(err, fs.ErrInvalid)
	}
	f, err := x.root.Open(place)
	if errors.Is(err, fs.ErrPermission) && x.root.Chmod(place, info.Mode().Perm()|0o400) == nil {
		f, err = x.root.Open(place)
	}
	return f, info, err
}
