package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"agent/cmd/agent/internal/term"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
)

// A talker is a person whose program is killed while it answers a question.
type talker struct {
	work string
	env  []string
	*llmtest.Server
	db *store.DB
	f  *failpoint
	// The number, from 1, of the answer that never comes; 0 for none.
	hangs atomic.Int64
	asked atomic.Pointer[chan int]
}

// phase makes the answer with that number hang, 0 for none, and returns the numbers of the requests from then on.
func (k *talker) phase(hangs int) <-chan int {
	asked := make(chan int, 100)
	k.asked.Store(&asked)
	k.hangs.Store(int64(hangs))
	return asked
}

// chatAnswers returns the model's answers, in order.
func chatAnswers() []llmtest.Step {
	call := func(id, name, arguments string) llmtest.Step {
		return llmtest.Step{Calls: []llmtest.Call{{ID: id, Name: name, Arguments: arguments}}}
	}
	return []llmtest.Step{
		call("a", "read", `{"path": "shop/stock.py"}`),
		call("b", "edit", `{"path": "shop/stock.py", "old": "    \"\"\"Counts items by name.\"\"\"", "new": "    \"\"\"Counts items by their names.\"\"\""}`),
		call("c", "search", `{"text": "_items"}`),
		{Text: "It says names now."},
	}
}

// newTalker starts a model whose answer depends only on the conversation, however often it is asked.
func newTalker(t *testing.T) *talker {
	t.Helper()
	db, url := storetest.Warm(t)
	top := t.TempDir()
	k := &talker{work: filepath.Join(top, "shop"), db: db, f: newFailpoint(t, url)}
	k.phase(0)
	k.Server = llmtest.Compatible().Choose(func(r llmtest.Request) llmtest.Step {
		n := len(r.Messages)/2 + 1
		*k.asked.Load() <- n
		if int64(n) == k.hangs.Load() {
			return llmtest.Step{Hang: true}
		}
		return chatAnswers()[n-1]
	})
	t.Cleanup(k.Server.Close)
	k.f.do(t, fmt.Sprintf(`create function stop_here() returns trigger language plpgsql as $$ begin
		if exists (select from failpoint where place = concat_ws(' ', tg_table_name, lower(tg_op), to_jsonb(new) ->> 'step')) then
			perform pg_advisory_xact_lock_shared(%d);
		end if;
		return new;
	end $$`, k.f.key))
	for _, table := range []string{"chat_turn", "model_call", "tool_call"} {
		k.f.do(t, "create trigger stop_here before insert or update on "+table+" for each row execute function stop_here()")
	}
	config := filepath.Join(top, "config", "agent")
	if err := os.MkdirAll(config, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(config, "config.toml"), []byte("[tools]\n\"compatible/m\" = \"native\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(k.work, os.DirFS("testdata/example")); err != nil {
		t.Fatal(err)
	}
	k.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + top, "XDG_CONFIG_HOME=" + filepath.Dir(config), "AGENT_GUEST=" + os.Getenv("AGENT_GUEST"),
		"DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), "AGENT_DATABASE_URL=" + url, "AGENT_MODEL=compatible/m", "COMPATIBLE_BASE_URL=" + k.URL() + "/v1",
	}
	return k
}

// latest is the name under which the newest conversation is recorded, in SQL.
const latest = "(select 'chat:' || max(id) from chat)"

// chat runs the command as a separate process.
func (k *talker) chat(args ...string) *exec.Cmd {
	cmd := exec.Command(agentProgram, append([]string{"chat", "--workspace", k.work, "--json"}, args...)...)
	cmd.Env = k.env
	return cmd
}

// rows lists the finished tool calls with the times at which they were made.
func (k *talker) rows(t *testing.T) (list []string) {
	t.Helper()
	found, err := k.f.conn.Query(t.Context(), "select number || ' ' || tool || ' ' || begun from tool_call where run = "+latest+" order by id")
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	for found.Next() {
		var row string
		if err := found.Scan(&row); err != nil {
			t.Fatal(err)
		}
		list = append(list, row)
	}
	return list
}

// answered counts the steps whose question has an answer on record.
func (k *talker) answered(t *testing.T) (n int) {
	t.Helper()
	if err := k.f.conn.QueryRow(t.Context(), "select count(distinct step) from model_call where ended is not null and run = "+latest).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A phase is a point at which the program is killed.
type phase struct {
	place string // the write before which it is killed, "" if it waits for an answer
	lost  bool   // the write is not made; else it is made, but the program never learns of it
	hangs int    // the number of the answer that never comes, from 1; 0 for none
}

// String returns the phase as the name of a test.
func (ph phase) String() string {
	return strings.ReplaceAll(fmt.Sprintf("%s lost=%v hangs=%d", ph.place, ph.lost, ph.hangs), "/", ".")
}

// killedIn starts a command, kills it in a phase, and returns once its last write to these tables is over.
func (k *talker) killedIn(t *testing.T, ph phase, command func() *exec.Cmd, tables string) {
	t.Helper()
	asked := k.phase(ph.hangs)
	if ph.place != "" {
		k.f.set(t, ph.place)
	}
	cmd := command()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if ph.place == "" {
		for n := range asked {
			if n == ph.hangs {
				break
			}
		}
		kill(t, cmd)
		return
	}
	pid := k.f.reached(t)
	kill(t, cmd)
	if ph.lost {
		k.f.do(t, "select pg_terminate_backend($1)", pid)
	}
	k.f.lift(t)
	k.f.do(t, "begin; lock table "+tables+" in share row exclusive mode; commit")
}

// The program is killed in each phase of a conversation with tools. The next one continues the question: no answered
// question is asked again, no finished call is made again, and the draft is what it would have been.
func TestKilledInEachPhaseOfAConversationNothingIsPaidForTwice(t *testing.T) {
	t.Parallel()
	phases := []phase{{place: "chat_turn insert"}, {place: "chat_turn update", lost: true}, {place: "chat_turn update"}}
	phases = append(phases, phase{hangs: 2}, phase{hangs: 4}, phase{place: "model_call insert turn/1/r1", lost: true},
		phase{place: "model_call update turn/1/r1", lost: true}, phase{place: "model_call update turn/1/r2"}, phase{place: "model_call update turn/1/r3", lost: true},
		phase{place: "tool_call insert turn/1", lost: true}, phase{place: "tool_call insert turn/1"})
	k := newTalker(t)
	for _, ph := range phases {
		t.Run(ph.String(), func(t *testing.T) {
			k.killedIn(t, ph, func() *exec.Cmd { return k.chat("say names") }, "chat_turn, model_call, tool_call")
			k.resumes(t)
		})
	}
	t.Run("a person", k.attended)
}

// attended lets a person talk at a terminal: an answer appears as it is written, Ctrl-C ends the answer and not the
// conversation, and a model's text cannot control the terminal.
func (k *talker) attended(t *testing.T) {
	env := map[string]string{"TERM": "xterm", "NO_COLOR": "1"}
	for _, v := range k.env {
		name, value, _ := strings.Cut(v, "=")
		env[name] = value
	}
	slow := make(chan struct{})
	k.Choose(func(r llmtest.Request) llmtest.Step {
		switch text := r.Messages[len(r.Messages)-1].Text; {
		case strings.HasPrefix(text, "wait"):
			close(slow)
			return llmtest.Step{Text: "It begins", Hang: true}
		case strings.Contains(text, "@"), strings.HasPrefix(text, " /nope"):
			return llmtest.Step{Text: "\x1b[2JDone, " + fmt.Sprint(strings.Contains(text, "Counts items by name.")) + "."}
		}
		return llmtest.Step{Text: "What?"}
	})
	p := aPerson(t, env)
	p.cmd.Interrupts = &term.Interrupts{}
	done := make(chan int, 1)
	go func() { done <- command(t.Context(), p.cmd, []string{"chat", "--workspace", k.work}) }()
	p.Sees(t, "you> ", 1)
	p.Types(t, "look at @shop/stock.py\n")
	p.Sees(t, "␛[2JDone, true.\r\n", 1)
	p.Sees(t, "you> ", 2)
	p.Types(t, "wait for it\n")
	<-slow
	p.Sees(t, "It begins", 1)
	if !p.cmd.Interrupts.Take() {
		t.Error("Ctrl-C ends the program")
	}
	p.Sees(t, "interrupted", 1)
	p.Sees(t, "you> ", 3)
	p.Types(t, "/nope\n")
	p.Sees(t, "unknown command /nope", 1)
	p.Types(t, "/diff now\n")
	p.Sees(t, "/diff takes no argument", 1)
	p.Types(t, "/diff\n")
	p.Sees(t, "there is no draft", 1)
	p.Types(t, "/help\n")
	p.Sees(t, "/apply", 1)
	p.Types(t, "and now?\n")
	p.Sees(t, "What?\r\n", 1)
	p.Sees(t, "you> ", 8)
	p.Types(t, "\x04")
	p.Sees(t, "` continues it", 1)
	if code := <-done; code != 0 {
		t.Errorf("it ends with %d:\n%s", code, p.Screen())
	}
	if strings.Contains(p.Screen(), "\x1b[2J") {
		t.Error("the model steers the terminal")
	}
	last := k.Requests()[len(k.Requests())-1]
	if n := len(last.Messages); n != 5 || !strings.Contains(last.Messages[3].Text, "interrupted") {
		t.Errorf("the last question has %d messages: %+v", n, last.Messages)
	}
}

// kill ends a program without warning.
func kill(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

// resumes continues the conversation and checks the cost.
func (k *talker) resumes(t *testing.T) {
	t.Helper()
	calls, known, before := k.rows(t), k.answered(t), len(k.Requests())
	k.phase(0)
	var out, told bytes.Buffer
	cmd := k.chat("--resume")
	cmd.Stdout, cmd.Stderr = &out, &told
	err := cmd.Run()
	var turns, over int
	if err := k.f.conn.QueryRow(t.Context(), "select count(*), count(cause) from chat_turn where 'chat:' || chat = "+latest).Scan(&turns, &over); err != nil {
		t.Fatal(err)
	}
	if turns == 0 && known == 0 && len(calls) == 0 {
		return // without a recorded question the model was not asked
	}
	if turns != 1 || over != 1 {
		t.Fatalf("%d questions, %d of them over; %v\n%s", turns, over, err, told.String())
	}
	var answer struct{ Answer, Draft string }
	if err == nil { // else the answer was on record, and there was nothing to continue
		if err := json.Unmarshal(out.Bytes(), &answer); err != nil || answer.Answer != "It says names now." || !strings.Contains(answer.Draft, "+    \"\"\"Counts items by their names.") {
			t.Errorf("%v, %+v\n%s", err, answer, told.String())
		}
	} else if known != len(chatAnswers()) || !strings.Contains(told.String(), "no question was cut off") {
		t.Errorf("%v\n%s", err, told.String())
	}
	if asked := len(k.Requests()) - before; asked != len(chatAnswers())-known {
		t.Errorf("%d answers were on record, and it asked for %d", known, asked)
	}
	if after := k.rows(t); len(after) != 3 || fmt.Sprint(after[:len(calls)]) != fmt.Sprint(calls) {
		t.Errorf("calls were\n%q\nand are\n%q", calls, after)
	}
}
