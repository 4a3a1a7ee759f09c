//go:build bench

package verify

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"testing"
)

// pythonTongue is the tongue of Python: the places come from the interpreter's own parser.
var pythonTongue = tongue{
	name: "Python", places: pythonPlaces, failure: "FAILED ",
	tests: []string{
		"python3", "-B", "-m", "pytest", "-q", "--continue-on-collection-errors", "--maxfail=0", "--tb=no", "-rfE",
		"--color=no", "-p", "no:cacheprovider",
	},
}

// pythonPlaces asks the script that knows Python's syntax tree. The script parses the project without running any of it, in an
// interpreter that is isolated from it.
func pythonPlaces(t *testing.T, p project, files map[string]string) []mutation {
	t.Helper()
	script, err := os.ReadFile("testdata/bench/sites.py")
	if err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{}
	for name, text := range files {
		if path.Ext(name) == ".py" {
			sources[name] = text
		}
	}
	in, err := json.Marshal(map[string]any{"files": sources, "sources": p.sources, "entry": p.entry})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("python3", "-I", "-S", "-B", "-c", string(script))
	cmd.Dir = t.TempDir()
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list the places of %s: %v\n%s", p.name, err, stderr.String())
	}
	var found []mutation
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err)
	}
	return found
}
