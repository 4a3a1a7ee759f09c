package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// canary is the key of every trial. It contains characters that URLs, JSON and base64 write differently, and no form of
// it may be found anywhere after a run.
const canary = "Canary+0123456789/abcdef=ghijklmnopqrstu"

// An ailment is something wrong with a model or the connection to it, and what a run makes of it.
type ailment struct {
	name  string // with the row of the battery
	steps []llmtest.Step
	// before sets up what no script can: another server, a proxy.
	before func(t *testing.T, x *trial)
	env    []string
	args   []string
	exit   int
	told   string // a regular expression for the error's message
	kinds  string // the kinds of the requests in v_model_calls, in order
	row    string // a regular expression for the last request: tokens in and out, whether they are estimated, and the version
}

// A trial is one run with its own workspace, database and fake model.
type trial struct {
	dir, url string
	model    *llmtest.Server
	conn     *pgx.Conn // the connection of text, once it was used
	env      []string

	doc            run.Document
	exit           int
	stdout, stderr string
}

// nothing is the answer of a model that sees nothing to change. With a goal the run is then rejected, with exit code 1,
// before it needs a box.
func nothing() llmtest.Step { return llmtest.Step{Text: "NOTHING\n"} }

// times returns a step n times, followed by then.
func times(n int, s llmtest.Step, then ...llmtest.Step) []llmtest.Step {
	var steps []llmtest.Step
	for range n {
		steps = append(steps, s)
	}
	return append(steps, then...)
}

// busy is a status with a message that holds the key, as some gateways echo it.
func busy(status int) llmtest.Step {
	return llmtest.Step{Status: status, Message: "for the key " + canary}
}

// later is a 429 with this Retry-After.
func later(after string) llmtest.Step {
	return llmtest.Step{Status: 429, Message: "slow down", Headers: map[string]string{"Retry-After": after}}
}

// newTrial prepares a run of an ailment.
func newTrial(t *testing.T, a ailment) *trial {
	t.Helper()
	_, url := storetest.Warm(t)
	x := &trial{url: url, dir: filepath.Join(t.TempDir(), "shop"), model: llmtest.Gemini(a.steps...)}
	t.Cleanup(x.model.Close)
	if err := os.Mkdir(x.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(x.dir, "main.py"), []byte("a = 1\nb = 2\na = 1\nprint(a, b)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	x.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DOCKER_HOST=" + os.Getenv("DOCKER_HOST"), "AGENT_GUEST=" + os.Getenv("AGENT_GUEST"),
		"AGENT_DATABASE_URL=" + url, "GEMINI_API_KEY=" + canary, "GEMINI_BASE_URL=" + x.model.URL(), "AGENT_MODEL=gemini/m",
	}
	if a.before != nil {
		a.before(t, x)
	}
	x.env = append(x.env, a.env...)
	return x
}

// mostMemory bounds the data of the process under test, in bytes.
const mostMemory = 512 << 20

// run runs the command as a separate process, with bounded memory.
func (x *trial) run(t *testing.T, args ...string) {
	t.Helper()
	args = append([]string{"sandbox", "run", "--workspace", x.dir, "--goal", "tidy up", "--file", "main.py", "--yes", "--json"}, args...)
	// Beyond its memory limit the process dies, with another exit code.
	limited := append([]string{"-c", fmt.Sprintf(`ulimit -d %d && exec "$0" "$@"`, mostMemory>>10), agentProgram}, args...)
	cmd := exec.Command("/bin/sh", limited...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = x.env, &stdout, &stderr
	err := cmd.Run()
	x.exit, x.stdout, x.stderr = cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
	if json.Unmarshal(stdout.Bytes(), &x.doc) != nil {
		t.Fatalf("%v, and no document on stdout: %s\n%s", err, &stdout, &stderr)
	}
}

// text returns the rows of a query, one a line.
func (x *trial) text(t *testing.T, sql string) string {
	t.Helper()
	if x.conn == nil {
		conn, err := pgx.Connect(t.Context(), x.url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close(context.WithoutCancel(t.Context())) })
		x.conn = conn
	}
	rows, err := x.conn.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(lines, "\n")
}

// forTheChange is a condition on v_model_calls for the requests for the change itself, without those that learn from
// the run after it has ended.
const forTheChange = ` purpose not in ('UM', 'RM') `

// kinds lists the results of the requests for the change, in order.
func (x *trial) kinds(t *testing.T) string {
	t.Helper()
	return strings.ReplaceAll(x.text(t, `select coalesce(error_kind, case when ended is null then 'open' else 'answer' end) from v_model_calls where`+forTheChange+`order by call`), "\n", " ")
}

// secret fails if any form of the key is in the output or in any column of any table.
func (x *trial) secret(t *testing.T) {
	t.Helper()
	found := map[string]string{"stdout": x.stdout, "stderr": x.stderr}
	for _, table := range strings.Fields(x.text(t, `select table_name from information_schema.tables where table_schema = current_schema() and table_type = 'BASE TABLE'`)) {
		found[table] = x.text(t, "select t::text from "+table+" t") + x.text(t, "select convert_from(convert_to(row_to_json(t)::text, 'UTF8'), 'UTF8') from "+table+" t")
	}
	if len(found) < 12 {
		t.Errorf("only %d places were searched", len(found))
	}
	for where, text := range found {
		if llm.Mask(text, llm.NewKey(canary)) != text {
			t.Errorf("the key is in %s", where)
		}
	}
}

// check runs an ailment and checks everything that the run must and must not do.
func (a ailment) check(t *testing.T) {
	x := newTrial(t, a)
	before, err := os.ReadFile(filepath.Join(x.dir, "main.py"))
	if err != nil {
		t.Fatal(err)
	}
	x.run(t, a.args...)
	told := ""
	if x.doc.Error != nil {
		told = x.doc.Error.Message
	}
	if x.exit != a.exit || !regexp.MustCompile(a.told).MatchString(told) {
		t.Errorf("exit code %d, told %q; want %d and %q", x.exit, told, a.exit, a.told)
	}
	// Advice to a model about its patch follows on a separate line.
	line, advice, _ := strings.Cut(told, "\n")
	if strings.ContainsAny(line+advice, "\n\r\x1b") || advice != "" && !strings.HasPrefix(advice, "→ ") || x.doc.Error == nil || x.doc.Error.Next == "" {
		t.Errorf("it is not told in one line with what to do next: %+v", x.doc.Error)
	}
	if got := x.kinds(t); got != a.kinds {
		t.Errorf("the requests ended with %q, want %q\n%s", got, a.kinds, x.stderr)
	}
	row := x.text(t, `select concat_ws(' ', tokens_in, tokens_out, in_estimated and out_estimated, version) from model_call where`+forTheChange+`order by id desc limit 1`)
	if !regexp.MustCompile(a.row).MatchString(strings.ReplaceAll(strings.ReplaceAll(row, " t ", " true "), " f ", " false ")) {
		t.Errorf("the last request is recorded as %q, want %q", row, a.row)
	}
	after, err := os.ReadFile(filepath.Join(x.dir, "main.py"))
	names, err2 := os.ReadDir(x.dir)
	if err != nil || err2 != nil || !bytes.Equal(before, after) || len(names) != 1 {
		t.Errorf("the workspace was touched: %v, %v, %v\n%s", err, err2, names, after)
	}
	if state := x.text(t, `select state || ' ' || (ended is not null) from v_runs`); state != string(x.doc.State)+" true" {
		t.Errorf("the record of the run says %q", state)
	}
	for _, q := range x.model.Requests() {
		if q.KeyInURL {
			t.Error("a key is in the URL")
		}
	}
	x.secret(t)
	// The search works: it finds what replaces the key.
	if id := llm.NewKey(canary).ID; a.env == nil && !strings.Contains(x.text(t, "select t::text from model_call t"), id) {
		t.Errorf("the key's name %s is not in the record", id)
	}
	t.Logf("exit %d, %s: %s", x.exit, x.kinds(t), told)
}

// Each row of the battery's section G is run with the command.
func TestWhatModelsAndTheWayToThemDoWrong(t *testing.T) {
	t.Parallel()
	// The first trial takes the snapshot that the others find ready.
	t.Run("a model that sees nothing to do", ailment{
		steps: []llmtest.Step{nothing()}, exit: 1, told: "nothing to change", kinds: "answer",
	}.check)
	var all sync.WaitGroup
	free := make(chan bool, 12) // a trial mostly waits, so more of them fit than there are processors
	for _, list := range [][]ailment{limits(), statuses(), streams(), bodies(), answers(), connections()} {
		for i, a := range list {
			if i%2 != 0 && os.Getenv("AGENT_TEST_ALL") == "" { // only `make test-all` tries all of them
				continue
			}
			free <- true
			all.Go(func() {
				defer func() { <-free }()
				t.Run(a.name, a.check)
			})
		}
	}
	all.Wait()
}

// limits returns G01: 429 in its forms.
func limits() []ailment {
	// The date must lie after the request, whenever that is made.
	dated := func(_ *testing.T, x *trial) {
		var asked atomic.Int32
		x.model.Choose(func(llmtest.Request) llmtest.Step {
			if asked.Add(1) > 1 {
				return nothing()
			}
			return later(time.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat))
		})
	}
	info := `[{"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED", "details": [
		{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "2s"}]}}]`
	return []ailment{
		{name: "G01 429 for 2 seconds", steps: []llmtest.Step{later("2"), nothing()}, exit: 1, told: "nothing to change", kinds: "rate_limit answer"},
		{name: "G01 429 until a date", before: dated, exit: 1, told: "nothing to change", kinds: "rate_limit answer"},
		{name: "G01 429 with RetryInfo", steps: []llmtest.Step{{Status: 429, Body: info}, nothing()}, exit: 1, told: "nothing to change", kinds: "rate_limit answer"},
		{name: "G01 429 without a time", steps: times(1, busy(429)), exit: 3, told: `the key rests \(status 429: for the key \[key [0-9a-f]{8}\]\); .*a key wakes at 2`, kinds: "rate_limit"},
		{name: "G01 429 for a day", steps: times(1, later("86400")), exit: 3, told: `a key wakes at 2`, kinds: "rate_limit"},
		{name: "G01 429 for abc", steps: times(1, later("abc")), exit: 3, told: `a key wakes at 2`, kinds: "rate_limit"},
		{name: "G01 429 for less than nothing", steps: times(1, later("-5")), exit: 3, told: `a key wakes at 2`, kinds: "rate_limit"},
		{name: "G01 429 for ever", steps: times(20, later("1")), exit: 5, told: `after 16 attempts`, kinds: strings.TrimSpace(strings.Repeat("rate_limit ", 16))},
	}
}

// statuses returns G02 and G03: what is tried again, and what is not.
func statuses() []ailment {
	// An error does not mention keys if there are none.
	local := func(status int) (model func(*testing.T, *trial), env []string) {
		return func(t *testing.T, x *trial) {
			other := llmtest.Ollama(times(9, llmtest.Step{Status: status, Message: "no"})...)
			t.Cleanup(other.Close)
			x.env = append(x.env, "OLLAMA_HOST="+other.URL())
		}, []string{"AGENT_MODEL=ollama/m"}
	}
	closed, ollama := local(401)
	crowded, _ := local(429)
	list := []ailment{
		{name: "G03 401 of a server without keys", before: closed, env: ollama, exit: 3, told: "^ask the model: ollama denies access to the question", kinds: "auth"},
		{name: "G01 429 of a server without keys", before: crowded, env: ollama, exit: 3, told: "^ask the model: ollama: too many requests; it is not asked", kinds: "rate_limit"},
		{name: "G02 503 for ever", steps: times(9, busy(503)), exit: 3, told: `gemini is overloaded \(status 503: .*\); no model answered after 5 attempts; the run spent 5 requests, `, kinds: "overloaded overloaded overloaded overloaded overloaded"},
		{name: "G03 400", steps: times(9, busy(400)), exit: 3, told: "does not accept the question", kinds: "invalid"},
		{name: "G03 401", steps: times(9, busy(401)), exit: 3, told: "does not accept a key", kinds: "auth"},
		{name: "G03 403", steps: times(9, busy(403)), exit: 3, told: "does not accept a key", kinds: "auth"},
		{name: "G03 404", steps: times(9, busy(404)), exit: 3, told: "has no model m", kinds: "missing"},
		{name: "G03 402", steps: times(9, busy(402)), exit: 3, told: "no money left", kinds: "balance"},
	}
	for _, status := range []int{500, 502, 503, 529} {
		list = append(list, ailment{
			name:  fmt.Sprintf("G02 %d twice", status),
			steps: times(2, busy(status), nothing()), exit: 1, told: "nothing to change", kinds: "overloaded overloaded answer",
		})
	}
	return list
}

// streams returns G05: answers that never end.
func streams() []ailment {
	const text = `{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"x"}]}}]}`
	brief := []string{"AGENT_MAX_IDLE=1s"}
	hangs := "network network network network"
	return []ailment{
		{name: "G05 silence", steps: times(9, llmtest.Step{Hang: true}), env: brief, exit: 3, told: "no text for 1s", kinds: hangs},
		{name: "G05 silence after a beginning", steps: times(9, llmtest.Step{Text: "<THO", Hang: true}), env: brief, exit: 3, told: "no text for 1s", kinds: hangs},
		{name: "G05 nothing but white space", steps: times(9, llmtest.Step{Keep: "\n", Pause: 50 * time.Millisecond}), env: brief, exit: 3, told: "no text for 1s", kinds: hangs},
		{
			name:  "G05 a byte at a time",
			steps: times(9, llmtest.Step{Text: strings.Repeat("x", 999), Split: 1, Pause: 100 * time.Millisecond}), env: brief, exit: 3, told: "no text for 1s", kinds: hangs,
		},
		{
			name: "G05 a word now and then, for ever", steps: times(9, llmtest.Step{Text: "x", Keep: "," + text, Pause: 200 * time.Millisecond}),
			env: []string{"AGENT_MAX_REQUEST=2s"}, exit: 3, told: "no complete answer within 2s", kinds: hangs,
		},
		{
			name: "G05 the time of the run", steps: times(9, llmtest.Step{Text: "x", Keep: "," + text, Pause: 200 * time.Millisecond}),
			env: []string{"AGENT_MAX_TIME=3s"}, exit: 5, told: "the cap on the time of a run is reached", kinds: "network",
		},
		{name: "G05 cut in mid-answer", steps: times(1, llmtest.Step{Text: "<EDIT", Break: true}, nothing()), exit: 1, told: "nothing to change", kinds: "network answer"},
	}
}

// bodies returns G06: answers that are too long, or empty.
func bodies() []ailment {
	page := llmtest.Step{Body: "<html><h1>log in</h1> " + canary, Headers: map[string]string{"Content-Type": "text/html"}}
	const none = "malformed malformed malformed"
	return []ailment{
		{name: "G06 more than 10 MB of text", steps: times(9, llmtest.Step{Chunks: []string{strings.Repeat("x", 1<<20)}, Repeat: 11}), exit: 5, told: "cap on the tokens of a run", kinds: "malformed"},
		{name: "G06 1 GB of text", steps: times(9, llmtest.Step{Chunks: []string{strings.Repeat("x", 1<<20)}, Repeat: 1 << 10}), args: []string{"--max-tokens", "0"}, exit: 3, told: "longer than 10485760 bytes", kinds: none},
		{name: "G06 1 GB that explains an error", steps: times(1, llmtest.Step{Status: 400, Body: "x", Keep: strings.Repeat("x", 1<<20)}), exit: 3, told: "does not accept the question", kinds: "invalid"},
		{name: "G06 1 GB of white space", steps: times(9, llmtest.Step{Keep: strings.Repeat(" ", 1<<20)}), exit: 3, told: "longer than 32 MiB", kinds: none},
		{name: "G06 a million events", steps: times(9, llmtest.Step{Keep: strings.Repeat(`{"candidates":[]},`, 4<<10)}), exit: 3, told: "more than 262144 events", kinds: none},
		{name: "G06 one line of 50 MB", steps: times(9, llmtest.Step{Huge: 50 << 20}), exit: 3, told: "", kinds: none},
		{name: "G06 a page", steps: times(9, page), exit: 3, told: "the response of gemini is not an answer.*log in", kinds: none},
		{name: "G06 a page, once", steps: times(1, page, nothing()), exit: 1, told: "nothing to change", kinds: "malformed answer"},
		{name: "G06 an answer with the key in it", steps: times(9, llmtest.Step{Text: "your key is " + canary}), exit: 3, told: "holds the key that was sent", kinds: none},
		{name: "G06 no text at all", steps: times(9, llmtest.Step{}), exit: 3, told: "neither text nor calls", kinds: none},
	}
}

// answers returns G08 to G13: useless answers of a model, and what a model says about itself.
func answers() []ailment {
	edit := func(search, replace string) llmtest.Step {
		return llmtest.Step{Text: "<EDIT file=\"main.py\">\n<SEARCH>\n" + search + "\n</SEARCH>\n<REPLACE>\n" + replace + "\n</REPLACE>\n</EDIT>\n"}
	}
	say := func(text string) llmtest.Step { return llmtest.Step{Text: text} }
	refused := func(name string, told string, steps ...llmtest.Step) ailment {
		return ailment{name: name, steps: steps, exit: 1, told: "no candidate passed after 3 repairs.*" + told, kinds: "answer answer answer answer"}
	}
	usage := func(u *llmtest.Usage) []llmtest.Step {
		return times(9, llmtest.Step{Text: "I am a parrot.", Usage: u})
	}
	return []ailment{
		refused("G08 malformed blocks", "",
			say("<EDIT file=\"main.py\">\n<SEARCH>\na = 1\n"), say("<EDIT file=\"main.py\"><SEARCH><![CDATA[b = 2]]></SEARCH>"),
			say("<!DOCTYPE x [<!ENTITY a \"&b;&b;\"><!ENTITY b \"&a;&a;\">]><EDIT>&a;</EDIT>"), say("<EDIT file=\"main.py\" file=\"x.py\"><SEARCH>\nzz\n</SEARCH><REPLACE>\ny\n</REPLACE></EDIT>")),
		refused("G08 quotes, fences and JSON", "",
			say("\ufeff{\"path\": \"main.py\", \"action\": \"mod"), say("```xml\n```\n<EDIT>\n```\n</EDIT>"),
			say("<EDIT file=“main.py”>\r\n<SEARCH>\r\nprint(“a”)\r\n</SEARCH>"), say("{\"tool\": \"edit\", \"arguments\": {{{")),
		refused("G09 patches that do not fit", "",
			edit("c = 3", "c = 4"), edit("a = 1", "a = 2"),
			say("--- a/main.py\n+++ b/main.py\n@@ -1,2 +1,2 @@\n-zz = 1\n+zz = 2\n b = 2\n@@ -1,2 +1,2 @@\n-b = 2\n+b = 3\n"), say("--- a/main.py\n+++ b/main.py\n")),
		refused("G09 patches that go astray", "",
			say("<EDIT file=\"/etc/passwd\">\n<SEARCH>\nroot\n</SEARCH>\n<REPLACE>\nx\n</REPLACE>\n</EDIT>"), say("<EDIT file=\"../main.py\">\n<SEARCH>\nb = 2\n</SEARCH>\n<REPLACE>\nx\n</REPLACE>\n</EDIT>"),
			say("<EDIT file=\".git/config\">\n<SEARCH>\nb\n</SEARCH>\n<REPLACE>\nx\n</REPLACE>\n</EDIT>"), say("diff --git a/x.png b/x.png\nGIT binary patch\nliteral 9\nzz\n")),
		// The model is asked in another form, and then no more.
		{name: "the same answer again and again", steps: times(9, edit("c = 3", "c = 4")), exit: 1, told: "no candidate passed after 2 repairs", kinds: "answer answer answer"},
		{name: "G10 a refusal for safety", steps: times(9, llmtest.Step{Text: "I", Finish: "SAFETY"}), exit: 3, told: "filters of gemini blocked", kinds: "refused"},
		{name: "G10 a question that is blocked", steps: times(9, llmtest.Step{Events: []string{`{"promptFeedback": {"blockReason": 1}}`}, Open: true}), exit: 3, told: "the question was blocked: SAFETY", kinds: "refused"},
		{name: "G10 an answer that is cut", steps: times(9, llmtest.Step{Text: "<EDIT", Finish: "MAX_TOKENS"}), exit: 5, told: "reached its token limit", kinds: "truncated"},
		{name: "G11 no usage", steps: usage(nil), args: []string{"--max-tokens", "9000"}, exit: 5, told: "cap on the tokens of a run", kinds: "answer", row: `^\d{3} \d true m$`},
		{name: "G11 usage below nothing", steps: usage(&llmtest.Usage{In: -5, Out: -1 << 40}), args: []string{"--max-tokens", "9000"}, exit: 5, told: "cap on the tokens of a run", kinds: "answer", row: `^\d{3} \d true m$`},
		{name: "G11 usage beyond reason", steps: usage(&llmtest.Usage{In: 1 << 62, Out: 1 << 61}), args: []string{"--max-tokens", "9000"}, exit: 5, told: "cap on the tokens of a run", kinds: "answer", row: `^\d{3} \d true m$`},
		{
			name: "G13 two choices, unknown fields, another model's name", exit: 1, told: "nothing to change", kinds: "answer", row: "m-preview$",
			steps: []llmtest.Step{{Text: "NOTHING\n", Second: "<EDIT>", Model: "m-preview", Events: []string{`{"surprise": {"a": [1]}, "candidates": []}`}}},
		},
	}
}

// connections returns G12: there is no connection to the model.
func connections() []ailment {
	const gone = "network network network network"
	serve := func(t *testing.T, tls bool, answer http.HandlerFunc) string {
		s := httptest.NewUnstartedServer(answer)
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // it would report each handshake
		if tls {
			s.StartTLS()
		} else {
			s.Start()
		}
		t.Cleanup(s.Close)
		return s.URL
	}
	return []ailment{
		{name: "G12 a certificate nobody signed", before: func(t *testing.T, x *trial) {
			x.env = append(x.env, "GEMINI_BASE_URL="+serve(t, true, http.NotFound))
		}, exit: 3, told: "certificate", kinds: gone},
		{name: "G12 no such host", env: []string{"GEMINI_BASE_URL=http://nothing.invalid"}, exit: 3, told: "no connection", kinds: gone},
		{name: "G12 nobody listens", env: []string{"GEMINI_BASE_URL=http://127.0.0.1:1"}, exit: 3, told: "refused", kinds: gone},
		{name: "G12 reset", steps: times(9, llmtest.Step{Drop: true}), exit: 3, told: "closed before an answer arrived", kinds: gone},
		{name: "G12 no HTTP", steps: times(9, llmtest.Step{Raw: "220 mail " + canary + "\r\n"}), exit: 3, told: "no connection", kinds: gone},
		{name: "G12 a proxy that wants a password", before: func(t *testing.T, x *trial) {
			proxy := serve(t, false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) })
			x.env = append(x.env, "GEMINI_BASE_URL=http://vendor.invalid", "HTTP_PROXY="+proxy)
		}, exit: 3, told: "status 407: Proxy Authentication Required", kinds: gone},
		{name: "a redirect is not followed", before: func(t *testing.T, x *trial) {
			other := serve(t, false, func(http.ResponseWriter, *http.Request) { t.Error("the redirect was followed") })
			x.model.Choose(func(llmtest.Request) llmtest.Step {
				return llmtest.Step{Status: 307, Headers: map[string]string{"Location": other + "/" + canary}}
			})
		}, exit: 3, told: "is not followed", kinds: "malformed malformed malformed"},
	}
}
