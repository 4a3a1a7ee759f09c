package checkpoint

import (
	"context"
	"fmt"
	"maps"

	"agent/cmd/agent/internal/term"
	"agent/sandbox/workspace"
)

// responseName is the file name of a response in the editor, which determines its colours.
const responseName = "edits.txt"

// A draft is a person's version of a candidate, whether or not anything came of it. The next edit starts from it:
// nothing that was typed is lost.
type draft struct {
	of    string // digest of the candidate
	texts map[string][]byte
}

// edit opens texts in the user's editor, in the version of the draft, and returns those that then differ from texts. It
// returns nil if none differ. It also returns nil if the editor ended with an error, which it reports.
func (d *draft) edit(ctx context.Context, c *term.Console, of string, texts map[string][]byte) map[string][]byte {
	if d.texts == nil || d.of != of {
		d.of, d.texts = of, map[string][]byte{}
	}
	given := maps.Clone(texts)
	for name, text := range d.texts {
		if _, ok := given[name]; ok {
			given[name] = text
		}
	}
	edited, err := c.EditTexts(ctx, given)
	for name, text := range edited {
		given[name] = text
		d.texts[name] = text
	}
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		fmt.Fprintln(c.Stderr, "agent:", err)
		if len(edited) > 0 {
			fmt.Fprintln(c.Stderr, "your text is kept; edit again to continue from it")
		}
		return nil
	}
	maps.DeleteFunc(given, func(name string, text []byte) bool { return string(text) == string(texts[name]) })
	if len(given) == 0 {
		fmt.Fprintln(c.Stderr, "nothing was changed")
	}
	return given
}

// editResponse lets the user edit the response that produced a candidate, and returns nil if that changed nothing.
func (d *draft) editResponse(ctx context.Context, c *term.Console, of string, response []byte) []byte {
	return d.edit(ctx, c, of, map[string][]byte{responseName: response})[responseName]
}

// editCode lets the user edit the files as a candidate leaves them, and returns the changes as a diff, or nil if there
// are none.
func (d *draft) editCode(ctx context.Context, c *term.Console, of string, cs workspace.Changeset) []byte {
	// A deleted file has no code; to get it back, the user skips the patch.
	files, modes := map[string][]byte{}, map[string]workspace.Change{}
	for _, ch := range cs.Changes {
		if ch.Op != workspace.Delete {
			files[ch.Path], modes[ch.Path] = ch.After, ch
		}
	}
	// The changes go back like any patch and are judged like one: the editor is no way around the gate.
	var more workspace.Changeset
	for name, text := range d.edit(ctx, c, of, files) {
		more.Changes = append(more.Changes, workspace.Change{
			Op: workspace.Modify, Path: name, Before: files[name], After: text, Mode: modes[name].Mode,
		})
	}
	if more.Empty() {
		return nil
	}
	return []byte(more.Diff())
}
