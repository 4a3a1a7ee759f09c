package github

import (
	"context"
	"errors"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v92/github"

	"agent/orchestrator/forge"
)

// MayWrite implements forge.People. A maintainer has write permission, and a member who triages has read permission.
func (f *Forge) MayWrite(ctx context.Context, name string) (bool, error) {
	if !forge.PlainName(name) {
		return false, nil
	}
	level, resp, err := f.api.Repositories.GetPermissionLevel(ctx, f.owner, f.name, name)
	if err = fault("look up what "+name+" may do", resp, err); errors.Is(err, forge.ErrNotFound) {
		return false, nil
	}
	return level.GetPermission() == "admin" || level.GetPermission() == "write", err
}

// IssueComments implements forge.People. GitHub numbers issues and pull requests together.
func (f *Forge) IssueComments(ctx context.Context, number int) ([]forge.Comment, error) {
	return f.Comments(ctx, number)
}

// CommentIssue implements forge.People.
func (f *Forge) CommentIssue(ctx context.Context, number int, text string) error {
	return f.SetComment(ctx, number, "", text)
}

// Said implements forge.People.
func (f *Forge) Said(ctx context.Context, since time.Time) (all []forge.Said, err error) {
	me, err := f.Me(ctx)
	if err != nil {
		return nil, err
	}
	sort, direction := "updated", "asc"
	list, err := pages("list the comments of the repository", func(o github.ListOptions) ([]*github.IssueComment, *github.Response, error) {
		return f.api.Issues.ListComments(ctx, f.owner, f.name, 0, &github.IssueListCommentsOptions{Sort: &sort, Direction: &direction, Since: &since, ListOptions: o})
	})
	for _, c := range list {
		number, err := strconv.Atoi(path.Base(c.GetIssueURL()))
		if err != nil {
			continue
		}
		all = append(all, forge.Said{
			Comment: forge.Comment{ID: strconv.FormatInt(c.GetID(), 10), Author: c.GetUser().GetLogin(), Text: c.GetBody(), Mine: c.GetUser().GetLogin() == me},
			Number:  number, Pull: strings.Contains(c.GetHTMLURL(), "/pull/"),
		})
	}
	return all, err
}
