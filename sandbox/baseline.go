package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/container"
)

// These constants describe the box as its processes see it.
const (
	guestProgram = "/agent/guest"
	// boxHost is the host name. Any machine calls itself that, and unlike other names it resolves without a network.
	boxHost     = "localhost"
	inodesOfTmp = 30_000
	// Each box runs as one of the users from firstUser on, so that no program recognises a box by its user. The
	// toolchain image has names for them. No host has these users, so a box shares no resource that the kernel counts
	// by user, such as file watches, with the host.
	firstUser = 20_000
	users     = 1_000
)

// newUser draws the user and group of a box at random.
func newUser() string {
	var drawn [8]byte
	rand.Read(drawn[:]) // never an error: crypto/rand
	id := firstUser + binary.NativeEndian.Uint64(drawn[:])%users
	return fmt.Sprintf("%d:%d", id, id)
}

// containerConfig returns what runs in a box: the guest with its two streams, whatever the image says, as a new random
// user.
func containerConfig(spec Spec, owner string) *container.Config {
	c := &container.Config{
		Image:        spec.Image,
		Hostname:     boxHost,
		User:         newUser(),
		Entrypoint:   []string{guestProgram},
		Cmd:          []string{},
		WorkingDir:   "/",
		AttachStdin:  true,
		AttachStdout: true,
		AttachStderr: true,
		OpenStdin:    true,
		StdinOnce:    spec.Keep == "", // the guest's input ends with the connection of the host
		StopSignal:   "SIGKILL",       // no gentler signal reaches the guest
		Healthcheck:  &container.HealthConfig{Test: []string{"NONE"}},
		Labels: map[string]string{
			labelRun:     spec.Run,
			labelOwner:   owner,
			labelLease:   strconv.FormatInt(spec.Lease.Unix(), 10),
			labelPurpose: spec.Purpose,
		},
	}
	if spec.Keep != "" { // the name of the container says who has it
		c.Labels[labelKeep], c.Labels[labelOwner] = spec.Keep, ""
	}
	return c
}

// hostConfig returns the hardening baseline: what a box may do and use, with in-memory file systems that belong to
// user.
func hostConfig(l Limits, runtime, seccomp, user string) *container.HostConfig {
	no := false
	return &container.HostConfig{
		Runtime:        runtime,
		NetworkMode:    "none",
		IpcMode:        "none",
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges", "seccomp=" + seccomp},
		ReadonlyRootfs: true,
		MaskedPaths: []string{
			"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
			"/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats",
			"/sys/devices/virtual/powercap", "/sys/firmware",
		},
		ReadonlyPaths: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		RestartPolicy: container.RestartPolicy{Name: container.RestartPolicyDisabled},
		// The output of programs goes through the guest, so a log would only fill the disk.
		LogConfig: container.LogConfig{Type: "none"},
		Init:      &no,
		Tmpfs: map[string]string{
			"/work": tmpfs(user, l.Work, l.Inodes, "exec", "0755"),
			// Test suites build and start programs in the temporary directory; /work allows that anyway.
			"/tmp": tmpfs(user, l.Tmp, inodesOfTmp, "exec", "0700"),
			// POSIX semaphores and shared memory live here, and Python's multiprocessing needs them.
			"/dev/shm": tmpfs(user, l.Tmp, inodesOfTmp, "noexec", "0700"),
		},
		Resources: container.Resources{
			Memory:     l.Memory,
			MemorySwap: l.Memory, // memory and swap together, so there is no swap
			NanoCPUs:   int64(l.CPUs * 1e9),
			PidsLimit:  &l.PIDs,
			Ulimits: []*container.Ulimit{
				{Name: "core", Soft: 0, Hard: 0},
				{Name: "fsize", Soft: l.MaxFile, Hard: l.MaxFile},
				{Name: "nofile", Soft: 1024, Hard: 1024},
			},
		},
	}
}

// leaveNetworking lets a box do without the engine's networking if its runtime is runc, which brings up the loopback by
// itself (setupNetwork in libcontainer's init_linux.go). gVisor's runtime instead takes over whatever is up. For its
// networking, Docker 20 starts its own program twice for each container, half of a container's cost, and tells the box
// where the machine's name servers are. NetworkMode "none" holds either way; the guest answers what localhost is.
func (e *Engine) leaveNetworking(ctx context.Context, config *container.Config, host *container.HostConfig) error {
	runtime := host.Runtime
	if runtime == "" {
		runtime, _ = e.chosen.Load().(string)
	}
	if runtime == "" {
		sys, err := e.api.Info(ctx)
		if err != nil {
			return e.wrap("ask the engine about itself", err)
		}
		runtime = sys.DefaultRuntime
		e.chosen.Store(runtime)
	}
	if runtime == "runc" || runtime == "io.containerd.runc.v2" {
		config.NetworkDisabled = true
		// The guest serves the DNS port. Most engines set this by themselves.
		host.Sysctls = map[string]string{"net.ipv4.ip_unprivileged_port_start": "0"}
	}
	return nil
}

// tmpfs returns the mount options of an in-memory file system that belongs to the box's user.
func tmpfs(user string, bytes, inodes int64, exec, mode string) string {
	uid, gid, _ := strings.Cut(user, ":")
	return fmt.Sprintf("rw,nosuid,nodev,%s,size=%d,nr_inodes=%d,uid=%s,gid=%s,mode=%s", exec, bytes, inodes, uid, gid, mode)
}

// engineChoices returns the settings that a box leaves to the engine, because they do not widen what it may do.
func engineChoices() []string {
	return []string{
		"CgroupnsMode",   // host with control groups version 1, private with 2
		"ConsoleSize",    // set by newer engines, meaningless without a terminal
		"Isolation",      // Windows
		"OomKillDisable", // null or false; deviations checks for true separately
		"ShmSize",        // a default that IpcMode none leaves unused
	}
}

// deviations compares a created container with what was asked for and describes each difference in a sentence. An
// engine that ignores a limit, for lack of kernel support or by its configuration, must not run a box.
func deviations(wantConfig *container.Config, want *container.HostConfig, got container.InspectResponse) ([]string, error) {
	if got.ContainerJSONBase == nil || got.HostConfig == nil || got.Config == nil {
		return []string{"the engine does not report the container's settings"}, nil
	}
	wanted, err := settings(want)
	if err != nil {
		return nil, err
	}
	found, err := settings(got.HostConfig)
	if err != nil {
		return nil, err
	}
	var diffs []string
	keys := maps.Clone(wanted)
	maps.Copy(keys, found)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if slices.Contains(engineChoices(), key) || key == "Runtime" && want.Runtime == "" {
			continue
		}
		if !reflect.DeepEqual(wanted[key], found[key]) {
			diffs = append(diffs, fmt.Sprintf("%s is %.200s, not %.200s", key, compact(found[key]), compact(wanted[key])))
		}
	}
	if disabled := got.HostConfig.OomKillDisable; disabled != nil && *disabled {
		diffs = append(diffs, "OomKillDisable is true")
	}
	for _, m := range got.Mounts {
		if m.Type != "tmpfs" { // a VOLUME in the image makes one that outlives the box
			diffs = append(diffs, fmt.Sprintf("%s is mounted at %s", m.Type, m.Destination))
		}
	}
	c := got.Config
	if c.User != wantConfig.User || !slices.Equal(c.Entrypoint, wantConfig.Entrypoint) || len(c.Cmd) != 0 ||
		!c.OpenStdin || c.StdinOnce != wantConfig.StdinOnce || c.Tty || c.WorkingDir != wantConfig.WorkingDir {
		diffs = append(diffs, fmt.Sprintf("it runs %q %q as %q in %q", c.Entrypoint, c.Cmd, c.User, c.WorkingDir))
	}
	return diffs, nil
}

// settings returns the fields of a configuration by name. It omits empty values of all kinds, because engines of
// different versions write them differently.
func settings(config *container.HostConfig) (map[string]any, error) {
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encode the container's settings: %w", err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("decode the container's settings: %w", err)
	}
	return pruned(fields), nil
}

// pruned returns a JSON object without its empty values.
func pruned(object map[string]any) map[string]any {
	for name, value := range object {
		if nested, ok := value.(map[string]any); ok {
			value = pruned(nested)
		}
		if isEmpty(value) {
			delete(object, name)
		}
	}
	return object
}

// isEmpty reports whether a JSON value is null, false, zero, "" or a container of nothing else.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isEmpty(e) })
	}
	return reflect.ValueOf(value).IsZero()
}

// compact formats a setting for an error message.
func compact(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
