// Package initialize implements `agent init`, the guided first run. It asks for a model and its key, checks the
// answers, and writes the user's configuration and a first agent.toml.
package initialize

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/sandbox"
)

type command struct{ *cmdline.Line }

// Command returns the command that sets up the agent for a user and a workspace.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "init", Usage: "set up engine, model and workspace, step by step",
		Description: "Looks for an engine, asks for a model and its key, tests them, and writes your configuration,\n" +
			"which only you can read. Then it proposes an agent.toml that fits the workspace. No file is\n" +
			"replaced without a question, and no key is written to a workspace. With --yes nothing is\n" +
			"asked: --model is written, keys stay in the environment, and existing files stay.\n\n" + cmdline.Examples(
			"agent init", "before the first run",
			"agent init --yes --model ollama/qwen2.5-coder", "the same in a script"),
		Flags:  []cli.Flag{cmdline.WorkspaceFlag(), cmdline.ModelFlag(), cmdline.YesFlag("ask nothing; use the given values and the defaults")},
		Action: c.initialize,
	}
}

// initialize carries out the steps in order.
func (c command) initialize(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	asks := !set.On("yes")
	if asks && !c.Attended() {
		return fault.Policy("re-run with --yes or in a terminal", "agent init asks questions, and there is no terminal")
	}
	root, err := filepath.EvalSymlinks(set["workspace"].Text)
	if err == nil {
		root, err = filepath.Abs(root)
	}
	if err != nil {
		return fault.Usage("name a directory with --workspace", "%w", err)
	}
	engine := c.lookForEngine(ctx.Context)
	err = c.configureUser(ctx.Context, set, root, asks)
	if err == nil {
		err = c.configureWorkspace(ctx.Context, root, asks)
	}
	if err != nil {
		return err
	}
	next := "next: `agent sandbox run --patch FILE`, and `agent help` for the rest"
	if !engine {
		next = "next: start an engine, then `agent doctor`"
	}
	fmt.Fprintln(c.Stdout, next)
	return nil
}

// sockets returns the sockets of engines on this machine that Docker's own programs find through a context, such as
// Docker Desktop's and colima's.
func sockets(getenv func(string) string) []string {
	home, list := getenv("HOME"), []string{}
	if home != "" {
		for _, s := range []string{".docker/run/docker.sock", ".docker/desktop/docker.sock", ".colima/default/docker.sock", ".orbstack/run/docker.sock"} {
			list = append(list, filepath.Join(home, s))
		}
	}
	if dir := getenv("XDG_RUNTIME_DIR"); dir != "" {
		list = append(list, filepath.Join(dir, "docker.sock"))
	}
	return list
}

// lookForEngine reports whether an engine answers, and says what to do if none does.
func (c command) lookForEngine(ctx context.Context) bool {
	engine, err := sandbox.Connect(ctx)
	if err == nil {
		defer engine.Close() // idle connections: nothing to lose
		var info sandbox.Info
		if info, err = engine.Info(ctx); err == nil {
			fmt.Fprintf(c.Stdout, "engine: Docker %s\n", info.Version)
			return true
		}
	}
	p, _ := fault.Classify(ctx, err)
	fmt.Fprintf(c.Stdout, "engine: %s\n", p.Message)
	for _, socket := range sockets(c.Getenv) {
		if info, err := os.Stat(socket); err == nil && info.Mode()&os.ModeSocket != 0 {
			fmt.Fprintf(c.Stdout, "  → one may listen at %s: add this to your shell's profile: export DOCKER_HOST=unix://%s\n", socket, socket)
			return false
		}
	}
	fmt.Fprintf(c.Stdout, "  → %s\n", p.Next)
	return false
}

// configureUser writes the user's configuration.
func (c command) configureUser(ctx context.Context, set config.Settings, root string, asks bool) error {
	file := config.UserPath(c.Getenv)
	if file == "" {
		return fault.Usage("set HOME or XDG_CONFIG_HOME", "there is no directory for your configuration")
	}
	if inside(file, root) {
		return fault.Usage("set XDG_CONFIG_HOME to a directory outside of it", "your configuration, and the keys in it, would be in the workspace: %s", file)
	}
	if _, err := os.Lstat(file); err == nil {
		replace := false
		if asks {
			if replace, err = c.yes(ctx, "Replace "+file+"? Its content is kept in "+filepath.Base(file)+".old."); err != nil {
				return ended(ctx, err)
			}
		}
		if !replace {
			fmt.Fprintf(c.Stdout, "configuration: %s stays as it is\n", file)
			return nil
		}
	}
	values := map[string]any{}
	if asks {
		var err error
		if values, err = c.askModel(ctx); err != nil {
			return ended(ctx, err)
		}
	} else if set["model"].Origin == "--model" {
		values["model"] = config.ParseList(set["model"].Text)
	}
	if len(values) == 0 {
		fmt.Fprintln(c.Stdout, "configuration: no model chosen, nothing to write; patches need none")
		return nil
	}
	data, err := config.Compose(values)
	if err != nil {
		return err
	}
	data = append([]byte("# Written by agent init. `agent config` shows all settings.\n"), data...)
	if err := write(file, data, 0o600); err != nil {
		return fault.Infra("make that directory writable", "write your configuration: %w", err)
	}
	fmt.Fprintf(c.Stdout, "configuration: %s written, readable by you alone\n", file)
	return nil
}

// configureWorkspace proposes an agent.toml if there is none.
func (c command) configureWorkspace(ctx context.Context, root string, asks bool) error {
	file := filepath.Join(root, config.FileName)
	if _, err := os.Lstat(file); err == nil {
		fmt.Fprintf(c.Stdout, "workspace: %s stays as it is\n", file)
		return nil
	}
	text, err := propose(ctx, root)
	if err != nil {
		return err
	}
	if asks {
		fmt.Fprintf(c.Stderr, "\n%s\n", text)
		write, err := c.yes(ctx, "Write this to "+file+"?")
		if err != nil {
			return ended(ctx, err)
		}
		if !write {
			fmt.Fprintln(c.Stdout, "workspace: no agent.toml written; none is needed")
			return nil
		}
	}
	// Never through a link, nor over a file that appeared meanwhile.
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fault.Infra("make the workspace writable", "write %s: %w", config.FileName, err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return fault.Infra("free space, remove the file, run again", "write %s: %w", config.FileName, err)
	}
	fmt.Fprintf(c.Stdout, "workspace: %s written\n", file)
	return nil
}

// ended returns the error for a question without an answer.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return context.Canceled
	}
	return fault.Policy("run again and answer, or use --yes", "agent init did not finish: %w", err)
}

// inside reports whether file is in the directory root, with links resolved as far as its path exists.
func inside(file, root string) bool {
	dir := filepath.Dir(file)
	for {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	return dir == root || strings.HasPrefix(dir+"/", strings.TrimSuffix(root, "/")+"/")
}

// write writes the file atomically and creates its directory. It keeps the old content under the name with .old.
func write(file string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	// A temporary file is private from the start, so that the key is never visible to others.
	next, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(next.Name()) // gone already if all went well
	_, err = next.Write(data)
	if err := errors.Join(err, next.Chmod(mode), next.Sync(), next.Close()); err != nil {
		return err
	}
	if err := os.Rename(file, file+".old"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(next.Name(), file)
}
