package sandbox

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/moby/profiles/seccomp"
	"github.com/opencontainers/runtime-spec/specs-go"
)

// forbiddenCalls returns system calls that Docker's own profile allows and no box needs.
func forbiddenCalls() []string {
	return []string{
		"socketcall", // the filter cannot see its address family
		"ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd",
		"io_uring_setup", "io_uring_enter", "io_uring_register",
		"prlimit64", // allowed again below, for the caller itself only
	}
}

// seccompProfile returns the boxes' system call filter as JSON: Docker's current default profile, further narrowed. It
// replaces the profile that the engine was built with (the one of 20.10 lets AF_VSOCK and io_uring through).
func seccompProfile() (string, error) {
	profile := seccomp.DefaultProfile()
	forbidden := forbiddenCalls()
	for _, rule := range profile.Syscalls {
		rule.Names = slices.DeleteFunc(slices.Clone(rule.Names), func(name string) bool {
			return slices.Contains(forbidden, name)
		})
	}
	profile.Syscalls = slices.DeleteFunc(profile.Syscalls, func(rule *seccomp.Syscall) bool {
		return len(rule.Names) == 0
	})
	// Otherwise a process could starve another of the same user, such as the guest, of files or memory.
	profile.Syscalls = append(profile.Syscalls, &seccomp.Syscall{LinuxSyscall: specs.LinuxSyscall{
		Names:  []string{"prlimit64"},
		Action: specs.ActAllow,
		Args:   []specs.LinuxSeccompArg{{Index: 0, Value: 0, Op: specs.OpEqualTo}},
	}})
	// The 32-bit ABIs have system calls of their own that the rules above do not see.
	for i := range profile.ArchMap {
		profile.ArchMap[i].SubArches = nil
	}
	text, err := json.Marshal(profile)
	if err != nil {
		return "", fmt.Errorf("encode the seccomp profile: %w", err)
	}
	return string(text), nil
}
