// Package gitea is the driver for Gitea and Forgejo.
package gitea

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"code.gitea.io/sdk/gitea"

	"agent/orchestrator/forge"
	"agent/orchestrator/forge/wire"
)

// perPage is the size of a page of a list, the largest that Gitea gives by default.
const perPage = 50

// draft is the beginning of a draft's title, the only thing by which Gitea recognizes drafts.
const draft = "WIP: "

// A Forge is one repository. It implements forge.Forge.
type Forge struct {
	base, owner, name string
	client            *http.Client

	mu  sync.Mutex
	who string // the owner of the token, once asked
}

// New returns the driver for a repository; token opens it.
func New(a forge.Address, token string) (*Forge, error) {
	client, err := wire.New(a.Base, token)
	if err != nil {
		return nil, err
	}
	return &Forge{base: a.Base, owner: a.Owner, name: a.Name, client: client}, nil
}

// api returns a client whose calls end with ctx: the SDK's own client has one context for all of them. A server that is
// too old for a call says so itself.
func (f *Forge) api(ctx context.Context) (*gitea.Client, error) {
	return gitea.NewClient(f.base, gitea.SetHTTPClient(f.client), gitea.SetContext(ctx), gitea.SetGiteaVersion(""))
}

// fault returns the error for an act that Gitea did not do.
func fault(act string, resp *gitea.Response, err error) error {
	status := 0
	if resp != nil && resp.Response != nil {
		status = resp.StatusCode
	}
	return wire.Fault(act, status, err)
}

// call calls the API once.
func call[T any](ctx context.Context, f *Forge, act string, do func(*gitea.Client) (T, *gitea.Response, error)) (T, error) {
	c, err := f.api(ctx)
	if err != nil {
		var none T
		return none, fault(act, nil, err)
	}
	v, resp, err := do(c)
	return v, fault(act, resp, err)
}

// pages calls next for each page of a list until one is empty. It returns no part of a list that is too long.
func pages[T any](ctx context.Context, f *Forge, act string, next func(*gitea.Client, gitea.ListOptions) ([]T, *gitea.Response, error)) (all []T, err error) {
	for page := 1; ; page++ {
		list, err := call(ctx, f, act, func(c *gitea.Client) ([]T, *gitea.Response, error) {
			return next(c, gitea.ListOptions{Page: page, PageSize: perPage})
		})
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		// A server may give fewer entries than requested, so only an empty page marks the end.
		if len(list) == 0 {
			return all, nil
		}
		if len(all) >= forge.MaxListed {
			return nil, fmt.Errorf("%s: %w", act, forge.ErrTooLong)
		}
	}
}

// Me implements forge.People.
func (f *Forge) Me(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.who != "" {
		return f.who, nil
	}
	u, err := call(ctx, f, "look up the owner of the token", func(c *gitea.Client) (*gitea.User, *gitea.Response, error) { return c.GetMyUserInfo() })
	if err != nil {
		return "", err
	}
	f.who = u.UserName
	return f.who, nil
}

// DefaultBranch implements forge.Pulls.
func (f *Forge) DefaultBranch(ctx context.Context) (string, error) {
	r, err := call(ctx, f, "read the repository", func(c *gitea.Client) (*gitea.Repository, *gitea.Response, error) { return c.GetRepo(f.owner, f.name) })
	if err != nil || r.Empty {
		return "", err
	}
	return r.DefaultBranch, nil
}

// Pull implements forge.Pulls.
func (f *Forge) Pull(ctx context.Context, number int) (forge.Pull, error) {
	p, err := call(ctx, f, "read pull request "+strconv.Itoa(number), func(c *gitea.Client) (*gitea.PullRequest, *gitea.Response, error) {
		return c.GetPullRequest(f.owner, f.name, int64(number))
	})
	return pull(p), err
}

// FindPull implements forge.Pulls.
func (f *Forge) FindPull(ctx context.Context, head string) (forge.Pull, error) {
	list, err := pages(ctx, f, "look for the pull request of "+head, func(c *gitea.Client, o gitea.ListOptions) ([]*gitea.PullRequest, *gitea.Response, error) {
		return c.ListRepoPullRequests(f.owner, f.name, gitea.ListPullRequestsOptions{ListOptions: o, State: gitea.StateOpen})
	})
	for _, p := range list {
		if found := pull(p); found.Head == head && !found.Fork {
			return found, nil
		}
	}
	if err == nil {
		err = forge.ErrNotFound
	}
	return forge.Pull{}, err
}

// OpenPull implements forge.Pulls.
func (f *Forge) OpenPull(ctx context.Context, n forge.NewPull) (forge.Pull, error) {
	if n.Draft {
		n.Title = draft + n.Title
	}
	p, err := call(ctx, f, "open a pull request of "+n.Head, func(c *gitea.Client) (*gitea.PullRequest, *gitea.Response, error) {
		return c.CreatePullRequest(f.owner, f.name, gitea.CreatePullRequestOption{Head: n.Head, Base: n.Base, Title: n.Title, Body: n.Body})
	})
	return pull(p), err
}

// Issue implements forge.Pulls.
func (f *Forge) Issue(ctx context.Context, number int) (forge.Issue, error) {
	i, err := call(ctx, f, "read issue "+strconv.Itoa(number), func(c *gitea.Client) (*gitea.Issue, *gitea.Response, error) {
		return c.GetIssue(f.owner, f.name, int64(number))
	})
	if err != nil {
		return forge.Issue{}, err
	}
	out := forge.Issue{Number: int(i.Index), Title: i.Title, Text: i.Body, Open: i.State == gitea.StateOpen}
	if i.Poster != nil {
		out.Author = i.Poster.UserName
	}
	return out, nil
}

// pull converts a pull request to the type of package forge.
func pull(p *gitea.PullRequest) forge.Pull {
	if p == nil || p.Head == nil || p.Base == nil {
		return forge.Pull{}
	}
	state := forge.Open
	switch {
	case p.HasMerged:
		state = forge.Merged
	case p.State != gitea.StateOpen:
		state = forge.Closed
	}
	out := forge.Pull{
		Number: int(p.Index), URL: p.HTMLURL, Title: p.Title, State: state, Draft: p.Draft || strings.HasPrefix(p.Title, draft),
		Base: p.Base.Ref, Head: p.Head.Ref, HeadCommit: p.Head.Sha, Fork: p.Head.RepoID != p.Base.RepoID,
	}
	if p.Poster != nil {
		out.Author = p.Poster.UserName
	}
	return out
}

// Label implements forge.Pulls. Gitea identifies labels by number, and each repository has its own.
func (f *Forge) Label(ctx context.Context, number int, labels []string) error {
	have, err := pages(ctx, f, "list the labels", func(c *gitea.Client, o gitea.ListOptions) ([]*gitea.Label, *gitea.Response, error) {
		return c.ListRepoLabels(f.owner, f.name, gitea.ListLabelsOptions{ListOptions: o})
	})
	if err != nil {
		return err
	}
	var ids []int64
	for _, name := range labels {
		i := slices.IndexFunc(have, func(l *gitea.Label) bool { return strings.EqualFold(l.Name, name) })
		if i < 0 {
			made, err := call(ctx, f, "create the label "+name, func(c *gitea.Client) (*gitea.Label, *gitea.Response, error) {
				return c.CreateLabel(f.owner, f.name, gitea.CreateLabelOption{Name: name, Color: "#5a6b7c"})
			})
			if err != nil {
				return err
			}
			have, i = append(have, made), len(have)
		}
		ids = append(ids, have[i].ID)
	}
	_, err = call(ctx, f, "add labels", func(c *gitea.Client) ([]*gitea.Label, *gitea.Response, error) {
		return c.AddIssueLabels(f.owner, f.name, int64(number), gitea.IssueLabelsOption{Labels: ids})
	})
	return err
}

// Threads implements forge.Reviews. Gitea's API has no threads: the comments on one line form one.
func (f *Forge) Threads(ctx context.Context, number int) ([]forge.Thread, error) {
	me, err := f.Me(ctx)
	if err != nil {
		return nil, err
	}
	reviews, err := pages(ctx, f, "list the reviews", func(c *gitea.Client, o gitea.ListOptions) ([]*gitea.PullReview, *gitea.Response, error) {
		return c.ListPullReviews(f.owner, f.name, int64(number), gitea.ListPullReviewsOptions{ListOptions: o})
	})
	if err != nil {
		return nil, err
	}
	var threads []forge.Thread
	at := map[string]int{}
	for _, r := range reviews {
		if r.CodeCommentsCount == 0 {
			continue
		}
		list, err := call(ctx, f, "list the comments of a review", func(c *gitea.Client) ([]*gitea.PullReviewComment, *gitea.Response, error) {
			return c.ListPullReviewComments(f.owner, f.name, int64(number), r.ID)
		})
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			said := forge.Comment{ID: strconv.FormatInt(c.ID, 10), Text: c.Body}
			if c.Reviewer != nil {
				said.Author, said.Mine = c.Reviewer.UserName, c.Reviewer.UserName == me
			}
			key := fmt.Sprintf("%s:%d", c.Path, c.LineNum)
			i, ok := at[key]
			if !ok {
				i = len(threads)
				at[key] = i
				threads = append(threads, forge.Thread{ID: said.ID, Path: c.Path, Line: int(c.LineNum)})
			}
			threads[i].Comments = append(threads[i].Comments, said)
			threads[i].Resolved = threads[i].Resolved || c.Resolver != nil
		}
	}
	return threads, nil
}

// Review implements forge.Reviews.
func (f *Forge) Review(ctx context.Context, number int, commit string, comments []forge.LineComment) error {
	o := gitea.CreatePullReviewOptions{State: gitea.ReviewStateComment, CommitID: commit}
	for _, c := range comments {
		o.Comments = append(o.Comments, gitea.CreatePullReviewComment{Path: c.Path, Body: c.Text, NewLineNum: int64(c.Line)})
	}
	_, err := call(ctx, f, "write a review", func(c *gitea.Client) (*gitea.PullReview, *gitea.Response, error) {
		return c.CreatePullReview(f.owner, f.name, int64(number), o)
	})
	return err
}

// Answer implements forge.Reviews. Servers up to 1.26 have no answers: another comment on the line serves as one, as
// their pages show it.
func (f *Forge) Answer(ctx context.Context, number int, t forge.Thread, text string, resolve bool) error {
	id, err := strconv.ParseInt(t.ID, 10, 64)
	if err != nil {
		return err
	}
	_, err = call(ctx, f, "answer a comment", func(c *gitea.Client) (*gitea.PullReviewComment, *gitea.Response, error) {
		return c.CreatePullReviewCommentReply(f.owner, f.name, int64(number), id, gitea.CreatePullReviewCommentReplyOptions{Body: text})
	})
	switch {
	case errors.Is(err, forge.ErrNotFound) && t.Line > 0:
		var p forge.Pull
		if p, err = f.Pull(ctx, number); err == nil {
			err = f.Review(ctx, number, p.HeadCommit, []forge.LineComment{{Path: t.Path, Line: t.Line, Text: text}})
		}
	case errors.Is(err, forge.ErrNotFound):
		err = f.SetComment(ctx, number, "", t.Path+": "+text)
	}
	if err != nil || !resolve {
		return err
	}
	_, err = call(ctx, f, "resolve a comment", func(c *gitea.Client) (none struct{}, resp *gitea.Response, err error) {
		resp, err = c.ResolvePullReviewComment(f.owner, f.name, id)
		return none, resp, err
	})
	if errors.Is(err, forge.ErrNotFound) {
		return nil
	}
	return err
}

// Comments implements forge.Reviews.
func (f *Forge) Comments(ctx context.Context, number int) ([]forge.Comment, error) {
	me, err := f.Me(ctx)
	if err != nil {
		return nil, err
	}
	// All at once: on the server, this list has no pages.
	list, err := call(ctx, f, "list the comments", func(c *gitea.Client) ([]*gitea.Comment, *gitea.Response, error) {
		return c.ListIssueComments(f.owner, f.name, int64(number), gitea.ListIssueCommentOptions{})
	})
	var all []forge.Comment
	for _, c := range list {
		said := forge.Comment{ID: strconv.FormatInt(c.ID, 10), Text: c.Body}
		if c.Poster != nil {
			said.Author, said.Mine = c.Poster.UserName, c.Poster.UserName == me
		}
		all = append(all, said)
	}
	return all, err
}

// SetComment implements forge.Reviews.
func (f *Forge) SetComment(ctx context.Context, number int, id, text string) error {
	_, err := call(ctx, f, "write a comment", func(c *gitea.Client) (*gitea.Comment, *gitea.Response, error) {
		if id == "" {
			return c.CreateIssueComment(f.owner, f.name, int64(number), gitea.CreateIssueCommentOption{Body: text})
		}
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return nil, nil, err
		}
		return c.EditIssueComment(f.owner, f.name, n, gitea.EditIssueCommentOption{Body: text})
	})
	return err
}

// SetStatus implements forge.Reviews.
func (f *Forge) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	state := map[forge.JobState]gitea.StatusState{forge.Waiting: gitea.StatusPending, forge.Passed: gitea.StatusSuccess, forge.Failed: gitea.StatusFailure}[s.State]
	_, err := call(ctx, f, "set the status of a commit", func(c *gitea.Client) (*gitea.Status, *gitea.Response, error) {
		return c.CreateStatus(f.owner, f.name, commit, gitea.CreateStatusOption{State: state, TargetURL: s.URL, Description: s.Text, Context: s.Context})
	})
	return err
}

// Jobs implements forge.Checks: it lists the jobs of the server's own Actions, and the statuses that others set.
func (f *Forge) Jobs(ctx context.Context, commit string) ([]forge.Job, error) {
	runs, err := pages(ctx, f, "list the runs of a commit", func(c *gitea.Client, o gitea.ListOptions) ([]*gitea.ActionWorkflowRun, *gitea.Response, error) {
		r, resp, err := c.ListRepoActionRuns(f.owner, f.name, gitea.ListRepoActionRunsOptions{ListOptions: o, HeadSHA: commit})
		if err != nil {
			return nil, resp, err
		}
		return r.WorkflowRuns, resp, nil
	})
	if err != nil && !errors.Is(err, forge.ErrNotFound) { // a repository without Actions
		return nil, err
	}
	var jobs []forge.Job
	for _, r := range runs {
		list, err := pages(ctx, f, "list the jobs of a run", func(c *gitea.Client, o gitea.ListOptions) ([]*gitea.ActionWorkflowJob, *gitea.Response, error) {
			l, resp, err := c.ListRepoActionRunJobs(f.owner, f.name, r.ID, gitea.ListRepoActionJobsOptions{ListOptions: o})
			if err != nil {
				return nil, resp, err
			}
			return l.Jobs, resp, nil
		})
		if err != nil {
			return nil, err
		}
		for _, j := range list {
			jobs = append(jobs, forge.Job{
				ID: strconv.FormatInt(j.ID, 10), Run: strconv.FormatInt(r.ID, 10), Name: j.Name + " (" + r.Event + ")", URL: j.HTMLURL,
				State: jobState(j.Status, j.Conclusion), HasLog: true,
			})
		}
	}
	set, err := call(ctx, f, "list the statuses of a commit", func(c *gitea.Client) (*gitea.CombinedStatus, *gitea.Response, error) {
		return c.GetCombinedStatus(f.owner, f.name, commit)
	})
	if err != nil {
		return nil, err
	}
	for _, s := range set.Statuses {
		// Actions set a status for each of their jobs, which are listed already.
		if len(jobs) > 0 && strings.Contains(s.TargetURL, "/actions/runs/") {
			continue
		}
		state := map[gitea.StatusState]forge.JobState{gitea.StatusSuccess: forge.Passed, gitea.StatusPending: forge.Waiting}[s.State]
		if state == "" {
			state = forge.Failed
		}
		jobs = append(jobs, forge.Job{ID: strconv.FormatInt(s.ID, 10), Name: s.Context, URL: s.TargetURL, State: state})
	}
	return jobs, nil
}

// jobState returns the state of a job. An unknown one does not count as passed.
func jobState(status, conclusion string) forge.JobState {
	if status != "completed" {
		return forge.Waiting
	}
	switch conclusion {
	case "success":
		return forge.Passed
	case "skipped":
		return forge.Skipped
	}
	return forge.Failed
}

// Log implements forge.Checks. The SDK would read all of it.
func (f *Forge) Log(ctx context.Context, j forge.Job) (io.ReadCloser, error) {
	if _, err := strconv.ParseInt(j.ID, 10, 64); err != nil || !j.HasLog {
		return nil, forge.ErrNotFound
	}
	at := f.base + "/api/v1/repos/" + f.owner + "/" + f.name + "/actions/jobs/" + j.ID + "/logs"
	return wire.Open(ctx, f.client, at, "read the log of "+j.Name)
}

// Rerun implements forge.Checks.
func (f *Forge) Rerun(ctx context.Context, j forge.Job) error {
	n, err := strconv.ParseInt(j.ID, 10, 64)
	of, runErr := strconv.ParseInt(j.Run, 10, 64)
	if err != nil || runErr != nil || !j.HasLog {
		return forge.ErrNotFound
	}
	_, err = call(ctx, f, "run "+j.Name+" again", func(c *gitea.Client) (*gitea.ActionWorkflowJob, *gitea.Response, error) {
		return c.RerunRepoActionJob(f.owner, f.name, of, n)
	})
	return err
}
