package workspace

import (
	"bytes"
	"encoding/gob"
	"io"
	"strings"
)

// frozenEnd is the end of the name of the file that KeepFrozen writes, beside
// that of the scans of the root.
const frozenEnd = ".frozen"

// KeepFrozen keeps the manifest for Frozen, as that of the newest snapshot of
// its workspace. An error costs time later and nothing else, so there is none.
func (m *Manifest) KeepFrozen() { userCache(m.Root).keepFrozen(m) }

// keepFrozen writes the root, and then one entry after the other.
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

// Frozen returns the manifest that KeepFrozen kept last for the workspace at
// root, nil where none is known. It is to be believed as far as a snapshot on
// the engine has its Digest: what was kept is in the user's hands.
func Frozen(root string) *Manifest { return userCache(root).frozen() }

// frozen is the reverse of keepFrozen.
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
