package gitlab_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agent/orchestrator/forge"
	"agent/orchestrator/forge/gitlab"
)

// Deleted users have no name. Their comments do not count as the agent's own, even if the server does not say whose the token is.
func TestNobodyIsNotTheAgent(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"GET /merge_requests/1/discussions": `[{"id":"d1","notes":[{"id":1,"body":"x","author":null,"position":{"new_path":"a.py","new_line":3}}]},{"id":"d2","notes":[]},{"id":"d3","notes":null},
			{"id":"d4","notes":[{"id":2,"body":"moved","system":true,"position":{"new_path":"a.py","new_line":3}},{"id":3,"body":"whole","author":{"username":"ada"}}]}]`,
	}
	f, _ := open(t, answers)
	threads, err := f.Threads(t.Context(), 1)
	if err != nil || len(threads) != 1 || threads[0].Comments[0].Mine || threads[0].Comments[0].Author != "" {
		t.Errorf("%+v %v", threads, err)
	}
	f, s := open(t, answers)
	for _, odd := range []string{`{}`, `{"username":""}`, `null`, `401:{"message":"401 Unauthorized"}`, `<html>`} {
		s.answers["GET /api/v4/user"] = odd
		if threads, err := f.Threads(t.Context(), 1); err == nil {
			t.Errorf("%s: %+v", odd, threads)
		}
	}
	s.answers["GET /api/v4/user"] = `{"username":"bot"}` // and it is asked again
	if _, err := f.Comments(t.Context(), 1); err != nil {
		t.Error(err)
	}
}

// A list that never ends or runs in a circle is cut short: where a page repeats, and at the latest when the context ends.
func TestListsThatTurnInACircle(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("X-Next-Page", map[string]string{"1": "2", "2": "3", "3": "2"}[r.FormValue("page")])
		fmt.Fprintf(w, "["+request+"]", 1, "x", "opened", false, 7)
	}))
	t.Cleanup(server.Close)
	f, err := gitlab.New(forge.Address{Base: server.URL, Owner: "o", Name: "n"}, "t")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.FindPull(t.Context(), "x"); !errors.Is(err, forge.ErrNotFound) || asked.Load() > 4 {
		t.Errorf("%d pages: %v", asked.Load(), err)
	}
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	before := asked.Load()
	if _, err := f.FindPull(stopped, "x"); !errors.Is(err, context.Canceled) || asked.Load() != before {
		t.Errorf("%v", err)
	}
}

// Names of branches and commits are data: none of them leads to another part of the API.
func TestNamesAreEscaped(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method+" "+r.URL.EscapedPath()+"?"+r.URL.Query().Get("source_branch"))
		fmt.Fprint(w, `[]`)
	}))
	t.Cleanup(server.Close)
	f, err := gitlab.New(forge.Address{Base: server.URL, Owner: "o/../../admin", Name: "n?x"}, "t")
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.FindPull(t.Context(), "x&state=all#y")
	_ = f.SetStatus(t.Context(), "../../c?d", forge.Status{State: forge.Passed})
	_ = f.Answer(t.Context(), 1, forge.Thread{ID: "../../notes/1"}, "x", false)
	want := []string{
		"GET /api/v4/projects/o%2F..%2F..%2Fadmin%2Fn%3Fx/merge_requests?x&state=all#y", "POST /api/v4/projects/o%2F..%2F..%2Fadmin%2Fn%3Fx/statuses/..%2F..%2Fc%3Fd?",
		"POST /api/v4/projects/o%2F..%2F..%2Fadmin%2Fn%3Fx/merge_requests/1/discussions/..%2F..%2Fnotes%2F1/notes?",
	}
	mu.Lock()
	defer mu.Unlock()
	if !errors.Is(err, forge.ErrNotFound) || strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("%v\n got %s\nwant %s", err, strings.Join(seen, "\n     "), strings.Join(want, "\n     "))
	}
}

// Lines are located in diffs of several hunks. In an unreadable diff no line has a position, and a hostile file name adds nothing to a
// comment.
func TestLinesOfOddDifferences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, diff string
		line       int
		want       string // part of the position, "" for none
	}{
		{"the second part", "@@ -1,2 +1,3 @@\n a\n+b\n c\n@@ -10,3 +11,3 @@ x\n d\n-e\n+E\n f\n", 13, `"new_line":13,"new_path":"a.py","old_line":12`},
		{"new there", "@@ -1,2 +1,3 @@\n a\n+b\n c\n@@ -10,3 +11,3 @@ x\n d\n-e\n+E\n f\n", 12, `"new_line":12,"new_path":"a.py","old_path"`},
		{"between the parts", "@@ -1 +1 @@\n-a\n+b\n@@ -10 +10 @@\n-a\n+b\n", 5, ""},
		{"a text that looks like a part", "@@ -1,2 +1,2 @@ +40\n-@@ -7 +7 @@\n+@@ -7 +7 @@\n a\n", 2, `"new_line":2,"new_path":"a.py","old_line":2`},
		{"lines that begin with signs", "@@ -1,3 +1,3 @@\n--- a\n+++ b\n \n c\n", 1, `"new_line":1,"new_path":"a.py","old_path"`},
		{"all is gone", "@@ -1,2 +0,0 @@\n-a\n-b\n", 1, ""},
		{"no numbers", "@@ -x +y @@\n+a\n", 1, ""},
		{"no head", "+a\n+b\n", 1, ""},
		{"nothing, as of a file too large", "", 1, ""},
		{"no line", "@@ -0,0 +1 @@\n+a\n", 0, ""},
	} {
		f, s := open(t, map[string]string{
			"GET /merge_requests/1": fmt.Sprintf(request, 1, "x", "opened", false, 1), "GET /merge_requests/1/diffs": fmt.Sprintf(`[{"old_path":"a.py","new_path":"a.py","diff":%q}]`, c.diff),
			"POST /merge_requests/1/discussions": `{}`,
		})
		err := f.Review(t.Context(), 1, "c", []forge.LineComment{{Path: "a.py", Line: c.line, Text: "t"}})
		if err != nil || len(s.sent) != 1 || strings.Contains(s.sent[0], "position") != (c.want != "") || !strings.Contains(s.sent[0], c.want) {
			t.Errorf("%s: %v %q", c.name, err, s.sent)
		}
	}
	f, s := open(t, map[string]string{"GET /merge_requests/1": fmt.Sprintf(request, 1, "x", "opened", false, 1), "GET /merge_requests/1/diffs": `[]`, "POST /merge_requests/1/discussions": `{}`})
	if err := f.Review(t.Context(), 1, "c", []forge.LineComment{{Path: "a`\n\n/close @all`.py", Line: 1, Text: "t"}}); err != nil || strings.Contains(s.sent[0], `\n/close`) {
		t.Errorf("%v %q", err, s.sent)
	}
}

// A thread is answered even if it could not be resolved, but not if its answer was refused.
func TestAnAnswerThatIsRefusedIsNoAnswer(t *testing.T) {
	t.Parallel()
	f, s := open(t, map[string]string{"POST /merge_requests/1/discussions/d1/notes": `500:{"message":"500"}`, "POST /merge_requests/1/discussions/d2/notes": `{}`, "PUT /merge_requests/1/discussions/d2": `500:{}`})
	if err := f.Answer(t.Context(), 1, forge.Thread{ID: "d1"}, "x", true); err == nil || len(s.sent) != 1 {
		t.Errorf("%v %q", err, s.sent)
	}
	if err := f.Answer(t.Context(), 1, forge.Thread{ID: "d2"}, "x", true); err == nil {
		t.Error("a server that is down resolved a thread")
	}
	if err := f.Answer(t.Context(), 1, forge.Thread{ID: "d2"}, "x", false); err != nil {
		t.Error(err)
	}
}

// A developer or higher may write, including through a group. Nobody else may, and an unknown user may not either.
func TestWhoMayWriteAndWhatIsSaidOfIssues(t *testing.T) {
	t.Parallel()
	f, s := open(t, map[string]string{
		"GET /api/v4/users": `[{"id":7,"username":"ada"}]`, "GET /members/all/7": `{"access_level":30,"state":"active"}`,
		"GET /issues/3/notes":  `[{"id":1,"body":"x","author":{"username":"ada"}},{"id":2,"body":"moved","system":true},{"id":3,"body":"y","author":{"username":"bot"}}]`,
		"POST /issues/3/notes": `{}`,
		"GET /events": `[{"note":{"id":9,"body":"/agent fix","author":{"username":"ada"},"noteable_type":"MergeRequest","noteable_iid":4}},
			{"note":{"id":8,"body":"/agent run","author":{"username":"ada"},"noteable_type":"Issue","noteable_iid":3}},{"note":{"id":7,"noteable_type":"Snippet","noteable_iid":1}},{}]`,
	})
	if may, err := f.MayWrite(t.Context(), "ada"); err != nil || !may {
		t.Errorf("%v %v", may, err)
	}
	if may, err := f.MayWrite(t.Context(), "Ada"); err != nil || may { // the server found a different user
		t.Errorf("%v %v", may, err)
	}
	for _, member := range []string{`{"access_level":20,"state":"active"}`, `{"access_level":50,"state":"blocked"}`, `{}`, `404:{}`} {
		s.answers["GET /members/all/7"] = member
		if may, err := f.MayWrite(t.Context(), "ada"); err != nil || may {
			t.Errorf("%s: %v %v", member, may, err)
		}
	}
	s.answers["GET /api/v4/users"] = `[]`
	if may, err := f.MayWrite(t.Context(), "ada"); err != nil || may {
		t.Errorf("%v %v", may, err)
	}
	if list, err := f.IssueComments(t.Context(), 3); err != nil || len(list) != 2 || list[0].Mine || !list[1].Mine {
		t.Errorf("%+v %v", list, err)
	}
	if err := f.CommentIssue(t.Context(), 3, "done"); err != nil || len(s.sent) != 1 || !strings.Contains(s.sent[0], `{"body":"done"}`) {
		t.Errorf("%q %v", s.sent, err)
	}
	said, err := f.Said(t.Context(), time.Now())
	if err != nil || len(said) != 2 || said[0].Number != 3 || said[0].Pull || said[1].Number != 4 || !said[1].Pull || said[1].Author != "ada" {
		t.Errorf("%+v %v", said, err)
	}
}
