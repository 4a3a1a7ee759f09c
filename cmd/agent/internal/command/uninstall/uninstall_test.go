package uninstall

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/run"
	"agent/sandbox"
	"agent/sandbox/enginetest"
)

// A home is a user whose directories contain things of the agent and other things.
type home struct {
	t                    *testing.T
	dir                  string
	marks                sandbox.Marks
	kept, foreign, stays []string
}

func newHome(t *testing.T) *home {
	h := &home{t: t, dir: t.TempDir()}
	for name, dir := range map[string]string{"HOME": "", "XDG_CACHE_HOME": ".cache", "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "config"} {
		t.Setenv(name, filepath.Join(h.dir, dir))
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{caches + "/agent/turns/0", caches + "/agent/images.lock", caches + "/agent/deps-slow-0123"} {
		h.kept = append(h.kept, h.write(file))
	}
	h.stays = []string{h.write(h.dir + "/state/agent/self/journal"), h.write(h.dir + "/config/agent/config.toml"), h.write(h.dir + "/config/agent/attest.key")}
	h.foreign = []string{h.write(caches + "/agent/another"), h.write(h.dir + "/config/other/config.toml")}
	return h
}

func (h *home) write(file string) string {
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
		h.t.Fatal(err)
	}
	return file
}

// run returns the command's output and exit code.
func (h *home) run(args ...string) (out string, exit int) {
	var stdout, stderr bytes.Buffer
	c := command{cmdline.New(os.Getenv, strings.NewReader(""), &stdout, &stderr), h.marks, func(context.Context, *sandbox.Engine) error { return nil }}
	cmd := c.command()
	app := &cli.App{Name: "agent", Writer: &stdout, ErrWriter: &stderr, Commands: []*cli.Command{cmd}, ExitErrHandler: func(*cli.Context, error) {}}
	err := app.RunContext(h.t.Context(), append([]string{"agent", "uninstall"}, args...))
	if err != nil {
		_, exit = fault.Classify(h.t.Context(), err)
		stderr.WriteString(err.Error())
	}
	return stdout.String() + stderr.String(), exit
}

func (h *home) there(files []string, want bool) {
	h.t.Helper()
	for _, file := range files {
		if _, err := os.Lstat(file); (err == nil) != want {
			h.t.Errorf("%s: %v, want it there: %v", file, err, want)
		}
	}
}

func TestUninstallRemovesWhatIsTheAgentsAndNothingElse(t *testing.T) {
	h := newHome(t)
	out, exit := h.run("--all", "--dry-run")
	if exit != run.ExitDone || !strings.Contains(out, "keys to models") {
		t.Errorf("a dry run: exit %d\n%s", exit, out)
	}
	if out, exit := h.run(); exit != run.ExitApproval || !strings.Contains(out, "approval required") {
		t.Errorf("nobody was asked: exit %d\n%s", exit, out)
	}
	h.there(append(h.kept, h.stays...), true)
	if out, exit := h.run("--yes"); exit != run.ExitDone {
		t.Errorf("exit %d\n%s", exit, out)
	}
	h.there(h.kept, false)
	h.there(h.stays, true)
	if out, exit := h.run("--all", "--yes"); exit != run.ExitDone {
		t.Errorf("all: exit %d\n%s", exit, out)
	}
	h.there(append([]string{h.dir + "/config/agent", h.dir + "/state/agent"}, h.stays...), false)
	h.there(h.foreign, true)
}

func TestUninstallRefusesWhileTheAgentIsAtWork(t *testing.T) {
	h := newHome(t)
	lock := flock.New(h.kept[0])
	if held, err := lock.TryLock(); err != nil || !held {
		t.Fatal(held, err)
	}
	if out, exit := h.run("--yes"); exit != run.ExitInfra || !strings.Contains(out, "at work") {
		t.Errorf("with a turn taken: exit %d\n%s", exit, out)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	h.stays = append(h.stays, h.write(h.dir+"/state/agent/promotions/7-abc/1k3m/journal.json"))
	if out, exit := h.run("--all", "--yes"); exit != run.ExitInfra || !strings.Contains(out, "interrupted") {
		t.Errorf("with a journal: exit %d\n%s", exit, out)
	}
	h.there(append(h.kept, h.stays...), true)
}

// On an engine that others use, only things with the agent's labels are removed.
func TestUninstallRemovesFromTheEngineByLabel(t *testing.T) {
	enginetest.Need(t)
	h := newHome(t)
	engine, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	name := "agent-test-uninstall-" + strings.ToLower(filepath.Base(h.dir)+filepath.Base(filepath.Dir(h.dir)))
	h.marks.Images = []string{name}
	var rootfs bytes.Buffer
	w := tar.NewWriter(&rootfs)
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644}), w.Close()); err != nil {
		t.Fatal(err)
	}
	for ref, label := range map[string]string{name + ":mine": name + "=1", name + ":other": name + "-other=1"} {
		if err := engine.ImportImage(t.Context(), bytes.NewReader(rootfs.Bytes()), ref, label); err != nil {
			t.Fatal(err)
		}
		defer engine.RemoveImage(context.WithoutCancel(t.Context()), ref)
	}
	if out, exit := h.run("--yes"); exit != run.ExitDone || !strings.Contains(out, name+":mine") || strings.Contains(out, name+":other") {
		t.Errorf("exit %d\n%s", exit, out)
	}
	for label, want := range map[string]int{name: 0, name + "-other": 1} {
		if ids, err := engine.ImagesLabelled(t.Context(), label); err != nil || len(ids) != want {
			t.Errorf("%s: %d images, %v; want %d", label, len(ids), err, want)
		}
	}
}
