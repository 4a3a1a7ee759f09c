package replay

import (
	"encoding/json"
	"io/fs"
	"time"

	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
	"agent/verify/policy"
)

// An Evidence is everything on record that decided the verdict of a run, so that the run can be judged again without its workspace or
// its record. Contents are named by their SHA-256 in hex, and are stored beside it.
type Evidence struct {
	Run       string         `json:"run"`
	Workspace string         `json:"workspace"`
	Intent    string         `json:"intent"`
	State     run.State      `json:"state"`
	Verdict   verify.Verdict `json:"verdict"`
	Started   time.Time      `json:"started"`
	Ended     time.Time      `json:"ended"`
	// Approved says who approved the promotion, "" if nothing was promoted.
	Approved string `json:"approved,omitempty"`
	// Snapshot is the digest of the workspace's manifest. Inventory is the digest of the text that workspace.Rebuild takes.
	Snapshot   string       `json:"snapshot"`
	Inventory  string       `json:"inventory"`
	Settings   run.Settings `json:"settings"`
	Candidates []Exhibit    `json:"candidates"`
	Exchanges  []Exchange   `json:"exchanges,omitempty"`
}

// An Exhibit is a recorded candidate.
type Exhibit struct {
	Verdict verify.Verdict `json:"verdict"`
	Gates   []verify.Gate  `json:"gates"`
	Holds   []policy.Hold  `json:"holds"`
	// Unproven is null in archives of runs from before it was kept.
	Unproven []verify.Unproven `json:"unproven"`
	// Digest is the digest of the changeset as it was judged; Files is what it changed.
	Digest string        `json:"digest"`
	Files  []ExhibitFile `json:"files"`
	// Response is the digest of what the candidate was made from; see gate.Origin.
	Response string `json:"response"`
	Target   string `json:"target,omitempty"`
	Onto     string `json:"onto,omitempty"`
	Asked    string `json:"asked,omitempty"`
}

// An ExhibitFile is one change of a candidate; the digest of a content is "" if there is none.
type ExhibitFile struct {
	Op      workspace.Op `json:"op"`
	Path    string       `json:"path"`
	From    string       `json:"from,omitempty"`
	Mode    fs.FileMode  `json:"mode"`
	OldMode fs.FileMode  `json:"old_mode,omitempty"`
	Before  string       `json:"before,omitempty"`
	After   string       `json:"after,omitempty"`
}

// An Exchange is one request to a model, and its answer.
type Exchange struct {
	Step     string          `json:"step"`
	Model    string          `json:"model"`
	Question json.RawMessage `json:"question"`
	// Answer is nil if none came.
	Answer []byte `json:"answer"`
}
