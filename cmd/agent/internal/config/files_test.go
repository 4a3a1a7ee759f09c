package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/fault"
)

// put writes a file and the directories above it.
func put(t *testing.T, content string, path ...string) string {
	t.Helper()
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// load reads all layers, as a command with every flag of the table does.
func load(t *testing.T, env map[string]string, args ...string) (s Settings, err error) {
	t.Helper()
	var names []string
	for _, k := range Table() {
		if k.Flag != "" {
			names = append(names, k.Flag)
		}
	}
	app := &cli.App{HideHelp: true, HideVersion: true, Flags: Flags(names...), Action: func(ctx *cli.Context) error {
		s, err = Load(ctx, func(name string) string { return env[name] })
		return nil
	}}
	if failed := app.RunContext(t.Context(), append([]string{"agent"}, args...)); failed != nil {
		t.Fatal(failed)
	}
	return s, err
}

func TestTheStrongerLayerWins(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	user := put(t, "exclude = ['user']\ntimeout = '4m'\nmodel = ['a/b']\n[budget]\nrequests = 50\n[dependencies]\ninstall = true\n", home, ".config", "agent", "config.toml")
	own := put(t, "exclude = ['own']\ntimeout = '3m'\n[budget]\nrequests = 40\n[dependencies]\ninstall = false\n", dir, FileName)
	env := map[string]string{"HOME": home, "AGENT_TIMEOUT": "2m", "AGENT_MAX_REQUESTS": "30", "AGENT_MODEL": "", "AGENT_MAX_COST": "1"}
	s, err := load(t, env, "-w", dir, "--max-requests", "20", "--max-cost", "2", "--allow", "ci", "--allow", "git,deletion", "-y")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Value{
		"exclude":              {Text: `["own"]`, Origin: own},
		"timeout":              {Text: "2m", Origin: "AGENT_TIMEOUT"},
		"budget.requests":      {Text: "20", Origin: "--max-requests"},
		"budget.cost":          {Text: "2", Origin: "--max-cost"},
		"budget.tokens":        {Text: "2000000", Origin: byDefault},
		"model":                {Text: `["a/b"]`, Origin: user},
		"dependencies.install": {Text: "false", Origin: own},
		"allow":                {Text: `["ci","git","deletion"]`, Origin: "--allow"},
		"yes":                  {Text: "true", Origin: "--yes"},
		"workspace":            {Text: dir, Origin: "--workspace"},
	} {
		if got := s[name]; got.Text != want.Text || got.Origin != want.Origin {
			t.Errorf("%s is %q of %s, want %q of %s", name, got.Text, got.Origin, want.Text, want.Origin)
		}
	}
	// One flag turns it off, and another takes that back.
	for arg, want := range map[string]bool{"--no-install": false, "--no-install=false": true} {
		if s, err := load(t, env, "-w", dir, arg); err != nil || s.On("dependencies.install") != want {
			t.Errorf("%s: %q, %v", arg, s["dependencies.install"].Text, err)
		}
	}
	if s, err := load(t, env, "-w", dir, "--max-cost", ""); err == nil || !strings.Contains(err.Error(), "budget.cost (--max-cost)") {
		t.Errorf("an empty flag counts as %q, %v", s["budget.cost"].Text, err)
	}
}

// An invalid file is an error even if a stronger layer overrides the value.
func TestAFileThatIsWrongIsToldWithItsPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ user, own, want, next string }{
		{"timeuot = '1m'\n", "", `config.toml: line 1: there is no key "timeuot"`, "fix that line"},
		{"\ntimeout = 5\n", "", "line 2, column 11: timeout must not be a TOML integer", "fix that line"},
		{"yes = true\n", "", `there is no key "yes"`, "fix that line"},
		{"timeout = 'x'\n", "", "config.toml): invalid duration", "fix that value"},
		{"timeout = '1m'\ntimeout = '2m'\n", "", "config.toml: line 2", "fix that line"},
		{"\xff\n", "", "config.toml: line 1", "fix that line"},
		{strings.Repeat("#", maxConfig+1), "", "is larger than 64 KiB", "fix or move that file"},
		{"", "model = []\n", `agent.toml: line 1: there is no key "model"`, "fix that line of "},
		{"", "timeout = '5m1s'\n", "agent.toml: timeout is more than the 5m0s that applies otherwise", "lower it in "},
		{"timeout = '1m'\n", "timeout = '61s'\n", "timeout is more than the 1m that applies otherwise", "only the user configuration or the environment may raise it"},
		{"", "[limits]\nmemory = '1281MiB'\n", "limits.memory is more than the default that applies otherwise", "lower it in "},
		{"", "[dependencies]\nscripts = true\n", "agent.toml: dependencies.scripts is off otherwise", "remove it from "},
		{"", "[[gate]]\nname = 'a'\ncommand = [1]\n", `command of gate "a": use a string for the shell`, "fix that line of "},
		{"", strings.Repeat("#", maxConfig+1), "is larger than 64 KiB", "make it a regular file"},
		{"", "[[gate]]\nname = 'a'\n", `agent.toml): gate "a": it has no command`, "fix that value"},
	} {
		home, dir := t.TempDir(), t.TempDir()
		put(t, c.user, home, ".config", "agent", "config.toml")
		put(t, c.own, dir, FileName)
		_, err := load(t, map[string]string{"HOME": home, "AGENT_TIMEOUT": "7s"}, "-w", dir)
		var f *fault.Error
		if !errors.As(err, &f) || !strings.Contains(err.Error(), c.want) || !strings.Contains(f.Next, c.next) {
			t.Errorf("%.60q, %.60q: %v, next %+v; want %q", c.user, c.own, err, f, c.want)
		}
	}
}

// The user's permanent wishes hold in every workspace, which adds its own after them.
func TestAWorkspaceAddsToWhatItsUserWants(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	put(t, "[protect]\npaths = ['a']\n[environment]\npackages = ['git']\n[[gate]]\nname = 'one'\ncommand = 'x'\n", home, ".config", "agent", "config.toml")
	put(t, "[protect]\npaths = ['b']\n[environment]\npackages = ['make']\n[[gate]]\nname = 'two'\ncommand = ['y', 'z']\nwhen = 'always'\ntimeout = '1m'\n", dir, FileName)
	env := map[string]string{"HOME": home}
	s, err := load(t, env, "-w", dir)
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.VerifyConfig()
	if err != nil || len(v.Gates) != 2 || v.Gates[0].Name != "one" || !slices.Equal(v.Gates[0].Command, []string{"/bin/sh", "-c", "x"}) || v.Gates[1].Name != "two" || v.Gates[1].Timeout.String() != "1m0s" {
		t.Errorf("gates: %+v, %v", v.Gates, err)
	}
	for name, want := range map[string][]string{"protect.paths": {"a", "b"}, "environment.packages": {"git", "make"}} {
		if got := ParseList(s[name].Text); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if p, err := s.Protection(); p == nil || err != nil {
		t.Errorf("%v, %v", p, err)
	}
	put(t, "[[gate]]\nname = 'one'\ncommand = 'true'\n", dir, FileName)
	if _, err := load(t, env, "-w", dir); err == nil || !strings.Contains(err.Error(), `two gates are named "one"`) {
		t.Errorf("a gate of the user's is replaced: %v", err)
	}
}

// A workspace may have anything in place of its configuration file; none of it is waited for or followed.
func TestOnlyARegularFileIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, full := put(t, "a", dir, "file"), put(t, strings.Repeat("x", maxConfig), dir, "full")
	put(t, "", dir, "empty")
	link, fifo, dangling := filepath.Join(dir, "link"), filepath.Join(dir, "fifo"), filepath.Join(dir, "dangling")
	if err := errors.Join(os.Symlink(file, link), os.Symlink(filepath.Join(dir, "no"), dangling), syscall.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path   string
		follow bool
		size   int    // -1 for no file
		want   string // of the error, "" for none
	}{
		{file, false, 1, ""},
		{full, true, maxConfig, ""},
		{filepath.Join(dir, "empty"), false, 0, ""},
		{filepath.Join(dir, "no"), false, -1, ""},
		{filepath.Join(file, "below"), false, -1, ""},
		{link, true, 1, ""},
		{link, false, -1, "symbolic links"},
		{dangling, true, -1, ""},
		{dangling, false, -1, "symbolic links"},
		{fifo, true, -1, "is not a regular file"},
		{dir, true, -1, "is not a regular file"},
		{"/dev/null", false, -1, "is not a regular file"},
	} {
		data, err := ReadFile(c.path, c.follow)
		if (data == nil) != (c.size < 0) || len(data) != max(0, c.size) || (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, followed %v: %d bytes, %v; want %q", c.path, c.follow, len(data), err, c.want)
		}
	}
}

func TestWhereTheUsersFileIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ xdg, home, want string }{
		{"", "", ""},
		{"", "/h", "/h/.config/agent/config.toml"},
		{"/x", "/h", "/x/agent/config.toml"},
		{"/x", "", "/x/agent/config.toml"},
		{"x", "/h", "/h/.config/agent/config.toml"},
		{"x", "", ""},
	} {
		if got := UserPath(func(name string) string { return map[string]string{"XDG_CONFIG_HOME": c.xdg, "HOME": c.home}[name] }); got != c.want {
			t.Errorf("%q, %q: %q, want %q", c.xdg, c.home, got, c.want)
		}
	}
}

// A composed file can be read back, whatever characters a value has.
func TestAComposedFileIsRead(t *testing.T) {
	t.Parallel()
	values := map[string]any{"model": []string{"a/b", "é\n\"'"}, "timeout": "90s", "database_url": "postgres://h/'\"\\#", "limits.memory": "1GiB", "no.such": "x"}
	data, err := Compose(values)
	if err != nil {
		t.Fatal(err)
	}
	got, err := readRows(table, ofUser, data)
	want := map[string]string{"model": `["a/b","é\n\"'"]`, "timeout": "90s", "database_url": "postgres://h/'\"\\#", "limits.memory": "1GiB"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s\n%s", err, diff, data)
	}
	for want, values := range map[string]map[string]any{
		`there is no key "yes"`:              {"yes": true},
		"candidates must not be a TOML":      {"candidates": "3"},
		"write the configuration":            {"timeout": func() {}},
		"limits.memory: use a number of byt": {"limits.memory": 1.5},
	} {
		if data, err := Compose(values); data != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %q, %v, want %q", values, data, err, want)
		}
	}
	if data, err := Compose(nil); len(data) != 0 || err != nil {
		t.Errorf("of nothing: %q, %v", data, err)
	}
}

func TestFlagsAreThoseOfTheTable(t *testing.T) {
	t.Parallel()
	if got := Flags("json", "no-such", "model"); len(got) != 2 || got[0].Names()[0] != "json" || got[1].Names()[0] != "model" {
		t.Errorf("%v", got)
	}
	w, ok := FlagFor("workspace", "", "d").(*cli.StringFlag)
	if !ok || !slices.Equal(w.Names(), []string{"workspace", "w", "d"}) || w.Usage != "work on `DIR` [$AGENT_WORKSPACE] (default: .)" {
		t.Errorf("%+v", w)
	}
	if f, ok := FlagFor("no-install", "").(*cli.BoolFlag); !ok || strings.Contains(f.Usage, "[$") {
		t.Errorf("a flag that says no names a variable that says yes: %+v", f)
	}
	if f, ok := FlagFor("max-cost", "own `X`").(*cli.StringFlag); !ok || f.Usage != "own `X` [$AGENT_MAX_COST]" {
		t.Errorf("%+v", f)
	}
	Table()[0].Name = "changed"
	if Table()[0].Name != "workspace" {
		t.Error("the table can be changed from outside")
	}
}
