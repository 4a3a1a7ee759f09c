//go:build agents

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// realKey is the key that only the model's server may ever see.
const realKey = "sk-real-key-of-the-user-0123456789"

type object = map[string]any

// A modelServer plays the model of real coding agents, in the formats of Anthropic's Messages, OpenAI's Responses and
// Chat Completions, and Gemini. It has the agent read and edit the file, and says so.
type modelServer struct {
	*httptest.Server
	mu      sync.Mutex
	to      string // the new content of the sum
	keys    []string
	refused []string
	boxes   string // the engine's description of the first box that asked
}

func newModelServer(t *testing.T) *modelServer {
	t.Helper()
	s := &modelServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *modelServer) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.keys = append(s.keys, r.Header.Get("X-Api-Key")+r.Header.Get("X-Goog-Api-Key")+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	to := s.to
	if s.boxes == "" {
		out, _ := exec.Command("sh", "-c", "docker inspect $(docker ps --quiet --filter label=agent.purpose=exec)").CombinedOutput()
		s.boxes = string(out)
	}
	s.mu.Unlock()
	var in object
	if err := json.Unmarshal(body, &in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch r.URL.Path {
	case "/v1/messages/count_tokens":
		fmt.Fprint(w, `{"input_tokens":100}`)
	case "/v1/messages":
		messages(w, in, to)
	case "/v1/responses":
		responses(w, in, to)
	case "/v1/chat/completions":
		completions(w, in, to)
	default:
		if strings.Contains(r.URL.Path, "enerateContent") {
			contents(w, in, to, strings.Contains(r.URL.Path, ":stream"))
			return
		}
		s.mu.Lock()
		s.refused = append(s.refused, r.URL.Path)
		s.mu.Unlock()
		http.NotFound(w, r)
	}
}

func items(v any) []any { l, _ := v.([]any); return l }
func member(v any, name string) any {
	m, _ := v.(object)
	return m[name]
}
func text(v any) string { s, _ := v.(string); return s }

// event writes one server-sent event.
func event(w http.ResponseWriter, name string, v object) {
	v["type"] = name
	b, _ := json.Marshal(v)
	fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, b)
	w.(http.Flusher).Flush()
}

// toolNames returns the names of the tools that a request offers.
func toolNames(list []any) (names []string) {
	for _, t := range list {
		names = append(names, text(member(t, "name")))
	}
	return names
}

// messages answers in Anthropic's format.
func messages(w http.ResponseWriter, in object, to string) {
	names, done := toolNames(items(in["tools"])), 0
	for _, m := range items(in["messages"]) {
		for _, b := range items(member(m, "content")) {
			if text(member(b, "type")) == "tool_result" {
				done++
			}
		}
	}
	const file, was = "/work/calc.py", "return a - b"
	var steps []object
	switch {
	case slices.Contains(names, "Edit"):
		steps = []object{
			{"name": "Read", "input": object{"file_path": file}},
			{"name": "Edit", "input": object{"file_path": file, "old_string": was, "new_string": to}},
		}
	case slices.Contains(names, "edit"):
		steps = []object{
			{"name": "read", "input": object{"filePath": file, "path": file}},
			{"name": "edit", "input": object{"filePath": file, "path": file, "oldString": was, "newString": to}},
		}
	}
	block, delta, stop := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": "Done."}, "end_turn"
	if done < len(steps) {
		input, _ := json.Marshal(steps[done]["input"])
		block = object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", done), "name": steps[done]["name"], "input": object{}}
		delta, stop = object{"type": "input_json_delta", "partial_json": string(input)}, "tool_use"
	}
	usage := object{"input_tokens": 100, "output_tokens": 20}
	message := object{"id": "msg_1", "type": "message", "role": "assistant", "model": in["model"], "content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}
	if in["stream"] != true {
		message["content"], message["stop_reason"] = []any{object{"type": "text", "text": "Done."}}, "end_turn"
		json.NewEncoder(w).Encode(message)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event(w, "message_start", object{"message": message})
	event(w, "content_block_start", object{"index": 0, "content_block": block})
	event(w, "content_block_delta", object{"index": 0, "delta": delta})
	event(w, "content_block_stop", object{"index": 0})
	event(w, "message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	event(w, "message_stop", object{})
}

// responses answers in the format of OpenAI's Responses.
func responses(w http.ResponseWriter, in object, to string) {
	names, done := toolNames(items(in["tools"])), 0
	for _, i := range items(in["input"]) {
		if strings.HasSuffix(text(member(i, "type")), "_call_output") {
			done++
		}
	}
	patch := "*** Begin Patch\n*** Update File: calc.py\n@@\n-    return a - b\n+    " + to + "\n*** End Patch\n"
	item := object{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []any{object{"type": "output_text", "text": "Done.", "annotations": []any{}}}}
	call := func(name string, args object) object {
		b, _ := json.Marshal(args)
		return object{"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name, "arguments": string(b), "status": "completed"}
	}
	shell := "apply_patch <<'EOF'\n" + patch + "EOF\n"
	switch {
	case done > 0:
	case slices.Contains(names, "apply_patch"):
		item = object{"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_1", "name": "apply_patch", "input": patch, "status": "completed"}
	case slices.Contains(names, "exec_command"):
		item = call("exec_command", object{"cmd": shell})
	case slices.Contains(names, "shell_command"):
		item = call("shell_command", object{"command": shell})
	case slices.Contains(names, "shell"):
		item = call("shell", object{"command": []string{"apply_patch", patch}})
	}
	response := object{"id": "resp_1", "object": "response", "created_at": 1, "status": "in_progress", "model": in["model"], "output": []any{}}
	w.Header().Set("Content-Type", "text/event-stream")
	event(w, "response.created", object{"sequence_number": 0, "response": response})
	event(w, "response.output_item.added", object{"sequence_number": 1, "output_index": 0, "item": item})
	event(w, "response.output_item.done", object{"sequence_number": 2, "output_index": 0, "item": item})
	response["status"], response["output"] = "completed", []any{item}
	response["usage"] = object{"input_tokens": 100, "output_tokens": 20, "total_tokens": 120, "input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0}}
	event(w, "response.completed", object{"sequence_number": 3, "response": response})
}

// geminiStep returns the next call of Gemini's own client, or of a client built on it; "" when all are done.
func geminiStep(names []string, done int, to string) (name string, args object) {
	const file = "/work/calc.py"
	edit := "replace"
	if slices.Contains(names, "edit") {
		edit = "edit"
	}
	switch {
	case !slices.Contains(names, "read_file") || done > 1:
		return "", nil
	case done == 0:
		return "read_file", object{"file_path": file, "absolute_path": file}
	}
	return edit, object{"file_path": file, "old_string": "return a - b", "new_string": to, "instruction": "add"}
}

// completions answers in the format of Chat Completions.
func completions(w http.ResponseWriter, in object, to string) {
	var names []string
	for _, t := range items(in["tools"]) {
		names = append(names, text(member(member(t, "function"), "name")))
	}
	done := 0
	for _, m := range items(in["messages"]) {
		if text(member(m, "role")) == "tool" {
			done++
		}
	}
	message, stop := object{"role": "assistant", "content": "Done."}, "stop"
	if name, args := geminiStep(names, done, to); name != "" {
		b, _ := json.Marshal(args)
		call := object{"index": 0, "id": fmt.Sprintf("call_%d", done), "type": "function", "function": object{"name": name, "arguments": string(b)}}
		message, stop = object{"role": "assistant", "content": nil, "tool_calls": []any{call}}, "tool_calls"
	}
	usage := object{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
	out := object{"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": in["model"], "usage": usage}
	if in["stream"] != true {
		out["choices"] = []any{object{"index": 0, "message": message, "finish_reason": stop}}
		json.NewEncoder(w).Encode(out)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out["object"] = "chat.completion.chunk"
	delete(out, "usage")
	for _, part := range []object{{"choices": []any{object{"index": 0, "delta": message, "finish_reason": nil}}}, {"choices": []any{object{"index": 0, "delta": object{}, "finish_reason": stop}}}, {"choices": []any{}, "usage": usage}} {
		for name, v := range part {
			out[name] = v
		}
		b, _ := json.Marshal(out)
		fmt.Fprintf(w, "data: %s\n\n", b)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// contents answers in Gemini's format.
func contents(w http.ResponseWriter, in object, to string, stream bool) {
	var names []string
	for _, t := range items(in["tools"]) {
		names = append(names, toolNames(items(member(t, "functionDeclarations")))...)
	}
	done := 0
	for _, c := range items(in["contents"]) {
		for _, p := range items(member(c, "parts")) {
			if member(p, "functionResponse") != nil {
				done++
			}
		}
	}
	part := object{"text": "Done."}
	if name, args := geminiStep(names, done, to); name != "" {
		part = object{"functionCall": object{"id": fmt.Sprintf("call_%d", done), "name": name, "args": args}}
	}
	b, _ := json.Marshal(object{
		"candidates":    []any{object{"index": 0, "content": object{"role": "model", "parts": []any{part}}, "finishReason": "STOP"}},
		"usageMetadata": object{"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}, "modelVersion": "scripted", "responseId": "r1",
	})
	if !stream {
		w.Header().Set("Content-Type", "application/json")
		w.Write(b)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, "data: %s\n\n", b)
}

// Real coding agents from npm work in a box on a model that a server plays: a good change is promoted, and a bad one is
// refused with the tree untouched. The user's key reaches the server and nothing else.
func TestRealCodingAgents(t *testing.T) {
	for _, agent := range []struct {
		name    string
		command []string
	}{
		{"claude", []string{"claude", "-p", "Make add() in calc.py add.", "--model", "claude-sonnet-4-5"}},
		{"codex", []string{"codex", "exec", "--model", "gpt-5-codex", "Make add() in calc.py add."}},
		{"gemini", []string{"gemini", "-p", "Make add() in calc.py add.", "-m", "gemini-2.5-flash"}},
		{"qwen", []string{"qwen", "-p", "Make add() in calc.py add.", "--model", "qwen3-coder-plus"}},
		{"opencode", []string{"opencode", "run", "--model", "anthropic/claude-sonnet-4-5", "Make add() in calc.py add."}},
	} {
		t.Run(agent.name, func(t *testing.T) {
			_, url := storetest.Warm(t)
			model := newModelServer(t)
			home, known := t.TempDir(), equippedImages(t)
			dir := filepath.Join(t.TempDir(), "calc")
			const before, test = "def add(a, b):\n    return a - b\n", "from calc import add\n\n\ndef test_add():\n    assert add(2, 0) == 2\n"
			for _, err := range []error{os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "calc.py"), []byte(before), 0o644), os.WriteFile(filepath.Join(dir, "test_calc.py"), []byte(test), 0o644)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			execute := func(to string, args ...string) run.Document {
				t.Helper()
				model.mu.Lock()
				model.to = to
				model.mu.Unlock()
				var stdout, stderr strings.Builder
				cmd := exec.Command(agentProgram, slices.Concat([]string{"sandbox", "exec", "-w", dir, "--yes", "--json"}, args, []string{"--"}, agent.command)...)
				cmd.Env = append(os.Environ(), "AGENT_DATABASE_URL="+url, "HOME="+home, "ANTHROPIC_BASE_URL="+model.URL, "OPENAI_BASE_URL="+model.URL+"/v1",
					"ANTHROPIC_API_KEYS="+realKey, "OPENAI_API_KEYS="+realKey,
					"GEMINI_BASE_URL="+model.URL, "GEMINI_API_KEYS="+realKey, "COMPATIBLE_BASE_URL="+model.URL+"/v1", "COMPATIBLE_API_KEYS="+realKey)
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				_ = cmd.Run() // the document reports the result
				t.Logf("%s", stderr.String())
				var doc run.Document
				if err := json.Unmarshal([]byte(stdout.String()), &doc); err != nil {
					t.Fatalf("%v: %s", err, stdout.String())
				}
				if strings.Contains(stdout.String()+stderr.String(), realKey) {
					t.Error("the key was printed")
				}
				return doc
			}
			tree := func() string {
				text, err := os.ReadFile(filepath.Join(dir, "calc.py"))
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			if doc := execute("return undefined_name"); doc.State != run.Rejected || tree() != before || len(doc.Candidates) != 1 {
				t.Errorf("the bad change: %s, %+v, the tree has %q", doc.State, doc.Error, tree())
			}
			if doc := execute("return a + b", "--max-requests", "1"); doc.Error == nil || doc.Error.Kind != run.ProblemBudget || tree() != before {
				t.Errorf("at the cap: %s, %+v, the tree has %q", doc.State, doc.Error, tree())
			}
			if doc := execute("return a + b"); doc.State != run.Promoted || !strings.Contains(tree(), "return a + b") {
				t.Errorf("the good change: %s, %+v, the tree has %q", doc.State, doc.Error, tree())
			}
			if len(model.keys) == 0 || slices.ContainsFunc(model.keys, func(k string) bool { return k != realKey }) || len(model.refused) > 0 {
				t.Errorf("the model was asked with %q, and for %q", model.keys, model.refused)
			}
			nowhereInTheRecord(t, url)
			nowhereOnTheEngine(t, known)
			nowhereBelow(t, home)
			nowhereBelow(t, dir)
			if nowhereIn(t, "the container", strings.NewReader(model.boxes)); !strings.Contains(model.boxes, `"agent.purpose": "exec"`) {
				t.Errorf("the box was not seen: %.200s", model.boxes)
			}
		})
	}
}

// keyForms returns the forms in which the key may be written: plain, hexadecimal, and base64 at each offset in a text.
func keyForms() (forms []string) {
	forms = []string{realKey, hex.EncodeToString([]byte(realKey))}
	for before := range 3 {
		coded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + realKey))
		// The characters that also encode neighbouring bytes are left out.
		forms = append(forms, coded[(before*8+5)/6:(before+len(realKey))*8/6])
	}
	return forms
}

// findKey returns the form of the key that occurs in the input, "" for none.
func findKey(from io.Reader) (form string, err error) {
	const overlap = 256
	buffer, kept := make([]byte, 1<<20), 0
	for {
		n, err := io.ReadFull(from, buffer[kept:])
		for _, form := range keyForms() {
			if bytes.Contains(buffer[:kept+n], []byte(form)) {
				return form, nil
			}
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		kept = copy(buffer, buffer[len(buffer)-overlap:])
	}
}

// nowhereIn checks that the key is not in the input.
func nowhereIn(t *testing.T, what string, from io.Reader) {
	t.Helper()
	if form, err := findKey(from); form != "" || err != nil {
		t.Errorf("the key is in %s, as %q, %v", what, form, err)
	}
}

// engineSays returns the output of the engine's client.
func engineSays(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("docker", args...).Output()
	if err != nil {
		t.Errorf("docker %q: %v %s", args, err, errorText(err))
	}
	return string(out)
}

// equippedImages lists the images with programs for a box, and the snapshots based on them.
func equippedImages(t *testing.T) []string {
	t.Helper()
	return strings.Fields(engineSays(t, "image", "ls", "--quiet", "--no-trunc", "--filter", "label=agent.equipment"))
}

// nowhereOnTheEngine looks for the key in the images that are not in before: in each layer and in the configuration.
func nowhereOnTheEngine(t *testing.T, before []string) {
	t.Helper()
	images := slices.DeleteFunc(equippedImages(t), func(id string) bool { return slices.Contains(before, id) })
	if len(images) == 0 {
		t.Error("no image was made")
	}
	for _, image := range images {
		nowhereIn(t, "the configuration of image "+image, strings.NewReader(engineSays(t, "image", "inspect", image)+engineSays(t, "history", "--no-trunc", image)))
	}
	save := exec.Command("docker", append([]string{"save"}, images...)...)
	layers, err := save.StdoutPipe()
	if err == nil {
		err = save.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	nowhereIn(t, "a layer of "+strings.Join(images, ", "), layers)
	if err := save.Wait(); err != nil {
		t.Errorf("docker save: %v", err)
	}
}

// nowhereBelow looks for the key in every file below a directory: logs, caches, exports.
func nowhereBelow(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		nowhereIn(t, name, f)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The search finds the key in each of its forms, even across two reads.
func TestThePlantedKeyWouldBeFound(t *testing.T) {
	t.Parallel()
	for _, text := range []string{realKey, hex.EncodeToString([]byte(realKey)), base64.StdEncoding.EncodeToString([]byte("a" + realKey)), base64.StdEncoding.EncodeToString([]byte("Bearer " + realKey + "\n"))} {
		for _, before := range []int{0, 1<<20 - 20} {
			if form, err := findKey(strings.NewReader(strings.Repeat("\n", before) + text + "\n")); form == "" || err != nil {
				t.Errorf("%q is not found, %v", text, err)
			}
		}
	}
}

// nowhereInTheRecord looks for the key in every table.
func nowhereInTheRecord(t *testing.T, url string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := conn.Query(t.Context(), "select c.relname from pg_class c where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace")
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 10 {
		t.Fatalf("tables %q, %v", tables, err)
	}
	for _, table := range tables {
		for _, form := range keyForms() {
			var n int
			like := fmt.Sprintf("select count(*) from %s r where r::text like '%%%s%%' or r::text like '%%%x%%'", pgx.Identifier{table}.Sanitize(), form, form)
			if err := conn.QueryRow(t.Context(), like).Scan(&n); err != nil || n > 0 {
				t.Errorf("the key is in %d rows of %s as %q, %v", n, table, form, err)
			}
		}
	}
}
