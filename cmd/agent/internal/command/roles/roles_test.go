package roles

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/crew"
	"agent/orchestrator/run"
)

// A place is a workspace and a home.
type place struct{ dir, home string }

// says runs `agent roles`.
func (p place) says(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, log bytes.Buffer
	line := cmdline.New(func(k string) string { return map[string]string{"HOME": p.home, "AGENT_WORKSPACE": p.dir}[k] }, strings.NewReader(""), &out, &log)
	err = cmdlinetest.App(&log, Command(line)).RunContext(t.Context(), append([]string{"agent", "roles"}, args...))
	return out.String(), log.String(), err
}

// put writes a file.
func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// As the documentation describes, a changed copy of a built-in role's file takes its place.
func TestARoleIsTakenFromTheTableAndPutBack(t *testing.T) {
	t.Parallel()
	p := place{t.TempDir(), t.TempDir()}
	table, _, err := p.says(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"planner", "lead", "worker", "librarian", "fixer", "reviewer", "critic", "auditor"} {
		text, _, err := p.says(t, name)
		if err != nil || !strings.Contains(table, "  "+name+" ") {
			t.Errorf("%s: %v\n%s", name, err, table)
		}
		put(t, filepath.Join(p.home, ".config/agent/roles", name+".toml"), text+"# mine\n")
	}
	mine, _, err := p.says(t)
	if err != nil || mine != strings.ReplaceAll(table, "built in", "yours   ") && strings.Count(mine, " yours ") != 8 || strings.Contains(mine, "built in") {
		t.Errorf("%v\n%s", err, mine)
	}
	for _, args := range [][]string{{"--json"}, {"--json", "worker"}} {
		var list []crew.Role
		out, _, err := p.says(t, args...)
		if err != nil || json.Unmarshal([]byte(out), &list) != nil || len(list) != []int{8, 1}[len(args)-1] || strings.Contains(out, "null") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	for _, name := range []string{"king", "Worker", "worker.toml", "../worker", "\x1b[2J"} {
		_, _, err := p.says(t, name)
		if problem, code := fault.Classify(t.Context(), err); err == nil || code != run.ExitUsage || !strings.Contains(problem.Next, "worker") || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: exit %d, %v", name, code, err)
		}
	}
}

// A workspace's roles are shown as its own, without anything that controls the terminal, and trusted once.
func TestRolesOfAWorkspaceAreTrustedOnce(t *testing.T) {
	t.Parallel()
	p := place{t.TempDir(), t.TempDir()}
	file := filepath.Join(p.dir, ".agent/roles/worker.toml")
	const text = "tier = 3\nabout = \"x\"\nreturns = \"change\"\nmodels = [\"a/\\u001b[2J\"] # \u202e\n"
	put(t, file, text)
	for i, want := range []string{"trusted 1\n", "trusted 0\n", "trusted 1\n"} {
		if i == 2 {
			put(t, file, text+"# again\n")
		}
		out, log, err := p.says(t, "--trust")
		if err != nil || log != want || !strings.Contains(out, "workspace") || strings.ContainsAny(out, "\x1b\u202e") {
			t.Errorf("%q, %q, %v", out, log, err)
		}
	}
	if out, _, err := p.says(t, "worker"); err != nil || strings.ContainsAny(out, "\x1b\u202e") || !strings.Contains(out, "# again") {
		t.Errorf("%q, %v", out, err)
	}
	put(t, file, "tier = 9\n")
	for _, args := range [][]string{nil, {"--trust"}, {"worker"}} {
		if _, log, err := p.says(t, args...); err == nil || !strings.Contains(err.Error(), "worker.toml") || strings.Contains(log, "trusted") {
			t.Errorf("%v: %q, %v", args, log, err)
		}
	}
	// Nothing is trusted if there is no place to store that.
	put(t, file, text)
	p.home = ""
	if _, log, err := p.says(t, "--trust"); err == nil || strings.Contains(log, "trusted") {
		t.Errorf("%q, %v", log, err)
	}
}

// A file that is not named after a role is reported, and the table is still shown.
func TestAFileOfNoRoleIsTold(t *testing.T) {
	t.Parallel()
	p := place{t.TempDir(), t.TempDir()}
	put(t, filepath.Join(p.dir, ".agent/roles/workr.toml"), "tier = ")
	table, told, err := p.says(t)
	if err != nil || !strings.Contains(table, "  worker ") || !strings.Contains(told, "workr.toml in .agent/roles is ignored") {
		t.Errorf("%v\n%s%s", err, told, table)
	}
}
