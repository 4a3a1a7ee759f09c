package gitlab

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"agent/orchestrator/forge"
)

// developer is the lowest level of access at which GitLab lets somebody push.
const developer = 30

// MayWrite implements forge.People. Permissions through a group count too.
func (f *Forge) MayWrite(ctx context.Context, name string) (bool, error) {
	if !forge.PlainName(name) {
		return false, nil
	}
	var users []struct {
		ID       int64  `json:"id"`
		Username string `json:"username"`
	}
	act := "look up what " + name + " may do"
	if _, err := f.call(ctx, act, http.MethodGet, f.root+"/users?"+url.Values{"username": {name}}.Encode(), nil, &users); err != nil {
		return false, err
	}
	if len(users) != 1 || users[0].Username != name {
		return false, nil
	}
	var member struct {
		Level int    `json:"access_level"`
		State string `json:"state"`
	}
	_, err := f.call(ctx, act, http.MethodGet, f.at+"/members/all/"+strconv.FormatInt(users[0].ID, 10), nil, &member)
	if errors.Is(err, forge.ErrNotFound) {
		return false, nil
	}
	return err == nil && member.Level >= developer && (member.State == "" || member.State == "active"), err
}

// A note is one comment.
type note struct {
	ID     int64  `json:"id"`
	Body   string `json:"body"`
	Author person `json:"author"`
	System bool   `json:"system"`
}

// IssueComments implements forge.People.
func (f *Forge) IssueComments(ctx context.Context, number int) ([]forge.Comment, error) {
	me, err := f.Me(ctx)
	if err != nil {
		return nil, err
	}
	list, err := pages[note](ctx, f, "list the comments", "/issues/"+strconv.Itoa(number)+"/notes", url.Values{"sort": {"asc"}})
	var all []forge.Comment
	for _, n := range list {
		if !n.System {
			all = append(all, forge.Comment{ID: strconv.FormatInt(n.ID, 10), Author: n.Author.Username, Text: n.Body, Mine: n.Author.Username == me})
		}
	}
	return all, err
}

// CommentIssue implements forge.People.
func (f *Forge) CommentIssue(ctx context.Context, number int, text string) error {
	_, err := f.call(ctx, "write a comment", http.MethodPost, f.at+"/issues/"+strconv.Itoa(number)+"/notes", map[string]string{"body": text}, nil)
	return err
}

// Said implements forge.People. GitLab reports comments as events, by whole days, the newest first.
func (f *Forge) Said(ctx context.Context, since time.Time) (all []forge.Said, err error) {
	me, err := f.Me(ctx)
	if err != nil {
		return nil, err
	}
	type event struct {
		Note struct {
			note
			Kind string `json:"noteable_type"`
			IID  int    `json:"noteable_iid"`
		} `json:"note"`
	}
	list, err := pages[event](ctx, f, "list the comments of the project", "/events", url.Values{"action": {"commented"}, "after": {since.UTC().AddDate(0, 0, -1).Format(time.DateOnly)}})
	for _, e := range list {
		n := e.Note
		if n.System || n.IID == 0 || n.Kind != "Issue" && n.Kind != "MergeRequest" {
			continue
		}
		all = append(all, forge.Said{
			Comment: forge.Comment{ID: strconv.FormatInt(n.ID, 10), Author: n.Author.Username, Text: n.Body, Mine: n.Author.Username == me},
			Number:  n.IID, Pull: n.Kind == "MergeRequest",
		})
	}
	slices.Reverse(all)
	return all, err
}
