package hook

import (
	"os"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/clients"
	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/mcp"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
)

// configure adds the gate's hook to the configuration of a coding agent, or removes it. The user's configuration calls
// this program by its path. A workspace's calls agent, as each person who works there has it installed.
func (c command) configure(ctx *cli.Context, a codingAgent) error {
	if ctx.Bool("install") && ctx.Bool("uninstall") {
		return fault.Usage("omit one of them", "--install and --uninstall are mutually exclusive")
	}
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	client, known := clients.Hooking(a.id)
	if !known {
		return fault.Usage("add the line by hand: "+a.source, "the place where %s keeps its hooks is not known", a.name)
	}
	program := clients.Entry
	dir := cmdline.Resolved(set["workspace"].Text)
	f := client.ProjectFile(dir)
	if ctx.Bool("project") {
		err = cmdline.CheckDirectory(dir)
	} else if f, err = client.UserFile(c.Getenv); err == nil {
		program, err = os.Executable()
		program = quoted(program)
	}
	if err != nil {
		return fault.Usage("set HOME, or name a directory: --workspace DIR --project", "find the hooks of %s: %w", a.name, err)
	}
	change, err := client.InstallHook(f, program)
	if ctx.Bool("uninstall") {
		change, err = client.UninstallHook(f, program)
	}
	if err != nil {
		return fault.Usage("edit it by hand: "+a.source, "the hooks of %s cannot be changed: %w", a.name, err)
	}
	return mcp.Write(ctx.Context, c.Line, []clients.Change{change}, set.On("yes"), false)
}
