package images

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func mustLoad(t *testing.T, name string, guest []byte) *recipe {
	t.Helper()
	r, err := load(name, guest)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestAnotherGuestIsAnotherToolchainButTheSamePostgres(t *testing.T) {
	t.Parallel()
	a, b := []byte("a"), []byte("b")
	if mustLoad(t, Toolchain, a).digest == mustLoad(t, Toolchain, b).digest {
		t.Error("two guests give one toolchain")
	}
	if first, second := mustLoad(t, Toolchain, a), mustLoad(t, Toolchain, a); first.digest != second.digest {
		t.Error("one guest gives two toolchains")
	}
	if mustLoad(t, Postgres, a).digest != mustLoad(t, Postgres, b).digest {
		t.Error("the guest counts for Postgres, which has none")
	}
}

func TestOnlyKnownImagesAreMade(t *testing.T) {
	t.Parallel()
	b := New(nil, nil, nil)
	for _, name := range []string{"", "base", "../toolchain", "steps"} {
		if _, err := b.Ensure(t.Context(), name); err == nil || !strings.Contains(err.Error(), "the images are toolchain, postgres and runtime") {
			t.Errorf("Ensure(%q) gives %v", name, err)
		}
		if _, err := b.Find(t.Context(), name); err == nil {
			t.Errorf("Find(%q) gives no error", name)
		}
	}
}

func TestEveryPackageIsPinnedAndEveryToolIsAsked(t *testing.T) {
	t.Parallel()
	for _, name := range []string{Toolchain, Postgres, Runtime} {
		r := mustLoad(t, name, nil)
		for p, v := range r.Packages {
			if v == "" {
				t.Errorf("%s: package %s is not pinned", name, p)
			}
		}
		if len(r.Tools) == 0 || len(r.Packages) == 0 || r.User == "" || r.User == "root" {
			t.Errorf("%s: a specification without tools, packages or user: %+v", name, r)
		}
	}
	tools := mustLoad(t, Toolchain, nil).Tools
	for _, want := range []string{
		"python3", "ruff", "ty", "mypy", "pytest", "node", "node24", "ctags", "shellcheck", "git",
		"go", "staticcheck", "tsc", "pyright", "biome", "npm", "pnpm", "yarn",
	} {
		if tools[want] == "" {
			t.Errorf("the version of %s is not recorded", want)
		}
	}
}

func TestMisspeltKeyInSpecificationIsAnError(t *testing.T) {
	t.Parallel()
	var wrong struct{ Suite string } // base.toml has more keys
	if _, err := readSpec("base.toml", &wrong); err == nil {
		t.Error("a key that nobody reads passes")
	}
}

func TestEmbeddedFilesAreReadOnlyAndScriptsExecutable(t *testing.T) {
	t.Parallel()
	modes := make(map[string]fs.FileMode)
	for _, name := range []string{Toolchain, Postgres, Runtime} {
		for _, f := range mustLoad(t, name, nil).files {
			modes[f.path] = f.mode
			if f.mode&0o222 != 0 && !f.mode.IsDir() {
				t.Errorf("%s is writable: %v", f.path, f.mode)
			}
		}
	}
	if modes["entrypoint.sh"] != 0o555 {
		t.Errorf("entrypoint.sh has mode %v", modes["entrypoint.sh"])
	}
	if _, ok := modes["syntax.py"]; !ok {
		t.Error("syntax.py does not go into the toolchain")
	}
}

func TestVersionsBecomeLabelsAndMovedPinsAreRecorded(t *testing.T) {
	t.Parallel()
	r := &recipe{
		name: "x", Tools: map[string]string{"ruff": "ruff --version", "git": "git --version"},
		Packages: map[string]string{"ruff": "0.16.9-1", "git": "", "bash": "5"},
	}
	labels, err := r.versionLabels("tool ruff ruff 0.16.10\ntool git git version 2.47.3 (Debian)\n" +
		"package ruff 0.16.10+ds-1\npackage git 1:2.47.3\npackage bash 5\n")
	if err != nil {
		t.Fatal(err)
	}
	for label, want := range map[string]string{
		"agent.tool.ruff": "0.16.10", "agent.tool.git": "2.47.3", "agent.package.git": "1:2.47.3",
		"agent.package.ruff": "0.16.10+ds-1", "agent.moved": "ruff=0.16.9-1",
	} {
		if labels[label] != want {
			t.Errorf("label %s is %q, want %q", label, labels[label], want)
		}
	}
	if v := versions(labels); len(v) != 2 || v["git"] != "2.47.3" {
		t.Errorf("versions are %v", v)
	}
	for _, text := range []string{"", "tool ruff ruff 0.16.10\n", "tool ruff ruff 0.16.10\ntool git no idea\n"} {
		if _, err := r.versionLabels(text); err == nil {
			t.Errorf("%q passes, though git names no version", text)
		}
	}
}

// TestArchiveIsFoundInBothFormsOfSources runs the function of packages.sh on sources in the forms that registries'
// images and mmdebstrap use.
func TestArchiveIsFoundInBothFormsOfSources(t *testing.T) {
	t.Parallel()
	script, err := specs.ReadFile(packagesStep)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(script), "\narchive() {")
	body, _, ok2 := strings.Cut(rest, "\n}\n")
	if !ok || !ok2 {
		t.Fatal("packages.sh has no function archive")
	}
	for name, c := range map[string]struct{ file, text, want string }{
		"one line": {
			"sources.list",
			"deb http://security.example/s trixie-security main\ndeb http://one.example/debian trixie main\n", "http://one.example/debian",
		},
		"one line with options": {
			"sources.list.d/a.list",
			"deb [arch=amd64 signed-by=/k.gpg] http://two.example/debian trixie main contrib\n", "http://two.example/debian",
		},
		"deb822": {
			"sources.list.d/debian.sources",
			"Types: deb\n# a comment\nURIs: http://three.example/debian\nSuites: trixie trixie-updates\nComponents: main\n\n" +
				"Types: deb\nURIs: http://security.example/s\nSuites: trixie-security\nComponents: main\n", "http://three.example/debian",
		},
		"deb822 with security first": {
			"sources.list.d/debian.sources",
			"Types: deb\nURIs: http://security.example/s\nSuites: trixie-security\n\nTypes: deb\nSuites: trixie\nURIs: http://four.example/debian\n",
			"http://four.example/debian",
		},
		"nothing of the release": {"sources.list", "deb http://five.example/debian bookworm main\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "sources.list.d"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			fn := "release=trixie\narchive() {" + strings.ReplaceAll(body, "/etc/apt", dir) + "\n}\narchive | head -n 1"
			out, err := exec.CommandContext(t.Context(), "/bin/sh", "-euc", fn).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := strings.TrimSpace(string(out)); got != c.want {
				t.Errorf("archive is %q, want %q", got, c.want)
			}
		})
	}
}

func TestLockIsExclusiveUntilReleasedAndWaitingEndsWithTheContext(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	unlock, err := lock(t.Context(), "x")
	if err != nil {
		t.Fatal(err)
	}
	other, err := lock(t.Context(), "y")
	if err != nil {
		t.Fatalf("another name waits: %v", err)
	}
	other()
	ctx, cancel := context.WithTimeout(t.Context(), 3*lockPoll)
	defer cancel()
	if _, err := lock(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a second holder gets %v", err)
	}
	got := make(chan error, 1)
	go func() {
		again, err := lock(t.Context(), "x")
		if err == nil {
			again()
		}
		got <- err
	}()
	unlock()
	select {
	case err := <-got:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("a released lock is not given on")
	}
}
