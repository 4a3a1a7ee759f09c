package forgetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Me is the account that owns Token.
const Me = "agent"

// A Hub is one repository on an in-memory forge that speaks GitHub's wire format: it refuses what GitHub would refuse.
// Its branches are those of a repository of Git.
type Hub struct {
	Slug string
	git  *Git
	t    testing.TB

	mu       sync.Mutex
	pulls    []*hubPull
	comments []*hubComment
	statuses map[string][]map[string]any
	jobs     []*Job
	forks    map[string]string // a branch in a fork, by its owner
	reruns   []int64
	issues   []Issue
	build    func(commit string) Job
	next     int64
}

// An Issue is an issue that somebody opened.
type Issue struct {
	Number      int
	Title, Body string
}

type hubPull struct {
	number        int
	title, body   string
	head, base    string
	state, fork   string
	draft, merged bool
	labels        []string
}

type hubComment struct {
	id            int64
	pull          int
	line          int
	path, body    string
	user, commit  string
	inReplyTo     int64
	wholeRequests bool // on the pull request as a whole
}

// A Job is one job of the forge's build servers.
type Job struct {
	ID         int64
	Commit     string
	Name       string
	Status     string // queued, in_progress, completed
	Conclusion string // success, failure, skipped
	Log        string
	// Fails says that it ends the same way when it runs again; other jobs pass then, like flaky ones.
	Fails bool
}

// NewHub puts a forge in front of a repository of g, which has the branch main.
func NewHub(t testing.TB, g *Git, slug string) *Hub {
	h := &Hub{Slug: slug, git: g, t: t, statuses: map[string][]map[string]any{}, forks: map[string]string{}, next: 100}
	mux := http.NewServeMux()
	repo := "/api/v3/repos/" + slug
	for pattern, act := range map[string]func(*http.Request) (int, any){
		"GET /api/v3/user":                                 func(*http.Request) (int, any) { return 200, person(Me) },
		"GET " + repo:                                      h.repository,
		"GET " + repo + "/pulls":                           h.listPulls,
		"POST " + repo + "/pulls":                          h.openPull,
		"GET " + repo + "/pulls/{n}":                       h.getPull,
		"GET " + repo + "/issues/{n}":                      h.issue,
		"POST " + repo + "/issues/{n}/labels":              h.label,
		"GET " + repo + "/pulls/{n}/comments":              h.threads,
		"POST " + repo + "/pulls/{n}/reviews":              h.review,
		"POST " + repo + "/pulls/{n}/comments/{c}/replies": h.reply,
		"GET " + repo + "/issues/{n}/comments":             h.said,
		"POST " + repo + "/issues/{n}/comments":            h.say,
		"GET " + repo + "/issues/comments":                 h.everything,
		"GET " + repo + "/collaborators/{who}/permission":  h.permission,
		"PATCH " + repo + "/issues/comments/{c}":           h.edit,
		"POST " + repo + "/statuses/{sha}":                 h.setStatus,
		"GET " + repo + "/commits/{sha}/status":            h.status,
		"GET " + repo + "/commits/{sha}/check-runs":        h.checks,
		"POST " + repo + "/actions/jobs/{j}/rerun":         h.rerun,
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			h.mu.Lock()
			defer h.mu.Unlock()
			status, body := act(r)
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(body)
		})
	}
	mux.HandleFunc("GET "+repo+"/actions/jobs/{j}/logs", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, g.URL+"/api/v3/logs/"+r.PathValue("j"), http.StatusFound)
	})
	mux.HandleFunc("GET /api/v3/logs/{j}", func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if j := h.job(r); j != nil {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, j.Log)
		}
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	g.API = mux
	return h
}

func person(name string) map[string]any { return map[string]any{"login": name} }

func refuse(why string) (int, any) {
	return http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed", "errors": []map[string]string{{"message": why}}}
}

func missing() (int, any) { return http.StatusNotFound, map[string]string{"message": "Not Found"} }

// read decodes the body of a request.
func read[T any](r *http.Request) (v T) {
	_ = json.NewDecoder(r.Body).Decode(&v)
	return v
}

func (h *Hub) repository(*http.Request) (int, any) {
	return 200, map[string]any{"default_branch": "main", "full_name": h.Slug}
}

// pullOf returns the pull request that a path names.
func (h *Hub) pullOf(r *http.Request) *hubPull {
	n, _ := strconv.Atoi(r.PathValue("n"))
	for _, p := range h.pulls {
		if p.number == n {
			return p
		}
	}
	return nil
}

// show returns a pull request in GitHub's form.
func (h *Hub) show(p *hubPull) map[string]any {
	owner, _, _ := strings.Cut(h.Slug, "/")
	headRepo := any(map[string]any{"full_name": h.Slug})
	sha := h.git.At(h.t, h.Slug, "refs/heads/"+p.head)
	if p.fork != "" {
		headRepo = map[string]any{"full_name": p.fork}
		sha = h.git.At(h.t, h.Slug, fmt.Sprintf("refs/pull/%d/head", p.number))
	}
	return map[string]any{
		"number": p.number, "title": p.title, "body": p.body, "state": p.state, "draft": p.draft, "merged": p.merged, "user": person(Me),
		"html_url": fmt.Sprintf("%s/%s/pull/%d", h.git.URL, h.Slug, p.number),
		"head":     map[string]any{"ref": p.head, "sha": sha, "label": owner + ":" + p.head, "repo": headRepo},
		"base":     map[string]any{"ref": p.base, "sha": h.git.At(h.t, h.Slug, "refs/heads/"+p.base), "repo": map[string]any{"full_name": h.Slug}},
	}
}

func (h *Hub) listPulls(r *http.Request) (int, any) {
	list := []any{}
	_, head, _ := strings.Cut(r.FormValue("head"), ":")
	for _, p := range h.pulls {
		if p.state == "open" && (head == "" || head == p.head) {
			list = append(list, h.show(p))
		}
	}
	return 200, list
}

func (h *Hub) openPull(r *http.Request) (int, any) {
	in := read[struct {
		Title, Body, Head, Base string
		Draft                   bool
	}](r)
	at := h.git.At(h.t, h.Slug, "refs/heads/"+in.Head)
	switch {
	case in.Title == "" || at == "" || h.git.At(h.t, h.Slug, "refs/heads/"+in.Base) == "":
		return refuse("head or base is invalid")
	case slices.ContainsFunc(h.pulls, func(p *hubPull) bool { return p.state == "open" && p.head == in.Head && p.base == in.Base }):
		return refuse("A pull request already exists for " + in.Head + ".")
	}
	p := &hubPull{number: len(h.pulls) + 1, title: in.Title, body: in.Body, head: in.Head, base: in.Base, draft: in.Draft, state: "open"}
	h.pulls = append(h.pulls, p)
	h.pointHead(p)
	return 201, h.show(p)
}

// pointHead makes the repository offer the head of a pull request by its number, as GitHub does.
func (h *Hub) pointHead(p *hubPull) {
	Run(h.t, h.git.Bare(h.Slug), "update-ref", fmt.Sprintf("refs/pull/%d/head", p.number), "refs/heads/"+p.head)
}

func (h *Hub) getPull(r *http.Request) (int, any) {
	if p := h.pullOf(r); p != nil {
		if p.fork == "" && h.git.At(h.t, h.Slug, "refs/heads/"+p.head) != "" {
			h.pointHead(p)
		}
		return 200, h.show(p)
	}
	return missing()
}

// issue returns an issue that was opened, or a pull request, which is one too.
func (h *Hub) issue(r *http.Request) (int, any) {
	if p := h.pullOf(r); p != nil {
		return 200, h.show(p)
	}
	for _, i := range h.issues {
		if strconv.Itoa(i.Number) == r.PathValue("n") {
			return 200, map[string]any{"number": i.Number, "title": i.Title, "body": i.Body, "state": "open", "user": person("ada")}
		}
	}
	return missing()
}

func (h *Hub) label(r *http.Request) (int, any) {
	p := h.pullOf(r)
	if p == nil {
		return missing()
	}
	for _, name := range read[struct{ Labels []string }](r).Labels {
		if !slices.Contains(p.labels, name) {
			p.labels = append(p.labels, name)
		}
	}
	return 200, []any{}
}

// show returns a comment in GitHub's form.
func (c *hubComment) show() map[string]any {
	m := map[string]any{"id": c.id, "body": c.body, "user": person(c.user)}
	if !c.wholeRequests {
		m["path"], m["line"], m["commit_id"] = c.path, c.line, c.commit
		if c.inReplyTo != 0 {
			m["in_reply_to_id"] = c.inReplyTo
		}
	}
	return m
}

// numberOf returns the number of the issue or pull request that a path names, 0 for none.
func (h *Hub) numberOf(r *http.Request) int {
	if p := h.pullOf(r); p != nil {
		return p.number
	}
	for _, i := range h.issues {
		if strconv.Itoa(i.Number) == r.PathValue("n") {
			return i.Number
		}
	}
	return 0
}

// everything lists the comments on issues and pull requests as a whole.
func (h *Hub) everything(*http.Request) (int, any) {
	list := []any{}
	for _, c := range h.comments {
		if !c.wholeRequests {
			continue
		}
		m, kind := c.show(), "issues"
		if slices.ContainsFunc(h.pulls, func(p *hubPull) bool { return p.number == c.pull }) {
			kind = "pull"
		}
		m["issue_url"] = fmt.Sprintf("%s/api/v3/repos/%s/issues/%d", h.git.URL, h.Slug, c.pull)
		m["html_url"] = fmt.Sprintf("%s/%s/%s/%d#issuecomment-%d", h.git.URL, h.Slug, kind, c.pull, c.id)
		list = append(list, m)
	}
	return 200, list
}

// permission returns "write" for ada and "read" for anybody else.
func (h *Hub) permission(r *http.Request) (int, any) {
	level := map[string]string{"ada": "write"}[r.PathValue("who")]
	if level == "" {
		level = "read"
	}
	return 200, map[string]any{"permission": level, "user": person(r.PathValue("who"))}
}

// list returns one page of comments, and says where the next one is.
func (h *Hub) list(r *http.Request, whole bool) (int, any) {
	number := h.numberOf(r)
	if number == 0 {
		return missing()
	}
	list := []any{}
	for _, c := range h.comments {
		if c.pull == number && c.wholeRequests == whole {
			list = append(list, c.show())
		}
	}
	return 200, list
}

func (h *Hub) threads(r *http.Request) (int, any) { return h.list(r, false) }
func (h *Hub) said(r *http.Request) (int, any)    { return h.list(r, true) }

func (h *Hub) add(c hubComment) *hubComment {
	h.next++
	c.id = h.next
	h.comments = append(h.comments, &c)
	return &c
}

func (h *Hub) review(r *http.Request) (int, any) {
	in := read[struct {
		CommitID string `json:"commit_id"`
		Event    string
		Comments []struct {
			Path, Body, Side string
			Line             int
		}
	}](r)
	p := h.pullOf(r)
	if p == nil {
		return missing()
	}
	diff := Run(h.t, h.git.Bare(h.Slug), "diff", "--unified=3", "refs/heads/"+p.base+"..."+in.CommitID)
	for _, c := range in.Comments {
		if c.Line <= 0 || c.Side != "RIGHT" || !inDiff(diff, c.Path, c.Line) {
			return refuse("pull_request_review_thread.line must be part of the diff")
		}
	}
	if in.Event != "COMMENT" || len(in.Comments) == 0 {
		return refuse("a review without a word")
	}
	for _, c := range in.Comments {
		h.add(hubComment{pull: p.number, path: c.Path, line: c.Line, body: c.Body, user: Me, commit: in.CommitID})
	}
	return 200, map[string]any{"id": h.next}
}

// inDiff reports whether a line of the new side occurs in a diff.
func inDiff(diff, name string, line int) bool {
	file, at := "", 0
	for _, text := range strings.Split(diff, "\n") {
		switch {
		case strings.HasPrefix(text, "+++ b/"):
			file = strings.TrimPrefix(text, "+++ b/")
		case strings.HasPrefix(text, "@@ "):
			_, rest, _ := strings.Cut(text, "+")
			fmt.Sscanf(rest, "%d", &at)
		case strings.HasPrefix(text, "-"), strings.HasPrefix(text, "\\"), strings.HasPrefix(text, "diff "):
		default:
			if file == name && at == line {
				return true
			}
			at++
		}
	}
	return false
}

func (h *Hub) reply(r *http.Request) (int, any) {
	in := read[struct{ Body string }](r)
	of, _ := strconv.ParseInt(r.PathValue("c"), 10, 64)
	for _, c := range h.comments {
		if c.id == of {
			return 201, h.add(hubComment{pull: c.pull, path: c.path, line: c.line, body: in.Body, user: Me, inReplyTo: of}).show()
		}
	}
	return missing()
}

func (h *Hub) say(r *http.Request) (int, any) {
	number := h.numberOf(r)
	if number == 0 {
		return missing()
	}
	return 201, h.add(hubComment{pull: number, body: read[struct{ Body string }](r).Body, user: Me, wholeRequests: true}).show()
}

func (h *Hub) edit(r *http.Request) (int, any) {
	of, _ := strconv.ParseInt(r.PathValue("c"), 10, 64)
	for _, c := range h.comments {
		if c.id == of && c.user == Me {
			c.body = read[struct{ Body string }](r).Body
			return 200, c.show()
		}
	}
	return missing()
}

func (h *Hub) setStatus(r *http.Request) (int, any) {
	in := read[map[string]any](r)
	if text, _ := in["description"].(string); len(text) > 140 || in["state"] == nil {
		return refuse("description is too long")
	}
	h.next++
	in["id"] = h.next
	sha := r.PathValue("sha")
	h.statuses[sha] = append(slices.DeleteFunc(h.statuses[sha], func(s map[string]any) bool { return s["context"] == in["context"] }), in)
	return 201, in
}

func (h *Hub) status(r *http.Request) (int, any) {
	list := h.statuses[r.PathValue("sha")]
	if list == nil {
		list = []map[string]any{}
	}
	return 200, map[string]any{"state": "pending", "statuses": list, "total_count": len(list)}
}

func (h *Hub) checks(r *http.Request) (int, any) {
	if sha := r.PathValue("sha"); h.build != nil && !slices.ContainsFunc(h.jobs, func(j *Job) bool { return j.Commit == sha }) {
		j := h.build(sha)
		h.next++
		j.ID, j.Commit = h.next, sha
		h.jobs = append(h.jobs, &j)
	}
	list := []any{}
	for _, j := range h.jobs {
		if j.Commit == r.PathValue("sha") {
			list = append(list, map[string]any{"id": j.ID, "name": j.Name, "status": j.Status, "conclusion": j.Conclusion, "app": map[string]any{"slug": "github-actions"}})
		}
	}
	return 200, map[string]any{"total_count": len(list), "check_runs": list}
}

// job returns the job that a path names.
func (h *Hub) job(r *http.Request) *Job {
	n, _ := strconv.ParseInt(r.PathValue("j"), 10, 64)
	for _, j := range h.jobs {
		if j.ID == n {
			return j
		}
	}
	return nil
}

func (h *Hub) rerun(r *http.Request) (int, any) {
	j := h.job(r)
	if j == nil {
		return missing()
	}
	h.reruns = append(h.reruns, j.ID)
	if !j.Fails {
		j.Conclusion = "success"
	}
	return 201, map[string]any{}
}

// AddJob adds a job of the build servers for a commit, and returns its number.
func (h *Hub) AddJob(j Job) int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	j.ID = h.next
	h.jobs = append(h.jobs, &j)
	return j.ID
}

// Build gives each commit one job, which build makes when the commit is first asked about.
func (h *Hub) Build(build func(commit string) Job) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.build = build
}

// Reruns returns the jobs whose rerun was requested.
func (h *Hub) Reruns() []int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.reruns)
}

// AddIssue makes another person open an issue.
func (h *Hub) AddIssue(i Issue) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.issues = append(h.issues, i)
}

// Say makes another person, who may write, comment on a line, or on the whole if path is "".
func (h *Hub) Say(number int, path string, line int, text string) {
	h.SayAs("ada", number, path, line, text)
}

// SayAs is Say for any person.
func (h *Hub) SayAs(who string, number int, path string, line int, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(hubComment{pull: number, path: path, line: line, body: text, user: who, wholeRequests: path == ""})
}

// Said lists the agent's comments on an issue or a pull request as a whole.
func (h *Hub) Said(number int) (list []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.comments {
		if c.pull == number && c.wholeRequests && c.user == Me {
			list = append(list, c.body)
		}
	}
	return list
}

// FromFork creates a pull request whose branch is in another repository. The branch must be one of this repository, and
// is removed from it.
func (h *Hub) FromFork(branch, base string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := &hubPull{number: len(h.pulls) + 1, title: "from a fork", head: branch, base: base, state: "open", fork: "mallory/till"}
	h.pulls = append(h.pulls, p)
	h.pointHead(p)
	Run(h.t, h.git.Bare(h.Slug), "update-ref", "-d", "refs/heads/"+branch)
	return p.number
}

// Close closes a pull request.
func (h *Hub) Close(number int, merged bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pulls[number-1].state, h.pulls[number-1].merged = "closed", merged
}

// A Shown is a pull request as people see it.
type Shown struct {
	Title, Body, Head, Base string
	Draft                   bool
	Labels                  []string
	// Comments on lines have the form path:line text, answers follow a >, and comments on the whole have no path.
	Comments []string
	Statuses []string // context state description, of any commit
}

// Shown lists the pull requests as people see them.
func (h *Hub) Shown() (list []Shown) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.pulls {
		s := Shown{Title: p.title, Body: p.body, Head: p.head, Base: p.base, Draft: p.draft, Labels: p.labels}
		for _, c := range h.comments {
			switch {
			case c.pull != p.number:
			case c.wholeRequests:
				s.Comments = append(s.Comments, c.body)
			case c.inReplyTo != 0:
				s.Comments = append(s.Comments, "> "+c.body)
			default:
				s.Comments = append(s.Comments, fmt.Sprintf("%s:%d %s", c.path, c.line, c.body))
			}
		}
		for _, of := range h.statuses {
			for _, one := range of {
				s.Statuses = append(s.Statuses, fmt.Sprint(one["context"], " ", one["state"], " ", one["description"]))
			}
		}
		slices.Sort(s.Statuses)
		list = append(list, s)
	}
	return list
}
