package run

import (
	"context"
	"errors"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/critic"
	"agent/orchestrator/gate"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/sandbox/workspace/promotion"
	"agent/verify"
	"agent/verify/policy"
)

// A State is where a run stands.
type State string

// The states. The table in state.go holds the transitions.
const (
	Queued           State = "queued"
	Analyzing        State = "analyzing"
	Planning         State = "planning"
	Proposing        State = "proposing"
	Verifying        State = "verifying"
	AwaitingApproval State = "awaiting_approval"
	Promoting        State = "promoting"
	Promoted         State = "promoted"
	Done             State = "done"
	Rejected         State = "rejected"
	Conflicted       State = "conflict"
	Failed           State = "failed"
	Cancelled        State = "cancelled"
)

// A Record is one run as the store keeps it.
type Record struct {
	// ID is 12 characters that sort by time; see NewID.
	ID string
	// Workspace is the absolute path, with links resolved.
	Workspace string
	// Intent says what the run is for: "patch good.xml", "undo 01h…".
	Intent string
	// Patch is the response as it was given, whatever it contains.
	Patch []byte
	// Owner is sandbox.Owner of the process that works on the run.
	Owner string
	// Token is the fencing token: each Claim raises it, and a write with an
	// older one is refused.
	Token   int64
	State   State
	Started time.Time
	// Beat is the last heartbeat. If the process is on another host and cannot be looked at, an old one shows that the run is dead.
	Beat time.Time
	// Snapshot is the digest of the workspace's manifest, once known.
	Snapshot string
	// Iteration is the iteration of the loop that the run is part of, "" for none.
	Iteration string
	// Applies is the run that proved the change that this run applies, "" for none.
	Applies string
	// Runtime is the engine's runtime that the boxes were asked to use, "" for its default.
	Runtime string
}

// A Store keeps runs. Every write of a run names the token that the writer holds. ErrFenced means that another process has taken the
// run over.
type Store interface {
	// Create records a new run in state queued with token 1.
	Create(ctx context.Context, r Record) error
	// Advance records that the run has entered state to, or what happened in its current state. note says why or what, for people.
	// snapshot, if not "", is the manifest digest of the workspace.
	Advance(ctx context.Context, id string, token int64, to State, note, snapshot string) error
	// SavePlan records what the run sets out to do: a tournament.Plan in JSON.
	SavePlan(ctx context.Context, id string, token int64, plan []byte) error
	// SaveCandidate records a candidate with its gates and findings.
	SaveCandidate(ctx context.Context, id string, token int64, c gate.Candidate) error
	// SavePromotion records or updates the promotion of the run, with the content of its files.
	SavePromotion(ctx context.Context, id string, token int64, p Promotion) error
	// Finish records the end of the run.
	Finish(ctx context.Context, id string, token int64, end Ending) error
	// Beat renews the heartbeat.
	Beat(ctx context.Context, id string, token int64) error
}

// A Past knows what files held before the last promotions. *store.DB implements it.
type Past interface {
	// TextBefore returns the earlier text of a file of a workspace, nil if nothing is known. now is what the file holds.
	TextBefore(ctx context.Context, dir, name string, now []byte) ([]byte, error)
}

// A Recovering store finds runs that a dead process left behind.
type Recovering interface {
	// Unfinished lists the runs whose end is not recorded, oldest first.
	Unfinished(ctx context.Context) ([]Record, error)
	// Claim takes a run over from the process that held token. It returns the new token, or ErrFenced if another process was faster.
	Claim(ctx context.Context, id string, token int64, owner string) (int64, error)
	// PromotionOf returns what SavePromotion last recorded for a run.
	PromotionOf(ctx context.Context, id string) (Promotion, error)
	// The log of a run also says how the run was settled.
	LogStore
}

// ErrFenced means that the run belongs to another process now.
var ErrFenced = errors.New("the run was taken over by another process")

// A PromotionStatus says how far a promotion got.
type PromotionStatus string

// The statuses of a promotion.
const (
	Prepared   PromotionStatus = "prepared"
	Committed  PromotionStatus = "committed"
	RolledBack PromotionStatus = "rolled_back"
)

// A Promotion is the write-back of a changeset.
type Promotion struct {
	Status PromotionStatus
	// UndoOf is the run whose promotion this one reverses, "" for none.
	UndoOf string
	// Approved says who approved it: "--yes", "terminal", "undo".
	Approved  string
	Changeset workspace.Changeset
}

// An Ending is how a run ended.
type Ending struct {
	State   State
	Verdict verify.Verdict
	Error   *Problem
	Exit    int
	// Unproven is what no gate judged of the candidate that decided the run; nil if none did.
	Unproven []verify.Unproven
}

// A ProblemKind says whose problem it is; it decides the exit code.
type ProblemKind string

// The kinds of problem.
const (
	ProblemUsage     ProblemKind = "usage"
	ProblemInfra     ProblemKind = "infra"
	ProblemPolicy    ProblemKind = "policy"
	ProblemConflict  ProblemKind = "conflict"
	ProblemCancelled ProblemKind = "cancelled"
	ProblemPatch     ProblemKind = "patch"
	ProblemBudget    ProblemKind = "budget"
)

// A Problem is an error as the document shows it.
type Problem struct {
	Kind ProblemKind `json:"kind"`
	// Message says what happened.
	Message string `json:"message"`
	// Next is the next thing to do, never empty.
	Next string `json:"next"`
}

// A Decision is what a checkpoint answers.
type Decision string

// The decisions. Unattended means that a person is needed and none is there: exit code 4. Regenerate, Reword and Amend make another
// candidate, which goes through the whole gate.
const (
	Apply      Decision = "apply"
	Skip       Decision = "skip"
	Unattended Decision = "unattended"
	Regenerate Decision = "regenerate" // ask the model once more; only when Proposal.Again
	Reword     Decision = "reword"     // judge Answer.Response in place of the response
	Amend      Decision = "amend"      // judge Answer.Response on top of the candidate
	Drop       Decision = "drop"       // do not ask again; only about Proposal.Feature
	Leave      Decision = "leave"      // a person decides later, and wants no more questions now
)

// ByTerminal is the Answer.By of a person who decided on a terminal: only that approves what a policy may not.
const ByTerminal = "terminal"

// ByWhom turns an Answer's By into words for a sentence: "at the terminal", "by --yes".
func ByWhom(by string) string {
	if by == ByTerminal {
		return "at the terminal"
	}
	return "by " + by
}

// ByFeatures is the Answer.By for a feature if Request.Features is set.
const ByFeatures = "--features"

// A Proposal is what a checkpoint shows: a candidate that passed every gate, or a feature that is to be implemented.
type Proposal struct {
	Run       string
	Workspace string
	Candidate gate.Candidate
	// Base is the workspace as the gates saw it, nil with a Feature. Together with the candidate's changeset it is what they judged;
	// the directory may hold more by now.
	Base *workspace.Manifest
	// Response is what the candidate was made from.
	Response []byte
	// Again says that there is a model that can be asked once more.
	Again bool
	// Which says which of several candidates it is and why, "" for the only one.
	Which string
	// Critique is what critics said about the candidate, nil if none was asked.
	Critique *critic.Critique
	// Failed is the last edit of the candidate by a person if it did not come through, nil for none.
	Failed *FailedEdit
	// Branch is the branch that gets the commit instead of the workspace being written, "" for the workspace.
	Branch string
	// Feature, if not nil, is what the question is about; there is no candidate yet. Apply by ByTerminal or ByFeatures has it
	// implemented, Drop forgets it, and any other answer keeps it open.
	Feature *KeptProposal
}

// An Answer is what a checkpoint decided.
type Answer struct {
	Decision Decision
	// By says who decided, for the record: ByTerminal, "--yes".
	By string
	// Response is what to judge for Reword and Amend: a patch in any form.
	Response []byte
	// Expired says that a person was asked and gave no answer in time.
	Expired bool
	// Next is the next thing to do if nobody decided, "" to apply the candidate later.
	Next string
}

// A FailedEdit is an edit by hand that did not apply or did not pass.
type FailedEdit struct {
	// Answer is what the person gave: Reword or Amend, and its text.
	Answer Answer
	// Why says what was wrong with it.
	Why string
}

// An Approver decides whether a proven candidate is promoted, and whether a
// proposed feature is implemented.
type Approver interface {
	Approve(ctx context.Context, p Proposal) (Answer, error)
}

// An Event is live progress: a state entered, a note, a gate's event, or the progress of a question to a model.
type Event struct {
	Run string
	// State is "" if it did not change.
	State State
	// Note is for people.
	Note string
	// Gate is a gate's own event, nil for other events.
	Gate *verify.Event
	// Candidate numbers the candidates that are judged at the same time, from 1; it is 0 if there is only one.
	Candidate int
	// Verdict is the verdict of a candidate that has now been judged; Note says why it was refused before any gate. It is "" for other
	// events.
	Verdict verify.Verdict
	// Model is the progress of a question, nil for other events.
	Model *agent.Progress
}

// Reaper removes boxes that nobody owns. *sandbox.Engine implements it.
type Reaper interface {
	Reap(ctx context.Context) ([]sandbox.Leftover, error)
}

// A Warmer starts boxes before they are asked for. *sandbox.Pool implements it.
type Warmer interface {
	// Want declares that n boxes like spec will be asked for; 0 means that none will.
	Want(ctx context.Context, spec sandbox.Spec, n int)
}

// A Runner takes runs from intent to promotion.
type Runner struct {
	Store Store
	// Log takes what runs do; nil keeps no log. Its creator closes it.
	Log *Log
	// Orphans, if not nil, is used to tell who holds a locked workspace.
	Orphans  Recovering
	Images   gate.Snapshotter
	Verifier gate.Verifier
	// Repairer has linters repair what models wrote; nil repairs nothing.
	Repairer gate.Repairer
	// Boxes has boxes ready for candidates by the time the model has answered; if nil, each box is started when it is needed.
	Boxes Warmer
	// Critiques keeps what critics said about candidates; nil keeps nothing.
	Critiques Critiques
	// Proposals keeps what was proposed and not promoted; if nil, nothing is kept and no feature is asked for either.
	Proposals Proposals
	// Emit receives progress, from several goroutines, one at a time; nil if nobody watches.
	Emit func(Event)
	// Past knows what files held before the last promotions; nil if nothing does.
	Past Past
	// Recorder keeps what runs see, so that they can be replayed; nil keeps nothing.
	Recorder Recorder
	// AfterRun does the work that follows a run: what the run saw is kept, and the snapshot is made anew. Its owner waits for it before
	// it gives back the store and the engine. If nil, that work is left undone.
	AfterRun gate.Background
	// Hide removes the configured secrets from a text before it is recorded or shown; nil hides nothing. The Verifier has its own.
	Hide func(text string) string
}

// A Request is one patch for one workspace, or one change that is to be found; see
// package tournament.
type Request struct {
	// Workspace is any path to a directory; the run makes it absolute.
	Workspace string
	// Place is the directory that Workspace named when the command began; nil for the one that is there when the run begins.
	Place *promotion.Place
	// Base, if not nil, makes the workspace that the run works on from the one on disk. It is called again if the disk changes
	// meanwhile. Such a run promotes nothing and takes no lock: a promotion may go on beside it.
	Base func(ctx context.Context, disk *workspace.Manifest) (*workspace.Manifest, error)
	// Patch is nil if the engineer has to find the change.
	Patch []byte
	// Goal is what the change is for; "" lets the planner choose.
	Goal string
	// Given is what the goal is about, written by somebody else: data, never an order.
	Given string
	// Scope lists the files to work on, the target first; empty for any files.
	Scope []string
	// Candidates is how many different changes to ask for; 0 means 1.
	Candidates int
	// Iteration is the iteration of the loop that the run is part of, "" for none.
	Iteration string
	// Reviewed are files that need no review as they are: paths with the SHA-256 of the content in which a review found nothing.
	Reviewed map[string]string
	// MayFindNothing lets a run end well if its model sees nothing to change for the goal. In a loop that is an answer; a single run
	// was asked for a change and has none.
	MayFindNothing bool
	// NoFeature keeps a review that finds nothing to fix from asking for a feature.
	NoFeature bool
	// Features has a proposed feature implemented without asking a person.
	Features bool
	// Proposal is what the run takes up again, nil for nothing; see KeptProposal.Resume.
	Proposal *KeptProposal
	// PatchName is for people: the file name, or "-".
	PatchName string
	// Found says that a model found the patch, which is then judged as strictly as one that a model is asked for.
	Found bool
	// Target is --file: what a block without a name means.
	Target string
	// Exclude are patterns of what is left out of the snapshot, in the syntax of a .dockerignore file.
	Exclude []string
	// Protect names the paths that need an approval of their own, as configured before the run; nil for none.
	Protect *policy.Protection
	// Allow are the kinds of Hold that were approved in advance.
	Allow []string
	// NoInstall leaves out the workspace's dependencies. InstallScripts lets them run code of their own while they are installed.
	// InstallAll judges nothing if a part of them cannot be installed.
	NoInstall, InstallScripts, InstallAll bool
	// Packages are the Debian packages that the boxes have besides the tools.
	Packages  []string
	NoPromote bool
	// Commit has what is promoted committed; nil if the files are enough.
	Commit   *CommitOrder
	Config   verify.Config
	Approver Approver
	// Keep says how much of the workspace is kept for a replay.
	Keep Keep
}

// Rules returns the parts of the request that a gate judges by.
func (req Request) Rules() gate.Rules {
	return gate.Rules{
		Protect: req.Protect, Allow: req.Allow, NoInstall: req.NoInstall, InstallScripts: req.InstallScripts, InstallAll: req.InstallAll, Packages: req.Packages, Model: req.Patch == nil || req.Found, Config: req.Config,
	}
}

// A Document is the result of a run, as --json prints it.
type Document struct {
	Run        string          `json:"run"`
	State      State           `json:"state"`
	Verdict    verify.Verdict  `json:"verdict"`
	Workspace  string          `json:"workspace"`
	Snapshot   string          `json:"snapshot"`
	Candidates []gate.Document `json:"candidates"`
	// Critiques are what other models said about candidates that passed: opinions, which decide no verdict.
	Critiques []critic.Critique  `json:"critiques,omitempty"`
	Promotion *DocumentPromotion `json:"promotion"`
	// Commit holds what was promoted, or with --branch what was proved.
	Commit *DocumentCommit `json:"commit,omitempty"`
	// Proposals are what the run left open.
	Proposals []DocumentProposal `json:"proposals,omitempty"`
	// Command is the command that made the change in a box, nil if none was run.
	Command *DocumentCommand `json:"command,omitempty"`
	// Outcome is "proposed" if a review found nothing to fix and a feature is kept, and "awaiting_approval" if nobody decided on a
	// proven candidate; Next then says how to go on. It is "unchanged" if a command left the workspace as it was. Both are ""
	// otherwise.
	Outcome string   `json:"outcome,omitempty"`
	Next    string   `json:"next,omitempty"`
	Error   *Problem `json:"error"`
	// Unproven is what no gate judged of the change that was promoted, proved or tried last, such as tests none of which ran. It is
	// empty if everything was judged, and never null.
	Unproven []verify.Unproven `json:"unproven"`

	// Left says that a person wanted no more questions, or did not answer one.
	Left bool `json:"-"`
	// Exit is the exit code that belongs to the document.
	Exit int `json:"-"`
}

// A DocumentCommand is a command that ran in a workbench, in a Document. How it ended is not evidence.
type DocumentCommand struct {
	Args []string `json:"args"`
	// Exit is -1 if a signal ended the command.
	Exit     int     `json:"exit"`
	Signal   string  `json:"signal,omitempty"`
	TimedOut bool    `json:"timed_out,omitempty"`
	Seconds  float64 `json:"seconds"`
	// Left is what changed and is in no patch: the first of LeftCount.
	Left      []DocumentLeft `json:"left"`
	LeftCount int            `json:"left_count"`
	// Commits are the messages of the commits that were made there, oldest first: only the word of whoever made them.
	Commits []string `json:"commits,omitempty"`
	// Kept is the workbench, if it was kept for another command.
	Kept string `json:"kept,omitempty"`
}

// A DocumentLeft is something that a command changed and that is not in the patch.
type DocumentLeft struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// A DocumentProposal is a kept proposal in a Document.
type DocumentProposal struct {
	ID     int64        `json:"proposal"`
	Kind   ProposalKind `json:"kind"`
	Path   string       `json:"path,omitempty"`
	Reason string       `json:"reason"`
}

// A DocumentPromotion is the promotion in a Document.
type DocumentPromotion struct {
	Files []DocumentFile `json:"files"`
	Diff  string         `json:"diff"`
	// ApprovedBy says who approved it: "terminal", "--yes", or "countdown" if nobody answered.
	ApprovedBy string `json:"approved_by,omitempty"`
}

// A DocumentFile is one promoted file in a Document.
type DocumentFile struct {
	Path string       `json:"path"`
	Op   workspace.Op `json:"op"`
	From string       `json:"from,omitempty"`
	// Mode is octal: "0644".
	Mode string `json:"mode"`
	// Before is the hex SHA-256 of the old content, "" for a creation.
	Before string `json:"before"`
	// After is the hex SHA-256 of the new content, "" for a deletion.
	After string `json:"after"`
}
