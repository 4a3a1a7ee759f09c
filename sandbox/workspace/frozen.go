package workspace

import (
	"bytes"
	"encoding/gob"
	"io"
	"strings"
)

// frozenEnd ends the name of the file that KeepFrozen writes, next to the file for scans of the root.
const frozenEnd = ".frozen"

// KeepFrozen keeps the manifest for Frozen, as that of the newest snapshot of its workspace. It returns no error, since
// a failure only costs time later.
func (m *Manifest) KeepFrozen() { userCache(m.Root).keepFrozen(m) }

// keepFrozen writes the root, then one entry after the other.
func (c cache) keepFrozen(m *Manifest) {
	if c.file == "" {
		return
	}
	var body bytes.Buffer
	to := gob.NewEncoder(&body)
	err := to.Encode(m.Root)
	for i := range m.Entries {
		if err == nil {
			err = to.Encode(m.Entries[i])
		}
	}
	if err == nil {
		seal(c.file+frozenEnd, body.Bytes())
	}
}

// Frozen returns the manifest that KeepFrozen kept last for the workspace at root, or nil if there is none. Trust it
// only as far as a snapshot on the engine has its Digest: the user can change the file.
func Frozen(root string) *Manifest { return userCache(root).frozen() }

// frozen is the inverse of keepFrozen.
func (c cache) frozen() *Manifest {
	if c.file == "" {
		return nil
	}
	m := &Manifest{}
	from := gob.NewDecoder(strings.NewReader(unseal(c.file + frozenEnd)))
	if err := from.Decode(&m.Root); err != nil || m.Root != c.root {
		return nil
	}
	for {
		var e Entry
		switch err := from.Decode(&e); err {
		case nil:
			m.Entries = append(m.Entries, e)
		case io.EOF:
			return m
		default:
			return nil
		}
	}
}
