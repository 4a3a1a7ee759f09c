//go:build agents

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/serve/mcp"
)

// inspectorVersion is the official inspector of the Model Context Protocol, by the maintainers of the protocol.
const inspectorVersion = "@modelcontextprotocol/inspector@2.12.0"

// inspector installs the inspector once, without running scripts of its packages, and returns its program.
func inspector(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "agent", "test-inspector", filepath.Base(inspectorVersion))
	program := filepath.Join(dir, "node_modules", ".bin", "mcp-inspector")
	if _, err := os.Stat(program); err == nil {
		return program
	}
	if out, err := exec.Command("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", dir, inspectorVersion).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// The official inspector's command line is a client that this project did not write. A bad patch is refused with a finding;
// the fixed one passes and writes nothing until it is applied. The schemas of the tools are readable for other clients.
func TestTheInspectorProvesAndApplies(t *testing.T) {
	program := inspector(t)
	server, dir := mcpServer(t, "--apply", "always")
	inspect := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(program, slices.Concat([]string{"--cli"}, server.Args, args)...)
		cmd.Env = append(server.Env, "HOME="+t.TempDir(), "MCP_CATALOG_PATH="+filepath.Join(t.TempDir(), "mcp.json"))
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v\n%s%s", args[:min(len(args), 4)], err, out, errorText(err))
		}
		return out
	}
	callTool := func(name string, args ...string) (p mcp.Proof) {
		t.Helper()
		words := []string{"--method", "tools/call", "--tool-name", name}
		for _, a := range args {
			words = append(words, "--tool-arg", a)
		}
		var answer struct {
			IsError           bool      `json:"isError"`
			StructuredContent mcp.Proof `json:"structuredContent"`
		}
		out := inspect(words...)
		if err := json.Unmarshal(out, &answer); err != nil || answer.IsError {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		return answer.StructuredContent
	}
	if out := inspect("--method", "tools/list", "--strict"); !strings.Contains(string(out), `"prove_patch"`) {
		t.Errorf("the tools are %s", out)
	}
	stock, before := filepath.Join(dir, "shop/stock.py"), readFile(t, "testdata/example/shop/stock.py")
	refused := callTool("prove_patch", "patch="+readFile(t, "testdata/patches/breaks-caller.xml"))
	if refused.Verdict != "fail" || refused.Passed || !findsIn(refused.Findings, "shop/report.py") {
		t.Errorf("the bad patch: %+v", refused)
	}
	proved := callTool("prove_patch", "patch="+readFile(t, "testdata/patches/good.xml"))
	if !proved.Passed || proved.Applied || readFile(t, stock) != before {
		t.Errorf("the fixed patch: %+v", proved)
	}
	if applied := callTool("apply_run", "run="+proved.Run); !applied.Applied || readFile(t, stock) == before {
		t.Errorf("applied: %+v", applied)
	}
	if diff := inspect("--method", "resources/read", "--uri", "agent://runs/"+proved.Run+"/diff"); !strings.Contains(string(diff), "+++ b/shop/stock.py") {
		t.Errorf("its diff is %s", diff)
	}
}

// errorText returns what a failed program wrote to its standard error.
func errorText(err error) string {
	if e, ok := err.(*exec.ExitError); ok {
		return string(e.Stderr)
	}
	return ""
}
