package sandbox

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"agent/sandbox/enginetest"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenBaseline is what the engine reports for a box with default limits.
const goldenBaseline = "testdata/baseline.golden.json"

// asked returns what Start would ask the engine for. The image needs no content, because no container of it is started.
func asked(t *testing.T) (*Engine, *container.Config, *container.HostConfig) {
	t.Helper()
	engine, err := Connect(t.Context())
	if err != nil {
		t.Fatalf("the tests need a Docker engine: %v", err)
	}
	t.Cleanup(func() { engine.Close() })
	ref := "agent-boxtest-empty:" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	if err := engine.ImportImage(t.Context(), strings.NewReader(strings.Repeat("\x00", 1024)), ref); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.RemoveImage(contextOf(t), ref); err != nil {
			t.Error(err)
		}
	})
	config := containerConfig(Spec{Image: ref, Run: "golden", Purpose: "test"}, "nobody")
	host := hostConfig(Limits{}.WithDefaults(), "", engine.seccomp, config.User)
	if err := engine.leaveNetworking(t.Context(), config, host); err != nil {
		t.Fatal(err)
	}
	return engine, config, host
}

// created makes a container as Start does, and returns what the engine reports about it.
func created(t *testing.T, change func(*container.Config, *container.HostConfig)) (*container.Config, *container.HostConfig, container.InspectResponse) {
	t.Helper()
	engine, config, host := asked(t)
	asked, askedHost := *config, *host
	if change != nil {
		change(config, host)
	}
	box, err := engine.create(t.Context(), config, host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	got, err := engine.api.ContainerInspect(t.Context(), box.id)
	if err != nil {
		t.Fatal(err)
	}
	return &asked, &askedHost, got
}

func TestTheBaselineIsAsRecorded(t *testing.T) {
	enginetest.Need(t)
	config, host, got := created(t, nil)
	diffs, err := deviations(config, host, got)
	if err != nil || len(diffs) > 0 {
		t.Errorf("the engine took other settings: %q, %v", diffs, err)
	}
	text := normalised(t, got)
	if *update {
		if err := os.WriteFile(goldenBaseline, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(goldenBaseline)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("the hardening of boxes changed (-recorded +now); when that is meant, run the test with -update:\n%s", diff)
	}
}

// normalised returns the settings that matter as JSON, without those that differ between engines and runs.
func normalised(t *testing.T, got container.InspectResponse) []byte {
	t.Helper()
	host, err := settings(got.HostConfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range append(engineChoices(), "Runtime") {
		delete(host, key)
	}
	options := host["SecurityOpt"].([]any)
	for i, option := range options {
		if profile, found := strings.CutPrefix(option.(string), "seccomp="); found {
			options[i] = fmt.Sprintf("seccomp=(SHA-256 %x)", sha256.Sum256([]byte(profile)))
		}
	}
	delete(got.Config.Labels, labelLease)
	id, group, _ := strings.Cut(got.Config.User, ":")
	if n, err := strconv.Atoi(id); err != nil || n < firstUser || n >= firstUser+users || group != id {
		t.Errorf("the user is %q", got.Config.User)
	}
	text, err := json.MarshalIndent(map[string]any{
		"HostConfig": host, "User": got.Config.User, "Entrypoint": got.Config.Entrypoint, "Cmd": got.Config.Cmd,
		"Hostname": got.Config.Hostname, "NetworkDisabled": got.Config.NetworkDisabled, "WorkingDir": got.Config.WorkingDir,
		"Labels": got.Config.Labels, "StopSignal": got.Config.StopSignal, "Mounts": got.Mounts,
		"StdinOnce": got.Config.StdinOnce, "Networks": len(got.NetworkSettings.Ports),
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return []byte(strings.NewReplacer("id="+id, "id=(drawn)", got.Config.User, "(drawn):(drawn)").Replace(string(text)) + "\n")
}

func TestUsersOfBoxesAreDrawn(t *testing.T) {
	drawn := map[string]bool{}
	for range 100 {
		drawn[newUser()] = true
	}
	if len(drawn) < 50 {
		t.Errorf("a hundred boxes have %d users", len(drawn))
	}
}

// A19, A20: a container that has more than a box may have is not started, whatever asked for it.
func TestADeviationFromTheBaselineIsNoticed(t *testing.T) {
	enginetest.Need(t)
	config, host, good := created(t, nil)
	yes, some := true, int64(0)
	for want, change := range map[string]func(*container.InspectResponse){
		"Privileged":     func(c *container.InspectResponse) { c.HostConfig.Privileged = true },
		"NetworkMode":    func(c *container.InspectResponse) { c.HostConfig.NetworkMode = "host" },
		"PidMode":        func(c *container.InspectResponse) { c.HostConfig.PidMode = "host" },
		"IpcMode":        func(c *container.InspectResponse) { c.HostConfig.IpcMode = "host" },
		"UsernsMode":     func(c *container.InspectResponse) { c.HostConfig.UsernsMode = "host" },
		"UTSMode":        func(c *container.InspectResponse) { c.HostConfig.UTSMode = "host" },
		"CapAdd":         func(c *container.InspectResponse) { c.HostConfig.CapAdd = []string{"SYS_ADMIN"} },
		"CapDrop":        func(c *container.InspectResponse) { c.HostConfig.CapDrop = nil },
		"SecurityOpt":    func(c *container.InspectResponse) { c.HostConfig.SecurityOpt = c.HostConfig.SecurityOpt[:1] },
		"ReadonlyRootfs": func(c *container.InspectResponse) { c.HostConfig.ReadonlyRootfs = false },
		"MaskedPaths":    func(c *container.InspectResponse) { c.HostConfig.MaskedPaths = nil },
		"ReadonlyPaths":  func(c *container.InspectResponse) { c.HostConfig.ReadonlyPaths = nil },
		"Binds":          func(c *container.InspectResponse) { c.HostConfig.Binds = []string{"/:/host"} },
		"Mounts":         func(c *container.InspectResponse) { c.HostConfig.Mounts = []mount.Mount{{Type: mount.TypeBind}} },
		"Devices": func(c *container.InspectResponse) {
			c.HostConfig.Devices = []container.DeviceMapping{{PathOnHost: "/dev/kvm"}}
		},
		"Tmpfs":          func(c *container.InspectResponse) { c.HostConfig.Tmpfs = map[string]string{"/work": ""} },
		"MemorySwap":     func(c *container.InspectResponse) { c.HostConfig.MemorySwap = -1 },
		"Memory":         func(c *container.InspectResponse) { c.HostConfig.Memory = 0 },
		"NanoCpus":       func(c *container.InspectResponse) { c.HostConfig.NanoCPUs = 0 },
		"PidsLimit":      func(c *container.InspectResponse) { c.HostConfig.PidsLimit = &some },
		"Ulimits":        func(c *container.InspectResponse) { c.HostConfig.Ulimits = nil },
		"LogConfig":      func(c *container.InspectResponse) { c.HostConfig.LogConfig.Type = "json-file" },
		"AutoRemove":     func(c *container.InspectResponse) { c.HostConfig.AutoRemove = true },
		"Sysctls":        func(c *container.InspectResponse) { c.HostConfig.Sysctls = map[string]string{"a": "b"} },
		"OomKillDisable": func(c *container.InspectResponse) { c.HostConfig.OomKillDisable = &yes },
		"GroupAdd":       func(c *container.InspectResponse) { c.HostConfig.GroupAdd = []string{"docker"} },
		"is mounted at /db": func(c *container.InspectResponse) {
			c.Mounts = []container.MountPoint{{Type: "volume", Destination: "/db"}}
		},
		"as \"root\"":      func(c *container.InspectResponse) { c.Config.User = "root" },
		"it runs [\"sh\"]": func(c *container.InspectResponse) { c.Config.Entrypoint = []string{"sh"} },
		"does not report":  func(c *container.InspectResponse) { c.ContainerJSONBase = nil },
	} {
		bad := clone(t, good)
		change(&bad)
		diffs, err := deviations(config, host, bad)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(diffs, func(d string) bool { return strings.Contains(d, want) }) {
			t.Errorf("%s: noticed only %q", want, diffs)
		}
	}
}

// clone copies an answer of the engine deeply.
func clone(t *testing.T, c container.InspectResponse) container.InspectResponse {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var copied container.InspectResponse
	if err := json.Unmarshal(text, &copied); err != nil {
		t.Fatal(err)
	}
	return copied
}

func TestAnImageThatWantsAVolumeIsNotRun(t *testing.T) {
	enginetest.Need(t)
	config, host, got := created(t, func(c *container.Config, _ *container.HostConfig) {
		c.Volumes = map[string]struct{}{"/db": {}}
	})
	diffs, err := deviations(config, host, got)
	if err != nil || len(diffs) != 1 || !strings.Contains(diffs[0], "volume is mounted at /db") {
		t.Errorf("noticed %q, %v", diffs, err)
	}
}

// B23: an engine without quotas refuses a size, so Start asks for none. The baseline has no size either.
func TestTheEngineHasTheQuotasThatItsStorageTells(t *testing.T) {
	enginetest.Need(t)
	engine, config, host := asked(t)
	if len(host.StorageOpt) > 0 {
		t.Errorf("a box is asked for with %v", host.StorageOpt)
	}
	info, err := engine.Info(t.Context())
	if err != nil || info.BackingFilesystem == "" && info.StorageDriver == "overlay2" {
		t.Fatalf("%+v, %v", info, err)
	}
	host.StorageOpt = map[string]string{"size": "1G"}
	box, err := engine.create(t.Context(), config, host)
	if err == nil {
		box.Close()
	}
	if may := info.BackingFilesystem != "extfs"; err == nil && !may || err != nil && !strings.Contains(err.Error(), "storage-opt") {
		t.Errorf("on %s: %v", info.BackingFilesystem, err)
	}
}

// A20.
func TestLimitsDefaultAndRefuse(t *testing.T) {
	l := Limits{}.WithDefaults()
	if err := l.check(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	if l.Memory != 1<<30+256<<20 || l.PIDs != 256 || l.CPUs != 2 || l.Inodes != 50_000 {
		t.Errorf("defaults: %+v", l)
	}
	if l := (Limits{Work: 1 << 30}).WithDefaults(); l.Memory != 2<<30 {
		t.Errorf("a large workspace gets memory of %d", l.Memory)
	}
	if l := (Limits{Programs: 3 << 30, Work: 1 << 30}).WithDefaults(); l.Memory != 4<<30 {
		t.Errorf("what is left to programs makes memory of %d", l.Memory)
	}
	for machine, want := range map[int64]int64{0: 1 << 30, 4 << 30: 1 << 30, 16 << 30: 2 << 30, 256 << 30: 4 << 30} {
		if got := ForPrograms(machine); got != want {
			t.Errorf("a machine of %d bytes leaves programs %d", machine, got)
		}
	}
	for _, l := range []Limits{{Memory: -1}, {Memory: 1}, {PIDs: -1}, {PIDs: 2}, {CPUs: -1}, {Work: -1}, {Inodes: -1}, {Tmp: -1}, {MaxFile: -1}} {
		if err := l.WithDefaults().check(); err == nil {
			t.Errorf("%+v: accepted", l)
		}
	}
}

// A01–A06.
func TestTheSeccompProfileIsNarrow(t *testing.T) {
	text, err := seccompProfile()
	if err != nil {
		t.Fatal(err)
	}
	var profile struct {
		DefaultAction string
		ArchMap       []struct{ SubArchitectures []string }
		Syscalls      []struct {
			Names  []string
			Action string
			Args   []struct{ Index, Value uint64 }
		}
	}
	if err := json.Unmarshal([]byte(text), &profile); err != nil {
		t.Fatal(err)
	}
	if profile.DefaultAction != "SCMP_ACT_ERRNO" || len(profile.Syscalls) < 10 || len(profile.ArchMap) == 0 {
		t.Errorf("default %s, %d rules", profile.DefaultAction, len(profile.Syscalls))
	}
	for _, rule := range profile.Syscalls {
		for _, name := range forbiddenCalls() {
			if slices.Contains(rule.Names, name) && len(rule.Args) == 0 {
				t.Errorf("%s is allowed", name)
			}
		}
	}
	for _, arch := range profile.ArchMap {
		if len(arch.SubArchitectures) > 0 {
			t.Errorf("calls of %v are allowed", arch.SubArchitectures)
		}
	}
	again, err := seccompProfile()
	if err != nil || again != text {
		t.Errorf("the profile differs from one call to the next: %v", err)
	}
}

// The agent sends an engine the same seccomp profile from another system as from Linux.
func TestTheProfileOfOtherSystemsIsThatOfLinux(t *testing.T) {
	const file = "seccomp_darwin.json"
	want, err := seccompProfile()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("%s is not the profile of Linux (%v): go test ./sandbox -run '^%s$' -update", file, err, t.Name())
	}
}
