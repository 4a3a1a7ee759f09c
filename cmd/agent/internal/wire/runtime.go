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

// The runtime that gives each box a kernel of its own, and the word for it where the
// engine has it.
const (
	runsc       = "runsc"
	autoRuntime = "auto"
)

// Settle fits a configuration to the engine: boxes leave programs what its machine has for
// them, and the runtime that is asked for is one that it has, with its name in place of "auto". That
// this one is not there is said on told: whoever wants to be sure names it.
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
