package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"agent/cmd/agent/internal/config"
	"agent/images"
	"agent/sandbox"
	"agent/sandbox/guest"
)

// A probe asks a box what it keeps: a script for /bin/sh, what its output must be, and what that means. Any other
// output is a hole of this machine.
type probe struct{ name, script, want, keeps, cure string }

// probes run in one box of the toolchain's image. The fields of /proc/self/status are described in proc(5).
var probes = []probe{
	{"capabilities", `grep -E '^Cap(Prm|Eff|Bnd|Amb):' /proc/self/status | tr -s '\t\n' ' '`, `^CapPrm: 0+ CapEff: 0+ CapBnd: 0+ CapAmb: 0+ $`, "a box has none", "report this: a box must not have any"},
	{"privileges", `grep NoNewPrivs /proc/self/status | cut -f2`, `^1\n$`, "no program can gain any, not even by a file's set-user-ID bit", "make sure that the engine supports no-new-privileges"},
	{"system calls", `grep '^Seccomp:' /proc/self/status | cut -f2`, `^2\n$`, "filtered by the agent's own list", "use a kernel with CONFIG_SECCOMP_FILTER, and an engine that supports seccomp profiles"},
	{"user", `id -u`, `^20\d{3}\n$`, "a random one for each box, not a user of this machine", "report this: a box must not be root"},
	{"user namespaces", `unshare -Ur true 2>/dev/null && echo made`, `^$`, "a program cannot create one, so it cannot reach the kernel code that they open up", "report this: the system call filter lets a program create one"},
	{"root directory", `touch /probe 2>/dev/null && echo written; true`, `^$`, "read-only; /work, /tmp and /dev/shm are in memory", "report this: the box's root must be read-only"},
	{"network", `tail -n +3 /proc/net/dev | grep -v '^ *lo:'; true`, `^$`, "only the loopback", "report this: a box must have no network"},
	{"first process", `cat /proc/1/mem /proc/1/environ 2>/dev/null | head -c 1; true`, `^$`, "no program can read or write its memory", "report this: the first process must not be dumpable"},
	{"memory", `sh -c ': >/proc/self/comm' 2>/dev/null && echo written; true`, `^$`, "no program can write its own or another's memory through /proc", "use a kernel with Landlock (5.19 or newer, and `landlock` in /sys/kernel/security/lsm)"},
	{"processes", `ls /proc | grep -c '^[0-9]'`, `^[1-9]\n$`, "a box sees only its own", "report this: a box must have its own processes"},
}

// examineSecurity reports what this machine's boxes keep and what they do not. All but the first lines were seen in a box.
func examineSecurity(ctx context.Context, set config.Settings, engine *sandbox.Engine, builder *images.Builder) []Check {
	info, err := engine.Info(ctx)
	if err != nil {
		return []Check{missing(ctx, "engine", err)}
	}
	runtime := boxRuntime(set["runtime"].Text, info.Runtimes)
	checks := []Check{checkMode(info), checkRunc(info.RuncVersion), checkKernel(info, runtime), checkModules(info)}
	checks = append(checks, probeBox(ctx, engine, builder, runtime)...)
	return append(checks, Check{
		"not kept", OK, "what the tests' own process does to its runner is watched by the gate's own tests, but not prevented; time and " +
			"the processor's caches are shared with the machine", "",
	})
}

// boxRuntime returns the runtime that boxes are started with, "" for the engine's own.
func boxRuntime(wanted string, has []string) string {
	if wanted != "auto" {
		return wanted
	}
	if slices.Contains(has, "runsc") {
		return "runsc"
	}
	return ""
}

// checkMode says whose rights a program would have if it escaped from a box.
func checkMode(info sandbox.Info) Check {
	switch {
	case slices.Contains(info.Security, "rootless"):
		return Check{"engine", OK, "rootless: a program that escapes a box has only the rights of the engine's user", ""}
	case slices.Contains(info.Security, "userns"):
		return Check{"engine", OK, "user namespaces: root in a container is not a user of the machine", ""}
	}
	return Check{"engine", OK, "runs as root; a box never does: a program that escapes from a box is a user that the machine does not know. " +
		"User namespaces (userns-remap) would add another wall", ""}
}

// checkKernel says which kernel the programs of a box talk to.
func checkKernel(info sandbox.Info, runtime string) Check {
	if strings.Contains(runtime, "runsc") {
		return Check{"kernel", OK, "gVisor's (" + runtime + "), over " + info.KernelVersion, ""}
	}
	return Check{
		"kernel", Warn, info.KernelVersion + ", shared with the machine: a hole in it is a hole in every box",
		"keep it up to date; to give each box its own kernel, install gVisor's runsc and set AGENT_RUNTIME=runsc",
	}
}

// modulesFile lists the kernel's security modules if the engine is on this machine; see LSM in the kernel's documentation.
const modulesFile = "/sys/kernel/security/lsm"

// checkModules names the security modules that complement the filter of system calls.
func checkModules(info sandbox.Info) Check {
	var has []string
	for _, name := range []string{"apparmor", "selinux"} {
		if slices.Contains(info.Security, name) {
			has = append(has, name+" on containers")
		}
	}
	if list, err := os.ReadFile(modulesFile); err == nil && info.FreeBytes >= 0 { // on this machine
		if slices.Contains(strings.Split(strings.TrimSpace(string(list)), ","), "landlock") {
			has = append(has, "Landlock, which confines every program in a box")
		}
	}
	if has == nil {
		return Check{"modules", OK, "neither AppArmor nor SELinux; boxes do not rely on them", ""}
	}
	return Check{"modules", OK, strings.Join(has, ", "), ""}
}

// probeTime bounds how long a probe may take.
const probeTime = 10 * time.Second

// probeBox starts a box and runs the probes in it. Before it runs, its limits and walls are read back from the engine and compared.
func probeBox(ctx context.Context, engine *sandbox.Engine, builder *images.Builder, runtime string) []Check {
	img, err := builder.Find(ctx, images.Toolchain)
	if errors.Is(err, images.ErrAbsent) {
		return []Check{{"box", Miss, "not checked: the toolchain image is not built", "`agent images build`"}}
	}
	if err != nil {
		return []Check{missing(ctx, "box", err)}
	}
	box, err := engine.Start(ctx, sandbox.Spec{Image: img.ID, Purpose: "doctor", Lease: time.Now().Add(time.Minute), Runtime: runtime})
	if err != nil {
		return []Check{missing(ctx, "box", err)}
	}
	checks := []Check{{"box", OK, "started; the engine enforces every wall and limit that was requested", ""}}
	for _, p := range probes {
		res, err := box.Run(ctx, guest.Command{Args: []string{"/bin/sh", "-c", p.script}, Timeout: probeTime})
		if err != nil {
			checks = append(checks, missing(ctx, p.name, err))
			break
		}
		checks = append(checks, p.judge(res))
	}
	if err := box.Close(); err != nil {
		checks = append(checks, missing(ctx, "box", err))
	}
	return checks
}

// judge compares the output of a box with what it must be. A probe that did not finish says nothing.
func (p probe) judge(res guest.Result) Check {
	said := string(res.Stdout.Bytes())
	switch {
	case res.TimedOut || res.Killed || res.Signal != "":
		return Check{p.name, Miss, "the check did not finish in the box", "run it again; `agent doctor` checks the engine"}
	case !regexp.MustCompile(p.want).MatchString(said):
		return Check{p.name, Miss, fmt.Sprintf("not enforced: a box answers %q", said), p.cure}
	}
	return Check{p.name, OK, p.keeps, ""}
}
