package gitlab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"agent/orchestrator/forge"
	"agent/orchestrator/forge/wire"
)

// A discussion is a comment with its answers.
type discussion struct {
	ID    string `json:"id"`
	Notes []struct {
		ID       int64  `json:"id"`
		Body     string `json:"body"`
		Author   person `json:"author"`
		System   bool   `json:"system"`
		Resolved bool   `json:"resolved"`
		Position *struct {
			Path string `json:"new_path"`
			Line int    `json:"new_line"`
		} `json:"position"`
	} `json:"notes"`
}

// discussions lists what was said of a merge request, without what GitLab says itself.
func (f *Forge) discussions(ctx context.Context, number int) (threads []forge.Thread, whole []forge.Comment, err error) {
	me, err := f.Me(ctx)
	if err != nil {
		return nil, nil, err
	}
	list, err := pages[discussion](ctx, f, "list the comments", "/merge_requests/"+strconv.Itoa(number)+"/discussions", nil)
	if err != nil {
		return nil, nil, err
	}
	for _, d := range list {
		t := forge.Thread{ID: d.ID}
		for i, n := range d.Notes {
			if n.System {
				continue
			}
			t.Comments = append(t.Comments, forge.Comment{ID: strconv.FormatInt(n.ID, 10), Author: n.Author.Username, Text: n.Body, Mine: n.Author.Username == me})
			t.Resolved = t.Resolved || n.Resolved
			if i == 0 && n.Position != nil {
				t.Path, t.Line = n.Position.Path, n.Position.Line
			}
		}
		switch {
		case len(t.Comments) == 0:
		case t.Path != "":
			threads = append(threads, t)
		default:
			whole = append(whole, t.Comments...)
		}
	}
	return threads, whole, nil
}

// Threads is part of forge.Reviews.
func (f *Forge) Threads(ctx context.Context, number int) ([]forge.Thread, error) {
	threads, _, err := f.discussions(ctx, number)
	return threads, err
}

// Comments is part of forge.Reviews.
func (f *Forge) Comments(ctx context.Context, number int) ([]forge.Comment, error) {
	_, whole, err := f.discussions(ctx, number)
	return whole, err
}

// A change is what a merge request does to one file.
type change struct {
	Old  string `json:"old_path"`
	New  string `json:"new_path"`
	Diff string `json:"diff"`
}

// Review is part of forge.Reviews. A comment stands at a line of the difference alone, and of one that is not new GitLab
// wants the old number too; what it shows no difference of is said of the whole.
func (f *Forge) Review(ctx context.Context, number int, commit string, comments []forge.LineComment) error {
	r, err := f.request(ctx, number)
	if err != nil {
		return err
	}
	list, err := pages[change](ctx, f, "read the difference", "/merge_requests/"+strconv.Itoa(number)+"/diffs", nil)
	if err != nil {
		return err
	}
	for _, c := range comments {
		in := map[string]any{"body": c.Text}
		at := position(list, c)
		if at == nil || r.Refs.Head != commit {
			in["body"] = fmt.Sprintf("`%s:%d`\n\n%s", strings.NewReplacer("`", "", "\n", " ", "\r", " ").Replace(c.Path), c.Line, c.Text)
		} else {
			at["position_type"], at["base_sha"], at["start_sha"], at["head_sha"] = "text", r.Refs.Base, r.Refs.Start, r.Refs.Head
			in["position"] = at
		}
		if _, err := f.call(ctx, "write a comment", http.MethodPost, f.of(number)+"/discussions", in, nil); err != nil {
			return err
		}
	}
	return nil
}

// position is where a line stands in a difference, nil where it does not.
func position(list []change, c forge.LineComment) map[string]any {
	for _, ch := range list {
		if ch.New != c.Path {
			continue
		}
		before, after, part := 0, 0, false
		for text := range strings.Lines(ch.Diff) {
			switch {
			case strings.HasPrefix(text, "@@ "):
				if _, err := fmt.Sscanf(text, "@@ -%d", &before); err != nil {
					return nil
				}
				_, side, _ := strings.Cut(text, " +")
				if _, err := fmt.Sscanf(side, "%d", &after); err != nil {
					return nil
				}
				part = true
				continue
			case !part:
				return nil
			case strings.HasPrefix(text, "-"):
				before++
				continue
			case strings.HasPrefix(text, "\\"):
				continue
			}
			added := strings.HasPrefix(text, "+")
			if after == c.Line {
				at := map[string]any{"old_path": ch.Old, "new_path": ch.New, "new_line": c.Line}
				if !added {
					at["old_line"] = before
				}
				return at
			}
			after++
			if !added {
				before++
			}
		}
	}
	return nil
}

// Answer is part of forge.Reviews.
func (f *Forge) Answer(ctx context.Context, number int, t forge.Thread, text string, resolve bool) error {
	at := f.of(number) + "/discussions/" + url.PathEscape(t.ID)
	if _, err := f.call(ctx, "answer a comment", http.MethodPost, at+"/notes", map[string]string{"body": text}, nil); err != nil {
		return err
	}
	if !resolve {
		return nil
	}
	_, err := f.call(ctx, "resolve a thread", http.MethodPut, at, map[string]bool{"resolved": true}, nil)
	if errors.Is(err, forge.ErrNotFound) || errors.Is(err, forge.ErrDenied) {
		return nil // one that cannot be resolved, or not by this token: it is answered
	}
	return err
}

// SetComment is part of forge.Reviews.
func (f *Forge) SetComment(ctx context.Context, number int, id, text string) error {
	method, at := http.MethodPost, f.of(number)+"/notes"
	if id != "" {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return wire.Fault("change a comment", 0, err)
		}
		method, at = http.MethodPut, at+"/"+strconv.FormatInt(n, 10)
	}
	_, err := f.call(ctx, "write a comment", method, at, map[string]string{"body": text}, nil)
	return err
}

// maxDescription is what GitLab takes of the text of a status.
const maxDescription = 255

// SetStatus is part of forge.Reviews. GitLab refuses one that is the same as before.
func (f *Forge) SetStatus(ctx context.Context, commit string, s forge.Status) error {
	state := map[forge.JobState]string{forge.Waiting: "pending", forge.Passed: "success", forge.Failed: "failed"}[s.State]
	in := map[string]string{"state": state, "name": s.Context, "description": strings.ToValidUTF8(s.Text[:min(len(s.Text), maxDescription)], "")}
	if s.URL != "" {
		in["target_url"] = s.URL
	}
	_, err := f.call(ctx, "set the status of a commit", http.MethodPost, f.at+"/statuses/"+url.PathEscape(commit), in, nil)
	if err != nil && strings.Contains(err.Error(), "Cannot transition status") {
		return nil
	}
	return err
}

// A job is one of a pipeline, or a status that somebody set.
type job struct {
	ID           int64  `json:"id"`
	Name         string `json:"name"`
	Status       string `json:"status"`
	AllowFailure bool   `json:"allow_failure"`
	Page         string `json:"web_url"`
	Target       string `json:"target_url"`
}

// Jobs is part of forge.Checks: those of the newest pipeline of each sort, and what was set by others.
func (f *Forge) Jobs(ctx context.Context, commit string) ([]forge.Job, error) {
	type pipeline struct {
		ID     int64  `json:"id"`
		Ref    string `json:"ref"`
		Source string `json:"source"`
	}
	pipelines, err := pages[pipeline](ctx, f, "list the pipelines of a commit", "/pipelines", url.Values{"sha": {commit}, "order_by": {"id"}, "sort": {"desc"}})
	if err != nil && !errors.Is(err, forge.ErrNotFound) && !errors.Is(err, forge.ErrDenied) { // a project without pipelines
		return nil, err
	}
	var jobs []forge.Job
	seen, listed := map[string]bool{}, map[string]bool{}
	for _, p := range pipelines {
		if key := p.Source + "\x00" + p.Ref; seen[key] || p.Source == "external" {
			continue
		} else {
			seen[key] = true
		}
		list, err := pages[job](ctx, f, "list the jobs of a pipeline", fmt.Sprintf("/pipelines/%d/jobs", p.ID), nil)
		if err != nil {
			return nil, err
		}
		for _, j := range list {
			id := strconv.FormatInt(j.ID, 10)
			listed[id] = true
			jobs = append(jobs, forge.Job{ID: id, Run: strconv.FormatInt(p.ID, 10), Name: j.Name + " (" + p.Source + ")", URL: j.Page, State: j.state(), HasLog: true})
		}
	}
	set, err := pages[job](ctx, f, "list the statuses of a commit", "/repository/commits/"+url.PathEscape(commit)+"/statuses", nil)
	if err != nil {
		return nil, err
	}
	for _, s := range set {
		// The jobs of pipelines are among them; one without a pipeline here is of an older one.
		if id := strconv.FormatInt(s.ID, 10); !listed[id] && !strings.Contains(s.Target, "/-/jobs/") {
			jobs = append(jobs, forge.Job{ID: id, Name: s.Name, URL: s.Target, State: s.state()})
		}
	}
	return jobs, nil
}

// state is how far a job came. What is not known is no pass.
func (j job) state() forge.JobState {
	switch j.Status {
	case "success":
		return forge.Passed
	case "skipped", "manual":
		return forge.Skipped
	case "failed":
		if j.AllowFailure {
			return forge.Skipped
		}
		return forge.Failed
	case "created", "waiting_for_resource", "preparing", "waiting_for_callback", "pending", "running", "scheduled", "canceling":
		return forge.Waiting
	}
	return forge.Failed
}

// number is that of a job with a log; the error is forge.ErrNotFound for any other.
func number(j forge.Job) (int64, error) {
	n, err := strconv.ParseInt(j.ID, 10, 64)
	if err != nil || !j.HasLog {
		return 0, forge.ErrNotFound
	}
	return n, nil
}

// Log is part of forge.Checks.
func (f *Forge) Log(ctx context.Context, j forge.Job) (io.ReadCloser, error) {
	n, err := number(j)
	if err != nil {
		return nil, err
	}
	return wire.Open(ctx, f.client, fmt.Sprintf("%s/jobs/%d/trace", f.at, n), "read the log of "+j.Name)
}

// Rerun is part of forge.Checks. GitLab makes another job of it.
func (f *Forge) Rerun(ctx context.Context, j forge.Job) error {
	n, err := number(j)
	if err != nil {
		return err
	}
	_, err = f.call(ctx, "run "+j.Name+" again", http.MethodPost, fmt.Sprintf("%s/jobs/%d/retry", f.at, n), nil, nil)
	return err
}
