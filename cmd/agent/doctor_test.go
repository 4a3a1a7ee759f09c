package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/sandbox/enginetest"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/doctor"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/run"
	"agent/orchestrator/store/storetest"
)

func TestTheDoctorNamesWhatIsMissingWithItsCure(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nonexistent.sock")
	got := commandIn(t, map[string]string{"AGENT_GUEST": filepath.Join(t.TempDir(), "absent")}, "doctor", "--json")
	if got.exit != run.ExitInfra {
		t.Errorf("exit %d, want 3", got.exit)
	}
	var checks []doctor.Check
	if err := json.Unmarshal([]byte(got.stdout), &checks); err != nil {
		t.Fatal(err)
	}
	missing := 0
	for _, ch := range checks {
		if ch.Status == doctor.Miss {
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
	enginetest.Need(t)
	// The machine's own record is not used: another program may have given it its own schema.
	_, url := storetest.New(t)
	got := commandIn(t, map[string]string{"AGENT_GUEST": os.Getenv("AGENT_GUEST"), "AGENT_DATABASE_URL": url}, "doctor")
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
	// The test binary embeds whatever guestbin holds, so the expected answer depends on whether the guest is there.
	c := cmdline.New(func(string) string { return "" }, nil, nil, nil)
	c.Programs = guestFiles
	_, err := c.Guest()
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

// The doctor starts a box on the available engine and checks the promises of boxes in it.
func TestTheDoctorAsksABoxWhatItKeeps(t *testing.T) {
	t.Parallel()
	enginetest.Need(t)
	got := commandIn(t, map[string]string{"AGENT_GUEST": os.Getenv("AGENT_GUEST")}, "doctor", "--security", "--json")
	var checks []doctor.Check
	if err := json.Unmarshal([]byte(got.stdout), &checks); err != nil {
		t.Fatalf("%v\n%s%s", err, got.stdout, got.stderr)
	}
	seen := map[string]string{}
	for _, ch := range checks {
		seen[ch.Name] = ch.Status
	}
	for _, name := range []string{"box", "capabilities", "privileges", "system calls", "user", "user namespaces", "root directory", "network", "first process", "processes"} {
		if seen[name] != doctor.OK {
			t.Errorf("%s: %q\n%s", name, seen[name], got.stdout)
		}
	}
}
