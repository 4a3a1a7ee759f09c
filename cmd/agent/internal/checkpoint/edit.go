package checkpoint

import (
	"context"
	"fmt"
	"maps"

	"agent/cmd/agent/internal/term"
	"agent/sandbox/workspace"
)

// responseName is the name of a response in the editor, which gives it its colours.
const responseName = "edits.txt"

// A draft is what a person made of a candidate, whether or not anything came of it. It is
// where the next edit begins: nothing that was typed is thrown away.
type draft struct {
	of    string // digest of the candidate
	texts map[string][]byte
}

// edit gives texts to the user's editor, as the draft of them has it, and returns those that
// differ from texts then; nil for none, and where the editor ended with an error, which is told.
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
			fmt.Fprintln(c.Stderr, "your text is kept: edit again to go on from it")
		}
		return nil
	}
	maps.DeleteFunc(given, func(name string, text []byte) bool { return string(text) == string(texts[name]) })
	if len(given) == 0 {
		fmt.Fprintln(c.Stderr, "nothing was changed")
	}
	return given
}

// editResponse has the user edit the response that made a candidate; nil
// when that changed nothing.
func (d *draft) editResponse(ctx context.Context, c *term.Console, of string, response []byte) []byte {
	return d.edit(ctx, c, of, map[string][]byte{responseName: response})[responseName]
}

// editCode has the user edit the files as a candidate leaves them, and
// returns what that changed as a diff; nil for nothing.
func (d *draft) editCode(ctx context.Context, c *term.Console, of string, cs workspace.Changeset) []byte {
	// A deleted file has no code; whoever wants it back skips the patch.
	files, modes := map[string][]byte{}, map[string]workspace.Change{}
	for _, ch := range cs.Changes {
		if ch.Op != workspace.Delete {
			files[ch.Path], modes[ch.Path] = ch.After, ch
		}
	}
	// What changed goes back as any patch does, and is judged as one: the
	// editor is no way around the gate.
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
