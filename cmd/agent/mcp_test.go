package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"agent/orchestrator/serve/mcp"
	"agent/orchestrator/store/storetest"
	"agent/sandbox/enginetest"
)

// An mcpClient is a coding agent that uses the gate, with the person in front of it.
type mcpClient struct {
	session *sdk.ClientSession
	// The questions to the person, and the gate's progress messages.
	mu       sync.Mutex
	asked    []string
	progress []string
}

// connect connects a client; approve is its person's answer, nil for a client that cannot ask.
func connect(t *testing.T, over sdk.Transport, approve *bool) *mcpClient {
	t.Helper()
	c := &mcpClient{}
	options := &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.progress = append(c.progress, r.Params.Message)
	}}
	if approve != nil {
		options.ElicitationHandler = func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.asked = append(c.asked, r.Params.Message)
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"approve": *approve}}, nil
		}
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "probe", Version: "v0"}, options).Connect(t.Context(), over, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	c.session = session
	return c
}

// call calls a tool and decodes its answer into an A; said is the text of a refusal.
func call[A any](t *testing.T, c *mcpClient, tool string, args map[string]any) (answer A, said string) {
	t.Helper()
	params := &sdk.CallToolParams{Name: tool, Arguments: args}
	params.SetProgressToken(tool)
	r, err := c.session.CallTool(t.Context(), params)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if r.IsError {
		return answer, r.Content[0].(*sdk.TextContent).Text
	}
	data, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(data, &answer)
	}
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return answer, ""
}

// mcpServer returns the command that serves a fresh copy of the example workspace.
func mcpServer(t *testing.T, args ...string) (cmd *exec.Cmd, dir string) {
	t.Helper()
	enginetest.Need(t)
	_, url := storetest.Warm(t)
	dir = filepath.Join(t.TempDir(), "shop")
	if err := os.CopyFS(dir, os.DirFS("testdata/example")); err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(agentProgram, append([]string{"mcp", "-w", dir}, args...)...)
	cmd.Env = append(os.Environ(), "AGENT_DATABASE_URL="+url, "XDG_CONFIG_HOME="+t.TempDir(), "AGENT_YES=true")
	return cmd, dir
}

// In a session of a coding agent, a bad patch is refused with the place of the finding. The fixed one passes, is
// applied once the person approves, and is undone.
func TestACodingAgentProvesAppliesAndUndoes(t *testing.T) {
	t.Parallel()
	cmd, dir := mcpServer(t)
	yes := true
	c := connect(t, &sdk.CommandTransport{Command: cmd}, &yes)
	bad, good := readFile(t, "testdata/patches/breaks-caller.xml"), readFile(t, "testdata/patches/good.xml")

	refused, said := call[mcp.Proof](t, c, "prove_patch", map[string]any{"patch": bad})
	if said != "" || refused.Verdict != "fail" || refused.Passed || refused.Next == "" || !findsIn(refused.Findings, "shop/report.py") {
		t.Fatalf("%s %+v", said, refused)
	}
	if len(c.progress) == 0 || !strings.Contains(strings.Join(c.progress, "\n"), "tests") {
		t.Errorf("progress: %q", c.progress)
	}
	if _, said := call[mcp.Proof](t, c, "apply_run", map[string]any{"run": refused.Run}); said == "" {
		t.Error("a run that failed was applied")
	}

	proved, said := call[mcp.Proof](t, c, "prove_patch", map[string]any{"patch": good})
	if said != "" || !proved.Passed || proved.Applied || !strings.Contains(proved.Diff, "+++ b/shop/stock.py") {
		t.Fatalf("%s %+v", said, proved)
	}
	before := readFile(t, filepath.Join(dir, "shop/stock.py"))
	if before != readFile(t, "testdata/example/shop/stock.py") {
		t.Error("a proof wrote to the workspace")
	}
	applied, said := call[mcp.Proof](t, c, "apply_run", map[string]any{"run": proved.Run})
	if said != "" || !applied.Applied || readFile(t, filepath.Join(dir, "shop/stock.py")) == before {
		t.Fatalf("%s %+v", said, applied)
	}
	if last := c.asked[len(c.asked)-1]; !strings.Contains(last, "shop/stock.py") {
		t.Errorf("asked %q", c.asked)
	}
	if _, said := call[mcp.Said](t, c, "undo", nil); said != "" || readFile(t, filepath.Join(dir, "shop/stock.py")) != before {
		t.Errorf("undo: %s", said)
	}

	if found, said := call[mcp.Places](t, c, "search_symbols", map[string]any{"name": "Stock"}); said != "" || len(found.Places) != 1 || found.Places[0].File != "shop/stock.py" {
		t.Errorf("%s %+v", said, found)
	}
	if found, said := call[mcp.Places](t, c, "users_of", map[string]any{"name": "Stock"}); said != "" || len(found.Places) < 2 {
		t.Errorf("%s %+v", said, found)
	}
	if found, said := call[mcp.Findings](t, c, "findings", map[string]any{"run": refused.Run}); said != "" || !findsIn(found.Findings, "shop/report.py") {
		t.Errorf("%s %+v", said, found)
	}
	if runs, said := call[mcp.Said](t, c, "history", nil); said != "" || !strings.Contains(fmt.Sprint(runs.Result), refused.Run) {
		t.Errorf("%s %v", said, runs.Result)
	}
	diff, err := c.session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "agent://runs/" + proved.Run + "/diff"})
	if err != nil || !strings.Contains(diff.Contents[0].Text, "+++ b/shop/stock.py") {
		t.Errorf("%v", err)
	}
	for _, uri := range []string{"agent://runs/--help", "agent://runs/../x", "agent://runs/nosuchrun/diff"} {
		if _, err := c.session.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
			t.Errorf("%s was read", uri)
		}
	}
}

func findsIn(list []mcp.Finding, file string) bool {
	for _, f := range list {
		if f.File == file && f.Line > 0 && f.Gate != "" {
			return true
		}
	}
	return false
}

// Nothing is written if the person says no, the client cannot ask, or the server was started without applying, even
// with AGENT_YES set. A held change stays held.
func TestNobodysSilenceAppliesARun(t *testing.T) {
	t.Parallel()
	no := false
	for name, c := range map[string]struct {
		args    []string
		approve *bool
		says    string
	}{
		"the person says no":  {nil, &no, "did not approve"},
		"a client cannot ask": {nil, nil, "cannot ask"},
		"started without":     {[]string{"--apply", "never"}, &no, "applies nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd, dir := mcpServer(t, c.args...)
			client := connect(t, &sdk.CommandTransport{Command: cmd}, c.approve)
			proved, said := call[mcp.Proof](t, client, "prove_patch", map[string]any{"patch": readFile(t, "testdata/patches/good.xml")})
			if said != "" || !proved.Passed {
				t.Fatalf("%s %+v", said, proved)
			}
			if _, said := call[mcp.Proof](t, client, "apply_run", map[string]any{"run": proved.Run}); !strings.Contains(said, c.says) || !strings.Contains(said, "agent runs apply "+proved.Run) {
				t.Errorf("apply: %q", said)
			}
			if readFile(t, filepath.Join(dir, "shop/stock.py")) != readFile(t, "testdata/example/shop/stock.py") {
				t.Error("it was written")
			}
		})
	}
}

// No argument of a tool becomes a flag on the command line.
func TestNoToolTakesFlags(t *testing.T) {
	t.Parallel()
	cmd, _ := mcpServer(t, "--apply", "always")
	c := connect(t, &sdk.CommandTransport{Command: cmd}, nil)
	for _, run := range []string{"--all", "-h", "", "../x", "A B"} {
		for _, tool := range []string{"apply_run", "run_status", "findings"} {
			if _, said := call[mcp.Proof](t, c, tool, map[string]any{"run": run}); !strings.Contains(said, "is not the ID of a run") {
				t.Errorf("%s %q: %q", tool, run, said)
			}
		}
	}
	if _, said := call[mcp.Proof](t, c, "prove_patch", map[string]any{"patch": " \n"}); !strings.Contains(said, "empty") {
		t.Errorf("%q", said)
	}
}

// Over HTTP a caller without the token is refused, and so is a page in a browser; other machines are not served.
func TestTheGateOverHTTPWantsItsToken(t *testing.T) {
	t.Parallel()
	cmd, _ := mcpServer(t, "--http", "127.0.0.1:0")
	cmd.Env = append(cmd.Env, "AGENT_MCP_TOKEN=right")
	told, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ended with %v", err)
		}
	}()
	line, err := bufio.NewReader(told).ReadString('\n')
	url := regexp.MustCompile(`http://\S+/mcp`).FindString(line)
	if err != nil || url == "" {
		t.Fatalf("%q %v", line, err)
	}
	for name, header := range map[string]http.Header{
		"no token":         {},
		"another":          {"Authorization": {"Bearer wrong"}},
		"another scheme":   {"Authorization": {"right"}},
		"a page elsewhere": {"Authorization": {"Bearer right"}, "Origin": {"https://example.com"}, "Sec-Fetch-Site": {"cross-site"}},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = header
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", name, res.Status)
		}
	}
	c := connect(t, &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer("right")}}, nil)
	if runs, said := call[mcp.Said](t, c, "history", nil); said != "" || runs.Result == nil {
		t.Errorf("%s %v", said, runs.Result)
	}
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "x"} {
		if got := commandIn(t, nil, "mcp", "--http", addr); got.exit != 2 || !strings.Contains(got.stderr, "loopback") {
			t.Errorf("%s: %+v", addr, got)
		}
	}
}

// A bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// The entry in a client's configuration starts the gate: the test runs the words of each file as they are.
func TestAConfiguredClientReachesTheGate(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	for _, client := range []string{"claude", "gemini", "cursor", "vscode", "opencode"} {
		install := exec.Command(agentProgram, "mcp", "install", client, "--yes", "--json")
		install.Env = env
		out, err := install.Output()
		var told []struct{ File, State string }
		if err == nil {
			err = json.Unmarshal(out, &told)
		}
		if err != nil || len(told) != 1 || told[0].State != "added" {
			t.Fatalf("%s: %v\n%s", client, err, out)
		}
		var words []string
		for _, quoted := range regexp.MustCompile(`"[^"]*"`).FindAllString(readFile(t, told[0].File), -1) {
			words = append(words, strings.Trim(quoted, `"`))
		}
		at := slices.Index(words, agentProgram)
		if at < 0 {
			t.Fatalf("%s: %q", client, words)
		}
		call := slices.DeleteFunc(words[at:], func(w string) bool { return w == "args" || w == "enabled" })
		cmd := exec.Command(call[0], call[1:]...)
		for i := range cmd.Args {
			cmd.Args[i] = strings.ReplaceAll(cmd.Args[i], "${workspaceFolder}", home)
		}
		cmd.Env, cmd.Dir = env, home
		if tools, err := connect(t, &sdk.CommandTransport{Command: cmd}, nil).session.ListTools(t.Context(), nil); err != nil || len(tools.Tools) < 8 {
			t.Errorf("%s: %v", client, err)
		}
	}
}
