package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

// Each script is one archive in testdata/script: commands, and the files of its workspaces. It has its own database and
// works on the real engine.
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			_, url := storetest.Warm(t)
			models, hosts := newFakes(t), newForges(t)
			testscript.Run(t, testscript.Params{
				Files: []string{file}, UpdateScripts: *termtest.Update, RequireExplicitExec: false,
				Setup: func(env *testscript.Env) error { return setUp(env, url) },
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"exits": exits, "field": field, "keep": keep, "kept": kept, "holding": holding, "fifo": fifo, "example": example,
					"model": models.start, "asked": models.asked, "told": models.told, "keeps": models.keeps, "gone": models.gone, "forge": hosts.start, "commit": hosts.commit, "pulls": hosts.pulls,
					"opened": hosts.opened, "builds": hosts.builds,
					"at": atTerminal(t),
				},
			})
		})
	}
}

// setUp gives a script its database, its guest and an empty home.
func setUp(env *testscript.Env, url string) error {
	env.Setenv("AGENT_DATABASE_URL", url)
	env.Setenv("AGENT_GUEST", os.Getenv("AGENT_GUEST"))
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "home", "config"))
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "home", "state"))
	env.Setenv("DOCKER_HOST", os.Getenv("DOCKER_HOST"))
	env.Setenv("GORACE", os.Getenv("GORACE"))
	testdata, err := filepath.Abs("testdata")
	env.Setenv("TESTDATA", testdata)
	return err
}

// exits runs an agent command and checks its exit code: exits 4 sandbox run …
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec("agent", args[1:]...)
	got := 0
	if exit := (*exec.ExitError)(nil); err != nil {
		var ok bool
		if exit, ok = err.(*exec.ExitError); !ok {
			ts.Fatalf("run agent: %v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// field checks a value of the JSON document printed last, as in field candidates.0.verdict fail, or stores it in a
// variable, as in field run -> RUN.
func field(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && (len(args) != 3 || args[1] != "->") {
		ts.Fatalf("usage: field PATH VALUE, or field PATH -> VARIABLE")
	}
	var v any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &v))
	for _, step := range strings.Split(args[0], ".") {
		switch node := v.(type) {
		case map[string]any:
			v = node[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(node) {
				ts.Fatalf("%s: there is no %s in a list of %d", args[0], step, len(node))
			}
			v = node[i]
		default:
			ts.Fatalf("%s: nothing is at %s", args[0], step)
		}
	}
	if len(args) == 3 {
		ts.Setenv(args[2], fmt.Sprint(v))
	} else if got := fmt.Sprint(v); (got == args[1]) == neg {
		ts.Fatalf("%s is %q", args[0], got)
	}
}

// treeOf describes every file of a directory by its mode and checksum.
func treeOf(ts *testscript.TestScript, dir string) string {
	var text strings.Builder
	ts.Check(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s %v", strings.TrimPrefix(path, dir), info.Mode())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&text, " %x", sha256.Sum256(data))
		}
		text.WriteString("\n")
		return nil
	}))
	return text.String()
}

// keep remembers the content of a directory, for kept.
func keep(ts *testscript.TestScript, _ bool, args []string) {
	for _, dir := range args {
		ts.Check(os.WriteFile(ts.MkAbs(dir)+".kept", []byte(treeOf(ts, ts.MkAbs(dir))), 0o644))
	}
}

// kept checks that a directory is unchanged: every file, every mode.
func kept(ts *testscript.TestScript, neg bool, args []string) {
	for _, dir := range args {
		before, now := ts.ReadFile(dir+".kept"), treeOf(ts, ts.MkAbs(dir))
		if (before == now) == neg {
			ts.Fatalf("%s was\n%s\nand is\n%s", dir, before, now)
		}
	}
}

// holding waits until a run of this script proves its patch: then it holds the workspace and has taken its snapshot.
func holding(ts *testscript.TestScript, _ bool, _ []string) {
	for patience := time.Now().Add(time.Minute); time.Now().Before(patience); {
		ts.Check(ts.Exec("agent", "runs", "list", "--all", "--state", string(run.Verifying), "--json"))
		if strings.Contains(ts.ReadFile("stdout"), `"verifying"`) {
			return
		}
	}
	ts.Fatalf("no run began to verify its patch within a minute")
}

// fifo makes a FIFO.
func fifo(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(syscall.Mkfifo(ts.MkAbs(args[0]), 0o644))
}

// example copies the example workspace to a directory.
func example(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.CopyFS(ts.MkAbs(args[0]), os.DirFS(filepath.Join(ts.Getenv("TESTDATA"), "example"))))
}

// slow returns a workspace whose smoke test takes its full time, and a patch for it.
func slow(t *testing.T) (dir, patch string) {
	t.Helper()
	top := t.TempDir()
	dir, patch = filepath.Join(top, "slow"), filepath.Join(top, "patch.xml")
	for path, text := range map[string]string{
		filepath.Join(dir, "main.py"): "import time\n\nprint(\"serving\", flush=True)\ntime.sleep(60)\n",
		patch:                         "<EDIT file=\"main.py\">\n<SEARCH>\nprint(\"serving\", flush=True)\n</SEARCH>\n<REPLACE>\nprint(\"serving you\", flush=True)\n</REPLACE>\n</EDIT>\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir, patch
}

// A signal during the smoke test ends the run cleanly: exit code 130, the run cancelled, the workspace unchanged and no
// box left.
func TestASignalCancelsTheRun(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		db, url := storetest.Warm(t)
		dir, patch := slow(t)
		before, err := os.ReadFile(filepath.Join(dir, "main.py"))
		if err != nil {
			t.Fatal(err)
		}
		var stdout bytes.Buffer
		cmd := exec.Command(agentProgram, "sandbox", "run", "--workspace", dir, "--patch", patch, "--yes", "--json")
		cmd.Env, cmd.Stdout = append(os.Environ(), "AGENT_DATABASE_URL="+url), &stdout
		progress, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitText(t, progress, "verifying")
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, progress); err != nil {
			t.Fatal(err)
		}
		err = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != run.ExitCancelled {
			t.Errorf("%v: exit code %d (%v), want 130\n%s", signal, code, err, &stdout)
		}
		var doc run.Document
		if err := json.Unmarshal(stdout.Bytes(), &doc); err != nil || doc.State != run.Cancelled {
			t.Errorf("%v: the document says %q, %v", signal, doc.State, err)
		}
		if after, err := os.ReadFile(filepath.Join(dir, "main.py")); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%v: the workspace changed: %v", signal, err)
		}
		if d, err := db.Run(t.Context(), doc.Run); err != nil || d.State != run.Cancelled {
			t.Errorf("%v: the record says %q, %v", signal, d.State, err)
		}
		if out, err := exec.Command(agentProgram, "sandbox", "ls", "--json").Output(); err != nil || bytes.Contains(out, []byte(doc.Run)) {
			t.Errorf("%v: a box is left: %v\n%s", signal, err, out)
		}
	}
}

// awaitText reads until text has appeared.
func awaitText(t *testing.T, r io.Reader, text string) {
	t.Helper()
	var seen []byte
	chunk := make([]byte, 256)
	for !bytes.Contains(seen, []byte(text)) {
		n, err := r.Read(chunk)
		seen = append(seen, chunk[:n]...)
		if err != nil {
			t.Fatalf("%q was never printed, but %q: %v", text, seen, err)
		}
	}
}

// A signal ends the question even at a terminal that gives no answer.
func TestASignalEndsTheQuestion(t *testing.T) {
	t.Parallel()
	_, url := storetest.Warm(t)
	p := aPerson(t, nil)
	dir := filepath.Join(t.TempDir(), "shop")
	if err := os.CopyFS(dir, os.DirFS("testdata/example")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(agentProgram, "sandbox", "run", "--workspace", dir, "--patch", "testdata/patches/good.xml")
	cmd.Env = append(os.Environ(), "AGENT_DATABASE_URL="+url, "TERM=xterm")
	tty := p.TTY
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.Sees(t, question, 1)
	p.Types(t, "\x03") // the terminal turns it into SIGINT
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != run.ExitCancelled {
		t.Errorf("exit code %d (%v), want 130\n%s", code, err, p.Screen())
	}
}
