//go:build ollama

package main

import (
	"bytes"
	"encoding/csv"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ollama/ollama/api"

	"agent/orchestrator/store/storetest"
)

// defective lists the files of the example that have a defect, in order. The fix of the n-th is defects-answers/n.xml.
var defective = []string{"post/bands.py", "post/parcels.py", "post/tax.py"}

// scripted returns one of the example's answers.
func scripted(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "defects-answers", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// loopScript returns the model's answers to the questions of a loop over the example: it chooses the first defective
// file whose predecessors are in the history, fixes it, and remembers its progress.
func loopScript(t *testing.T) []scriptLine {
	lines := []scriptLine{
		{Begins: "", Says: "The script has no answer to this question.\n"},
		{Begins: "Describe this project", Says: scripted(t, "summary.txt")},
		{Begins: "Compress the memory", Says: scripted(t, "memory-2-short.md")},
	}
	choose, merge := scriptLine{Begins: "Choose the one file"}, scriptLine{Begins: "Merge what happened"}
	for n, file := range defective {
		number := string(rune('1' + n))
		choose.Says = file + "\n"
		merge.Holds, merge.Says = "+++ b/"+file, scripted(t, "memory-"+number+".md")
		// The plan names the file in its first line: "Review post/tax.py and fix …".
		review := scriptLine{Begins: "Review " + file + " ", Says: scripted(t, number+".xml")}
		lines = append(lines, choose, merge, review)
		choose.Holds = "- `" + file + "`\n" // a heading of the history; the memory names files too early
	}
	return lines
}

// An ollamaServer is a running Ollama server.
type ollamaServer struct {
	cmd    *exec.Cmd
	client *api.Client
	host   string
	log    bytes.Buffer
}

// serveOllama starts the server that AGENT_OLLAMA names, with its own home, and waits until it answers.
func serveOllama(t *testing.T) *ollamaServer {
	t.Helper()
	program := os.Getenv("AGENT_OLLAMA")
	if program == "" {
		t.Fatal("AGENT_OLLAMA names no server: run make test-ollama")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &ollamaServer{cmd: exec.Command(program, "serve"), host: free.Addr().String()}
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "OLLAMA_HOST=" + s.host, "OLLAMA_MODELS=" + filepath.Join(home, "models")}
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	// Its runner is a separate process.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.client = api.NewClient(&url.URL{Scheme: "http", Host: s.host}, http.DefaultClient)
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.stop)
	for patience := time.Now().Add(time.Minute); s.client.Heartbeat(t.Context()) != nil; {
		if time.Now().After(patience) {
			s.stop()
			t.Fatalf("%s does not answer within a minute:\n%s", program, &s.log)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return s
}

// stop ends the server and every process that it started. A second call does nothing.
func (s *ollamaServer) stop() {
	if s.cmd.ProcessState == nil {
		syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
		s.cmd.Wait()
	}
}

// A loopUser is a user of the agent with a database and an Ollama server.
type loopUser struct {
	env []string
	db  string
}

// newLoopUser returns a user whose only model is the scripted one on a server.
func newLoopUser(t *testing.T, host string) loopUser {
	_, db := storetest.New(t)
	home := t.TempDir()
	u := loopUser{db: db}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "GEMINI_") {
			u.env = append(u.env, v)
		}
	}
	u.env = append(u.env, "AGENT_DATABASE_URL="+db, "AGENT_MODEL=ollama/scripted", "OLLAMA_HOST="+host,
		"HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"))
	return u
}

// agent runs a command that must succeed, and returns its stdout.
func (u loopUser) agent(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(agentProgram, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = u.env, &stdout, &stderr
	t.Logf("agent %s", strings.Join(args, " "))
	if err := cmd.Run(); err != nil {
		t.Fatalf("agent %v: %v\n%s%s", args, err, &stdout, &stderr)
	}
	t.Log(&stderr)
	return stdout.String()
}

// rows queries the record, and returns the rows without their heading.
func (u loopUser) rows(t *testing.T, query string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(u.agent(t, "sql", "--csv", query))).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("%s: %v", query, err)
	}
	return rows[1:]
}

// defectsCopy copies the example workspace.
func defectsCopy(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "post")
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "defects"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// filesOf returns the files of a workspace by path, without those that the agent keeps in .agent.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.Name() == ".agent":
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// The server renders the template and the model follows it: every line comes back as written, for the question that it
// answers.
func TestOllamaSaysTheScript(t *testing.T) {
	s := serveOllama(t)
	lines := loopScript(t)
	if err := createModel(t.Context(), s.client, "scripted", lines); err != nil {
		t.Fatalf("%v\n%s", err, &s.log)
	}
	// The memory names files that are still to be reviewed, which must decide nothing.
	for _, l := range lines {
		question := l.Begins + " and so on: é, \"quoted\"\n" + scripted(t, "memory-1.md") + l.Holds
		if got := askScripted(t, s.client, "scripted", question); got != l.Says {
			t.Errorf("to %q it says\n%s\nwant\n%s", question, got, l.Says)
		}
	}
}

// Three iterations of the loop with a real server fix the three defects. Without the server, the record makes the same
// three promotions again.
func TestOllamaLoop(t *testing.T) {
	s := serveOllama(t)
	if err := createModel(t.Context(), s.client, "scripted", loopScript(t)); err != nil {
		t.Fatalf("%v\n%s", err, &s.log)
	}
	u, dir := newLoopUser(t, s.host), defectsCopy(t)
	before := filesOf(t, dir)
	u.agent(t, "sandbox", "loop", "--workspace", dir, "--iterations", "3", "--rest", "0s", "--yes")
	after := filesOf(t, dir)

	promoted := u.rows(t, "select run, status, files from v_promotions where workspace = '"+dir+"' order by at")
	if len(promoted) != len(defective) {
		t.Fatalf("there are %d promotions, want %d: %v", len(promoted), len(defective), promoted)
	}
	for _, row := range promoted {
		if row[1] != "committed" || row[2] != "1" {
			t.Errorf("the promotion of %s is %s, of %s files", row[0], row[1], row[2])
		}
	}
	for path, text := range before {
		fixed := path == defective[0] || path == defective[1] || path == defective[2]
		if fixed == (after[path] == text) {
			t.Errorf("%s: want it changed %t, and it is\n%s", path, fixed, after[path])
		}
	}
	u.learned(t, dir)

	s.stop()
	again := defectsCopy(t)
	for _, row := range promoted {
		u.agent(t, "sandbox", "run", "--workspace", again, "--replay", row[0], "--yes")
	}
	if diff := cmp.Diff(after, filesOf(t, again)); diff != "" {
		t.Errorf("the replay of the runs came to other files:\n%s", diff)
	}
	loops := u.rows(t, "select distinct loop from v_iterations where workspace = '"+dir+"'")
	if len(loops) != 1 {
		t.Fatalf("three iterations are of the loops %v", loops)
	}
	again = defectsCopy(t)
	u.agent(t, "sandbox", "loop", "--workspace", again, "--replay", loops[0][0], "--yes")
	if diff := cmp.Diff(after, filesOf(t, again)); diff != "" {
		t.Errorf("the replay of the loop came to other files:\n%s", diff)
	}
}

// learned checks what the loop recorded in SQL: history, memory and ledger.
func (u loopUser) learned(t *testing.T, dir string) {
	t.Helper()
	in := " where workspace = '" + dir + "' "
	history := u.rows(t, "select path, diff from v_history"+in+"order by at")
	if len(history) != len(defective) {
		t.Fatalf("the history has %d entries: %v", len(history), history)
	}
	for n, row := range history {
		if row[0] != defective[n] || !strings.Contains(row[1], "+++ b/"+defective[n]) {
			t.Errorf("entry %d of the history is of %s:\n%s", n+1, row[0], row[1])
		}
	}
	memory := u.rows(t, "select text from v_memory"+in+"order by iteration")
	var remembered [][]string // the second memory was compressed
	for _, name := range []string{"memory-1.md", "memory-2-short.md", "memory-3.md"} {
		remembered = append(remembered, []string{strings.TrimSpace(scripted(t, name))})
	}
	if diff := cmp.Diff(remembered, memory); diff != "" {
		t.Errorf("the memory (-want +got):\n%s", diff)
	}
	symbols := u.rows(t, "select path, name, kind from v_symbols"+in+"and name in ('price', 'parcels', 'with_tax') and kind = 'function' order by path")
	want := [][]string{{defective[0], "price", "function"}, {defective[1], "parcels", "function"}, {defective[2], "with_tax", "function"}}
	if diff := cmp.Diff(want, symbols); diff != "" {
		t.Errorf("the ledger (-want +got):\n%s", diff)
	}
	calls := u.rows(t, "select distinct vendor, model from v_model_calls")
	if diff := cmp.Diff([][]string{{"ollama", "scripted"}}, calls); diff != "" {
		t.Errorf("asked were (-want +got):\n%s", diff)
	}
}
