package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/vendors"
	"agent/sandbox"
)

var update = flag.Bool("update", false, "write the table of settings into docs/settings.md")

// A row that lacks a part would be a setting that some layer does not know.
func TestEverySettingHasAllItsParts(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	once := func(row, what string) {
		t.Helper()
		if other, ok := seen[what]; ok {
			t.Errorf("%s and %s have the same %s", row, other, what)
		}
		seen[what] = row
	}
	for _, k := range table {
		section, key := k.fileKey()
		once(k.Name, "key "+section+"."+key)
		for _, env := range strings.Fields(k.Env) {
			once(k.Name, env)
		}
		if k.Flag != "" {
			once(k.Name, "--"+k.Flag)
		}
		if k.Name == "" || k.About == "" || k.scope == "" || k.kind.toml == nil || k.kind.write == nil || (k.Flag == "") != (k.usage == "") {
			t.Errorf("%s lacks a part", k.Name)
		}
		if (k.scope == add || k.scope == leaveOut) != (k.kind.merge != nil) {
			t.Errorf("%s: what a workspace may do with it is %q", k.Name, k.scope)
		}
		if k.scope == switchOff && k.kind.toml != reflect.TypeFor[*bool]() || k.scope == lower && k.kind.more == nil {
			t.Errorf("%s cannot be compared with what holds without a workspace's file", k.Name)
		}
		// A value shown as the default must be one that could be written.
		if held := k.unset(); k.kind.set != nil && k.owned && held != "" {
			if err := k.kind.set(&values{}, held); err != nil {
				t.Errorf("%s: what holds without it, %q: %v", k.Name, held, err)
			}
		}
		if _, err := (Settings{k.Name: {Text: k.Default}}).resolve([]Setting{k}); err != nil {
			t.Errorf("%s: the default: %v", k.Name, err)
		}
	}
}

// The box defaults that `agent config` shows are those of package sandbox.
func TestDefaultsAreThoseOfTheBox(t *testing.T) {
	t.Parallel()
	box := sandbox.Limits{}.WithDefaults()
	want := map[string]string{
		"limits.memory": fmt.Sprintf("%dMiB", box.Memory>>20), "limits.cpus": strconv.FormatFloat(box.CPUs, 'f', -1, 64), "limits.pids": strconv.FormatInt(box.PIDs, 10),
	}
	for _, k := range table {
		if w, ok := want[k.Name]; ok && k.unset() != w {
			t.Errorf("%s is %q without a setting, and the table says %q", k.Name, w, k.unset())
		}
	}
}

// A workspace cannot raise any number, whether it has its default or not.
func TestEveryBoundOfAWorkspaceIsCompared(t *testing.T) {
	t.Parallel()
	for _, k := range table {
		if k.scope != lower {
			continue
		}
		user, more := Settings{k.Name: {Text: "100", Origin: "user"}}, "101"
		switch {
		case k.kind.toml.Kind() == reflect.String:
			user[k.Name], more = Value{Text: "1m", Origin: "user"}, "1m1s"
		case k.Name == "limits.memory":
			user[k.Name], more = Value{Text: "20MiB", Origin: "user"}, "21MiB"
		}
		l := loader{rows: table}
		for text, refused := range map[string]bool{more: true, user[k.Name].Text: false} {
			if err := l.checkNarrows(user, map[string]string{k.Name: text}, FileName); (err != nil) != refused {
				t.Errorf("%s = %s above %s: %v", k.Name, text, user[k.Name].Text, err)
			}
		}
	}
}

// A future vendor needs a row of its own, and nothing here.
func TestTheRowOfAVendorIsEnough(t *testing.T) {
	t.Parallel()
	const secret, word = "third-key-q7Rk2vXm9TbL4wZp8NcY", "third-word-J3hJd6FsG1aVeU5oQ"
	third := llm.Vendor{Name: "third", Settings: []llm.Setting{
		{Kind: llm.KeyList, Name: "keys", File: "api_keys", Env: "THIRD_API_KEYS"}, {Kind: llm.Address, Name: "base_url"}, {Kind: llm.ContextTokens, Name: "context", Default: "2000"},
	}}
	all := rows(append(vendors.All(), third))
	file, err := readRows(all, ofUser, []byte("[third]\napi_keys = [\""+secret+"\"]\nbase_url = \"http://me:"+word+"@host\"\ncontext = 3000\n"))
	if err != nil {
		t.Fatal(err)
	}
	s := Settings{}
	for _, k := range all {
		s[k.Name] = Value{k.Default, byDefault, &k.kind}
	}
	s.lay(file, "a file")
	if s.Shown("smoke.env") != "[]" || s.Shown("database_url") != "" {
		t.Errorf("what nobody set is shown as %q and %q", s.Shown("smoke.env"), s.Shown("database_url"))
	}
	if s["third.context"].Text != "3000" || s.Shown("third.keys") != llm.NewKey(secret).ID || s.Shown("third.base_url") != "http://host" {
		t.Errorf("it is %q, and shown as %q and %q", s["third.context"].Text, s.Shown("third.keys"), s.Shown("third.base_url"))
	}
	// The setting has another name too, which does not replace the first.
	getenv := func(name string) string { return map[string]string{"GOOGLE_API_KEY": secret}[name] }
	for name, mask := range map[string]func(string) string{"log": s.LogMasker(getenv, ""), "output": s.OutputMasker(getenv, "")} {
		if got := mask("with " + secret + " and " + word); got != "with [key "+llm.NewKey(secret).ID+"] and [key password of third.base_url]" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if _, err := readRows(all, ofWorkspace, []byte("[third]\ncontext = 3000\n")); err == nil {
		t.Error("a workspace may say where its code is sent")
	}
}

// The documentation lists the rows of the table; -update writes it.
func TestTheDocumentsListEverySetting(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- settings: written by `go test ./cmd/agent/internal/config -update` -->\n", "<!-- end of settings -->\n"
	path := filepath.Join("..", "..", "..", "..", "docs", "settings.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("docs/settings.md has no section between %q and %q", begin, end)
	}
	want := before + begin + document() + end + after
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Error("docs/settings.md lists other settings than the table: run the test with -update")
	}
}

// document returns the table for people.
func document() string {
	var b strings.Builder
	b.WriteString("\n| key | flag, variable | default | bounds | workspace | meaning |\n|---|---|---|---|---|---|\n")
	for _, k := range table {
		key := k.Name
		if k.file != "" {
			key = k.file
		}
		var by []string
		if k.Flag != "" {
			by = append(by, "`--"+k.Flag+"`")
		}
		for _, env := range strings.Fields(k.Env) {
			by = append(by, "`"+env+"`")
		}
		fallback := k.Default
		if fallback != "" {
			fallback = "`" + fallback + "`"
		}
		scope := string(k.scope)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", key, strings.Join(by, " "), fallback, k.kind.bounds, scope, strings.ReplaceAll(k.About, "|", `\|`))
	}
	return b.String() + "\n"
}
