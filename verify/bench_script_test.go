//go:build bench

package verify

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The tongues of JavaScript and TypeScript: the places come from the TypeScript compiler's parser, which reads both.
var (
	javaScript = tongue{name: "JavaScript", places: func(t *testing.T, p project, files map[string]string) []mutation {
		return scriptPlaces(t, p, files, false)
	}}
	typeScript = tongue{name: "TypeScript", places: func(t *testing.T, p project, files map[string]string) []mutation {
		return scriptPlaces(t, p, files, true)
	}}
)

// compiler is the package that contains that parser. It is not a project: nothing is planted in it.
var compiler = project{
	name: "typescript", fetch: npm, pkg: "typescript", version: "5.6.3",
	sha256: "ef67f8d8ad895858024b7339d3e34bf112cae3c5db1f538c3079038b17ae30fa",
}

// scriptPlaces asks the script that knows the syntax tree. The script parses the project without running any of it.
func scriptPlaces(t *testing.T, p project, files map[string]string, typed bool) []mutation {
	t.Helper()
	parser := filepath.Join(t.TempDir(), "typescript.js")
	if err := os.WriteFile(parser, []byte(compiler.files(t)["lib/typescript.js"]), 0o644); err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(map[string]any{"files": files, "sources": p.sources, "entry": p.entry, "typed": typed})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "testdata/bench/sites.cjs", parser)
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
