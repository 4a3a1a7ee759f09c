package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/sandbox/enginetest"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/doctor"
	imagescmd "agent/cmd/agent/internal/command/images"
	sandboxcmd "agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/config"
	"agent/images"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
	"agent/verify"
)

// requested returns the request that results from flags and files.
func requested(t *testing.T, env map[string]string, args ...string) (req run.Request, set config.Settings, err error) {
	t.Helper()
	c := cmdline.New(func(k string) string { return env[k] }, strings.NewReader("<EDIT>"), io.Discard, io.Discard)
	app := newApp(c)
	find(find(app.Commands, "sandbox").Subcommands, "run").Action = func(ctx *cli.Context) error {
		if set, err = config.Load(ctx, c.Getenv); err == nil {
			req, err = sandboxcmd.Request(ctx, c, set)
		}
		return nil
	}
	ordered, orderErr := reorder(app, append([]string{"sandbox", "run"}, args...))
	if orderErr != nil {
		t.Fatal(orderErr)
	}
	if runErr := app.RunContext(t.Context(), append([]string{"agent"}, ordered...)); runErr != nil {
		t.Fatal(runErr)
	}
	return req, set, err
}

func TestARequestHoldsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	env, dir := home(t, "allow = [\"git\"]", "exclude = [\"data/**\"]\ntimeout = \"1m\"\n[smoke]\nseconds = 3\n[environment]\npackages = [\"libpq-dev\"]\n")
	want := run.Request{
		Workspace: dir, Patch: []byte("<EDIT>"), PatchName: "-", Target: "shop.py", Exclude: []string{"data/**"},
		Allow: []string{"ci", "tooling"}, NoPromote: true, Packages: []string{"libpq-dev"},
		Config: verify.Config{Timeout: time.Minute, Smoke: verify.Smoke{Seconds: 3}}, Keep: run.Keep{Files: true, Bytes: 256 << 20},
	}
	req, set, err := requested(t, env, "-w", dir, "--patch", "-", "--file", "shop.py", "--allow", "ci", "--allow", "tooling", "--no-promote", "--yes")
	if err != nil || !set.On("yes") {
		t.Fatalf("%v; yes is %v", err, set.On("yes"))
	}
	if req.Place == nil || req.Place.Path != want.Workspace {
		t.Fatalf("the workspace is held at %+v", req.Place)
	}
	req.Place.Close()
	req.Place = nil
	if diff := cmp.Diff(want, req); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Kinds approved for one workspace hold only there, and only the user can approve them.
func TestKindsAreApprovedInOneWorkspace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ user, ws, flag, want, fault string }{
		{"allow = [\"git\"]\n[allow_in]\n\"DIR\" = [\"unproven\"]\n\"/elsewhere\" = [\"ci\"]\n", "", "", "git unproven", ""},
		{"[allow_in]\n\"DIR/../DIRNAME\" = [\"unproven\"]\n", "", "ci", "ci unproven", ""},
		{"[allow_in]\n\"DIR/sub\" = [\"ci\"]\n", "", "", "", ""},
		{"[allow_in]\n\"DIR\" = [\"everything\"]\n", "", "", "", "unknown change kind"},
		{"[allow_in]\n\"/elsewhere\" = [\"everything\"]\n", "", "", "", "unknown change kind"},
		{"[allow_in]\n\".\" = [\"ci\"]\n", "", "", "", "is not an absolute path"},
		{"", "[allow_in]\n\"DIR\" = [\"ci\"]\n", "", "", "there is no key"},
	} {
		env, dir := home(t, "", "")
		text := strings.NewReplacer("DIRNAME", filepath.Base(dir), "DIR", dir)
		for name, file := range map[string]string{filepath.Join(env["XDG_CONFIG_HOME"], "agent", "config.toml"): c.user, filepath.Join(dir, "agent.toml"): c.ws} {
			if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text.Replace(file)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		args := []string{"-w", dir, "--patch", "-"}
		if c.flag != "" {
			args = append(args, "--allow", c.flag)
		}
		req, _, err := requested(t, env, args...)
		if got := strings.Join(req.Allow, " "); got != c.want || (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%q, %q: %q, %v", c.user, c.ws, got, err)
		}
	}
}

func TestTheEnvironmentSetsAPolicy(t *testing.T) {
	t.Parallel()
	env, dir := home(t, "allow = [\"git\"]", "")
	for name, text := range map[string]string{"AGENT_WORKSPACE": dir, "AGENT_YES": "1", "AGENT_NO_PROMOTE": "true", "AGENT_ALLOW": "ci, dependencies", "AGENT_EXCLUDE": "*.bin", "AGENT_MEMORY": "2GiB"} {
		env[name] = text
	}
	req, set, err := requested(t, env, "--patch", "-")
	if err != nil || !set.On("yes") {
		t.Fatalf("%v; yes is %v", err, set.On("yes"))
	}
	if !req.NoPromote || req.Workspace != dir || req.Config.Limits.Memory != 2<<30 ||
		strings.Join(req.Allow, " ") != "ci dependencies" || strings.Join(req.Exclude, " ") != "*.bin" {
		t.Errorf("the request is %+v", req)
	}
	// A flag can revoke a setting of the environment.
	if req, set, err = requested(t, env, "--patch", "-", "--no-promote=false", "--yes=false"); err != nil || req.NoPromote || set.On("yes") {
		t.Errorf("the environment wins over the flags: %+v, %v", req, err)
	}
	if req.NoInstall || req.InstallScripts {
		t.Errorf("the defaults of what is installed: %+v", req)
	}
	if req, _, err = requested(t, env, "--patch", "-", "--no-install"); err != nil || !req.NoInstall {
		t.Errorf("--no-install: %+v, %v", req, err)
	}
	env["AGENT_INSTALL"], env["AGENT_INSTALL_SCRIPTS"] = "false", "true"
	if req, _, err = requested(t, env, "--patch", "-"); err != nil || !req.NoInstall || !req.InstallScripts {
		t.Errorf("by the environment: %+v, %v", req, err)
	}
}

func TestTheUsersOwnFileIsCheckedToo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"databse_url = \"x\"", `there is no key "databse_url"`},
		{"allow = [\"everything\"]", "the kinds are"},
		{"database_url = \"mysql://me:s3cret@host\"", "the scheme is not postgres"},
		{"[limits]\nmemory = \"1KiB\"", "use 16MiB or more"},
		{"[limits]\npids = 3", "use 32 or more"},
	} {
		env, dir := home(t, c.text, "")
		got := commandIn(t, env, "sandbox", "run", "-w", dir, "--patch", "/dev/null")
		if got.exit != run.ExitUsage || !strings.Contains(got.stderr, c.want) || strings.Contains(got.stderr, "s3cret") {
			t.Errorf("%q: exit code %d, want 2 and %q\n%s", c.text, got.exit, c.want, got.stderr)
		}
	}
}

func TestAnUnreadableGuestIsTold(t *testing.T) {
	t.Parallel()
	got := commandIn(t, map[string]string{"AGENT_GUEST": "/nonexistent/guest"}, "images", "list")
	if got.exit != run.ExitInfra || !strings.Contains(got.stderr, "AGENT_GUEST") {
		t.Errorf("exit code %d\n%s", got.exit, got.stderr)
	}
}

func TestImagesAreListedWithTheirTools(t *testing.T) {
	t.Parallel()
	enginetest.Need(t)
	env := map[string]string{"AGENT_GUEST": os.Getenv("AGENT_GUEST")}
	built := commandIn(t, env, "images", "build")
	if built.exit != run.ExitDone {
		t.Fatalf("exit code %d; if no engine answers, run `make setup`\n%s", built.exit, built.stderr)
	}
	// With nothing to do, the build reports what exists and nothing else.
	if again := commandIn(t, env, "images", "build"); again.stdout != built.stdout || again.stderr != "" {
		t.Errorf("building again prints\n%s%s\nwant\n%s", again.stdout, again.stderr, built.stdout)
	}
	var rows []imagescmd.Row
	if err := json.Unmarshal([]byte(commandIn(t, env, "images", "list", "--json").stdout), &rows); err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || rows[0].Absent || rows[0].Versions["ruff"] == "" || rows[1].Versions["postgres"] == "" {
		t.Errorf("the images are %+v", rows)
	}
	for _, r := range rows {
		if !strings.Contains(built.stdout, r.Ref) {
			t.Errorf("%s was not built as %s:\n%s", r.Name, r.Ref, built.stdout)
		}
	}
	if got := commandIn(t, env, "images", "list"); !strings.Contains(got.stdout, "mypy "+rows[0].Versions["mypy"]) {
		t.Errorf("the list does not name the tools:\n%s", got.stdout)
	}
}

func TestAnotherGuestNeedsAnotherImage(t *testing.T) {
	t.Parallel()
	enginetest.Need(t)
	guest := filepath.Join(t.TempDir(), "guest")
	if err := os.WriteFile(guest, fmt.Appendf(nil, "another guest, of %v", time.Now()), 0o755); err != nil {
		t.Fatal(err)
	}
	var rows []imagescmd.Row
	got := commandIn(t, map[string]string{"AGENT_GUEST": guest}, "images", "list", "--json")
	if err := json.Unmarshal([]byte(got.stdout), &rows); err != nil {
		t.Fatalf("%v\n%s", err, got.stderr)
	}
	if !rows[0].Absent || rows[0].ID != "" {
		t.Errorf("the toolchain of another guest is said to be %+v", rows[0])
	}
	var checks []doctor.Check
	if err := json.Unmarshal([]byte(commandIn(t, map[string]string{"AGENT_GUEST": guest}, "doctor", "--json").stdout), &checks); err != nil {
		t.Fatal(err)
	}
	for _, ch := range checks {
		if ch.Name == images.Toolchain && (ch.Status != doctor.Warn || !strings.Contains(ch.Cure, "agent images build")) {
			t.Errorf("the doctor says %+v", ch)
		}
	}
}

func TestABoxIsListedWhileItLives(t *testing.T) {
	t.Parallel()
	_, url := storetest.Warm(t)
	env := map[string]string{"AGENT_GUEST": os.Getenv("AGENT_GUEST"), "AGENT_DATABASE_URL": url}
	s, err := cmdline.New(func(k string) string { return env[k] }, nil, io.Discard, io.Discard).OpenEngine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	image, err := s.Builder.Ensure(t.Context(), images.Toolchain)
	if err != nil {
		t.Fatal(err)
	}
	const id = "1k3listed000"
	spec := sandbox.Spec{Image: image.ID, Run: id, Purpose: "a test", Lease: time.Now().Add(time.Hour)}
	box, err := s.Engine.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	listed := func() (rows []sandboxcmd.BoxRow) {
		got := commandIn(t, env, "sandbox", "ls", "--json")
		if err := json.Unmarshal([]byte(got.stdout), &rows); err != nil {
			t.Fatalf("%v\n%s", err, got.stderr)
		}
		for i := range rows {
			if rows[i].Run == id {
				return rows[i : i+1]
			}
		}
		return nil
	}
	if rows := listed(); len(rows) != 1 || rows[0].Purpose != "a test" || !rows[0].Live || rows[0].State != "running" || len(rows[0].ID) != 12 {
		t.Errorf("it is listed as %+v", rows)
	}
	if got := commandIn(t, env, "sandbox", "ls"); !strings.Contains(got.stdout, id) || !strings.Contains(got.stdout, "alive") {
		t.Errorf("people are shown\n%s", got.stdout)
	}
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	if rows := listed(); len(rows) != 0 {
		t.Errorf("after its end it is listed as %+v", rows)
	}
	// A box that waits for a candidate ends with the session.
	s.Runner(nil).Boxes.Want(t.Context(), spec, 1)
	for patience := time.Now().Add(time.Minute); len(listed()) == 0 && time.Now().Before(patience); {
		time.Sleep(10 * time.Millisecond)
	}
	if rows := listed(); len(rows) != 1 || rows[0].Purpose != "pool" || !rows[0].Live {
		t.Errorf("while it waits it is listed as %+v", rows)
	}
	s.Close()
	if rows := listed(); len(rows) != 0 {
		t.Errorf("after the session it is listed as %+v", rows)
	}
}

func TestDatabaseUpTellsTheSchema(t *testing.T) {
	t.Parallel()
	url := storetest.Schema(t)
	env := map[string]string{"AGENT_DATABASE_URL": url}
	for _, args := range [][]string{{"db", "up"}, {"db", "migrate"}} { // the second finds nothing to do
		got := commandIn(t, env, args...)
		if got.exit != run.ExitDone || !strings.Contains(got.stdout, "schema version ") {
			t.Errorf("agent %v: exit code %d\n%s%s", args, got.exit, got.stdout, got.stderr)
		}
		if strings.Contains(got.stdout, "@") {
			t.Errorf("agent %v prints who connects: %s", args, got.stdout)
		}
	}
	if got := commandIn(t, env, "db", "url"); got.stdout != url+"\n" {
		t.Errorf("db url prints %q", got.stdout)
	}
}

// A command that waits for its patch ends at the first signal.
func TestASignalEndsTheWaitForThePatch(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe() // the pipe stays open and empty
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	var stdout bytes.Buffer
	cmd := exec.Command(agentProgram, "sandbox", "run", "--patch", "-", "--json")
	cmd.Stdin, cmd.Stdout = r, &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The handler is installed before anything is read; one byte consumed from the pipe shows that it is.
	if _, err := w.Write([]byte("<")); err != nil {
		t.Fatal(err)
	}
	drained(t, w)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitText(t, stderr, "cancelled")
	err = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != run.ExitCancelled {
		t.Errorf("exit code %d (%v), want 130", code, err)
	}
	var doc run.Document
	if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil || doc.State != run.Cancelled || doc.Error.Kind != "cancelled" {
		t.Errorf("%v: the document is\n%s", err, &stdout)
	}
}

// drained waits until everything written to the pipe has been read.
func drained(t *testing.T, w *os.File) {
	t.Helper()
	for patience := time.Now().Add(time.Minute); time.Now().Before(patience); {
		if unread, err := unreadBytes(w); err != nil {
			t.Fatal(err)
		} else if unread == 0 {
			return
		}
	}
	t.Fatal("nobody reads the pipe")
}

// unreadBytes asks the kernel how many bytes of a pipe are unread.
func unreadBytes(f *os.File) (int, error) { return unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ) }
