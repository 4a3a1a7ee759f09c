// Package gitlab is the driver for GitLab, with its REST API of version 4. A merge request is what package forge calls
// a pull request.
package gitlab

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"agent/orchestrator/forge"
	"agent/orchestrator/forge/wire"
)

// perPage is the size of a page of a list, the largest that GitLab gives.
const perPage = 100

// draft is the beginning of a draft's title.
const draft = "Draft: "

// A Forge is one project. It implements forge.Forge.
type Forge struct {
	at     string // the project's path in the API
	root   string // the root of the API
	client *http.Client

	mu  sync.Mutex
	who string // the owner of the token, once asked
}

// New returns the driver for a repository; token opens it.
func New(a forge.Address, token string) (*Forge, error) {
	client, err := wire.New(a.Base, token)
	if err != nil {
		return nil, err
	}
	root := a.Base + "/api/v4"
	return &Forge{at: root + "/projects/" + url.PathEscape(a.Slug()), root: root, client: client}, nil
}

// call calls the API once: it sends in as JSON unless it is nil, and decodes the answer into out. next is the number of
// the next page of a list, "" for none.
func (f *Forge) call(ctx context.Context, act, method, address string, in, out any) (next string, err error) {
	var body io.Reader
	if in != nil {
		text, err := json.Marshal(in)
		if err != nil {
			return "", err
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return "", wire.Fault(act, 0, err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return "", wire.Fault(act, 0, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 2<<10))
		return "", wire.Fault(act, resp.StatusCode, errors.New(resp.Status+" "+string(said)))
	}
	if out == nil {
		return "", nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return "", fmt.Errorf("%s: read the answer: %w", act, err)
	}
	return resp.Header.Get("X-Next-Page"), nil
}

// pages reads a complete list.
func pages[T any](ctx context.Context, f *Forge, act, path string, query url.Values) (all []T, err error) {
	if query == nil {
		query = url.Values{}
	}
	query.Set("per_page", strconv.Itoa(perPage))
	for page := 1; ; {
		query.Set("page", strconv.Itoa(page))
		var list []T
		next, err := f.call(ctx, act, http.MethodGet, f.at+path+"?"+query.Encode(), nil, &list)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
		n, err := strconv.Atoi(next)
		if err != nil || len(list) == 0 || n <= page {
			return all, nil // the last page, or a list that runs in a circle
		}
		if len(all) >= forge.MaxListed {
			return nil, fmt.Errorf("%s: %w", act, forge.ErrTooLong)
		}
		page = n
	}
}

// Me implements forge.People.
func (f *Forge) Me(ctx context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.who != "" {
		return f.who, nil
	}
	var u person
	if _, err := f.call(ctx, "look up the owner of the token", http.MethodGet, f.root+"/user", nil, &u); err != nil {
		return "", err
	}
	if u.Username == "" { // deleted users have no name either
		return "", errors.New("look up the owner of the token: the answer names no user; use a token of a user or a project")
	}
	f.who = u.Username
	return f.who, nil
}

// A person is a user.
type person struct {
	Username string `json:"username"`
}

// DefaultBranch implements forge.Pulls.
func (f *Forge) DefaultBranch(ctx context.Context) (string, error) {
	var p struct {
		DefaultBranch string `json:"default_branch"`
		Empty         bool   `json:"empty_repo"`
	}
	_, err := f.call(ctx, "read the repository", http.MethodGet, f.at, nil, &p)
	if err != nil || p.Empty {
		return "", err
	}
	return p.DefaultBranch, nil
}

// A request is a merge request.
type request struct {
	IID           int    `json:"iid"`
	Title         string `json:"title"`
	State         string `json:"state"`
	Draft         bool   `json:"draft"`
	URL           string `json:"web_url"`
	Source        string `json:"source_branch"`
	Target        string `json:"target_branch"`
	SHA           string `json:"sha"`
	SourceProject int64  `json:"source_project_id"`
	TargetProject int64  `json:"target_project_id"`
	Author        person `json:"author"`
	Refs          refs   `json:"diff_refs"`
}

// refs are the commits between which a difference lies.
type refs struct {
	Base  string `json:"base_sha"`
	Head  string `json:"head_sha"`
	Start string `json:"start_sha"`
}

// pull converts a merge request to the type of package forge. An unknown state counts as closed.
func (r request) pull() forge.Pull {
	state := forge.Closed
	switch r.State {
	case "opened":
		state = forge.Open
	case "merged":
		state = forge.Merged
	}
	return forge.Pull{
		Number: r.IID, URL: r.URL, Title: r.Title, State: state, Draft: r.Draft || strings.HasPrefix(r.Title, draft), Base: r.Target, Head: r.Source, HeadCommit: r.SHA,
		Fork: r.SourceProject != r.TargetProject, Author: r.Author.Username,
	}
}

// request reads a merge request.
func (f *Forge) request(ctx context.Context, number int) (r request, err error) {
	_, err = f.call(ctx, "read merge request "+strconv.Itoa(number), http.MethodGet, f.of(number), nil, &r)
	return r, err
}

// of returns the API path of a merge request.
func (f *Forge) of(number int) string { return f.at + "/merge_requests/" + strconv.Itoa(number) }

// Pull implements forge.Pulls.
func (f *Forge) Pull(ctx context.Context, number int) (forge.Pull, error) {
	r, err := f.request(ctx, number)
	if err != nil {
		return forge.Pull{}, err
	}
	return r.pull(), nil
}

// FindPull implements forge.Pulls.
func (f *Forge) FindPull(ctx context.Context, head string) (forge.Pull, error) {
	list, err := pages[request](ctx, f, "look for the merge request of "+head, "/merge_requests", url.Values{"state": {"opened"}, "source_branch": {head}})
	if err != nil {
		return forge.Pull{}, err
	}
	for _, r := range list {
		if found := r.pull(); found.Head == head && !found.Fork {
			return found, nil
		}
	}
	return forge.Pull{}, forge.ErrNotFound
}

// OpenPull implements forge.Pulls.
func (f *Forge) OpenPull(ctx context.Context, n forge.NewPull) (forge.Pull, error) {
	if n.Draft {
		n.Title = draft + n.Title
	}
	var r request
	_, err := f.call(ctx, "open a merge request of "+n.Head, http.MethodPost, f.at+"/merge_requests",
		map[string]string{"source_branch": n.Head, "target_branch": n.Base, "title": n.Title, "description": n.Body}, &r)
	if err != nil {
		return forge.Pull{}, err
	}
	return r.pull(), nil
}

// Label implements forge.Pulls. GitLab creates labels that it lacks.
func (f *Forge) Label(ctx context.Context, number int, labels []string) error {
	_, err := f.call(ctx, "add labels", http.MethodPut, f.of(number), map[string]string{"add_labels": strings.Join(labels, ",")}, nil)
	return err
}

// Issue implements forge.Pulls. Issues and merge requests are numbered separately.
func (f *Forge) Issue(ctx context.Context, number int) (forge.Issue, error) {
	var i struct {
		IID         int    `json:"iid"`
		Title       string `json:"title"`
		Description string `json:"description"`
		State       string `json:"state"`
		Author      person `json:"author"`
	}
	_, err := f.call(ctx, "read issue "+strconv.Itoa(number), http.MethodGet, f.at+"/issues/"+strconv.Itoa(number), nil, &i)
	return forge.Issue{Number: i.IID, Title: i.Title, Text: i.Description, Author: i.Author.Username, Open: i.State == "opened"}, err
}
