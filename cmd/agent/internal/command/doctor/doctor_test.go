package doctor

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/term/termtest"
	"agent/sandbox"
)

func TestHolesOfRuncAreKnownByVersion(t *testing.T) {
	t.Parallel()
	const escape, masked = "CVE-2024-21626", "CVE-2025-31133"
	for version, open := range map[string][]string{
		"1.1.5+ds1":  {escape, masked},
		"1.1.11":     {escape, masked},
		"1.1.12":     {masked},
		"1.2.7":      {masked},
		"1.2.8":      nil,
		"1.3.2":      {masked},
		"1.3.3":      nil,
		"1.4.0":      nil,
		"2.0.0":      nil,
		"1.0.3":      {escape, masked},
		"v1.3.3-rc1": nil,
	} {
		got := checkRunc(version)
		for _, hole := range []string{escape, masked} {
			want := strings.Contains(strings.Join(open, " "), hole)
			if has := strings.Contains(got.Detail, hole); has != want {
				t.Errorf("runc %s: names %s: %v, want %v", version, hole, has, want)
			}
		}
		if (got.Status == OK) != (open == nil) || (got.Cure == "") != (open == nil) {
			t.Errorf("runc %s: %+v", version, got)
		}
	}
	if got := checkRunc("unknown"); got.Status != Warn || got.Cure == "" {
		t.Errorf("a version that is not known: %+v", got)
	}
}

func TestLittleSpaceIsToldBeforeItIsGone(t *testing.T) {
	t.Parallel()
	for free, want := range map[int64]string{100 << 20: Miss, 2 << 30: Warn, 50 << 30: OK, -1: OK} {
		got := checkStorage(sandbox.Info{StorageDriver: "overlay2", FreeBytes: free, Root: "/var/lib/docker"})
		if got.Status != want || (want != OK) != (got.Cure != "") {
			t.Errorf("%d bytes free: %+v, want %s", free, got, want)
		}
	}
	if got := checkStorage(sandbox.Info{StorageDriver: "vfs", FreeBytes: 50 << 30}); got.Status != Warn {
		t.Errorf("vfs: %+v", got)
	}
}

// B23.
func TestQuotasAreThoseOfTheStorage(t *testing.T) {
	t.Parallel()
	for on, want := range map[[2]string]string{
		{"overlay2", "extfs"}: "none for container layers on overlay2 extfs; not",
		{"overlay2", "xfs"}:   "if xfs is mounted with pquota; not",
		{"zfs", ""}:           "for container layers; not",
		{"vfs", ""}:           "none for container layers on vfs; not",
	} {
		if got := checkQuotas(sandbox.Info{StorageDriver: on[0], BackingFilesystem: on[1]}); got.Status != OK || !strings.Contains(got.Detail, want) || !strings.Contains(got.Detail, "tmpfs") {
			t.Errorf("%v: %+v", on, got)
		}
	}
}

func TestTheDoctorSaysWhatARuntimeLacks(t *testing.T) {
	t.Parallel()
	for want, runtimes := range map[string][]string{
		"runc; boxes share the host's kernel":            {"runc"},
		"does not limit the number of files":             {"runc", "runsc"},
		"AGENT_RUNTIME=runsc-kvm gives each box its own": {"runc", "runsc-kvm"},
	} {
		if got := checkRuntimes(runtimes); got.Status != OK || !strings.Contains(got.Detail, want) {
			t.Errorf("%q: %+v", runtimes, got)
		}
	}
}

func TestTheDoctorTellsWhatBoxesReach(t *testing.T) {
	t.Parallel()
	if got := checkEgress(config.Settings{"egress.allow": {Text: "[]", Origin: "default"}}); got.Status != OK || !strings.HasPrefix(got.Detail, "none") {
		t.Errorf("nothing allowed: %+v", got)
	}
	got := checkEgress(config.Settings{"egress.allow": {Text: "a.example, b.example:1", Origin: "AGENT_EGRESS"}})
	if got.Status != OK || got.Detail != "boxes reach a.example, b.example:1: AGENT_EGRESS" {
		t.Errorf("two allowed: %+v", got)
	}
}

func TestChecksForPeople(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := command{cmdline.New(func(string) string { return "" }, nil, &out, io.Discard)}
	err := c.printChecks([]Check{
		{"engine", OK, "Docker 28.5.2", ""},
		{"runc", Warn, "1.1.5 is old", "upgrade it"},
		{"database", Miss, "no answer \x1b[2J", "start it"},
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	termtest.Golden(t, "doctor.txt", out.String())
}

// On a terminal of any width, text is broken at words and continues below its column.
func TestTheScreenOfTheDoctor(t *testing.T) {
	t.Parallel()
	checks := []Check{
		{"engine", OK, "Docker 28.5.2, API 1.51, 2 CPUs, 23.5 GiB memory", ""},
		{"runc", Warn, "1.1.5+ds1 is older than the fixes of CVE-2025-31133, CVE-2025-52565, CVE-2025-52881; CVE-2024-21626", "upgrade runc to 1.2.8, 1.3.3 or later, unless your distribution backported the fixes"},
		{"toolchain", Miss, "absent", "`agent images build` makes it, and so does the next run"},
		{"models", Warn, "no model configured; default: ollama/qwen3-coder:30b", "put a key in GEMINI_API_KEYS, or start Ollama (`ollama serve`, `ollama pull qwen3-coder:30b`); runs with a patch need neither"},
	}
	for name, term := range map[string]string{"screen-doctor.txt": "xterm", "screen-doctor-plain.txt": "dumb"} {
		termtest.Screens(t, name, 24, func(columns int) string {
			p := cmdlinetest.NewPerson(t, map[string]string{"COLUMNS": fmt.Sprint(columns), "TERM": term})
			if err := (command{p.Line}).printChecks(checks, false); err != nil {
				t.Fatal(err)
			}
			p.Sees(t, "again", 1)
			p.Sees(t, "\n", 9)
			return p.Screen()
		})
	}
}

func TestTheLastLineSaysWhetherItWorks(t *testing.T) {
	t.Parallel()
	ok, warn, miss := Check{Name: "git", Status: OK}, Check{Name: "runc", Status: Warn}, Check{Name: "engine", Status: Miss}
	for want, checks := range map[string][]Check{
		"ready: everything that a run needs is available": {ok},
		"works: with a warning about runc":                {ok, warn},
		"not ready: engine; ":                             {ok, warn, miss},
	} {
		if got := conclude(checks); !strings.HasPrefix(got, want) {
			t.Errorf("%+v: %q, want %q", checks, got, want)
		}
	}
}

// A file that is not named after a role gives its own warning; if all is well nothing is reported.
func TestTheDoctorTellsOfRolesThatAreNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if checks := checkRoles(dir, ""); len(checks) > 0 {
		t.Errorf("%+v", checks)
	}
	roles := filepath.Join(dir, ".agent", "roles")
	if err := os.MkdirAll(roles, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"workr.toml": "workr.toml in .agent/roles is ignored", "worker.toml": "worker.toml"} {
		if err := os.WriteFile(filepath.Join(roles, name), []byte("tier = "), 0o644); err != nil {
			t.Fatal(err)
		}
		checks := checkRoles(dir, "")
		if len(checks) != 1 || checks[0].Status != Warn || !strings.Contains(checks[0].Detail, want) {
			t.Errorf("%s: %+v", name, checks)
		}
		if err := os.Remove(filepath.Join(roles, name)); err != nil {
			t.Fatal(err)
		}
	}
}
