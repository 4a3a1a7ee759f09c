// Package mcp serves the gate to coding agents by the Model Context Protocol (modelcontextprotocol.io): agents can prove a patch,
// apply or undo a proven run, and query the record and the symbols of the workspace. It owns the tools, their answers and who
// approves. The agent's own commands do the work, each in a process of its own, so that command-line rules hold here too. It
// serves one workspace, which no request can change, and no request can allow what is held.
package mcp

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Program runs a command of the agent with args and with stdin as its input. It passes each line that the command
// writes to standard error to progress. The end of ctx cancels the command, which then ends as if interrupted. An error
// only means that the command could not be started.
type Program interface {
	Run(ctx context.Context, args []string, stdin string, progress func(line string)) (Ended, error)
}

// Ended says how a command ended: its exit status, its standard output, and the end of its standard error.
type Ended struct {
	Exit           int
	Stdout, Stderr string
}

// Approval says who may approve that a run is applied or undone.
type Approval string

// The approvals.
const (
	Ask    Approval = "ask"    // the person at the client, through elicitation
	Never  Approval = "never"  // no one: a person does it on a command line
	Always Approval = "always" // the user who started the server, once for all runs
)

// Approvals lists all of them.
var Approvals = []string{string(Ask), string(Never), string(Always)}

// instructions tell a model how to use the tools.
const instructions = `Every change of this workspace goes through a gate. Do not edit its files: send each change to prove_patch, as a unified diff, SEARCH/REPLACE
blocks or whole files. It is applied in a throwaway container, where format, lint, type checks, a smoke test and the workspace's tests run; the workspace stays as it is. When the verdict
is "fail", read the findings, fix the patch and prove the whole of it again: it always starts from the workspace as it is. "policy" means that a person must decide: say so and
stop. "infra" is not the patch's fault: do not change the patch for it. Only when the verdict is "pass" and the user wants the change, call apply_run. Never say that a change works before it passed.`

// A server is what the tools share.
type server struct {
	program   Program
	approve   Approval
	questions *questions
}

// New returns a server of the protocol whose tools run program. version is the agent's own.
func New(program Program, approve Approval, version string) *sdk.Server {
	s := &server{program, approve, &questions{asked: map[string]string{}}}
	// Without Capabilities the library would advertise logging.
	made := sdk.NewServer(&sdk.Implementation{Name: "agent", Title: "agent, the gate between models and a working tree", Version: version},
		&sdk.ServerOptions{Instructions: instructions, Capabilities: &sdk.ServerCapabilities{}})
	s.addTools(made)
	s.addResources(made)
	return made
}

// run runs a command and reports each line of progress to the client, if the client asked for that.
func (s *server) run(ctx context.Context, req *sdk.CallToolRequest, stdin string, args ...string) (Ended, error) {
	steps := 0.0
	progress := func(string) {}
	if token := req.Params.GetProgressToken(); token != nil {
		progress = func(line string) {
			steps++
			// A client that has gone needs no report; its call is cancelled.
			_ = req.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Message: line, Progress: steps})
		}
	}
	ended, err := s.program.Run(ctx, args, stdin, progress)
	if err != nil {
		return ended, fmt.Errorf("run agent %s: %w", args[0], err)
	}
	return ended, ctx.Err()
}
