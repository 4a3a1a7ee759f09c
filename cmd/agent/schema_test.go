package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/document"
	"agent/cmd/agent/internal/document/schematest"
	"agent/cmd/agent/internal/term/termtest"
	"agent/docs/schema"
	"agent/orchestrator/run"
)

// documents returns the documents that all commands print with --json, by the names of their schemas.
func documents(t *testing.T) map[string]document.Doc {
	t.Helper()
	all := map[string]document.Doc{}
	walk(newApp(quiet()).Commands, func(path string, cmd *cli.Command) {
		for _, d := range cmdline.Documents(cmd) {
			if there, ok := all[d.Name]; ok && there != d {
				t.Errorf("agent %s prints %v as %s, and another command %v", path, d.Type, d.ID(), there.Type)
			}
			all[d.Name] = d
		}
	})
	return all
}

// The files are those that `make schemas` writes. A field that is removed or becomes optional breaks its readers, so it
// requires a new version.
func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	t.Parallel()
	const dir = root + "/docs/schema"
	generator := schematest.New(root, moduleName)
	all := documents(t)
	if len(all) < 20 {
		t.Fatalf("only %d documents", len(all))
	}
	for name, d := range all {
		want, err := generator.Schema(d)
		if err != nil {
			t.Error(err)
			continue
		}
		path := filepath.Join(dir, name+".json")
		have, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if broken := breaks(t, have, want); len(broken) > 0 {
			t.Errorf("%s lost %s: raise the version of the document %s", path, strings.Join(broken, ", "), name)
			continue
		}
		if bytes.Equal(have, want) {
			continue
		}
		if !*termtest.Update {
			t.Errorf("%s is not what the type of the document gives: run make schemas", path)
		} else if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Error(err)
		}
	}
	files, err := filepath.Glob(dir + "/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".json"); all[name].Name == "" {
			t.Errorf("%s is of no document: remove it", f)
		}
	}
}

// breaks returns the fields that a schema of the same version had, or required, and no longer does.
func breaks(t *testing.T, before, after []byte) (lost []string) {
	t.Helper()
	type shape struct {
		ID   string `json:"$id"`
		Defs map[string]struct {
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
		} `json:"$defs"`
	}
	var was, is shape
	if len(before) == 0 {
		return nil
	}
	if err := errors.Join(json.Unmarshal(before, &was), json.Unmarshal(after, &is)); err != nil {
		t.Fatal(err)
	}
	if was.ID != is.ID {
		return nil
	}
	for name, def := range was.Defs {
		now, there := is.Defs[name]
		if !there {
			continue // its fields are counted where it was used
		}
		for field := range def.Properties {
			_, kept := now.Properties[field]
			if !kept || slices.Contains(def.Required, field) && !slices.Contains(now.Required, field) {
				lost = append(lost, name+"."+field)
			}
		}
	}
	slices.Sort(lost)
	return lost
}

func TestALostFieldIsNoticed(t *testing.T) {
	t.Parallel()
	const old = `{"$id":"urn:a:1","$defs":{"x.Row":{"properties":{"a":{},"b":{}},"required":["a"]}}}`
	for now, want := range map[string]int{
		old: 0,
		`{"$id":"urn:a:1","$defs":{"x.Row":{"properties":{"a":{},"b":{},"c":{}},"required":["a","c"]}}}`: 0,
		`{"$id":"urn:a:1","$defs":{"x.Row":{"properties":{"a":{}},"required":["a"]}}}`:                   1,
		`{"$id":"urn:a:1","$defs":{"x.Row":{"properties":{"a":{},"b":{}},"required":[]}}}`:               1,
		`{"$id":"urn:a:2","$defs":{"x.Row":{"properties":{},"required":[]}}}`:                            0,
	} {
		if lost := breaks(t, []byte(old), []byte(now)); len(lost) != want {
			t.Errorf("%s lost %q, want %d", now, lost, want)
		}
	}
}

// Every command that prints JSON has a schema: --json without a document would have none.
func TestEveryJSONFlagHasADocument(t *testing.T) {
	t.Parallel()
	walk(newApp(quiet()).Commands, func(path string, cmd *cli.Command) {
		var names []string
		for _, f := range cmd.Flags {
			names = append(names, "--"+f.Names()[0])
		}
		if !slices.Contains(names, "--json") {
			return
		}
		if len(cmdline.Documents(cmd)) == 0 || !slices.Contains(names, "--jq") || !slices.Contains(names, "--template") {
			t.Errorf("agent %s has --json and no document, --jq or --template: %q", path, names)
		}
	})
}

func TestSchemasAreListedAndPrinted(t *testing.T) {
	t.Parallel()
	got := commandIn(t, nil, "schema", "--json")
	var rows []struct{ Name, ID string }
	if err := json.Unmarshal([]byte(got.stdout), &rows); err != nil || len(rows) != len(documents(t)) {
		t.Fatalf("%v\n%s", err, got.stdout)
	}
	for _, r := range rows {
		printed := commandIn(t, nil, "schema", r.Name)
		if printed.exit != 0 || !strings.Contains(printed.stdout, `"$id": "`+r.ID+`"`) {
			t.Errorf("agent schema %s: %+v", r.Name, printed)
		}
	}
	if got := commandIn(t, nil, "schema", "rnu"); got.exit != run.ExitUsage || !strings.Contains(got.stderr, "did you mean `agent schema run`") {
		t.Errorf("%+v", got)
	}
	if got := commandIn(t, nil, "schema", "../schema/run"); got.exit != run.ExitUsage {
		t.Errorf("%+v", got)
	}
}

func TestJQAndTemplateShapeTheDocument(t *testing.T) {
	t.Parallel()
	gone := map[string]string{"AGENT_DATABASE_URL": "postgres://agent@127.0.0.1:1/agent", "AGENT_GUEST": os.Getenv("AGENT_GUEST")}
	secret := map[string]string{"CANARY": "canary"}
	for _, c := range []struct {
		env            map[string]string
		args           []string
		exit           int
		stdout, stderr string
	}{
		{nil, []string{"schema", "--jq", `.[] | select(.name == "run") | .id`}, 0, "urn:agent:schema:run:1\n", ""},
		{nil, []string{"schema", "--jq", `map(.name) | index("run") | type`}, 0, "number\n", ""},
		{nil, []string{"schema", "--template", `{{range .}}{{if eq .name "run"}}{{join "," .commands | truncate 8}}{{end}}{{end}}`}, 0, "sandbox…", ""},
		{secret, []string{"schema", "--jq", `$ENV.CANARY, env.CANARY`}, 0, "null\nnull\n", ""},
		{nil, []string{"schema", "--jq", `import "a" as a; .`}, 2, "", "--jq: "},
		{nil, []string{"schema", "--jq", `input`}, 2, "", "--jq: "},
		{nil, []string{"schema", "--jq", `.[`}, 2, "", "--jq: "},
		{nil, []string{"schema", "--jq", `.absent`}, 2, "", "next: the command itself is done"},
		{nil, []string{"schema", "--template", `{{`}, 2, "", "--template: "},
		{nil, []string{"schema", "--template", `{{(index . 0).absent}}`}, 2, "", "absent"},
		{nil, []string{"schema", "--template", "x", "--jq", "."}, 2, "", "mutually exclusive"},
		{nil, []string{"schema", "--json=false", "--jq", "."}, 2, "", "mutually exclusive"},
		{nil, []string{"sql", "--csv", "--jq", "."}, 2, "", "mutually exclusive"},
		// A failure has a document too, and its own exit code.
		{gone, []string{"runs", "list", "--jq", ".error.kind"}, 3, "infra\n", "next: "},
		{gone, []string{"runs", "list", "--jq", ".[0].x"}, 3, "", "next: "},
		// A usage error has no document.
		{gone, []string{"runs", "list", "--limit", "0", "--jq", "."}, 2, "", "next: "},
	} {
		got := commandIn(t, c.env, c.args...)
		if got.exit != c.exit || got.stdout != c.stdout || !strings.Contains(got.stderr, c.stderr) {
			t.Errorf("agent %q: %+v", c.args, got)
		}
	}
}

// checkedProgram is the agent of the scripts. It checks every JSON document that it prints against the schemas, and
// ends with exit code 98 if one does not fit.
func checkedProgram() {
	args := os.Args[1:]
	if !printsDocuments(args) {
		main()
		return
	}
	stdout := os.Stdout
	r, w, err := os.Pipe()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
	os.Stdout = w
	var text bytes.Buffer
	var copied sync.WaitGroup
	copied.Go(func() {
		io.Copy(io.MultiWriter(stdout, &text), r)
		r.Close() // so the program notices that the reader has gone
	})
	code := program()
	w.Close()
	copied.Wait()
	if err := checkDocuments(args, code, text.Bytes()); err != nil {
		fmt.Fprintf(os.Stderr, "agent %q: %v\n%s\n", args, err, &text)
		os.Exit(98)
	}
	os.Exit(code)
}

// printsDocuments reports whether a command line asks for unfiltered documents.
func printsDocuments(args []string) bool {
	for _, arg := range args {
		switch name, _ := flagName(arg); name {
		case "jq", "template", "batch", "sarif":
			return false
		}
	}
	return asksJSON(args, os.Getenv)
}

// checkDocuments checks a command's output against its schemas.
func checkDocuments(args []string, code int, text []byte) error {
	app := newApp(quiet())
	ordered, err := reorder(app, args)
	if err != nil {
		return nil // a usage error, see TestErrorsComeInTheShapeThatWasAskedFor
	}
	var cmd *cli.Command
	for level := app.Commands; len(ordered) > 0; ordered = ordered[1:] {
		next := find(level, ordered[0])
		if next == nil {
			break
		}
		cmd, level = next, next.Subcommands
	}
	if cmd == nil {
		return nil
	}
	docs := cmdline.Documents(cmd)
	if code != run.ExitDone {
		docs = append(docs, cmdline.RunDocument())
	}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		d.UseNumber()
		var doc any
		if err := d.Decode(&doc); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := fits(docs, doc); err != nil {
			return err
		}
	}
}

// fits returns why a document fits none of docs, or nil if it fits one.
func fits(docs []document.Doc, doc any) error {
	err := errors.New("the command has no document")
	for _, d := range docs {
		text, missing := schema.Files.ReadFile(d.Name + ".json")
		if missing != nil {
			return missing
		}
		found := schematest.Validate(text, doc)
		if found == nil {
			return nil
		}
		err = fmt.Errorf("schema %s: %w", d.Name, found)
	}
	return err
}

func TestADocumentThatDoesNotFitIsNoticed(t *testing.T) {
	t.Parallel()
	args := []string{"schema", "--json"}
	for text, fit := range map[string]bool{
		`[]`: true,
		`[{"name":"a","id":"b","commands":null}]`:       true,
		`[{"name":"a","id":"b","commands":[],"new":1}]`: false,
		`[{"name":"a","commands":[]}]`:                  false,
		`[{"name":1,"id":"b","commands":[]}]`:           false,
		`{}`:                                            false,
		`[] {"state":"failed"}`:                         false,
		`[`:                                             false,
	} {
		if err := checkDocuments(args, 0, []byte(text)); (err == nil) != fit {
			t.Errorf("%s: %v", text, err)
		}
	}
}
