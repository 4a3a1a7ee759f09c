package bot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"
)

// An Act is what is done for somebody.
type Act string

// The acts.
const (
	Run       Act = "run"       // from an issue to a pull request
	Review    Act = "review"    // a pull request is judged
	Fix       Act = "fix"       // its build is watched and repaired
	Integrate Act = "integrate" // comments on it are taken up, then it is judged
	Stop      Act = "stop"      // what is done for an issue or a pull request ends
)

// An Ask is what somebody asked for.
type Ask struct {
	Host, Repository string
	// Event names what it was asked by, as "comment 17": one event leads to one job, however often it is heard of.
	Event string
	// Delivery is the forge's own number of the message, "" for what was not sent.
	Delivery string
	// By is who asked, by the word of the forge.
	By string
	// Word is what was asked, as it stands behind /agent; nobody relies on its being known.
	Word string
	// Number is that of an issue, or of a pull request where Pull says so.
	Number int
	Pull   bool
}

// act is what a word asks for; why says why that is nothing.
func (a Ask) act() (act Act, why string) {
	switch word := Act(a.Word); {
	case word == Stop:
		return Stop, ""
	case !a.Pull && (word == Run || word == Fix):
		return Run, ""
	case !a.Pull && (word == Review || word == Integrate):
		return "", "an issue has nothing to " + a.Word + ": ask for it on the pull request"
	case a.Pull && word == Run:
		return "", "a pull request is there already: fix, review, integrate and stop are known here"
	case a.Pull && (word == Fix || word == Review || word == Integrate):
		return word, ""
	}
	return "", "it is not known what that is: run and stop are known on issues; fix, review, integrate and stop on pull requests"
}

// A Job is an Ask with what becomes of it.
type Job struct {
	Ask
	ID    int64
	Act   Act // "" as long as nobody looked whether it may be asked for
	State State
	// Why says why it ended so, or what it is that was done.
	Why string
	// Tries is how often it was begun, this time included.
	Tries int
	// Token fences whoever had it before.
	Token  int64
	Queued time.Time
}

// Mark is what the answer to a job has that people do not see.
func (j Job) Mark() string {
	sum := sha256.Sum256([]byte(j.Host + "\x00" + j.Repository + "\x00" + j.Event))
	return "<!-- agent:job " + hex.EncodeToString(sum[:8]) + " -->"
}

// A State says how far a job came.
type State string

// The states; the last four are ends.
const (
	Asked   State = "asked" // nobody looked yet whether it may be
	Queued  State = "queued"
	Running State = "running"
	Done    State = "done"
	Failed  State = "failed"
	Refused State = "refused"
	Stopped State = "stopped"
)

// Ended reports whether nothing but an answer follows.
func (s State) Ended() bool { return s != Asked && s != Queued && s != Running }

// Limits are how many jobs are taken on, of one person over all repositories and of one repository; 0 for none at all.
type Limits struct{ PersonHour, PersonDay, RepositoryHour, RepositoryDay int }

// ErrNone means that no job waits.
var ErrNone = errors.New("no job waits")

// A Queue keeps jobs. *store/bots.Queue is one.
type Queue interface {
	// Ask records what was asked; false says that it was before, by its event or its delivery.
	Ask(ctx context.Context, a Ask) (bool, error)
	// Asked lists what nobody decided on yet, the oldest first, of some repositories of a host.
	Asked(ctx context.Context, host string, repositories []string) ([]Job, error)
	// Decide has a job queued for act, or refused where why is not "" or a limit is reached; tell says that a refusal
	// is answered. One that was decided already stays as it is.
	Decide(ctx context.Context, id int64, act Act, why string, tell bool, l Limits) (State, error)
	// Stop has what is queued or runs for an issue or a pull request end.
	Stop(ctx context.Context, by Job) (stopped int, err error)
	// Take gives a job that is queued, whose worker is gone, or that waits for its answer; else the error is ErrNone. There is one
	// at a time of a repository.
	Take(ctx context.Context, host string, repositories []string, owner string, dead func(owner string, beat time.Time) bool) (Job, error)
	// Beat says that a job is still worked on, and returns whether it is to stop. The error is run.ErrFenced where it is another's.
	Beat(ctx context.Context, j Job) (stop bool, err error)
	// Put records where a job stands: an end, with answered once that was said; or Queued, to be taken again after a
	// pause, and with counted as one try more.
	Put(ctx context.Context, j Job, p Put) error
}

// A Put is what is recorded of a job that is given back or has ended.
type Put struct {
	State    State
	Why      string
	Answered bool
	After    time.Duration
	// Free takes the try back: it came to nothing for no reason of the job's.
	Free bool
}
