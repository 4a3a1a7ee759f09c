package github_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"agent/orchestrator/forge"
	"agent/orchestrator/forge/forgetest"
	"agent/orchestrator/forge/github"
)

func TestContract(t *testing.T) {
	t.Parallel()
	g := forgetest.NewGit(t)
	g.Repository(t, "shop/till", map[string]string{"README": "x\n"})
	hub := forgetest.NewHub(t, g, "shop/till")
	f, err := github.New(forge.Address{Base: g.URL, Owner: "shop", Name: "till"}, forgetest.Token)
	if err != nil {
		t.Fatal(err)
	}
	forgetest.Contract(t, forgetest.Subject{
		Forge: f,
		Branch: func(t testing.TB, name string, files map[string]string) string {
			return g.Commit(t, "shop/till", name, "c", files)
		},
		Say: func(_ testing.TB, n int, path string, line int, text string) { hub.Say(n, path, line, text) },
		Fail: func(_ testing.TB, commit, log string) {
			hub.AddJob(forgetest.Job{Commit: commit, Name: "test", Status: "completed", Conclusion: "failure", Log: log})
			hub.AddJob(forgetest.Job{Commit: commit, Name: "later", Status: "queued"})
			hub.AddJob(forgetest.Job{Commit: commit, Name: "none", Status: "completed", Conclusion: "skipped"})
		},
	})
	if n := hub.FromFork("agent/x", "main"); n != 3 {
		t.Fatal(n)
	}
	if p, err := f.Pull(t.Context(), 3); err != nil || !p.Fork || p.HeadCommit == "" {
		t.Errorf("%+v %v", p, err)
	}
	hub.Close(1, true)
	hub.Close(2, false)
	for n, want := range map[int]forge.PullState{1: forge.Merged, 2: forge.Closed} {
		if p, err := f.Pull(t.Context(), n); err != nil || p.State != want {
			t.Errorf("%+v %v", p, err)
		}
	}
	g.Deny()
	if _, err := f.DefaultBranch(t.Context()); !errors.Is(err, forge.ErrDenied) {
		t.Errorf("%v", err)
	}
}

// Lists come in pages, and an app's token belongs to no user.
func TestPagesAreFollowedAndAnAppHasNoUser(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v3/user", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, `{"message":"Resource not accessible by integration"}`, http.StatusForbidden)
	})
	mux.HandleFunc("/api/v3/repos/o/r/issues/1/comments", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.FormValue("page") == "" {
			w.Header().Set("Link", `<http://`+r.Host+`/api/v3/repos/o/r/issues/1/comments?page=2>; rel="next"`)
			w.Write([]byte(`[{"id":1,"body":"a","user":{"login":"ada"}}]`))
			return
		}
		w.Write([]byte(`[{"id":2,"body":"b","user":{"login":"github-actions[bot]"}}]`))
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	f, err := github.New(forge.Address{Base: s.URL, Owner: "o", Name: "r"}, "t")
	if err != nil {
		t.Fatal(err)
	}
	list, err := f.Comments(t.Context(), 1)
	if err != nil || len(list) != 2 || list[0].Mine || !list[1].Mine {
		t.Errorf("%+v %v", list, err)
	}
}

// A list that never ends, or runs in a circle, is not complete.
func TestListsThatNeverEnd(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(page int) int{"never ends": func(p int) int { return p + 1 }, "turns in a circle": func(p int) int { return p%3 + 1 }} {
		asked := 0
		mux := http.NewServeMux()
		mux.HandleFunc("/api/v3/user", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{"login":"agent"}`)) })
		mux.HandleFunc("/api/v3/repos/o/r/issues/1/comments", func(w http.ResponseWriter, r *http.Request) {
			asked++
			page, _ := strconv.Atoi(r.FormValue("page"))
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?page=%d>; rel="next"`, r.Host, r.URL.Path, next(max(page, 1))))
			w.Write([]byte("[" + strings.Repeat(`{"id":1,"body":"a","user":{"login":"ada"}},`, 99) + `{"id":2}]`))
		})
		s := httptest.NewServer(mux)
		f, err := github.New(forge.Address{Base: s.URL, Owner: "o", Name: "r"}, "t")
		if err != nil {
			t.Fatal(err)
		}
		if list, err := f.Comments(t.Context(), 1); !errors.Is(err, forge.ErrTooLong) || len(list) != 0 || asked > forge.MaxListed/100 {
			t.Errorf("%s: %d comments after %d pages, %v", name, len(list), asked, err)
		}
		s.Close()
	}
}
