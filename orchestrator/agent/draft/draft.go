// Package draft holds the change that a model is working on: a changeset over a snapshot, which only the edit engine
// makes.
//
// It lives on the host, whatever boxes try in the meantime. It takes a response as a candidate does: completely or not
// at all, under the same rules for paths. It starts nothing, writes to no workspace, and judges nothing: at the end a
// gate gets [Draft.Response] like any other answer.
package draft

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"agent/orchestrator/edit"
	"agent/orchestrator/edit/problem"
	"agent/orchestrator/gate"
	"agent/sandbox/workspace"
)

// A Draft is a changeset that grows. It is safe for concurrent use.
type Draft struct {
	base *workspace.Manifest

	mu      sync.Mutex // guards the fields below
	changes workspace.Changeset
	now     *workspace.Manifest
}

// New returns a draft over base without a change.
func New(base *workspace.Manifest) *Draft { return &Draft{base: base, now: base} }

// Now returns the workspace as the draft leaves it. The result does not follow later changes.
func (d *Draft) Now() *workspace.Manifest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

// Changes returns what the draft does to its base.
func (d *Draft) Changes() workspace.Changeset {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changes
}

// Apply applies a response in any form of the edit engine. After an error, which comes from [gate.Revise], the draft is
// as it was.
func (d *Draft) Apply(response []byte) ([]edit.Applied, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	cs, applied, err := gate.Revise(d.base, d.changes, response, "")
	if err != nil {
		return nil, err
	}
	d.changes, d.now = cs, d.base.With(cs)
	return applied, nil
}

// Since returns the diff from an earlier state of the draft, as Now returned it, to the present one.
func (d *Draft) Since(earlier *workspace.Manifest) (string, error) {
	cs, err := between(earlier, d.Now())
	return cs.Diff(), err
}

// between returns the changes of files from one state to another. The entries of both are sorted by path.
func between(from, to *workspace.Manifest) (cs workspace.Changeset, err error) {
	a, b := from.Entries, to.Entries
	for len(a) > 0 || len(b) > 0 {
		var c workspace.Change
		switch {
		case len(b) == 0 || len(a) > 0 && a[0].Path < b[0].Path:
			c, a = workspace.Change{Op: workspace.Delete, Path: a[0].Path, Mode: a[0].Mode.Perm()}, a[1:]
		case len(a) == 0 || b[0].Path < a[0].Path:
			c, b = workspace.Change{Op: workspace.Create, Path: b[0].Path, Mode: b[0].Mode.Perm()}, b[1:]
		default:
			switch {
			case a[0].Digest == b[0].Digest:
			case b[0].Kind != workspace.File:
				c = workspace.Change{Op: workspace.Delete, Path: a[0].Path, Mode: a[0].Mode.Perm()}
			case a[0].Kind != workspace.File:
				c = workspace.Change{Op: workspace.Create, Path: b[0].Path, Mode: b[0].Mode.Perm()}
			default:
				c = workspace.Change{Op: workspace.Modify, Path: b[0].Path, Mode: b[0].Mode.Perm()}
			}
			a, b = a[1:], b[1:]
		}
		if c.Op == "" {
			continue
		}
		if c.Before, err = content(from, c.Path); err == nil {
			c.After, err = content(to, c.Path)
		}
		if err != nil {
			return cs, err
		}
		if c.Before != nil || c.After != nil { // a directory has neither
			cs.Changes = append(cs.Changes, c)
		}
	}
	return cs, nil
}

// content reads a file of a state, or returns nil if there is no such file.
func content(m *workspace.Manifest, name string) ([]byte, error) {
	if e, there := m.Lookup(name); !there || e.Kind != workspace.File {
		return nil, nil
	}
	data, err := m.ReadFile(name)
	return append([]byte{}, data...), err
}

// Response returns the draft as an answer: what is said about it, and the changes in a form from which the edit engine
// makes exactly the same changeset.
//
// That form is a diff, which people can read, or the word NOTHING if there is no change. If the diff does not give the
// same result, as with contents that are not text, the files are given whole. The engine has the last word: it keeps
// the byte order mark of a file that was deleted and then created without one.
func (d *Draft) Response(said string) ([]byte, error) {
	cs := d.Changes()
	thought := "<THOUGHT>\n" + plain(said) + "\n</THOUGHT>\n"
	if cs.Empty() {
		return []byte(thought + "NOTHING\n"), nil
	}
	diff := []byte(thought + cs.Diff())
	if made, _, err := gate.Revise(d.base, workspace.Changeset{}, diff, ""); err == nil && made.Digest() == cs.Digest() {
		return diff, nil
	}
	whole, err := whole(cs)
	if err == nil {
		_, _, err = gate.Revise(d.base, workspace.Changeset{}, whole, "")
	}
	if err != nil {
		return nil, fmt.Errorf("write the draft as an answer: %w", err)
	}
	return whole, nil
}

// maxSaid bounds what is said about a draft, in bytes.
const maxSaid = 4000

// plain returns a text on one line and without tags, so that it cannot be read as an edit.
func plain(said string) string {
	said = problem.Clip(said, maxSaid)
	return strings.NewReplacer("<", "‹", ">", "›").Replace(strings.Join(strings.Fields(strings.ToValidUTF8(said, "\ufffd")), " "))
}

// whole writes changes as JSON with complete contents.
func whole(cs workspace.Changeset) ([]byte, error) {
	type file struct {
		Action  string  `json:"action"`
		Path    string  `json:"path"`
		From    string  `json:"from,omitempty"`
		Content *string `json:"content,omitempty"`
	}
	var files []file
	for _, c := range cs.Changes {
		f := file{Path: c.Path, From: c.From}
		text := string(c.After)
		switch c.Op {
		case workspace.Create:
			f.Action, f.Content = "create", &text
		case workspace.Modify:
			f.Action, f.Content = "modify", &text
		case workspace.Delete:
			f.Action = "delete"
		case workspace.Rename:
			f.Action = "rename"
		}
		files = append(files, f)
	}
	return json.Marshal(map[string]any{"changes": files})
}
