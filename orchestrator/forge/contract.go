package forge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// MaxListed bounds how much of one list is read. A longer list is an error, and never passes for a complete one.
const MaxListed = 10_000

// A Forge is one repository on its host. Lists are complete, whatever the host's pages, or else an error is returned,
// such as ErrTooLong. A repeated call has no further effect.
type Forge interface {
	Pulls
	Reviews
	Checks
	People
}

// Pulls covers the pull requests of a repository; a merge request is one.
type Pulls interface {
	// DefaultBranch returns the branch that pull requests target, or "" if the repository has no commit.
	DefaultBranch(ctx context.Context) (string, error)
	// Pull returns a pull request by its number.
	Pull(ctx context.Context, number int) (Pull, error)
	// FindPull returns the open pull request of a branch of the repository itself; the error is ErrNotFound if there is
	// none.
	FindPull(ctx context.Context, head string) (Pull, error)
	// OpenPull opens a pull request. If the branch has one, the error is ErrExists.
	OpenPull(ctx context.Context, p NewPull) (Pull, error)
	// Label adds labels, and creates those that the repository lacks.
	Label(ctx context.Context, number int, labels []string) error
	// Issue returns an issue by its number; a pull request is one too if the host numbers them together.
	Issue(ctx context.Context, number int) (Issue, error)
}

// Reviews covers what is said about a pull request and its commits.
type Reviews interface {
	// Threads lists the comments on lines, each with its answers.
	Threads(ctx context.Context, number int) ([]Thread, error)
	// Review posts comments on lines of a commit, as one review if the host has reviews.
	Review(ctx context.Context, number int, commit string, comments []LineComment) error
	// Answer adds to a thread and, if resolve is set and the host can do it, resolves the thread.
	Answer(ctx context.Context, number int, t Thread, text string, resolve bool) error
	// Comments lists the comments on the pull request as a whole.
	Comments(ctx context.Context, number int) ([]Comment, error)
	// SetComment replaces one of the account's own comments; an ID of "" creates one.
	SetComment(ctx context.Context, number int, id, text string) error
	// SetStatus sets a status of a commit. It replaces one with the same context.
	SetStatus(ctx context.Context, commit string, s Status) error
}

// Checks covers what the forge's build servers say about a commit.
type Checks interface {
	// Jobs lists the latest of each job that ran, runs or waits for a commit.
	Jobs(ctx context.Context, commit string) ([]Job, error)
	// Log opens the output of a job; the caller reads as much as it wants and closes it.
	Log(ctx context.Context, j Job) (io.ReadCloser, error)
	// Rerun runs a job that has ended once more.
	Rerun(ctx context.Context, j Job) error
}

// People covers who may ask a bot for something, and comments on issues.
type People interface {
	// Me returns the name of the account that owns the token.
	Me(ctx context.Context) (string, error)
	// MayWrite reports whether somebody may push to the repository, by what the host says about them now.
	MayWrite(ctx context.Context, name string) (bool, error)
	// IssueComments lists the comments on an issue.
	IssueComments(ctx context.Context, number int) ([]Comment, error)
	// CommentIssue adds a comment to an issue.
	CommentIssue(ctx context.Context, number int, text string) error
	// Said lists the comments on issues and on whole pull requests that were written since a time, the oldest first.
	Said(ctx context.Context, since time.Time) ([]Said, error)
}

// A Said is a comment with its subject.
type Said struct {
	Comment
	Number int
	// Pull says that the subject is a pull request.
	Pull bool
}

// A Pull is a pull request.
type Pull struct {
	Number int
	URL    string
	Title  string
	State  PullState
	Draft  bool
	// Base is the branch that it targets, Head the branch that it comes from, and HeadCommit the commit there.
	Base, Head, HeadCommit string
	// Fork says that Head is in another repository, whose owner need not be trusted.
	Fork bool
	// Author is the name of the person who opened it.
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

// An Issue is a request that somebody opened in a repository.
type Issue struct {
	Number      int
	Title, Text string
	Author      string
	Open        bool
}

// A NewPull holds what is needed to open a pull request.
type NewPull struct {
	Title, Body string
	Base, Head  string
	Draft       bool
}

// A LineComment is a comment on a line of the new side of a diff.
type LineComment struct {
	Path string
	Line int
	Text string
}

// A Thread is a comment on a line with its answers.
type Thread struct {
	ID   string
	Path string
	// Line is 0 if the line is no longer in the diff.
	Line     int
	Comments []Comment // never empty; the first one opened the thread
	Resolved bool
}

// A Comment is one comment by somebody.
type Comment struct {
	ID     string
	Author string
	Text   string
	// Mine says that the account of the token wrote it.
	Mine bool
}

// A Status is a status of a commit.
type Status struct {
	State JobState // Waiting, Passed or Failed
	// Context distinguishes statuses of one commit.
	Context, Text, URL string
}

// A Job is one piece of work of a build server, or a status that somebody set.
type Job struct {
	ID string
	// Run is the run that it is part of, "" if the host does not need it to name the job.
	Run   string
	Name  string
	State JobState
	URL   string
	// HasLog says that Log and Rerun accept it.
	HasLog bool
}

// A JobState is the state of a job.
type JobState string

// The states of a job. A job that was skipped or cancelled on purpose is Skipped.
const (
	Waiting JobState = "waiting"
	Passed  JobState = "passed"
	Failed  JobState = "failed"
	Skipped JobState = "skipped"
)

// The errors on which a caller decides.
var (
	// ErrNotFound means that it does not exist, or that the token may not see it.
	ErrNotFound = errors.New("not found")
	// ErrExists means that a branch already has an open pull request.
	ErrExists = errors.New("already exists")
	// ErrDenied means that the token does not permit this, or no longer does.
	ErrDenied = errors.New("the forge does not accept the token for this")
	// ErrTooLong means that a list has more than MaxListed entries, or never ends.
	ErrTooLong = errors.New("the forge lists more entries than are read")
	// ErrTransient means that the same may work later: trouble of the network, or of the host.
	ErrTransient = errors.New("temporary trouble with the forge")
)

// A LimitError says that the forge accepts no more requests until some time.
type LimitError struct{ Until time.Time }

// Error says when the request may be tried again.
func (e *LimitError) Error() string {
	return fmt.Sprintf("the forge accepts no more requests until %s", e.Until.UTC().Format(time.RFC3339))
}

// Is makes a limit count as transient trouble.
func (e *LimitError) Is(target error) bool { return target == ErrTransient }
