package bot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"
)

// An Act is what a job does.
type Act string

// The acts.
const (
	Run       Act = "run"       // from an issue to a pull request
	Review    Act = "review"    // judge a pull request
	Fix       Act = "fix"       // watch its build and repair it
	Integrate Act = "integrate" // handle the comments on it, then judge it
	Stop      Act = "stop"      // end the work on an issue or a pull request
)

// An Ask is a request by somebody.
type Ask struct {
	Host, Repository string
	// Event names the cause of the request, such as "comment 17": one event leads to one job, however often it is reported.
	Event string
	// Delivery is the forge's own number of the message, "" if no message was sent.
	Delivery string
	// By is the author of the request, according to the forge.
	By string
	// Word is the request as it stands after /agent; it need not be a known word.
	Word string
	// Number is the number of an issue, or of a pull request if Pull is set.
	Number int
	Pull   bool
}

// act returns what a word asks for; why says why it asks for nothing.
func (a Ask) act() (act Act, why string) {
	switch word := Act(a.Word); {
	case word == Stop:
		return Stop, ""
	case !a.Pull && (word == Run || word == Fix):
		return Run, ""
	case !a.Pull && (word == Review || word == Integrate):
		return "", "an issue has nothing to " + a.Word + ": ask for it on the pull request"
	case a.Pull && word == Run:
		return "", "there is already a pull request: fix, review, integrate and stop are known here"
	case a.Pull && (word == Fix || word == Review || word == Integrate):
		return word, ""
	}
	return "", "unknown command: run and stop are known on issues; fix, review, integrate and stop on pull requests"
}

// A Job is an Ask with its progress.
type Job struct {
	Ask
	ID    int64
	Act   Act // "" until somebody checks whether it may be asked for
	State State
	// Why says why it ended that way, or what was done.
	Why string
	// Tries is how often it was begun, including this time.
	Tries int
	// Token fences off earlier workers.
	Token  int64
	Queued time.Time
}

// Mark returns the part of the answer to a job that people do not see.
func (j Job) Mark() string {
	sum := sha256.Sum256([]byte(j.Host + "\x00" + j.Repository + "\x00" + j.Event))
	return "<!-- agent:job " + hex.EncodeToString(sum[:8]) + " -->"
}

// A State is the state of a job.
type State string

// The states; the last four are ends.
const (
	Asked   State = "asked" // not yet checked whether it is allowed
	Queued  State = "queued"
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
	Refused State = "refused"
	Stopped State = "stopped"
)

// Ended reports whether only an answer can follow.
func (s State) Ended() bool { return s != Asked && s != Queued && s != Running }

// Limits bound how many jobs are accepted from one person over all repositories, and for one repository; 0 accepts none.
type Limits struct{ PersonHour, PersonDay, RepositoryHour, RepositoryDay int }

// ErrNone means that no job is waiting.
var ErrNone = errors.New("no job is waiting")

// A Queue keeps jobs. *store/bots.Queue implements it.
type Queue interface {
	// Ask records a request; false says that it was recorded before, by its event or its delivery.
	Ask(ctx context.Context, a Ask) (bool, error)
	// Asked lists the undecided requests for some repositories of a host, the oldest first.
	Asked(ctx context.Context, host string, repositories []string) ([]Job, error)
	// Decide queues a job for act, or refuses it if why is not "" or a limit is reached; tell says that a refusal is
	// answered. A job that was decided already stays as it is.
	Decide(ctx context.Context, id int64, act Act, why string, tell bool, l Limits) (State, error)
	// Stop ends what is queued or running for an issue or a pull request.
	Stop(ctx context.Context, by Job) (stopped int, err error)
	// Take returns a job that is queued, whose worker is gone, or that waits for its answer; without one, the error is
	// ErrNone. Only one job at a time runs for a repository.
	Take(ctx context.Context, host string, repositories []string, owner string, dead func(owner string, beat time.Time) bool) (Job, error)
	// Beat says that a job is still in progress, and returns whether it should stop. The error is run.ErrFenced if another worker has it.
	Beat(ctx context.Context, j Job) (stop bool, err error)
	// Put records the state of a job: an end, answered once that was posted; or Queued, to be taken again after a
	// pause, which counts as one more try unless Free is set.
	Put(ctx context.Context, j Job, p Put) error
}

// A Put is what is recorded about a job that is given back or has ended.
type Put struct {
	State    State
	Why      string
	Answered bool
	After    time.Duration
	// Free takes the try back: it failed for a reason that is not the job's.
	Free bool
}
