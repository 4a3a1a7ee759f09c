package gitea_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/forge"
	"agent/orchestrator/forge/gitea"
)

// A recorded server answers by method and path, and keeps what was sent to it. The shapes are those of Gitea 1.26; `make test-forge`
// checks the contract on a real server.
type recorded struct {
	answers map[string]string
	sent    []string
}

func (s *recorded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	key := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/api/v1/repos/o/r")
	if page := r.FormValue("page"); page != "" && page != "1" {
		key += " page " + page
	}
	if r.Method != http.MethodGet {
		s.sent = append(s.sent, key+" "+string(body))
	}
	answer, ok := s.answers[key]
	w.Header().Set("Content-Type", "application/json")
	switch {
	case !ok && strings.Contains(key, " page "):
		io.WriteString(w, "[]")
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"message":"not found"}`)
	case strings.HasPrefix(answer, "405"):
		w.WriteHeader(http.StatusMethodNotAllowed)
	case strings.HasPrefix(answer, "text:"):
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, strings.TrimPrefix(answer, "text:"))
	default:
		io.WriteString(w, answer)
	}
}

func open(t *testing.T, answers map[string]string) (*gitea.Forge, *recorded) {
	t.Helper()
	answers["GET /api/v1/user"] = `{"login":"bot"}`
	s := &recorded{answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	f, err := gitea.New(forge.Address{Base: server.URL, Owner: "o", Name: "r"}, "t")
	if err != nil {
		t.Fatal(err)
	}
	return f, s
}

const pull = `{"number":%d,"title":"%s","state":"%s","merged":%v,"user":{"login":"ada"},"head":{"ref":"%s","sha":"c","repo_id":%d},"base":{"ref":"main","repo_id":1}}`

func TestPullRequestsInTheWordsOfAForge(t *testing.T) {
	t.Parallel()
	f, s := open(t, map[string]string{
		"GET ":              `{"empty":true,"default_branch":"main"}`,
		"GET /pulls/1":      fmt.Sprintf(pull, 1, "WIP: x", "open", false, "x", 1),
		"GET /pulls/2":      fmt.Sprintf(pull, 2, "x", "closed", true, "x", 1),
		"GET /pulls/3":      fmt.Sprintf(pull, 3, "x", "closed", false, "x", 1),
		"GET /pulls/4":      fmt.Sprintf(pull, 4, "x", "open", false, "x", 7),
		"GET /pulls/5":      `{"number":5}`,
		"GET /pulls":        "[" + fmt.Sprintf(pull, 4, "x", "open", false, "x", 7) + "]",
		"GET /pulls page 2": "[" + fmt.Sprintf(pull, 6, "x", "open", false, "x", 1) + "]",
		"POST /pulls":       fmt.Sprintf(pull, 8, "WIP: t", "open", false, "x", 1),
	})
	if main, err := f.DefaultBranch(t.Context()); err != nil || main != "" {
		t.Errorf("an empty repository has the branch %q, %v", main, err)
	}
	for n, want := range map[int]forge.Pull{
		1: {Number: 1, Title: "WIP: x", State: forge.Open, Draft: true, Base: "main", Head: "x", HeadCommit: "c", Author: "ada"},
		2: {Number: 2, Title: "x", State: forge.Merged, Base: "main", Head: "x", HeadCommit: "c", Author: "ada"},
		3: {Number: 3, Title: "x", State: forge.Closed, Base: "main", Head: "x", HeadCommit: "c", Author: "ada"},
		4: {Number: 4, Title: "x", State: forge.Open, Base: "main", Head: "x", HeadCommit: "c", Author: "ada", Fork: true},
		5: {},
	} {
		if p, err := f.Pull(t.Context(), n); err != nil || p != want {
			t.Errorf("%+v, %v", p, err)
		}
	}
	// The one from a fork, whose branch has the same name, is a different one.
	if p, err := f.FindPull(t.Context(), "x"); err != nil || p.Number != 6 {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := f.OpenPull(t.Context(), forge.NewPull{Title: "t", Head: "x", Base: "main", Draft: true}); err != nil || !strings.Contains(s.sent[0], `"title":"WIP: t"`) {
		t.Errorf("%q %v", s.sent, err)
	}
}

func TestLabelsAreFoundOrMade(t *testing.T) {
	t.Parallel()
	f, s := open(t, map[string]string{
		"GET /labels": `[{"id":3,"name":"Agent"}]`, "POST /labels": `{"id":9,"name":"proved"}`, "POST /issues/1/labels": `[]`,
	})
	if err := f.Label(t.Context(), 1, []string{"agent", "proved"}); err != nil {
		t.Fatal(err)
	}
	if len(s.sent) != 2 || !strings.HasPrefix(s.sent[0], "POST /labels ") || !strings.Contains(s.sent[1], `[3,9]`) {
		t.Errorf("%q", s.sent)
	}
}

func TestAnAnswerIsAReplyOrWhatIsNearest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		reply   string
		resolve string
		line    int
		sent    []string
	}{
		{"a server with replies", `{"id":8}`, `{}`, 3, []string{"POST /pulls/1/comments/7/replies", "POST /pulls/comments/7/resolve"}},
		{"and without resolving", `{"id":8}`, "", 3, []string{"POST /pulls/1/comments/7/replies", "POST /pulls/comments/7/resolve"}},
		{"a server without replies", "405", "", 3, []string{"POST /pulls/1/comments/7/replies", "POST /pulls/1/reviews", "POST /pulls/comments/7/resolve"}},
		{"a line that is gone", "405", "", 0, []string{"POST /pulls/1/comments/7/replies", "POST /issues/1/comments", "POST /pulls/comments/7/resolve"}},
	} {
		answers := map[string]string{
			"POST /pulls/1/comments/7/replies": c.reply, "GET /pulls/1": fmt.Sprintf(pull, 1, "x", "open", false, "x", 1), "POST /pulls/1/reviews": `{"id":1}`, "POST /issues/1/comments": `{"id":1}`,
		}
		if c.resolve != "" {
			answers["POST /pulls/comments/7/resolve"] = c.resolve
		}
		f, s := open(t, answers)
		if err := f.Answer(t.Context(), 1, forge.Thread{ID: "7", Path: "a.py", Line: c.line}, "fixed", true); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for i, text := range s.sent {
			method, rest, _ := strings.Cut(text, " ")
			path, _, _ := strings.Cut(rest, " ")
			s.sent[i] = method + " " + path
		}
		if !slices.Equal(s.sent, c.sent) {
			t.Errorf("%s: %q", c.name, s.sent)
		}
	}
	f, _ := open(t, map[string]string{})
	if err := f.Answer(t.Context(), 1, forge.Thread{ID: "x"}, "fixed", true); err == nil {
		t.Error("a thread without a number is answered")
	}
	if err := f.SetComment(t.Context(), 1, "x", "text"); err == nil {
		t.Error("a comment without a number is changed")
	}
}

func TestCommentsAtOneLineAreAThread(t *testing.T) {
	t.Parallel()
	f, _ := open(t, map[string]string{
		"GET /pulls/1/reviews":            `[{"id":1,"comments_count":2},{"id":2,"comments_count":1},{"id":3,"comments_count":0}]`,
		"GET /pulls/1/reviews/1/comments": `[{"id":10,"path":"a.py","position":3,"body":"x","user":{"login":"bot"}},{"id":11,"path":"b.py","position":3,"body":"y","user":{"login":"ada"}}]`,
		"GET /pulls/1/reviews/2/comments": `[{"id":12,"path":"a.py","position":3,"body":"z","user":{"login":"ada"},"resolver":{"login":"ada"}}]`,
	})
	list, err := f.Threads(t.Context(), 1)
	if err != nil || len(list) != 2 || len(list[0].Comments) != 2 || !list[0].Comments[0].Mine || list[0].Comments[1].Mine || !list[0].Resolved || list[1].Resolved || list[0].Line != 3 {
		t.Errorf("%+v %v", list, err)
	}
}

func TestJobsAndLogs(t *testing.T) {
	t.Parallel()
	status := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	f, s := open(t, map[string]string{
		"GET /actions/runs":        `{"workflow_runs":[{"id":5,"event":"push"}]}`,
		"GET /actions/runs page 2": `{"workflow_runs":[]}`,
		"GET /actions/runs/5/jobs": `{"jobs":[{"id":50,"name":"test","status":"completed","conclusion":"failure"},{"id":51,"name":"a","status":"in_progress"},
			{"id":52,"name":"b","status":"completed","conclusion":"skipped"},{"id":53,"name":"c","status":"completed","conclusion":"success"}]}`,
		"GET /actions/runs/5/jobs page 2": `{"jobs":[]}`,
		"GET /commits/c/status": status(map[string]any{"statuses": []map[string]any{
			{"id": 1, "context": "ci / test", "status": "failure", "target_url": "/o/r/actions/runs/5/jobs/0"}, {"id": 2, "context": "other", "status": "pending"}, {"id": 3, "context": "odd", "status": "error"},
		}}),
		"GET /actions/jobs/50/logs":          "text:the log",
		"POST /actions/runs/5/jobs/50/rerun": `{}`,
		"POST /statuses/c":                   `{}`,
	})
	jobs, err := f.Jobs(t.Context(), "c")
	var got []string
	for _, j := range jobs {
		got = append(got, fmt.Sprintf("%s %s %v", j.Name, j.State, j.HasLog))
	}
	want := []string{"test (push) failed true", "a (push) waiting true", "b (push) skipped true", "c (push) passed true", "other waiting false", "odd failed false"}
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
	if _, err := f.Log(t.Context(), jobs[1]); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if err := f.Rerun(t.Context(), jobs[0]); err != nil {
		t.Error(err)
	}
	if err := f.SetStatus(t.Context(), "c", forge.Status{State: forge.Passed, Context: "agent/gate"}); err != nil || !strings.Contains(s.sent[1], `"state":"success"`) {
		t.Errorf("%q %v", s.sent, err)
	}
}

// A list that never ends is an error. A person whose permission cannot be asked for may not write.
func TestListsThatNeverEnd(t *testing.T) {
	t.Parallel()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, "["+strings.Repeat(`{"id":1,"name":"a"},`, 49)+`{"id":2}]`)
	}))
	t.Cleanup(s.Close)
	f, err := gitea.New(forge.Address{Base: s.URL, Owner: "o", Name: "r"}, "t")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Label(t.Context(), 1, []string{"x"}); !errors.Is(err, forge.ErrTooLong) || asked > forge.MaxListed/50 {
		t.Errorf("after %d pages: %v", asked, err)
	}
	known, _ := open(t, map[string]string{"GET /collaborators/ada/permission": `{"permission":"write"}`, "GET /collaborators/bo/permission": `{"permission":"read"}`})
	for name, want := range map[string]bool{"ada": true, "bo": false, "nobody": false, "../ada": false} {
		if may, err := known.MayWrite(t.Context(), name); err != nil || may != want {
			t.Errorf("%s: %v %v", name, may, err)
		}
	}
}
