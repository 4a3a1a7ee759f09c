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

// discussions lists what was said about a merge request, without GitLab's own notes.
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

// Threads implements forge.Reviews.
func (f *Forge) Threads(ctx context.Context, number int) ([]forge.Thread, error) {
	threads, _, err := f.discussions(ctx, number)
	return threads, err
}

// Comments implements forge.Reviews.
func (f *Forge) Comments(ctx context.Context, number int) ([]forge.Comment, error) {
	_, whole, err := f.discussions(ctx, number)
	return whole, err
}

// A change is a merge request's change of one file.
type change struct {
	Old  string `json:"old_path"`
	New  string `json:"new_path"`
	Diff string `json:"diff"`
}

// Review implements forge.Reviews. A comment can stand only on a line of the difference, and for a line that is not new
// GitLab also wants the old number. Comments on other lines become comments on the whole.
func (f *Forge) Review(ctx context.Context, number int, commit string, comments []forge.LineComment) error {
	r, err := f.request(ctx, number)
	if err != nil {
		return err
	}
	list, err := pages[change](ctx, f, "read the diff", "/merge_requests/"+strconv.Itoa(number)+"/diffs", nil)
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

// position returns the position of a line in a difference, or nil if it is not in it.
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

// Answer implements forge.Reviews.
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
		return nil // a thread that cannot be resolved, or not with this token: the answer is there
	}
	return err
}

// SetComment implements forge.Reviews.
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

// maxDescription is the longest text of a status that GitLab accepts.
const maxDescription = 255

// SetStatus implements forge.Reviews. GitLab refuses a status that equals the one before.
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

// A job is a job of a pipeline, or a status that somebody set.
type job struct {
	ID           int64  `json:"id"`
	Name         string `json:"name"`
	Status       string `json:"status"`
	AllowFailure bool   `json:"allow_failure"`
	Page         string `json:"web_url"`
	Target       string `json:"target_url"`
}

// Jobs implements forge.Checks: it lists the jobs of the newest pipeline of each kind, and the statuses that others set.
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
		// They include the jobs of pipelines; a job whose pipeline is not listed here belongs to an older one.
		if id := strconv.FormatInt(s.ID, 10); !listed[id] && !strings.Contains(s.Target, "/-/jobs/") {
			jobs = append(jobs, forge.Job{ID: id, Name: s.Name, URL: s.Target, State: s.state()})
		}
	}
	return jobs, nil
}

// state returns the state of a job. An unknown one does not count as passed.
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

// number returns the number of a job with a log; the error is forge.ErrNotFound for any other.
func number(j forge.Job) (int64, error) {
	n, err := strconv.ParseInt(j.ID, 10, 64)
	if err != nil || !j.HasLog {
		return 0, forge.ErrNotFound
	}
	return n, nil
}

// Log implements forge.Checks.
func (f *Forge) Log(ctx context.Context, j forge.Job) (io.ReadCloser, error) {
	n, err := number(j)
	if err != nil {
		return nil, err
	}
	return wire.Open(ctx, f.client, fmt.Sprintf("%s/jobs/%d/trace", f.at, n), "read the log of "+j.Name)
}

// Rerun implements forge.Checks. GitLab creates another job for it.
func (f *Forge) Rerun(ctx context.Context, j forge.Job) error {
	n, err := number(j)
	if err != nil {
		return err
	}
	_, err = f.call(ctx, "run "+j.Name+" again", http.MethodPost, fmt.Sprintf("%s/jobs/%d/retry", f.at, n), nil, nil)
	return err
}
