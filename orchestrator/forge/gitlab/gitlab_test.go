package gitlab_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/forge"
	"agent/orchestrator/forge/gitlab"
)

// A recorded server answers by method and path, and keeps what was sent to it. The shapes follow GitLab's documentation of its API; no
// GitLab server was asked.
type recorded struct {
	t       *testing.T
	answers map[string]string
	sent    []string
}

func (s *recorded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if r.Header.Get("Authorization") != "Bearer t" {
		s.t.Errorf("%s has no token", r.URL)
	}
	key := r.Method + " " + strings.TrimPrefix(r.URL.EscapedPath(), "/api/v4/projects/group%2Fsub%2Ftill")
	if page := r.FormValue("page"); page != "" && page != "1" {
		key += " page " + page
	}
	if r.Method != http.MethodGet {
		s.sent = append(s.sent, key+" "+string(body))
	}
	answer, ok := s.answers[key]
	w.Header().Set("Content-Type", "application/json")
	if _, more := s.answers[key+" page 2"]; more {
		w.Header().Set("X-Next-Page", "2")
	}
	status, text, coded := strings.Cut(answer, ":")
	switch {
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"message":"404 Not found"}`)
	case coded && len(status) == 3:
		code := 0
		fmt.Sscan(status, &code)
		w.WriteHeader(code)
		io.WriteString(w, text)
	case coded && status == "text":
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, text)
	default:
		io.WriteString(w, answer)
	}
}

func open(t *testing.T, answers map[string]string) (*gitlab.Forge, *recorded) {
	t.Helper()
	answers["GET /api/v4/user"] = `{"username":"bot"}`
	s := &recorded{t: t, answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	f, err := gitlab.New(forge.Address{Base: server.URL, Owner: "group/sub", Name: "till"}, "t")
	if err != nil {
		t.Fatal(err)
	}
	var _ forge.Forge = f
	return f, s
}

const request = `{"iid":%d,"title":"%s","state":"%s","draft":%v,"web_url":"u","source_branch":"x","target_branch":"main","sha":"c","source_project_id":%d,"target_project_id":1,
	"author":{"username":"ada"},"diff_refs":{"base_sha":"b","head_sha":"c","start_sha":"s"}}`

func TestMergeRequestsInTheWordsOfAForge(t *testing.T) {
	t.Parallel()
	f, s := open(t, map[string]string{
		"GET ":                       `{"default_branch":"main"}`,
		"GET /merge_requests/1":      fmt.Sprintf(request, 1, "Draft: x", "opened", true, 1),
		"GET /merge_requests/2":      fmt.Sprintf(request, 2, "x", "merged", false, 1),
		"GET /merge_requests/3":      fmt.Sprintf(request, 3, "x", "closed", false, 1),
		"GET /merge_requests/4":      fmt.Sprintf(request, 4, "x", "locked", false, 7),
		"GET /merge_requests":        "[" + fmt.Sprintf(request, 4, "x", "opened", false, 7) + "]",
		"GET /merge_requests page 2": "[" + fmt.Sprintf(request, 6, "x", "opened", false, 1) + "]",
		"POST /merge_requests":       fmt.Sprintf(request, 8, "Draft: t", "opened", true, 1),
		"PUT /merge_requests/8":      `{}`,
		"GET /issues/5":              `{"iid":5,"title":"round up","description":"please","state":"opened","author":{"username":"ada"}}`,
	})
	if main, err := f.DefaultBranch(t.Context()); err != nil || main != "main" {
		t.Errorf("%q, %v", main, err)
	}
	for n, want := range map[int]forge.Pull{
		1: {Number: 1, URL: "u", Title: "Draft: x", State: forge.Open, Draft: true, Base: "main", Head: "x", HeadCommit: "c", Author: "ada"},
		2: {Number: 2, URL: "u", Title: "x", State: forge.Merged, Base: "main", Head: "x", HeadCommit: "c", Author: "ada"},
		3: {Number: 3, URL: "u", Title: "x", State: forge.Closed, Base: "main", Head: "x", HeadCommit: "c", Author: "ada"},
		4: {Number: 4, URL: "u", Title: "x", State: forge.Closed, Base: "main", Head: "x", HeadCommit: "c", Author: "ada", Fork: true},
	} {
		if p, err := f.Pull(t.Context(), n); err != nil || p != want {
			t.Errorf("%+v, %v", p, err)
		}
	}
	if _, err := f.Pull(t.Context(), 9); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("%v", err)
	}
	// The one from a fork, whose branch has the same name, is a different one.
	if p, err := f.FindPull(t.Context(), "x"); err != nil || p.Number != 6 {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := f.FindPull(t.Context(), "y"); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if p, err := f.OpenPull(t.Context(), forge.NewPull{Title: "t", Body: "b", Head: "x", Base: "main", Draft: true}); err != nil || p.Number != 8 || !strings.Contains(s.sent[0], `"title":"Draft: t"`) {
		t.Errorf("%q %v", s.sent, err)
	}
	if err := f.Label(t.Context(), 8, []string{"agent", "proved"}); err != nil || !strings.Contains(s.sent[1], `"add_labels":"agent,proved"`) {
		t.Errorf("%q %v", s.sent, err)
	}
	if i, err := f.Issue(t.Context(), 5); err != nil || i != (forge.Issue{Number: 5, Title: "round up", Text: "please", Author: "ada", Open: true}) {
		t.Errorf("%+v %v", i, err)
	}
}

func TestKindsOfTrouble(t *testing.T) {
	t.Parallel()
	f, _ := open(t, map[string]string{
		"GET ": `{"default_branch":"main","empty_repo":true}`, "POST /merge_requests": `409:{"message":["Another open merge request already exists for this source branch: !3"]}`,
		"GET /merge_requests/1": `403:{"message":"403 Forbidden"}`, "GET /merge_requests/2": `not json`,
	})
	if main, err := f.DefaultBranch(t.Context()); err != nil || main != "" {
		t.Errorf("an empty repository has the branch %q, %v", main, err)
	}
	if _, err := f.OpenPull(t.Context(), forge.NewPull{}); !errors.Is(err, forge.ErrExists) {
		t.Errorf("%v", err)
	}
	if _, err := f.Pull(t.Context(), 1); !errors.Is(err, forge.ErrDenied) {
		t.Errorf("%v", err)
	}
	if _, err := f.Pull(t.Context(), 2); err == nil || !strings.Contains(err.Error(), "read merge request 2") {
		t.Errorf("%v", err)
	}
	if err := f.SetComment(t.Context(), 1, "x", "text"); err == nil {
		t.Error("a comment without a number is changed")
	}
	for _, j := range []forge.Job{{ID: "1"}, {ID: "x", HasLog: true}} {
		if _, err := f.Log(t.Context(), j); !errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%v", err)
		}
		if err := f.Rerun(t.Context(), j); !errors.Is(err, forge.ErrNotFound) {
			t.Errorf("%v", err)
		}
	}
}

func TestDiscussionsAreThreadsAndComments(t *testing.T) {
	t.Parallel()
	f, s := open(t, map[string]string{
		"GET /merge_requests/1/discussions": `[
			{"id":"d1","notes":[{"id":1,"body":"name it x","author":{"username":"ada"},"position":{"new_path":"a.py","new_line":3}},{"id":2,"body":"done","author":{"username":"bot"}}]},
			{"id":"d2","notes":[{"id":3,"body":"changed the title","author":{"username":"ada"},"system":true}]},
			{"id":"d3","notes":[{"id":4,"body":"nice","author":{"username":"ada"}}]}]`,
		"GET /merge_requests/1/discussions page 2":    `[{"id":"d4","notes":[{"id":5,"body":"y","author":{"username":"ada"},"resolved":true,"position":{"new_path":"a.py"}}]}]`,
		"POST /merge_requests/1/discussions/d1/notes": `{}`, "PUT /merge_requests/1/discussions/d1": `403:{}`, "POST /merge_requests/1/notes": `{}`, "PUT /merge_requests/1/notes/4": `{}`,
	})
	threads, err := f.Threads(t.Context(), 1)
	if err != nil || len(threads) != 2 || threads[0].ID != "d1" || threads[0].Line != 3 || len(threads[0].Comments) != 2 || threads[0].Comments[0].Mine || !threads[0].Comments[1].Mine || threads[0].Resolved || !threads[1].Resolved || threads[1].Line != 0 {
		t.Errorf("%+v %v", threads, err)
	}
	whole, err := f.Comments(t.Context(), 1)
	if err != nil || len(whole) != 1 || whole[0] != (forge.Comment{ID: "4", Author: "ada", Text: "nice"}) {
		t.Errorf("%+v %v", whole, err)
	}
	err = errors.Join(f.Answer(t.Context(), 1, threads[0], "fixed", true), f.SetComment(t.Context(), 1, "", "first"), f.SetComment(t.Context(), 1, "4", "second"))
	want := []string{
		`POST /merge_requests/1/discussions/d1/notes {"body":"fixed"}`, `PUT /merge_requests/1/discussions/d1 {"resolved":true}`, `POST /merge_requests/1/notes {"body":"first"}`,
		`PUT /merge_requests/1/notes/4 {"body":"second"}`,
	}
	if err != nil || !slices.Equal(s.sent, want) {
		t.Errorf("%q %v", s.sent, err)
	}
}

// GitLab requires both numbers for a line that is not new, and accepts no line outside the diff.
func TestCommentsStandAtTheirLines(t *testing.T) {
	t.Parallel()
	f, s := open(t, map[string]string{
		"GET /merge_requests/1":              fmt.Sprintf(request, 1, "x", "opened", false, 1),
		"GET /merge_requests/1/diffs":        `[{"old_path":"old.py","new_path":"a.py","diff":"@@ -1,3 +1,4 @@ def f\n one\n-two\n+TWO\n+more\n three\n\\ No newline at end of file\n"}]`,
		"POST /merge_requests/1/discussions": `{}`,
	})
	err := f.Review(t.Context(), 1, "c", []forge.LineComment{{Path: "a.py", Line: 2, Text: "new"}, {Path: "a.py", Line: 4, Text: "context"}, {Path: "a.py", Line: 9, Text: "elsewhere"}, {Path: "b.py", Line: 1, Text: "other"}})
	if err != nil || len(s.sent) != 4 {
		t.Fatalf("%q %v", s.sent, err)
	}
	for i, want := range []string{
		`"position":{"base_sha":"b","head_sha":"c","new_line":2,"new_path":"a.py","old_path":"old.py","position_type":"text","start_sha":"s"}`, `"new_line":4,"new_path":"a.py","old_line":3,`,
		"{\"body\":\"`a.py:9`\\n\\nelsewhere\"}", "{\"body\":\"`b.py:1`\\n\\nother\"}",
	} {
		if !strings.Contains(s.sent[i], want) {
			t.Errorf("%s lacks %s", s.sent[i], want)
		}
	}
	// Lines mean nothing in a commit other than the one that the forge shows.
	s.sent = nil
	if err := f.Review(t.Context(), 1, "other", []forge.LineComment{{Path: "a.py", Line: 2, Text: "new"}}); err != nil || strings.Contains(s.sent[0], "position") {
		t.Errorf("%q %v", s.sent, err)
	}
}

func TestJobsAndLogs(t *testing.T) {
	t.Parallel()
	f, s := open(t, map[string]string{
		"GET /pipelines": `[{"id":9,"ref":"x","source":"push"},{"id":8,"ref":"x","source":"push"},{"id":7,"ref":"x","source":"external"},{"id":6,"ref":"refs/merge-requests/1/head","source":"merge_request_event"}]`,
		"GET /pipelines/9/jobs": `[{"id":50,"name":"test","status":"failed","web_url":"j"},{"id":51,"name":"slow","status":"running"},{"id":52,"name":"deploy","status":"manual"},
			{"id":53,"name":"odd","status":"failed","allow_failure":true},{"id":54,"name":"new","status":"a state of tomorrow"},{"id":55,"name":"stopped","status":"canceled"}]`,
		"GET /pipelines/6/jobs": `[{"id":60,"name":"lint","status":"success"}]`,
		"GET /repository/commits/c/statuses": `[{"id":50,"name":"test","status":"failed","target_url":"http://h/o/r/-/jobs/50"},{"id":40,"name":"test","status":"failed","target_url":"http://h/o/r/-/jobs/40"},
			{"id":70,"name":"agent/gate","status":"pending","target_url":"http://h/run"}]`,
		"GET /jobs/50/trace": "text:the log", "POST /jobs/50/retry": `{}`, "POST /statuses/c": `{}`, "POST /statuses/d": `400:{"message":"Cannot transition status via :enqueue from :pending"}`, "POST /statuses/e": `400:{"message":"odd"}`,
	})
	jobs, err := f.Jobs(t.Context(), "c")
	var got []string
	for _, j := range jobs {
		got = append(got, fmt.Sprintf("%s %s %v", j.Name, j.State, j.HasLog))
	}
	want := []string{
		"test (push) failed true", "slow (push) waiting true", "deploy (push) skipped true", "odd (push) skipped true", "new (push) failed true", "stopped (push) failed true",
		"lint (merge_request_event) passed true", "agent/gate waiting false",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q %v", got, err)
	}
	r, err := f.Log(t.Context(), jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if text, err := io.ReadAll(r); err != nil || string(text) != "the log" {
		t.Errorf("%q %v", text, err)
	}
	if err := f.Rerun(t.Context(), jobs[0]); err != nil || s.sent[0] != "POST /jobs/50/retry " {
		t.Errorf("%q %v", s.sent, err)
	}
	status := forge.Status{State: forge.Passed, Context: "agent/gate", Text: strings.Repeat("é", 200)}
	if err := f.SetStatus(t.Context(), "c", status); err != nil || !strings.Contains(s.sent[1], `"name":"agent/gate","state":"success"`) || len(s.sent[1]) > 400 {
		t.Errorf("%q %v", s.sent, err)
	}
	if err := f.SetStatus(t.Context(), "d", status); err != nil {
		t.Errorf("what is said already: %v", err)
	}
	if err := f.SetStatus(t.Context(), "e", status); err == nil {
		t.Error("a status that was refused is set")
	}
	// A project without pipelines has only the statuses of others.
	delete(s.answers, "GET /pipelines")
	if jobs, err := f.Jobs(t.Context(), "c"); err != nil || len(jobs) != 1 {
		t.Errorf("%+v %v", jobs, err)
	}
}
