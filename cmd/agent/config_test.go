package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"agent/cmd/agent/internal/cmdline"
	configcmd "agent/cmd/agent/internal/command/config"
	"agent/cmd/agent/internal/config"
	"agent/orchestrator/run"
)

// home makes a configuration directory and a workspace with these files.
func home(t *testing.T, user, ws string) (env map[string]string, dir string) {
	t.Helper()
	own, dir := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{filepath.Join(own, "agent", "config.toml"): user, filepath.Join(dir, config.FileName): ws} {
		if text == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]string{"XDG_CONFIG_HOME": own}, dir
}

// configured returns the output of `agent config`, by key.
func configured(t *testing.T, env map[string]string, args ...string) map[string]configcmd.Row {
	t.Helper()
	got := commandIn(t, env, append([]string{"config", "--json"}, args...)...)
	if got.exit != 0 {
		t.Fatalf("agent config: exit %d\n%s", got.exit, got.stderr)
	}
	var rows []configcmd.Row
	if err := json.Unmarshal([]byte(got.stdout), &rows); err != nil {
		t.Fatal(err)
	}
	byKey := map[string]configcmd.Row{}
	for _, r := range rows {
		byKey[r.Key] = r
	}
	return byKey
}

func TestEachLayerWinsOverTheNext(t *testing.T) {
	t.Parallel()
	env, dir := home(t, "timeout = \"4m\"\n[limits]\nmemory = \"1GiB\"\ncpus = 1\n", "[limits]\nmemory = \"512MiB\"\n")
	env["AGENT_CPUS"] = "0.5"
	env["AGENT_WORKSPACE"] = "/elsewhere"
	got := configured(t, env, "--workspace", dir)
	for key, want := range map[string]struct{ value, origin string }{
		"workspace":     {dir, "--workspace"},
		"limits.cpus":   {"0.5", "AGENT_CPUS"},
		"limits.memory": {"512MiB", filepath.Join(dir, config.FileName)},
		"timeout":       {"4m", filepath.Join(env["XDG_CONFIG_HOME"], "agent", "config.toml")},
		"limits.pids":   {"256", "default"},
	} {
		if r := got[key]; r.Value != want.value || r.Origin != want.origin {
			t.Errorf("%s is %q from %s, want %q from %s", key, r.Value, r.Origin, want.value, want.origin)
		}
	}
}

// A20.
func TestAWorkspaceMayTightenAndNeverWiden(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		user, ws string
		exit     int
		key      string
	}{
		{"", "[limits]\nmemory = \"64GiB\"", run.ExitApproval, "limits.memory"},
		{"", "[limits]\ncpus = 64", run.ExitApproval, "limits.cpus"},
		{"", "[limits]\npids = 100000", run.ExitApproval, "limits.pids"},
		{"", "timeout = \"2h\"", run.ExitApproval, "timeout"},
		{"", "[smoke]\nseconds = 60", run.ExitApproval, "smoke.seconds"},
		{"timeout = \"1m\"", "timeout = \"2m\"", run.ExitApproval, "timeout"},
		{"[limits]\nmemory = \"8GiB\"", "[limits]\nmemory = \"4GiB\"", run.ExitDone, ""},
		{"", "[limits]\nmemory = \"256MiB\"\ncpus = 1\npids = 64", run.ExitDone, ""},
		{"", "[limits]\nmemory = \"lots\"", run.ExitUsage, "limits.memory"},
		{"", "[limits]\nmemory = -1", run.ExitUsage, "limits.memory"},
		{"", "[limits]\ncpus = -1", run.ExitUsage, "limits.cpus"},
		{"", "timeout = \"soon\"", run.ExitUsage, "timeout"},
		{"", "[limits]\npids = -3", run.ExitUsage, "limits.pids"},
		{"", "[smoke]\nready = \"/up now\"", run.ExitUsage, "smoke.ready"},
		{"", "[smoke]\nready = \"/up\"", run.ExitDone, ""},
		{"", "[protect]\npaths = [\"a/**\"]", run.ExitDone, ""},
		{"", "[dependencies]\ninstall = false", run.ExitDone, ""},
		{"", "[dependencies]\nscripts = true", run.ExitApproval, "dependencies.scripts"},
		{"[dependencies]\ninstall = false", "[dependencies]\ninstall = true", run.ExitApproval, "dependencies.install"},
		{"[dependencies]\nscripts = true", "[dependencies]\nscripts = true", run.ExitDone, ""},
		{"", "[record]\nfiles = false", run.ExitDone, ""},
		{"[record]\nfiles = false", "[record]\nfiles = true", run.ExitApproval, "record.files"},
		{"", "[protect]\npaths = [\"!a\"]", run.ExitUsage, "protect.paths"},
		{"", "[tests]\nrun = \"some\"", run.ExitUsage, "tests.run"},
		{"", "[egress]\nallow = [\"https://a.example\"]", run.ExitUsage, "egress.allow"},
		{"[egress]\nallow = [\"a.example\"]", "[egress]\nallow = [\"b.example\"]", run.ExitDone, ""},
		{"[tests]\nrun = \"affected\"", "[tests]\nrun = \"all\"", run.ExitDone, ""},
	} {
		env, dir := home(t, c.user, c.ws)
		got := commandIn(t, env, "config", "--workspace", dir)
		if got.exit != c.exit || !strings.Contains(got.stderr, c.key) {
			t.Errorf("user %q, workspace %q: exit %d, want %d about %q\n%s", c.user, c.ws, got.exit, c.exit, c.key, got.stderr)
		}
	}
}

// The environment that the user gives to programs is not recorded.
func TestTheUsersOwnEnvironmentIsNotKept(t *testing.T) {
	t.Parallel()
	const env = "[smoke]\nenv = { TOKEN = \"x\" }\n"
	for _, c := range []struct {
		user, ws, bytes, never string
		most                   int64
		files                  bool
	}{
		{"", env, "", "", 256 << 20, true},
		{env, "", "1MiB", "smoke.env is the user's own", 1 << 20, true},
		{env, env + "[record]\nfiles = false\n", "", "", 256 << 20, false},
		{"", "", "nothing", "", 0, true},
	} {
		values, dir := home(t, c.user, c.ws)
		values["AGENT_RECORD_BYTES"] = c.bytes
		cmd := cmdline.New(func(k string) string { return values[k] }, nil, io.Discard, io.Discard)
		var keep run.Keep
		app := &cli.App{HideHelp: true, HideVersion: true, Flags: []cli.Flag{cmdline.WorkspaceFlag()}, Action: func(ctx *cli.Context) error {
			set, err := config.Load(ctx, cmd.Getenv)
			if err == nil {
				keep, err = set.Recording()
			}
			return err
		}}
		err := app.RunContext(t.Context(), []string{"agent", "--workspace", dir})
		if (err != nil) != (c.most == 0) || err != nil && !strings.Contains(err.Error(), "record.bytes (AGENT_RECORD_BYTES)") {
			t.Errorf("%+v: %v", c, err)
		} else if err == nil && (keep.Bytes != c.most || keep.Files != c.files || !strings.HasPrefix(keep.Never, c.never) || (keep.Never == "") != (c.never == "")) {
			t.Errorf("%+v gives %+v", c, keep)
		}
	}
}

// Only the user decides what boxes may reach; a workspace may only narrow it.
func TestAWorkspaceOpensNoWayOut(t *testing.T) {
	t.Parallel()
	list := func(entries string) string { return "[egress]\nallow = [" + entries + "]\n" }
	for _, c := range []struct{ user, ws, env, want, origin string }{
		{"", "", "", `[]`, "default"},
		{"", list(`"a.example"`), "", `[]`, config.FileName},
		{list(`"a.example", "*.b.example:8443"`), "", "", `["a.example","*.b.example:8443"]`, "config.toml"},
		{list(`"a.example", "*.b.example:8443"`), list(``), "", `[]`, config.FileName},
		{list(`"a.example", "*.b.example:8443"`), list(`"A.example:443", "c.example", "x.b.example:8443", "b.example:8443", "*.example"`), "", "", ""},
		{list(`"a.example", "*.b.example:8443"`), list(`"A.example:443", "c.example", "x.b.example:8443", "b.example:8443"`), "", `["a.example:443","x.b.example:8443"]`, config.FileName},
		{list(`"x.a.example:1"`), list(`"*.a.example:1"`), "", `["x.a.example:1"]`, config.FileName},
		{list(`"a.example"`), list(`"a.example"`), "b.example:1, 10.0.0.1:2", `b.example:1, 10.0.0.1:2`, "AGENT_EGRESS"},
	} {
		env, dir := home(t, c.user, c.ws)
		env["AGENT_EGRESS"] = c.env
		if c.want == "" {
			if got := commandIn(t, env, "config", "--workspace", dir); got.exit != run.ExitUsage {
				t.Errorf("%s: exit %d", c.ws, got.exit)
			}
			continue
		}
		if r := configured(t, env, "--workspace", dir)["egress.allow"]; r.Value != c.want || filepath.Base(r.Origin) != c.origin {
			t.Errorf("user %q, workspace %q, environment %q: %s from %s, want %s from %s", c.user, c.ws, c.env, r.Value, r.Origin, c.want, c.origin)
		}
	}
}

func TestPasswordsAreMasked(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-canary"
	for _, url := range []string{
		"postgres://me:" + secret + "@host:5432/db",
		"postgres://host/db?user=me&password=" + secret,
		"postgres://me:" + secret + "@host:bad port/db",
		"host=x password=" + secret,
	} {
		env, dir := home(t, "", "[smoke]\nenv = { TOKEN = \""+secret+"\" }")
		env["AGENT_DATABASE_URL"] = url
		for _, args := range [][]string{{"config"}, {"config", "--json"}} {
			got := commandIn(t, env, append(args, "--workspace", dir)...)
			if strings.Contains(got.stdout+got.stderr, secret) {
				t.Errorf("agent %v prints the password of %q:\n%s%s", args, url, got.stdout, got.stderr)
			}
		}
	}
}

func TestStrangeConfigFilesAreRefusedAndNotRead(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(path string) error{
		"a directory": func(p string) error { return os.Mkdir(p, 0o755) },
		"a link":      func(p string) error { return os.Symlink("/etc/passwd", p) },
		"a device":    func(p string) error { return os.Symlink("/dev/zero", p) },
		"a FIFO":      func(p string) error { return unix.Mkfifo(p, 0o644) },
		"a large one": func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("# long\n", 20_000)), 0o644) },
	} {
		dir := t.TempDir()
		if err := make(filepath.Join(dir, config.FileName)); err != nil {
			t.Fatal(err)
		}
		got := commandIn(t, nil, "config", "--workspace", dir)
		if got.exit != run.ExitUsage || !strings.Contains(got.stderr, config.FileName) || strings.Contains(got.stderr, "root:") {
			t.Errorf("%s: exit %d\n%s", name, got.exit, got.stderr)
		}
	}
}

func TestSwitchesFromTheEnvironmentAreChecked(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"AGENT_YES": "maybe", "AGENT_JSON": "2", "AGENT_NO_PROMOTE": "x"} {
		got := commandIn(t, map[string]string{name: text}, "config")
		if got.exit != run.ExitUsage || !strings.Contains(got.stderr, name) {
			t.Errorf("%s=%s: exit %d\n%s", name, text, got.exit, got.stderr)
		}
	}
}
