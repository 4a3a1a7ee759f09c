package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A recorder is a program that runs nothing: it records its calls, and answers by the beginning of their arguments.
type recorder struct {
	answers map[string]Ended

	mu    sync.Mutex
	calls [][]string
	stdin []string
}

func (r *recorder) Run(ctx context.Context, args []string, stdin string, progress func(string)) (Ended, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls, r.stdin = append(r.calls, args), append(r.stdin, stdin)
	progress("tests … pass 1.0s")
	for words, ended := range r.answers {
		if strings.HasPrefix(strings.Join(args, " "), words) {
			return ended, ctx.Err()
		}
	}
	return Ended{Exit: 2, Stderr: "agent: no answer for " + strings.Join(args, " ")}, ctx.Err()
}

// session connects a client to a server of the recorder. says is the person's answer at the client, or "" if the client cannot ask.
func session(t *testing.T, r *recorder, approve Approval, says, version string) (client *sdk.ClientSession, asked func() []string) {
	t.Helper()
	here, there := sdk.NewInMemoryTransports()
	served, err := New(r, approve, "v0").Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var questions []string
	options := &sdk.ClientOptions{}
	if says != "" {
		options.ElicitationHandler = func(_ context.Context, q *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			mu.Lock()
			defer mu.Unlock()
			questions = append(questions, q.Params.Message)
			if says == "yes" || says == "no" {
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": says == "yes"}}, nil
			}
			return &sdk.ElicitResult{Action: says}, nil
		}
	}
	client, err = sdk.NewClient(&sdk.Implementation{Name: "probe", Version: "v0"}, options).Connect(t.Context(), there, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		if err := served.Wait(); err != nil {
			t.Error(err)
		}
	})
	return client, func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(questions) }
}

// passed returns the answers about a run that may be applied.
func passed(t *testing.T) map[string]Ended {
	t.Helper()
	return map[string]Ended{
		"sandbox run": {Stdout: docOf(t, "pass", "verified", 0, "diff --git a/a.py b/a.py\n")},
		"runs show":   {Stdout: docOf(t, "pass", "verified", 0, "diff --git a/a.py b/a.py\n")},
		"runs apply":  {Stdout: docOf(t, "pass", "promoted", 0, "diff --git a/a.py b/a.py\n")},
		"undo":        {Stdout: `{"run":"abc1"}`},
	}
}

func TestAProofWritesNothing(t *testing.T) {
	t.Parallel()
	r := &recorder{answers: passed(t)}
	c, _ := session(t, r, Ask, "yes", "")
	got, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "prove_patch", Arguments: map[string]any{"patch": "--- a\n", "file": "--yes"}})
	if err != nil || got.IsError {
		t.Fatal(err, got)
	}
	want := []string{"sandbox", "run", "--json", "--no-promote", "--patch", "-", "--file=--yes"}
	if len(r.calls) != 1 || !slices.Equal(r.calls[0], want) || r.stdin[0] != "--- a\n" {
		t.Errorf("asked %q with %q", r.calls, r.stdin)
	}
}

// Only a clear yes, from the person or from whoever started the server, writes anything.
func TestOnlyAYesApplies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		approve Approval
		says    string
		applies bool
	}{
		{Ask, "yes", true},
		{Ask, "no", false},
		{Ask, "decline", false},
		{Ask, "cancel", false},
		{Ask, "", false},
		{Never, "yes", false},
		{Never, "", false},
		{Always, "", true},
		{Always, "no", true},
	} {
		for _, call := range [][3]string{
			{"apply_run", "runs apply --yes --json abc1", "2025-11-25"},
			{"apply_run", "runs apply --yes --json abc1", "2026-07-28"},
			{"undo", "undo --yes --json abc1", "2025-11-25"},
			{"undo", "undo --yes --json abc1", "2026-07-28"},
		} {
			tool, command, version := call[0], call[1], call[2]
			r := &recorder{answers: passed(t)}
			c, asked := session(t, r, test.approve, test.says, version)
			if got := c.InitializeResult().ProtocolVersion; got != version {
				t.Errorf("the session speaks %s, not %s", got, version)
			}
			got, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: map[string]any{"run": "abc1"}})
			if err != nil || got.IsError == test.applies {
				t.Errorf("%s, %+v: %v %s", tool, test, err, textOf(got))
			}
			wrote := slices.ContainsFunc(r.calls, func(args []string) bool { return strings.Join(args, " ") == command })
			if wrote != test.applies {
				t.Errorf("%s, %+v: it ran %q", tool, test, r.calls)
			}
			if test.approve != Ask && len(asked()) > 0 {
				t.Errorf("%s, %+v: it asked %q", tool, test, asked())
			}
		}
	}
}

// textOf returns the text of an answer.
func textOf(r *sdk.CallToolResult) string {
	data, err := json.Marshal(r)
	return fmt.Sprint(string(data), err)
}

func TestAnAnswerCountsForItsQuestionAndOnce(t *testing.T) {
	t.Parallel()
	q := &questions{asked: map[string]string{}}
	one, two := q.put("Apply one?"), q.put("Apply two?")
	for _, test := range []struct {
		state, text string
		counts      bool
	}{
		{one, "Apply two?", false}, {one, "Apply one?", false}, // it was used up
		{two, "Apply two?", true}, {two, "Apply two?", false}, {"", "", false}, {"invented", "Apply two?", false},
	} {
		if got := q.take(test.state, test.text); got != test.counts {
			t.Errorf("%+v: %v", test, got)
		}
	}
	for range 3 * mostQuestions {
		q.put("Apply?")
	}
	if len(q.asked) > mostQuestions {
		t.Errorf("%d questions are kept", len(q.asked))
	}
}

func TestEveryToolSaysWhatItTakesAndGives(t *testing.T) {
	t.Parallel()
	c, _ := session(t, &recorder{}, Never, "", "")
	listed, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	writes := []string{"apply_run", "undo"}
	for _, tool := range listed.Tools {
		if tool.Description == "" || tool.InputSchema == nil || tool.OutputSchema == nil || tool.Annotations == nil {
			t.Errorf("%s: %+v", tool.Name, tool)
			continue
		}
		destroys := tool.Annotations.DestructiveHint != nil && *tool.Annotations.DestructiveHint
		if destroys != slices.Contains(writes, tool.Name) {
			t.Errorf("%s says it destroys: %v", tool.Name, destroys)
		}
	}
	if len(listed.Tools) != 8 {
		t.Errorf("%d tools", len(listed.Tools))
	}
	init, err := json.Marshal(c.InitializeResult())
	if err != nil || strings.Contains(string(init), `"logging"`) || !strings.Contains(c.InitializeResult().Instructions, "prove_patch") {
		t.Errorf("%s %v", init, err)
	}
}

func TestAHandlerWantsItsToken(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		token, header string
		let           bool
	}{
		{"right", "Bearer right", true},
		{"right", "Bearer wrong", false},
		{"right", "right", false},
		{"right", "bearer right", false},
		{"right", "", false},
		{"", "Bearer ", false},
		{"", "", false},
	} {
		h := Handler(New(&recorder{}, Never, "v0"), test.token)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, strings.NewReader("{}"))
		req.Header.Set("Authorization", test.header)
		got := httptest.NewRecorder()
		h.ServeHTTP(got, req)
		if let := got.Code != http.StatusUnauthorized; let != test.let {
			t.Errorf("%+v: %d", test, got.Code)
		}
	}
}
