package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent/orchestrator/edit/problem"
)

// editTool replaces lines of a file.
var editTool = Tool{
	Name: "edit", Alone: true,
	About: "Replace lines of a file. old are whole lines, copied exactly from the file, that occur at one place only: two to five are best. " +
		"new are the complete lines that take their place; leave it empty to remove them. Read the lines before you edit them.",
	Fields: []Field{
		{Name: "path", Kind: "string", About: "path of the file", Needed: true},
		{Name: "old", Kind: "string", About: "the lines to replace", Needed: true},
		{Name: "new", Kind: "string", About: "the lines in their place", Needed: true},
		{Name: "all", Kind: "boolean", About: "replace them at every place where they occur"},
	},
	run: func(_ context.Context, b *Bench, args []byte) (Answer, error) {
		a := arguments[struct {
			Path, Old, New string
			All            bool
		}](args)
		one := map[string]any{"oldText": a.Old, "newText": a.New}
		if a.All {
			one["replace_all"] = true
		}
		return b.change(map[string]any{"path": clean(a.Path), "edits": []any{one}}, "")
	},
}

// change has the edit engine change the draft. The answer is done, or says where lines were replaced; a refusal is an
// answer too.
func (b *Bench) change(what map[string]any, done string) (Answer, error) {
	text, err := json.Marshal(what)
	if err != nil {
		return Answer{}, err
	}
	applied, err := b.Draft.Apply(text)
	var refusal *problem.Refusal
	switch {
	case errors.As(err, &refusal):
		return failed("%s", reworded(refusal)), nil
	case err != nil:
		return failed("nothing was applied: %v", err), nil
	case done != "":
		return Answer{Head: done}, nil
	}
	var places []string
	for _, a := range applied {
		place := fmt.Sprintf("%s, line %d", a.Path, a.Line)
		if len(a.Kept) > 0 {
			place += " (kept, since they are used: " + strings.Join(a.Kept, ", ") + ")"
		}
		places = append(places, place)
	}
	return Answer{Head: "applied: " + strings.Join(places, "; ")}, nil
}

// fields translates what a refusal asks for into the terms of the tool.
var fields = strings.NewReplacer(`"oldText"`, "old", `"newText"`, "new", "oldText", "old", "newText", "new", "replace_all", "all",
	"SEARCH text", "old", "SEARCH", "old", "REPLACE", "new", "this block", "the edit", "the block", "the edit")

// reworded returns a refusal in the terms of a model that called the tool with one edit. Quoted lines of the file stay
// as they are.
func reworded(r *problem.Refusal) string {
	one := &problem.Refusal{Problems: slices.Clone(r.Problems)}
	for i, p := range one.Problems {
		p.Block, p.Reason, p.Advice = 0, fields.Replace(p.Reason), fields.Replace(p.Advice)
		one.Problems[i] = p
	}
	return one.Error()
}
