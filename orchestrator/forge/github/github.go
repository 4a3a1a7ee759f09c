// Package github is the driver for GitHub and GitHub Enterprise, with their REST API.
package github

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/google/go-github/v92/github"

	"agent/orchestrator/forge"
	"agent/orchestrator/forge/wire"
)

// perPage is the size of a page of a list, the largest that GitHub gives.
const perPage = 100

// A Forge is one repository. It implements forge.Forge.
type Forge struct {
	api         *github.Client
	owner, name string

	mu  sync.Mutex
	who string // the owner of the token, once asked
}

// New returns the driver for a repository; token opens it.
func New(a forge.Address, token string) (*Forge, error) {
	base := a.Base + "/api/v3/"
	if a.Base == "https://github.com" {
		base = "https://api.github.com/"
	}
	client, err := wire.New(base, token)
	if err != nil {
		return nil, err
	}
	// The transport handles rate limits, and waits as the host asks.
	api, err := github.NewClient(github.WithHTTPClient(client), github.WithURLs(&base, &base), github.WithDisableRateLimitCheck())
	if err != nil {
		return nil, err
	}
	return &Forge{api: api, owner: a.Owner, name: a.Name}, nil
}

// fault returns the error for an act that GitHub did not do.
func fault(act string, resp *github.Response, err error) error {
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	// GitHub's own way of saying that it already exists.
	if err != nil && status == http.StatusUnprocessableEntity && strings.Contains(err.Error(), "already exists") {
		status = http.StatusConflict
	}
	return wire.Fault(act, status, err)
}

// pages calls next for each page of a list until there are no more. It returns no part of a list that is too long.
func pages[T any](act string, next func(github.ListOptions) ([]T, *github.Response, error)) (all []T, err error) {
	for o := (github.ListOptions{PerPage: perPage}); ; {
		list, resp, err := next(o)
		if err != nil {
			return nil, fault(act, resp, err)
		}
		all = append(all, list...)
		last := o.Page
		switch o.Page = resp.NextPage; {
		case o.Page == 0:
			return all, nil
		case len(all) >= forge.MaxListed || o.Page <= last || len(list) == 0: // also a list that runs in a circle
			return nil, fmt.Errorf("%s: %w", act, forge.ErrTooLong)
		}
	}
}

// Me implements forge.People. An app's token has no user, and its comments are a bot's.
func (f *Forge) Me(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.who != "" {
		return f.who, nil
	}
	u, resp, err := f.api.Users.Get(ctx, "")
	if err != nil && resp != nil && resp.StatusCode == http.StatusForbidden {
		f.who = "github-actions[bot]"
		return f.who, nil
	}
	if err != nil {
		return "", fault("look up the owner of the token", resp, err)
	}
	f.who = u.GetLogin()
	return f.who, nil
}

// DefaultBranch implements forge.Pulls.
func (f *Forge) DefaultBranch(ctx context.Context) (string, error) {
	r, resp, err := f.api.Repositories.Get(ctx, f.owner, f.name)
	return r.GetDefaultBranch(), fault("read the repository", resp, err)
}

// Pull implements forge.Pulls.
func (f *Forge) Pull(ctx context.Context, number int) (forge.Pull, error) {
	p, resp, err := f.api.PullRequests.Get(ctx, f.owner, f.name, number)
	return pull(p), fault("read pull request "+strconv.Itoa(number), resp, err)
}

// FindPull implements forge.Pulls.
func (f *Forge) FindPull(ctx context.Context, head string) (forge.Pull, error) {
	list, resp, err := f.api.PullRequests.List(ctx, f.owner, f.name, &github.PullRequestListOptions{State: "open", Head: f.owner + ":" + head})
	if err != nil {
		return forge.Pull{}, fault("look for the pull request of "+head, resp, err)
	}
	for _, p := range list {
		if found := pull(p); found.Head == head && !found.Fork {
			return found, nil
		}
	}
	return forge.Pull{}, forge.ErrNotFound
}

// OpenPull implements forge.Pulls.
func (f *Forge) OpenPull(ctx context.Context, n forge.NewPull) (forge.Pull, error) {
	p, resp, err := f.api.PullRequests.Create(ctx, f.owner, f.name, github.CreatePullRequest{Title: &n.Title, Body: &n.Body, Head: n.Head, Base: n.Base, Draft: &n.Draft})
	return pull(p), fault("open a pull request of "+n.Head, resp, err)
}

// Issue implements forge.Pulls.
func (f *Forge) Issue(ctx context.Context, number int) (forge.Issue, error) {
	i, resp, err := f.api.Issues.Get(ctx, f.owner, f.name, number)
	return forge.Issue{Number: i.GetNumber(), Title: i.GetTitle(), Text: i.GetBody(), Author: i.GetUser().GetLogin(), Open: i.GetState() == "open"}, fault("read issue "+strconv.Itoa(number), resp, err)
}

// pull converts a pull request to the type of package forge.
func pull(p *github.PullRequest) forge.Pull {
	if p == nil {
		return forge.Pull{}
	}
	state := forge.Open
	switch {
	case p.GetMerged() || p.MergedAt != nil:
		state = forge.Merged
	case p.GetState() != "open":
		state = forge.Closed
	}
	head, base := p.GetHead(), p.GetBase()
	// A deleted fork no longer has a repository.
	fork := head.GetRepo().GetFullName() != base.GetRepo().GetFullName()
	return forge.Pull{
		Number: p.GetNumber(), URL: p.GetHTMLURL(), Title: p.GetTitle(), State: state, Draft: p.GetDraft(),
		Base: base.GetRef(), Head: head.GetRef(), HeadCommit: head.GetSHA(), Fork: fork, Author: p.GetUser().GetLogin(),
	}
}

// post sends a request for which the client has no call, or only one that differs from GitHub's description.
func (f *Forge) post(ctx context.Context, act, path string, body any) error {
	req, err := f.api.NewRequest(ctx, http.MethodPost, "repos/"+f.owner+"/"+f.name+"/"+path, body)
	if err != nil {
		return err
	}
	resp, err := f.api.Do(req, nil)
	return fault(act, resp, err)
}

// Label implements forge.Pulls. The client would send a list, which GitHub no longer describes.
func (f *Forge) Label(ctx context.Context, number int, labels []string) error {
	return f.post(ctx, "add labels", fmt.Sprintf("issues/%d/labels", number), map[string][]string{"labels": labels})
}

// Threads implements forge.Reviews.
func (f *Forge) Threads(ctx context.Context, number int) ([]forge.Thread, error) {
	me, err := f.Me(ctx)
	if err != nil {
		return nil, err
	}
	list, err := pages("list the comments of the review", func(o github.ListOptions) ([]*github.PullRequestComment, *github.Response, error) {
		return f.api.PullRequests.ListComments(ctx, f.owner, f.name, number, &github.PullRequestListCommentsOptions{ListOptions: o})
	})
	if err != nil {
		return nil, err
	}
	var threads []forge.Thread
	at := map[int64]int{}
	for _, c := range list {
		said := forge.Comment{ID: strconv.FormatInt(c.GetID(), 10), Author: c.GetUser().GetLogin(), Text: c.GetBody(), Mine: c.GetUser().GetLogin() == me}
		if i, ok := at[c.GetInReplyTo()]; ok && c.InReplyTo != nil {
			threads[i].Comments = append(threads[i].Comments, said)
			continue
		}
		at[c.GetID()] = len(threads)
		threads = append(threads, forge.Thread{ID: said.ID, Path: c.GetPath(), Line: c.GetLine(), Comments: []forge.Comment{said}})
	}
	return threads, nil
}

// Review implements forge.Reviews.
func (f *Forge) Review(ctx context.Context, number int, commit string, comments []forge.LineComment) error {
	event, side := "COMMENT", "RIGHT"
	r := &github.PullRequestReviewRequest{CommitID: &commit, Event: &event}
	for _, c := range comments {
		r.Comments = append(r.Comments, &github.DraftReviewComment{Path: &c.Path, Line: &c.Line, Side: &side, Body: &c.Text})
	}
	_, resp, err := f.api.PullRequests.CreateReview(ctx, f.owner, f.name, number, r)
	return fault("write a review", resp, err)
}

// Answer implements forge.Reviews. GitHub resolves threads only through another API, so the answer takes the place of
// resolving.
func (f *Forge) Answer(ctx context.Context, number int, t forge.Thread, text string, _ bool) error {
	return f.post(ctx, "answer a comment", fmt.Sprintf("pulls/%d/comments/%s/replies", number, url.PathEscape(t.ID)), map[string]string{"body": text})
}

// Comments implements forge.Reviews.
func (f *Forge) Comments(ctx context.Context, number int) ([]forge.Comment, error) {
	me, err := f.Me(ctx)
	if err != nil {
		return nil, err
	}
	list, err := pages("list the comments", func(o github.ListOptions) ([]*github.IssueComment, *github.Response, error) {
		return f.api.Issues.ListComments(ctx, f.owner, f.name, number, &github.IssueListCommentsOptions{ListOptions: o})
	})
	var all []forge.Comment
	for _, c := range list {
		all = append(all, forge.Comment{ID: strconv.FormatInt(c.GetID(), 10), Author: c.GetUser().GetLogin(), Text: c.GetBody(), Mine: c.GetUser().GetLogin() == me})
	}
	return all, err
}

// SetComment implements forge.Reviews.
func (f *Forge) SetComment(ctx context.Context, number int, id, text string) error {
	if id == "" {
		_, resp, err := f.api.Issues.CreateComment(ctx, f.owner, f.name, number, github.IssueCommentRequest{Body: text})
		return fault("write a comment", resp, err)
	}
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return err
	}
	_, resp, err := f.api.Issues.UpdateComment(ctx, f.owner, f.name, n, github.IssueCommentRequest{Body: text})
	return fault("change a comment", resp, err)
}

// SetStatus implements forge.Reviews.
func (f *Forge) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	state := map[forge.JobState]string{forge.Waiting: "pending", forge.Passed: "success", forge.Failed: "failure"}[s.State]
	// The longest text that GitHub accepts.
	text := s.Text[:min(len(s.Text), 140)]
	status := github.RepoStatus{State: &state, Context: &s.Context, Description: &text}
	if s.URL != "" {
		status.TargetURL = &s.URL
	}
	_, resp, err := f.api.Repositories.CreateStatus(ctx, f.owner, f.name, commit, status)
	return fault("set the status of a commit", resp, err)
}

// Jobs implements forge.Checks: it lists checks that run and statuses that were only set, as GitHub shows them together.
func (f *Forge) Jobs(ctx context.Context, commit string) ([]forge.Job, error) {
	latest := "latest"
	runs, err := pages("list the checks of a commit", func(o github.ListOptions) ([]*github.CheckRun, *github.Response, error) {
		r, resp, err := f.api.Checks.ListCheckRunsForRef(ctx, f.owner, f.name, commit, &github.ListCheckRunsOptions{Filter: &latest, ListOptions: o})
		if err != nil {
			return nil, resp, err
		}
		return r.CheckRuns, resp, nil
	})
	if err != nil {
		return nil, err
	}
	var jobs []forge.Job
	for _, r := range runs {
		jobs = append(jobs, forge.Job{
			ID: strconv.FormatInt(r.GetID(), 10), Name: r.GetName(), URL: r.GetHTMLURL(), State: checkState(r.GetStatus(), r.GetConclusion()),
			// The check of a job has the job's own number.
			HasLog: r.GetApp().GetSlug() == "github-actions",
		})
	}
	set, err := pages("list the statuses of a commit", func(o github.ListOptions) ([]*github.RepoStatus, *github.Response, error) {
		c, resp, err := f.api.Repositories.GetCombinedStatus(ctx, f.owner, f.name, commit, &o)
		if err != nil {
			return nil, resp, err
		}
		return c.Statuses, resp, nil
	})
	for _, s := range set {
		state := map[string]forge.JobState{"success": forge.Passed, "pending": forge.Waiting}[s.GetState()]
		if state == "" {
			state = forge.Failed
		}
		jobs = append(jobs, forge.Job{ID: strconv.FormatInt(s.GetID(), 10), Name: s.GetContext(), URL: s.GetTargetURL(), State: state})
	}
	return jobs, err
}

// checkState returns the state of a check. An unknown one does not count as passed.
func checkState(status, conclusion string) forge.JobState {
	if status != "completed" {
		return forge.Waiting
	}
	switch conclusion {
	case "success", "neutral":
		return forge.Passed
	case "skipped":
		return forge.Skipped
	}
	return forge.Failed
}

// Log implements forge.Checks. GitHub redirects to another host that has the log, which does not see the token.
func (f *Forge) Log(ctx context.Context, j forge.Job) (io.ReadCloser, error) {
	n, err := strconv.ParseInt(j.ID, 10, 64)
	if err != nil || !j.HasLog {
		return nil, forge.ErrNotFound
	}
	at, resp, err := f.api.Actions.GetWorkflowJobLogs(ctx, f.owner, f.name, n, 1)
	if err != nil {
		return nil, fault("ask for the log of "+j.Name, resp, err)
	}
	return wire.Open(ctx, f.api.Client(), at.String(), "read the log of "+j.Name)
}

// Rerun implements forge.Checks.
func (f *Forge) Rerun(ctx context.Context, j forge.Job) error {
	n, err := strconv.ParseInt(j.ID, 10, 64)
	if err != nil || !j.HasLog {
		return forge.ErrNotFound
	}
	resp, err := f.api.Actions.RerunJobByID(ctx, f.owner, f.name, n)
	return fault("run "+j.Name+" again", resp, err)
}
