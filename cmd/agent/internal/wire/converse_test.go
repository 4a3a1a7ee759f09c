package wire

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/conversation"
	"agent/orchestrator/agent/draft"
	"agent/orchestrator/agent/tools"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/journaltest"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/llm/vendors"
	"agent/orchestrator/store/storetest"
	"agent/sandbox/workspace"
)

// served lists the vendors' servers, with the suffix of their address.
var served = map[string]struct {
	serve func(...llmtest.Step) *llmtest.Server
	path  string
}{
	"gemini": {llmtest.Gemini, ""}, "anthropic": {llmtest.Anthropic, ""}, "openai": {llmtest.OpenAI, "/v1"},
	"compatible": {llmtest.Compatible, "/v1"}, "ollama": {llmtest.Ollama, ""},
}

// calls returns an answer that calls tools, each given as "NAME ARGUMENTS".
func calls(list ...string) llmtest.Step {
	var s llmtest.Step
	for i, text := range list {
		name, arguments, _ := strings.Cut(text, " ")
		s.Calls = append(s.Calls, llmtest.Call{ID: name + string(rune('a'+i)), Name: name, Arguments: arguments})
	}
	return s
}

// scan returns a workspace with a file that contains a credential.
func scan(t *testing.T) *workspace.Manifest {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"tax.py": "RATE = 19\n", "client.py": "token = \"" + token + "\"\nrate = 19\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := workspace.Scan(t.Context(), dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Each vendor holds a conversation with tools in its own wire format. A credential never leaves, an edit of its line
// still finds it, and the replay needs no vendor, byte for byte.
func TestEveryVendorHoldsAConversation(t *testing.T) {
	t.Parallel()
	db, _ := storetest.New(t)
	for _, v := range vendors.All() {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			s := served[v.Name].serve(
				calls(`search {"text": "19"}`, `read {"path": "client.py"}`),
				calls(`edit {"path": "client.py", "old": "token = \"[secret 1]\"\nrate = 19", "new": "token = \"[secret 1]\"\nrate = 21"}`),
				calls(`finish {"summary": "the rate is 21"}`),
			)
			defer s.Close()
			p, err := v.Open(s.URL() + served[v.Name].path)
			if err != nil {
				t.Fatal(err)
			}
			memory := &journaltest.Memory{}
			conf := llm.Config{
				Links:   []llm.Link{{Provider: p, Model: "m", Keys: []llm.Key{llm.NewKey("first-key-q7Rk2vXm9")}, Tools: true}},
				Journal: memory, States: memory,
			}
			// hold holds the conversation, as a run or as its replay.
			hold := func(conf llm.Config, replay string) (agent.Reply, []agent.Progress) {
				t.Helper()
				chain, err := llm.New(conf)
				if err != nil {
					t.Fatal(err)
				}
				var told []agent.Progress
				model := &asker{chain: chain, run: "run-" + v.Name, emit: func(p agent.Progress) { told = append(told, p) }}
				c := &conversation.Conversation{
					Model: model, Record: db.Workbench(model.run, replay), Bench: &tools.Bench{Draft: draft.New(scan(t))}, Fence: agent.NewFence("0123456789abcdef"),
				}
				reply, err := c.Ask(t.Context(), agent.Question{Step: "propose/1", Purpose: agent.Implement, Text: "the rate is 21", System: "by tools"})
				if err != nil {
					t.Fatal(err)
				}
				return reply, told
			}
			reply, told := hold(conf, "")
			if !strings.Contains(reply.Text, "-rate = 19\n+rate = 21\n") || !strings.Contains(reply.Text, " token = \""+token) || reply.Model != v.Name+"/m" {
				t.Fatalf("answered by %s:\n%s", reply.Model, reply.Text)
			}
			if !slices.ContainsFunc(told, func(p agent.Progress) bool { return p.Step == "propose/1/r2" && p.Stage == agent.Asked }) {
				t.Errorf("told were %+v", told)
			}
			asked := s.Requests()
			for i, q := range asked {
				if text, err := os.ReadFile(filepath.Join(scan(t).Root, "client.py")); err != nil || strings.Contains(strings.Join(said(q), "\n"), token) || !strings.Contains(string(text), token) {
					t.Errorf("question %d holds the credential, or %v", i+1, err)
				}
				if len(q.Tools) != 9 {
					t.Errorf("question %d has %d tools", i+1, len(q.Tools))
				}
			}
			s.Close()
			again, _ := hold(llm.Config{Journal: memory, Replay: "run-" + v.Name}, "run-"+v.Name)
			if again.Text != reply.Text || len(s.Requests()) != len(asked) {
				t.Errorf("the replay gives\n%s", again.Text)
			}
			if records := memory.Records(); len(records) != 3 || !reflect.DeepEqual(records[0].Kind, llm.Kind("")) || len(records[0].Calls) != 2 {
				t.Errorf("recorded are %+v", records)
			}
		})
	}
}

// said returns every text of a question as it reached a vendor.
func said(q llmtest.Request) []string {
	texts := []string{q.System}
	for _, m := range q.Messages {
		texts = append(texts, m.Text)
		for _, c := range m.Calls {
			texts = append(texts, c.Arguments)
		}
		for _, r := range m.Results {
			texts = append(texts, r.Text)
		}
	}
	return texts
}
