package edit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A jsonChange is one item of a JSON patch.
//
// Content is a pointer because an empty file and a missing field are
// different things.
type jsonChange struct {
	Path    string  `json:"path"`
	From    string  `json:"from"`
	Action  string  `json:"action"`
	Content *string `json:"content"`
}

// jsonPatch is a JSON patch in its object form. What an author says beside
// the changes is read and ignored; anything else is refused, since a field
// that means something must not be left out silently.
type jsonPatch struct {
	Changes       []jsonChange    `json:"changes"`
	CommitMessage json.RawMessage `json:"commit_message"`
	Message       json.RawMessage `json:"message"`
	Thought       json.RawMessage `json:"thought"`
	Summary       json.RawMessage `json:"summary"`
}

// parseJSON reads [{"path","action","content"}, …] or {"changes": […]}.
// Actions are create, modify, delete, and rename with "from".
//
// Nothing is repaired: a trailing comma or a bare quote may be the place
// where something was lost, and whole contents leave no context by which a
// loss would show.
func parseJSON(text string) ([]*operation, error) {
	var patch jsonPatch
	var into any = &patch
	if strings.HasPrefix(text, "[") {
		into = &patch.Changes
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, refuse(Problem{Kind: kindTruncated, Reason: "the JSON ends before it is complete: the response was cut off", Advice: "send the whole response again"})
		}
		return nil, refuse(Problem{Kind: kindParse, Reason: "the JSON patch is not valid: " + err.Error(), Advice: jsonAdvice})
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, refuse(Problem{Kind: kindParse, Reason: "text follows the JSON patch", Advice: "send one JSON document and nothing else"})
	}
	ops := make([]*operation, 0, len(patch.Changes))
	for i, c := range patch.Changes {
		op, reason := c.operation()
		if reason != "" {
			return nil, refuse(Problem{Block: i + 1, Path: c.Path, Kind: kindParse, Reason: reason, Advice: jsonAdvice})
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// jsonAdvice shows the form.
const jsonAdvice = `send [{"path":"PATH","action":"create|modify|delete|rename","content":"whole content","from":"old path of a rename"}]`

// operation translates one item, or says what is wrong with it.
func (c jsonChange) operation() (*operation, string) {
	op := &operation{path: c.Path, from: c.From}
	if c.Path == "" {
		return nil, "a change has no path"
	}
	if c.Content != nil {
		op.text = *c.Content
	}
	switch strings.ToLower(c.Action) {
	case "create":
		op.kind = opCreate
	case "modify":
		op.kind = opWhole
	case "delete":
		op.kind = opDelete
	case "rename":
		op.kind = opRename
	default:
		return nil, fmt.Sprintf("the action %q is none of create, modify, delete and rename", c.Action)
	}
	needs := op.kind == opCreate || op.kind == opWhole
	switch {
	case needs && c.Content == nil:
		return nil, "the content is missing"
	case !needs && op.text != "":
		return nil, "a delete or rename has no content; send the new content as a change of its own"
	case (op.kind == opRename) != (c.From != ""):
		return nil, `"from" belongs to a rename, and to nothing else`
	}
	return op, ""
}
