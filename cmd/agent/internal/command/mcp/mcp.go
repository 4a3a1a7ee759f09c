// Package mcp implements `agent mcp`, which offers the gate to coding agents through the Model Context Protocol.
package mcp

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/serve/mcp"
)

type command struct {
	*cmdline.Line
	version string
}

// tokenVariable is the name of the environment variable with the token that clients must send over HTTP.
const tokenVariable = "AGENT_MCP_TOKEN"

// Command returns the command that serves the gate to coding agents. version is the agent's own.
func Command(line *cmdline.Line, version string) *cli.Command {
	c := command{line, version}
	return &cli.Command{
		Name: "mcp", Usage: "serve the gate to coding agents (Model Context Protocol)",
		Description: "A coding agent proves its patches here, reads what the gates found, and applies what passed\n" +
			"after a person approved it. It serves one workspace, on stdin and stdout; --http serves on a\n" +
			"port of this machine, to clients that send the bearer token of " + tokenVariable + ", or the one\n" +
			"that is printed. No request can allow what is held, or reach another directory.\n\n" +
			"Tools: prove_patch, apply_run, undo, run_status, findings, history, search_symbols, users_of.\n\n" + cmdline.Examples(
			"agent mcp install claude", "Claude Code proves its patches here: writes its configuration",
			"agent mcp --apply never", "prove only; a person applies",
			"agent mcp --http 127.0.0.1:8410", "for clients that speak HTTP"),
		Flags: []cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.StringFlag{Name: "apply", Value: string(mcp.Ask), Usage: "who approves what is written: `WHO` is ask (the person at the client), never or always"},
			&cli.StringFlag{Name: "http", Usage: "serve HTTP on `ADDR` of this machine, e.g. 127.0.0.1:8410; port 0 picks a free one"},
		},
		Subcommands: c.clientCommands(),
		Action:      c.serve,
	}
}

// serve serves until the client goes away, or the process is asked to end.
func (c command) serve(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	approve := ctx.String("apply")
	if !slices.Contains(mcp.Approvals, approve) {
		return fault.Usage("use ask, never or always", "unknown value %q for --apply", approve)
	}
	dir := cmdline.Resolved(set["workspace"].Text)
	if err := cmdline.CheckDirectory(dir); err != nil {
		return err
	}
	program, err := newProgram(dir)
	if err != nil {
		return fault.Infra("start agent by its path", "find this program: %w", err)
	}
	server := mcp.New(program, mcp.Approval(approve), c.version)
	if addr := ctx.String("http"); addr != "" {
		return c.listen(ctx.Context, server, addr)
	}
	err = server.Run(ctx.Context, &sdk.IOTransport{Reader: input{c.Stdin}, Writer: output{c.Stdout}})
	if errors.Is(err, context.Canceled) {
		return nil // it was asked to end
	}
	return err
}

// listen serves over HTTP. The port is on the loopback interface: a client with the token has the user's rights here.
func (c command) listen(ctx context.Context, server *sdk.Server, addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); err != nil || host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fault.Usage("use e.g. 127.0.0.1:8410, and an SSH tunnel to reach it from elsewhere", "--http %s is not a loopback address", addr)
	}
	token := c.Getenv(tokenVariable)
	if token == "" {
		token = rand.Text()
		fmt.Fprintf(c.Stderr, "agent: the token is %s; %s sets one\n", token, tokenVariable)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fault.Infra("choose another port, or 0 for a free one", "%w", err)
	}
	fmt.Fprintf(c.Stderr, "agent: serving http://%s%s, Ctrl-C ends it\n", listener.Addr(), mcp.Path)
	served := &http.Server{Handler: mcp.Handler(server, token), ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- served.Serve(listener) }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = errors.Join(served.Close(), <-ended)
	}
	if errors.Is(err, http.ErrServerClosed) || err == nil {
		return nil
	}
	return fault.Infra("run it again", "serve HTTP: %w", err)
}

// environment returns the environment of a command: this process's, with its own workspace and without anyone's yes.
func environment(all []string, dir string) []string {
	kept := slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"AGENT_WORKSPACE", "AGENT_YES", "AGENT_JSON", tokenVariable}, name)
	})
	return append(kept, "AGENT_WORKSPACE="+dir)
}
