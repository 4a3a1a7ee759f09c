package forge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// MaxListed bounds what is read of one list. One that is longer is an error, and never taken for a whole one.
const MaxListed = 10_000

// A Forge is one repository on its host. Lists are complete, whatever the pages of the
// host, or there is an error, as ErrTooLong; a call that was repeated changes nothing more than one.
type Forge interface {
	Pulls
	Reviews
	Checks
	People
}

// Pulls are the pull requests of a repository; a merge request is one.
type Pulls interface {
	// DefaultBranch is the branch that pull requests go to, "" of a repository with no commit.
	DefaultBranch(ctx context.Context) (string, error)
	// Pull returns a pull request by its number.
	Pull(ctx context.Context, number int) (Pull, error)
	// FindPull returns the open pull request of a branch of the repository itself; the error
	// is ErrNotFound where there is none.
	FindPull(ctx context.Context, head string) (Pull, error)
	// OpenPull opens one. Of a branch that has one the error is ErrExists.
	OpenPull(ctx context.Context, p NewPull) (Pull, error)
	// Label adds labels, which are made where the repository does not have them.
	Label(ctx context.Context, number int, labels []string) error
	// Issue returns an issue by its number; a pull request is one too where the host counts them together.
	Issue(ctx context.Context, number int) (Issue, error)
}

// Reviews are what is said of a pull request and of its commits.
type Reviews interface {
	// Threads lists the comments at lines, each with its answers.
	Threads(ctx context.Context, number int) ([]Thread, error)
	// Review posts comments at lines of a commit, in one review where the host has those.
	Review(ctx context.Context, number int, commit string, comments []LineComment) error
	// Answer adds to a thread and, where resolve is set and the host can, resolves it.
	Answer(ctx context.Context, number int, t Thread, text string, resolve bool) error
	// Comments lists what is said of the pull request as a whole.
	Comments(ctx context.Context, number int) ([]Comment, error)
	// SetComment writes a comment of one's own anew; an ID of "" makes one.
	SetComment(ctx context.Context, number int, id, text string) error
	// SetStatus says of a commit what became of it. One of the same context is replaced.
	SetStatus(ctx context.Context, commit string, s Status) error
}

// Checks are what the build servers of the forge say of a commit.
type Checks interface {
	// Jobs lists the latest of each that ran, runs or waits for a commit.
	Jobs(ctx context.Context, commit string) ([]Job, error)
	// Log opens what a job wrote; the caller reads as much as it wants and closes it.
	Log(ctx context.Context, j Job) (io.ReadCloser, error)
	// Rerun has a job that ended done once more.
	Rerun(ctx context.Context, j Job) error
}

// People are who may ask a bot for something, and what is said of issues.
type People interface {
	// Me is the name of the account whose token it is.
	Me(ctx context.Context) (string, error)
	// MayWrite reports whether somebody may push to the repository, by what the host says of them now.
	MayWrite(ctx context.Context, name string) (bool, error)
	// IssueComments lists what is said of an issue.
	IssueComments(ctx context.Context, number int) ([]Comment, error)
	// CommentIssue adds to that.
	CommentIssue(ctx context.Context, number int, text string) error
	// Said lists the comments on issues and pull requests as a whole that were written since a time, the oldest first.
	Said(ctx context.Context, since time.Time) ([]Said, error)
}

// A Said is a comment with what it is about.
type Said struct {
	Comment
	Number int
	// Pull says that this is a pull request.
	Pull bool
}

// A Pull is a pull request.
type Pull struct {
	Number int
	URL    string
	Title  string
	State  PullState
	Draft  bool
	// Base is the branch that it goes to, Head the branch that it comes from, and HeadCommit
	// the commit there.
	Base, Head, HeadCommit string
	// Fork says that Head is in another repository, whose owner need not be trusted.
	Fork bool
	// Author is the name of who opened it.
	Author string
}

// A PullState says whether a pull request is still open.
type PullState string

// The states of a pull request.
const (
	Open   PullState = "open"
	Closed PullState = "closed"
	Merged PullState = "merged"
)

// An Issue is what somebody wants of a repository.
type Issue struct {
	Number      int
	Title, Text string
	Author      string
	Open        bool
}

// A NewPull is what a pull request is opened with.
type NewPull struct {
	Title, Body string
	Base, Head  string
	Draft       bool
}

// A LineComment is a comment at a line of the new side of a diff.
type LineComment struct {
	Path string
	Line int
	Text string
}

// A Thread is a comment at a line with what was answered.
type Thread struct {
	ID   string
	Path string
	// Line is 0 where the line is no longer in the diff.
	Line     int
	Comments []Comment // never empty, the first is what it is about
	Resolved bool
}

// A Comment is one thing that somebody said.
type Comment struct {
	ID     string
	Author string
	Text   string
	// Mine says that the token that is used here wrote it.
	Mine bool
}

// A Status is what is said of a commit.
type Status struct {
	State JobState // Waiting, Passed or Failed
	// Context tells statuses of one commit apart.
	Context, Text, URL string
}

// A Job is one piece of work of a build server, or a status that somebody set.
type Job struct {
	ID string
	// Run is the run that it is part of, "" where the host needs none to name it.
	Run   string
	Name  string
	State JobState
	URL   string
	// HasLog says that Log and Rerun know it.
	HasLog bool
}

// A JobState says how far a job came.
type JobState string

// The states of a job. What was skipped or cancelled on purpose is Skipped.
const (
	Waiting JobState = "waiting"
	Passed  JobState = "passed"
	Failed  JobState = "failed"
	Skipped JobState = "skipped"
)

// What a caller decides on.
var (
	// ErrNotFound means that there is no such thing, or none that the token may see.
	ErrNotFound = errors.New("not found")
	// ErrExists means that a branch has an open pull request already.
	ErrExists = errors.New("there is one already")
	// ErrDenied means that the token does not open this, or no longer.
	ErrDenied = errors.New("the forge does not accept the token for that")
	// ErrTooLong means that a list has more than MaxListed entries, or never ends.
	ErrTooLong = errors.New("the forge lists more than is read")
	// ErrTransient means that the same may work later: the network, or the host's own trouble.
	ErrTransient = errors.New("the forge has trouble")
)

// A LimitError says that the forge takes no more requests until some time.
type LimitError struct{ Until time.Time }

// Error tells when it may be tried again.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the forge takes no more requests until %s", e.Until.UTC().Format(time.RFC3339))
}

// Is makes a limit a transient trouble.
func (e *LimitError) Is(target error) bool { return target == ErrTransient }
