//go:build forge

package github_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"agent/orchestrator/forge"
	"agent/orchestrator/forge/github"
)

// description names the package with GitHub's description of its own API.
const description = "@octokit/openapi@23.0.2"

// described loads GitHub's description, which is downloaded once.
func described(t *testing.T) (routers.Router, openapi3.Examples) {
	t.Helper()
	dir := os.Getenv("AGENT_TEST_FORGE")
	if dir == "" {
		t.Fatal("AGENT_TEST_FORGE names no directory: run it by `make test-forge`")
	}
	file := filepath.Join(dir, "package", "generated", "api.github.com.json")
	if _, err := os.Stat(file); err != nil {
		pack := exec.CommandContext(t.Context(), "npm", "pack", "--silent", description)
		pack.Dir = dir
		out, err := pack.Output()
		if err != nil {
			t.Fatalf("fetch %s: %v", description, err)
		}
		unpack := exec.CommandContext(t.Context(), "tar", "xzf", strings.TrimSpace(string(out)), "package/generated/api.github.com.json")
		unpack.Dir = dir
		if out, err := unpack.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	doc, err := openapi3.NewLoader().LoadFromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	router, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return router, doc.Components.Examples
}

// A validator rejects requests that GitHub's description does not allow, and answers with its examples.
type validator struct {
	t      *testing.T
	router routers.Router
	// examples are the examples that others refer to.
	examples openapi3.Examples
	did      []string // the requested operations
}

func (v *validator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		v.t.Error(err)
	}
	if strings.HasPrefix(r.URL.Path, "/log/") {
		io.WriteString(w, "the log")
		return
	}
	here := r.Host
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.URL.Path = strings.TrimPrefix(r.URL.Path, "/api/v3")
	r.URL.Scheme, r.URL.Host, r.Host = "https", "api.github.com", "api.github.com"
	route, params, err := v.router.FindRoute(r)
	if err != nil {
		v.t.Errorf("%s %s is no path of GitHub: %v", r.Method, r.URL.Path, err)
		http.NotFound(w, r)
		return
	}
	in := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route, Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if err := openapi3filter.ValidateRequest(r.Context(), in); err != nil {
		v.t.Errorf("%s: %v", route.Operation.OperationID, err)
	}
	v.did = append(v.did, route.Operation.OperationID)
	v.answer(w, route.Operation, here)
}

// answer writes the first successful answer, with its example.
func (v *validator) answer(w http.ResponseWriter, op *openapi3.Operation, here string) {
	for _, code := range []int{200, 201, 202, 204, 302} {
		resp := op.Responses.Status(code)
		if resp == nil {
			continue
		}
		if code == 302 {
			w.Header().Set("Location", "http://"+here+"/log/1")
		}
		media := resp.Value.Content.Get("application/json")
		if media == nil {
			w.WriteHeader(code)
			return
		}
		example := media.Example
		if names := slices.Sorted(maps.Keys(media.Examples)); len(names) > 0 { // "default" sorts first
			example = v.resolved(media.Examples[names[0]].Value.Value)
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(code)
		if err := json.NewEncoder(w).Encode(example); err != nil {
			v.t.Error(err)
		}
		return
	}
}

// resolved returns an example, following a reference to another one.
func (v *validator) resolved(example any) any {
	named, _ := example.(map[string]any)
	ref, _ := named["$ref"].(string)
	if found := v.examples[path.Base(ref)]; found != nil {
		return found.Value.Value
	}
	return example
}

// GitHub's own description allows everything that the driver sends, and the driver reads GitHub's own examples.
func TestRequestsAreThoseOfTheDescription(t *testing.T) {
	router, examples := described(t)
	v := &validator{t: t, router: router, examples: examples}
	s := httptest.NewServer(v)
	defer s.Close()
	f, err := github.New(forge.Address{Base: s.URL, Owner: "octocat", Name: "Hello-World"}, "t")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	const commit = "6dcb09b5b57875f334f61aebed695e2e4193db5e"
	job := forge.Job{ID: "1", Name: "test", HasLog: true}
	for _, c := range []struct {
		name string
		does []string
		call func() error
	}{
		{"the default branch", []string{"repos/get"}, func() error {
			main, err := f.DefaultBranch(ctx)
			if main == "" {
				t.Error("GitHub's example has no default branch")
			}
			return err
		}},
		{"a pull request", []string{"pulls/get"}, func() error {
			p, err := f.Pull(ctx, 1347)
			if p.Number == 0 || p.Head == "" || p.HeadCommit == "" || p.Base == "" || p.URL == "" || p.Author == "" {
				t.Errorf("read %+v", p)
			}
			return err
		}},
		{"an issue", []string{"issues/get"}, func() error {
			i, err := f.Issue(ctx, 1347)
			if i.Number == 0 || i.Title == "" || i.Text == "" || i.Author == "" || !i.Open {
				t.Errorf("read %+v", i)
			}
			return err
		}},
		{"that of a branch", []string{"pulls/list"}, func() error {
			p, err := f.FindPull(ctx, "new-topic")
			if p.Number == 0 {
				t.Errorf("found %+v", p)
			}
			return err
		}},
		{"one is opened", []string{"pulls/create"}, func() error {
			_, err := f.OpenPull(ctx, forge.NewPull{Title: "t", Body: "b", Base: "main", Head: "agent/x", Draft: true})
			return err
		}},
		{"labels", []string{"issues/add-labels"}, func() error { return f.Label(ctx, 1, []string{"agent", "proved"}) }},
		{"the comments of reviews", []string{"users/get-authenticated", "pulls/list-review-comments"}, func() error {
			list, err := f.Threads(ctx, 1)
			if len(list) == 0 || list[0].Path == "" || list[0].Comments[0].Text == "" {
				t.Errorf("read %+v", list)
			}
			return err
		}},
		{"a review", []string{"pulls/create-review"}, func() error {
			return f.Review(ctx, 1, commit, []forge.LineComment{{Path: "a.py", Line: 3, Text: "x"}, {Path: "b.py", Line: 1, Text: "y"}})
		}},
		{"an answer", []string{"pulls/create-reply-for-review-comment"}, func() error {
			return f.Answer(ctx, 1, forge.Thread{ID: "3"}, "fixed", true)
		}},
		{"the comments", []string{"issues/list-comments"}, func() error {
			_, err := f.Comments(ctx, 1)
			return err
		}},
		{"a comment", []string{"issues/create-comment"}, func() error { return f.SetComment(ctx, 1, "", "said") }},
		{"a comment anew", []string{"issues/update-comment"}, func() error { return f.SetComment(ctx, 1, "7", "said") }},
		{"a status", []string{"repos/create-commit-status"}, func() error {
			return f.SetStatus(ctx, commit, forge.Status{State: forge.Failed, Context: "agent/gate", Text: "2 findings", URL: "https://example.org"})
		}},
		{"the checks of a commit", []string{"checks/list-for-ref", "repos/get-combined-status-for-ref"}, func() error {
			jobs, err := f.Jobs(ctx, commit)
			if len(jobs) < 2 {
				t.Errorf("read %+v", jobs)
			}
			return err
		}},
		{"a log", []string{"actions/download-job-logs-for-workflow-run"}, func() error {
			r, err := f.Log(ctx, job)
			if err != nil {
				return err
			}
			defer r.Close()
			if text, _ := io.ReadAll(r); string(text) != "the log" {
				t.Errorf("read %q", text)
			}
			return nil
		}},
		{"what somebody may do", []string{"repos/get-collaborator-permission-level"}, func() error {
			may, err := f.MayWrite(ctx, "octocat")
			if !may {
				t.Error("an administrator may not write")
			}
			return err
		}},
		{"all that is said", []string{"issues/list-comments-for-repo"}, func() error {
			said, err := f.Said(ctx, time.Now())
			if len(said) == 0 || said[0].Number == 0 || said[0].Author == "" || said[0].Text == "" {
				t.Errorf("read %+v", said)
			}
			return err
		}},
		{"a job again", []string{"actions/re-run-job-for-workflow-run"}, func() error { return f.Rerun(ctx, job) }},
	} {
		v.did = nil
		if err := c.call(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if !slices.Equal(v.did, c.does) {
			t.Errorf("%s: asked for %q, want %q", c.name, v.did, c.does)
		}
	}
}
