package edit

import (
	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/edit"
	"agent/orchestrator/edit/problem"
	"agent/orchestrator/run"
	"agent/sandbox/workspace/promotion"
	"agent/verify/policy"
)

type command struct{ *cmdline.Line }

// An editing is one patch on its way into a workspace, or to a diff only.
type editing struct {
	command
	// What was asked for. The directory is absolute, links resolved.
	dir     string
	exclude []string // patterns of what is left out, as for a run
	patch   []byte
	target  string // the file that a block without a name means
	protect *policy.Protection
	hide    func(string) string // takes the configured secrets out of what is shown
	allow   []string            // kinds of hold that were approved in advance
	write   bool
	json    bool
	// The workspace, held open before the patch is read.
	found *promotion.Place
	// Nil where another process holds it and this one only looks.
	lock *promotion.Lock
	// What was found out, filled in as far as the editing came.
	doc document
}

// unread is the fault of a workspace that cannot be read.
func (e *editing) unread(err error) error {
	// The errors of a scan mostly say themselves what helps.
	return fault.Infra("see that the workspace can be read and is not changing, then run again", "read the workspace: %w", err)
}

// A document is what `agent edit --json` prints. Lists are never null;
// of refusal and error one or both are null. The fields that a run's
// document has too mean the same.
type document struct {
	Workspace string `json:"workspace"`
	// Written says whether the files are as after the patch.
	Written bool `json:"written"`
	// Edits tells how each block was matched.
	Edits []edit.Applied     `json:"edits"`
	Files []run.DocumentFile `json:"files"`
	// Digest is that of the changeset, "" for none.
	Digest string        `json:"digest"`
	Diff   string        `json:"diff"`
	Holds  []policy.Hold `json:"holds"`
	// Refusal says block by block why the patch does not apply.
	Refusal *problem.Refusal `json:"refusal"`
	// Error is whatever else than 0 the command exits with.
	Error *run.Problem `json:"error"`
}

// newDocument returns the document of an edit that has come to nothing
// yet.
func newDocument(dir string) document {
	return document{Workspace: dir, Edits: []edit.Applied{}, Files: []run.DocumentFile{}, Holds: []policy.Hold{}}
}
