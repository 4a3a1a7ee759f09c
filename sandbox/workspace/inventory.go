package workspace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// inventory is a manifest as it outlives its workspace: what it says of the files, and what it left out of the
// workspace, but nothing about places and times. With depends on Skipped and Exclude: without them, the workspace with
// a candidate would differ between a replay and the run.
type inventory struct {
	Entries []line   `json:"entries"`
	Skipped []Skip   `json:"skipped,omitempty"`
	Exclude []string `json:"exclude,omitempty"`
}

// A line is one entry of an inventory. Digest is the digest of a file's content, or of the text Target of a link; a
// directory has none. Mode has permission bits only.
type line struct {
	Path   string      `json:"path"`
	Kind   Kind        `json:"kind"`
	Mode   fs.FileMode `json:"mode"`
	Size   int64       `json:"size,omitempty"`
	Digest string      `json:"sha256,omitempty"`
	Target string      `json:"target,omitempty"`
}

// Inventory returns the text from which, with the contents, Rebuild makes the workspace again: the same bytes for the
// same content. Its entries are in the order of the manifest, by path.
func (m *Manifest) Inventory() ([]byte, error) {
	const others = `{"entries":` // what the text begins with, followed by null if there are none
	text, err := json.Marshal(inventory{Skipped: m.Skipped, Exclude: m.exclude})
	end, found := bytes.CutPrefix(text, []byte(others+"null"))
	if err != nil || !found || len(m.Entries) == 0 {
		return text, err
	}
	// One entry after the other: as one value, a large workspace would be in memory five times.
	size := len(text)
	for _, e := range m.Entries {
		size += len(e.Path) + len(e.Digest) + len(e.Target) + lineSize
	}
	var b bytes.Buffer
	b.Grow(size)
	b.WriteString(others)
	to, before := json.NewEncoder(&b), byte('[')
	for _, e := range m.Entries {
		b.WriteByte(before)
		if err := to.Encode(line{e.Path, e.Kind, e.Mode.Perm(), e.Size, e.Digest, e.Target}); err != nil {
			return nil, err
		}
		b.Truncate(b.Len() - 1) // the line's end
		before = ','
	}
	b.WriteByte(']')
	b.Write(end)
	return b.Bytes(), nil
}

// lineSize is roughly what a line takes besides its texts.
const lineSize = 64

// Contents lists the digests of the files of an inventory, each once, in their order. After an error the list is not
// usable.
func Contents(text []byte) ([]string, error) {
	inv, err := readInventory(text)
	var list []string
	seen := map[string]bool{}
	for _, e := range inv.Entries {
		if e.Kind == File && !seen[e.Digest] {
			seen[e.Digest] = true
			list = append(list, e.Digest)
		}
	}
	return list, err
}

// Rebuild makes the workspace of an inventory in dir, which must be empty and the caller's own, and returns its
// manifest. It trusts nothing in the inventory: a name that Scan would not return, an entry without its directory, or a
// content that does not match its digest is an error, and it writes nothing outside dir. Directories stay open to their
// owner, whatever their bits, so that dir can be removed.
//
// The manifest has no times, as the inventory has none. After an error dir holds a part of the workspace, for the
// caller to remove. A link leads where it led: Rebuild follows none, and readers of the workspace must not either.
func Rebuild(dir string, text []byte, content func(digest string) ([]byte, error)) (*Manifest, error) {
	inv, err := readInventory(text)
	if err != nil {
		return nil, err
	}
	// The manifest's root is a real path, as in a scan; a temporary directory may lie behind a link.
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, err
	}
	defer root.Close() // nothing is written through it
	m := &Manifest{Root: real, Skipped: inv.Skipped, exclude: inv.Exclude}
	for _, e := range inv.Entries {
		if err := e.place(root, content); err != nil {
			return nil, fmt.Errorf("rebuild %q: %w", e.Path, err)
		}
		m.Entries = append(m.Entries, Entry{Path: e.Path, Kind: e.Kind, Mode: e.Mode, Size: e.Size, Digest: e.Digest, Target: e.Target})
	}
	return m, nil
}

// readInventory decodes an inventory and checks all of it before anything is made. Paths must rise, so that none occurs
// twice. A parent comes before its children and must be a directory, so that no entry lies behind a link of the same
// inventory. The error wraps a *PathError if one entry is to blame.
func readInventory(text []byte) (inventory, error) {
	var inv inventory
	if err := json.Unmarshal(text, &inv); err != nil {
		return inv, fmt.Errorf("read the inventory: %w", err)
	}
	dirs, last, size := map[string]bool{".": true}, "", int64(0)
	for _, e := range inv.Entries {
		reason := e.refusal()
		switch {
		case reason != "":
		case e.Path <= last:
			reason = "it is listed twice, or out of order"
		case e.Size > maxBytes: // so that no sum of them overflows
			reason = "it is larger than a whole scan may be"
		case !dirs[path.Dir(e.Path)]:
			reason = "its parent is not a directory"
		}
		if reason != "" {
			return inv, fmt.Errorf("read the inventory: %w", &PathError{Path: e.Path, Reason: reason})
		}
		last, dirs[e.Path] = e.Path, e.Kind == Dir
		size += e.Size
	}
	// Sizes are claims until place compares them. This bound on their sum limits what an honest inventory writes; each
	// size limits what is read for its file.
	if len(inv.Entries) > maxFiles || size > maxBytes {
		return inv, fmt.Errorf("read the inventory: %d entries with %d MiB exceed the limits of a scan", len(inv.Entries), size>>20)
	}
	return inv, nil
}

// refusal says why no scan would return the line, or "" if one may. It checks the form of the digest, since the digest
// may become part of a name by which a content is looked up.
func (e line) refusal() string {
	hex := len(e.Digest) == 64 && strings.Trim(e.Digest, "0123456789abcdef") == ""
	switch {
	case !filepath.IsLocal(e.Path), path.Clean(e.Path) != e.Path, e.Path == ".", len(e.Path) > maxPath, strings.Contains(e.Path, "\x00"):
		return "it is not a plain path inside the workspace"
	// Programs on the host look into a repository for what to run.
	case strings.Contains("/"+strings.ToLower(e.Path)+"/", "/.git/"), strings.Split(e.Path, "/")[0] == ".agent":
		return "a scan leaves it out"
	case e.Mode&^fs.ModePerm != 0, e.Size < 0, e.Size > 0 && e.Kind != File:
		return "its mode or size is impossible"
	case e.Kind == File && hex, e.Kind == Dir && e.Digest == "", e.Kind == Symlink && e.Digest == Digest([]byte(e.Target)):
		return ""
	}
	return fmt.Sprintf("its digest %q is not one of a %s", e.Digest, e.Kind)
}

// place makes the line below root. The names are resolved by root and so stay below it, even if another process puts a
// link in their way. Exclusive creation makes it an error if a file system takes two of the names for one.
func (e line) place(root *os.Root, content func(digest string) ([]byte, error)) error {
	switch e.Kind {
	case Dir:
		return root.Mkdir(e.Path, e.Mode|0o700)
	case Symlink:
		return root.Symlink(e.Target, e.Path)
	}
	// The whole file is in memory: content bounds its size.
	data, err := content(e.Digest)
	if err != nil {
		return err
	}
	if int64(len(data)) != e.Size || Digest(data) != e.Digest {
		return errors.New("its content does not match its digest")
	}
	f, err := root.OpenFile(e.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	// The mode must not depend on the umask of the process.
	return errors.Join(err, f.Chmod(e.Mode|0o400), f.Close())
}
