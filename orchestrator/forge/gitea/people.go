package gitea

import (
	"context"
	"errors"
	"path"
	"strconv"
	"time"

	"code.gitea.io/sdk/gitea"

	"agent/orchestrator/forge"
)

// MayWrite implements forge.People.
func (f *Forge) MayWrite(ctx context.Context, name string) (bool, error) {
	if !forge.PlainName(name) {
		return false, nil
	}
	r, err := call(ctx, f, "look up what "+name+" may do", func(c *gitea.Client) (*gitea.CollaboratorPermissionResult, *gitea.Response, error) {
		return c.CollaboratorPermission(f.owner, f.name, name)
	})
	if errors.Is(err, forge.ErrNotFound) || r == nil {
		return false, ignoreMissing(err)
	}
	return r.Permission == gitea.AccessModeOwner || r.Permission == gitea.AccessModeAdmin || r.Permission == gitea.AccessModeWrite, err
}

// ignoreMissing returns err, or nil if it says that something does not exist.
func ignoreMissing(err error) error {
	if errors.Is(err, forge.ErrNotFound) {
		return nil
	}
	return err
}

// IssueComments implements forge.People. Gitea numbers issues and pull requests together.
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
	list, err := pages(ctx, f, "list the comments of the repository", func(c *gitea.Client, o gitea.ListOptions) ([]*gitea.Comment, *gitea.Response, error) {
		return c.ListRepoIssueComments(f.owner, f.name, gitea.ListIssueCommentOptions{ListOptions: o, Since: since})
	})
	for _, c := range list {
		at := c.IssueURL
		if c.PRURL != "" {
			at = c.PRURL
		}
		number, err := strconv.Atoi(path.Base(at))
		if err != nil || c.Poster == nil {
			continue
		}
		all = append(all, forge.Said{
			Comment: forge.Comment{ID: strconv.FormatInt(c.ID, 10), Author: c.Poster.UserName, Text: c.Body, Mine: c.Poster.UserName == me},
			Number:  number, Pull: c.PRURL != "",
		})
	}
	return all, err
}
