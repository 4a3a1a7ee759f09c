package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tool returns the version of a tool in the Makefile.
func tool(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + name + `\s*:= (\S+)$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("the Makefile names no %s", name)
	}
	return string(m[1])
}

// script runs one of the scripts of .ci.
func script(t *testing.T, dir string, env []string, name string, args ...string) (exit int, out string) {
	t.Helper()
	file, err := filepath.Abs("../../.ci/" + name)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", append([]string{file}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// database is a vulnerability database in the form of vuln.go.dev, with one entry: strings.ToUpper in every version of Go.
var database = map[string]string{
	"index/db.json":      `{"modified":"2026-11-01T00:00:00Z"}`,
	"index/modules.json": `[{"path":"stdlib","vulns":[{"id":"GO-2026-9999","modified":"2026-11-01T00:00:00Z"}]}]`,
	"index/vulns.json":   `[{"id":"GO-2026-9999","modified":"2026-11-01T00:00:00Z","aliases":[]}]`,
	"ID/GO-2026-9999.json": `{"schema_version":"1.3.1","id":"GO-2026-9999","modified":"2026-11-01T00:00:00Z","published":"2026-11-01T00:00:00Z",
		"details":"A vulnerability of the tests.","affected":[{"package":{"name":"stdlib","ecosystem":"Go"},
		"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],
		"ecosystem_specific":{"imports":[{"path":"strings","symbols":["ToUpper"]}]}}],
		"database_specific":{"url":"https://pkg.go.dev/vuln/GO-2026-9999"}}`,
}

func TestAVulnerabilityThatIsCalledFails(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for name, text := range database {
		files["db/"+name] = text
	}
	for name, function := range map[string]string{"calls": "ToUpper", "spares": "ToLower"} {
		files[name+"/go.mod"] = "module example.com/m\n\ngo 1.24\n"
		files[name+"/main.go"] = "package main\n\nimport \"strings\"\n\nfunc main() { println(strings." + function + "(\"x\")) }\n"
	}
	dir := tree(t, files)
	own := "GOVULNDB=file://" + filepath.Join(dir, "db")
	for name, c := range map[string]struct {
		module string
		env    []string
		exit   int
		says   string
	}{
		"one that is called":       {"calls", []string{own}, 1, "GO-2026-9999"},
		"one that is not called":   {"spares", []string{own}, 0, "No vulnerabilities found"},
		"no database to be had":    {"calls", []string{"GOVULNDB=", "https_proxy=http://127.0.0.1:9"}, 0, "NOT JUDGED: no database at https://vuln.go.dev"},
		"none where one was named": {"spares", []string{"GOVULNDB=file:///nowhere"}, 1, "NOT JUDGED: no database at file:///nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exit, out := script(t, filepath.Join(dir, c.module), c.env, "vulnerabilities", tool(t, "GOVULNCHECK"))
			if exit != c.exit || !strings.Contains(out, c.says) {
				t.Errorf("exit %d, want %d and %q:\n%s", exit, c.exit, c.says, out)
			}
		})
	}
}
