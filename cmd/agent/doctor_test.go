package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/run"
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
		if (got.Status == checkOK) != (open == nil) || (got.Cure == "") != (open == nil) {
			t.Errorf("runc %s: %+v", version, got)
		}
	}
	if got := checkRunc("unknown"); got.Status != checkWarn || got.Cure == "" {
		t.Errorf("a version that is not known: %+v", got)
	}
}

func TestLittleSpaceIsToldBeforeItIsGone(t *testing.T) {
	t.Parallel()
	for free, want := range map[int64]string{100 << 20: checkMiss, 2 << 30: checkWarn, 50 << 30: checkOK, -1: checkOK} {
		got := checkStorage(sandbox.Info{StorageDriver: "overlay2", FreeBytes: free, Root: "/var/lib/docker"})
		if got.Status != want || (want != checkOK) != (got.Cure != "") {
			t.Errorf("%d bytes free: %+v, want %s", free, got, want)
		}
	}
	if got := checkStorage(sandbox.Info{StorageDriver: "vfs", FreeBytes: 50 << 30}); got.Status != checkWarn {
		t.Errorf("vfs: %+v", got)
	}
}

// B23.
func TestQuotasAreThoseOfTheStorage(t *testing.T) {
	t.Parallel()
	for on, want := range map[[2]string]string{
		{"overlay2", "extfs"}: "none for the layers of containers on overlay2 extfs; not",
		{"overlay2", "xfs"}:   "where xfs is mounted with pquota; not",
		{"zfs", ""}:           "for the layers of containers; not",
		{"vfs", ""}:           "none for the layers of containers on vfs; not",
	} {
		if got := checkQuotas(sandbox.Info{StorageDriver: on[0], BackingFilesystem: on[1]}); got.Status != checkOK || !strings.Contains(got.Detail, want) || !strings.Contains(got.Detail, "tmpfs") {
			t.Errorf("%v: %+v", on, got)
		}
	}
}

func TestTheDoctorSaysWhatARuntimeLacks(t *testing.T) {
	t.Parallel()
	for want, runtimes := range map[string][]string{
		"runc; boxes share the host's kernel":          {"runc"},
		"does not limit the number of files":           {"runc", "runsc"},
		"AGENT_RUNTIME=runsc-kvm gives boxes a kernel": {"runc", "runsc-kvm"},
	} {
		if got := checkRuntimes(runtimes); got.Status != checkOK || !strings.Contains(got.Detail, want) {
			t.Errorf("%q: %+v", runtimes, got)
		}
	}
}

func TestTheDoctorNamesWhatIsMissingWithItsCure(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nonexistent.sock")
	got := commandIn(t, map[string]string{"AGENT_GUEST": filepath.Join(t.TempDir(), "absent")}, "doctor", "--json")
	if got.exit != run.ExitInfra {
		t.Errorf("exit %d, want 3", got.exit)
	}
	var checks []check
	if err := json.Unmarshal([]byte(got.stdout), &checks); err != nil {
		t.Fatal(err)
	}
	missing := 0
	for _, ch := range checks {
		if ch.Status == checkMiss {
			missing++
			if ch.Cure == "" {
				t.Errorf("%s has no cure", ch.Name)
			}
		}
	}
	if missing != 2 {
		t.Errorf("%d things are missing, want guest and engine: %+v", missing, checks)
	}
}

func TestTheDoctorFindsThisMachineFit(t *testing.T) {
	t.Parallel()
	got := commandIn(t, map[string]string{"AGENT_GUEST": os.Getenv("AGENT_GUEST")}, "doctor")
	if got.exit != run.ExitDone {
		t.Errorf("exit %d; if no engine answers, run `make setup`\n%s", got.exit, got.stdout)
	}
	for _, name := range []string{"guest", "engine", "runc", "storage", "quotas", "toolchain", "postgres", "database"} {
		if !strings.Contains(got.stdout, " "+name+" ") {
			t.Errorf("nothing is said about %s:\n%s", name, got.stdout)
		}
	}
}

func TestAnAgentWithoutItsGuestSaysSo(t *testing.T) {
	t.Parallel()
	// The test binary embeds whatever guestbin holds, so the answer is told by
	// whether it is there.
	_, err := newCmdline(func(string) string { return "" }, nil, nil, nil).guest()
	if _, missing := os.Stat("guestbin/guest"); missing == nil {
		if err != nil {
			t.Errorf("the guest is embedded: %v", err)
		}
		return
	}
	if p, exit := fault.Classify(t.Context(), err); exit != run.ExitInfra || !strings.Contains(p.Next, "make build") {
		t.Errorf("exit %d, %+v", exit, p)
	}
}

func TestTheDoctorTellsWhatBoxesReach(t *testing.T) {
	t.Parallel()
	if got := checkEgress(config.Settings{"egress.allow": {Text: "[]", Origin: "default"}}); got.Status != checkOK || !strings.HasPrefix(got.Detail, "none") {
		t.Errorf("nothing allowed: %+v", got)
	}
	got := checkEgress(config.Settings{"egress.allow": {Text: "a.example, b.example:1", Origin: "AGENT_EGRESS"}})
	if got.Status != checkOK || got.Detail != "boxes reach a.example, b.example:1: AGENT_EGRESS" {
		t.Errorf("two allowed: %+v", got)
	}
}
