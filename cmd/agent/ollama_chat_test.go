//go:build ollama

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// toolText writes a tool call as a model without native tool calls does.
func toolText(name, arguments string) string {
	return "```tool\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n```\n"
}

// A model on a real server looks around with tools, changes the draft and answers. The next question continues from
// there, in another process.
func TestOllamaConversation(t *testing.T) {
	s := serveOllama(t)
	script := []scriptLine{
		{Begins: "", Says: "The script has no answer to this question.\n"},
		{Begins: "Round tax up", Says: "I look.\n" + toolText("search", `{"text": "def "}`)},
		{Begins: "```result of search", Says: toolText("read", `{"path": "post/tax.py"}`)},
		{Begins: "```result of read", Says: toolText("create", `{"path": "post/notes.py", "content": "ROUND_UP = True\n"}`)},
		{Begins: "```result of create", Says: "post/notes.py says now that tax is rounded up.\n"},
		{Begins: "And what is left", Says: "Nothing is left to be done.\n"},
	}
	if err := createModel(t.Context(), s.client, "scripted", script); err != nil {
		t.Fatalf("%v\n%s", err, &s.log)
	}
	u, dir := newLoopUser(t, s.host), defectsCopy(t)
	before := filesOf(t, dir)
	var answer struct {
		Answer, Draft, End string
		Calls, Rounds      int
	}
	text := u.agent(t, "chat", "--workspace", dir, "--mode", "tools", "--json", "Round tax up")
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Answer != "post/notes.py says now that tax is rounded up." || answer.Calls != 3 || answer.Rounds != 4 || answer.End != "talked" || !strings.Contains(answer.Draft, "+ROUND_UP = True") {
		t.Errorf("it answers %+v", answer)
	}
	if text := u.agent(t, "chat", "--workspace", dir, "--mode", "tools", "--resume", "And what is left?"); text != "Nothing is left to be done.\n" {
		t.Errorf("then it answers %q", text)
	}
	if rows := u.rows(t, "select chat, questions, answered, draft, requests from v_chats"); len(rows) != 1 || strings.Join(rows[0], " ") != "1 2 2 true 5" {
		t.Errorf("the record has %v", rows)
	}
	if after := filesOf(t, dir); len(after) != len(before) {
		t.Errorf("the workspace has %d files and had %d", len(after), len(before))
	}
}
