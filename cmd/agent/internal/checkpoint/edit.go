package checkpoint

import (
	"context"

	"agent/cmd/agent/internal/term"
	"agent/sandbox/workspace"
)

// editResponse has the user edit the response that made a candidate; nil
// when that changed nothing.
func editResponse(ctx context.Context, c *term.Console, response []byte) []byte {
	// The name gives editors their colours.
	edited := c.EditTexts(ctx, map[string][]byte{"edits.xml": response})
	return edited["edits.xml"]
}

// editCode has the user edit the files as a candidate leaves them, and
// returns what that changed as a diff; nil for nothing.
func editCode(ctx context.Context, c *term.Console, cs workspace.Changeset) []byte {
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
	for name, text := range c.EditTexts(ctx, files) {
		more.Changes = append(more.Changes, workspace.Change{
			Op: workspace.Modify, Path: name, Before: files[name], After: text, Mode: modes[name].Mode,
		})
	}
	if more.Empty() {
		return nil
	}
	return []byte(more.Diff())
}
