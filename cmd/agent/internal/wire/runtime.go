package wire

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"agent/cmd/agent/internal/fault"
	"agent/sandbox"
	"agent/verify"
)

// The runtime that gives each box a kernel of its own, and the word that asks for it if the engine has it.
const (
	runsc       = "runsc"
	autoRuntime = "auto"
)

// Settle fits a configuration to the engine: boxes leave to programs what its machine has for them, and the requested
// runtime must be one that the engine has. Settle replaces "auto" with its name; if the engine lacks it, Settle only
// says so on told. To insist on it, the user names it.
func (s *Session) Settle(ctx context.Context, config *verify.Config, told io.Writer) error {
	info, err := s.Engine.Info(ctx)
	if err != nil {
		return err
	}
	config.Limits.Programs = sandbox.ForPrograms(info.Memory)
	if config.Runtime == "" {
		return nil
	}
	wanted := config.Runtime
	if wanted == autoRuntime {
		wanted = runsc
	}
	switch {
	case slices.Contains(info.Runtimes, wanted):
		config.Runtime = wanted
	case config.Runtime == autoRuntime:
		config.Runtime = ""
		fmt.Fprintln(told, "agent: the engine has no runtime runsc: boxes share the host's kernel; `agent doctor` says how to add it")
	default:
		return fault.Infra("register it with the engine as `agent doctor` says, or change runtime (AGENT_RUNTIME)",
			"the engine has no runtime %q, only %s", wanted, strings.Join(info.Runtimes, ", "))
	}
	return nil
}
