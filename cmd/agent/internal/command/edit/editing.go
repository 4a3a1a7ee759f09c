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

// An editing is one patch on its way into a workspace, or only to a diff.
type editing struct {
	command
	// The request. The directory is absolute, with links resolved.
	dir     string
	exclude []string // patterns of what is left out, as for a run
	patch   []byte
	target  string // the file for blocks without a name
	protect *policy.Protection
	hide    func(string) string // removes the configured secrets from what is shown
	allow   []string            // kinds of hold that were approved in advance
	write   bool
	json    bool
	// The workspace, held open before the patch is read.
	found *promotion.Place
	// Nil if another process holds the workspace and this one only reads.
	lock *promotion.Lock
	// The findings, as far as the editing got.
	doc document
}

// unread returns the error for a workspace that cannot be read.
func (e *editing) unread(err error) error {
	// The errors of a scan mostly say what helps.
	return fault.Infra("make sure that the workspace can be read and is not changing, then run again", "read the workspace: %w", err)
}

// A document is what `agent edit --json` prints. Lists are never null; at least one of refusal and error is null.
// Fields that a run's document also has mean the same.
type document struct {
	Workspace string `json:"workspace"`
	// Written says whether the files have the state after the patch.
	Written bool `json:"written"`
	// Edits tells how each block was matched.
	Edits []edit.Applied     `json:"edits"`
	Files []run.DocumentFile `json:"files"`
	// Digest is the digest of the changeset, "" for none.
	Digest string        `json:"digest"`
	Diff   string        `json:"diff"`
	Holds  []policy.Hold `json:"holds"`
	// Refusal says block by block why the patch does not apply.
	Refusal *problem.Refusal `json:"refusal"`
	// Error is set if the command exits with any code other than 0.
	Error *run.Problem `json:"error"`
}

// newDocument returns the document of an edit without any results yet.
func newDocument(dir string) document {
	return document{Workspace: dir, Edits: []edit.Applied{}, Files: []run.DocumentFile{}, Holds: []policy.Hold{}}
}
