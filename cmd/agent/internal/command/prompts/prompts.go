// Package prompts implements `agent prompts`, which shows the templates of the questions to models, and who changed them.
package prompts

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/agent"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
)

type command struct{ *cmdline.Line }

// Command returns the group of commands that show, compare, change and allow prompts.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	builtIn := &cli.BoolFlag{Name: "built-in", Usage: "the built-in one, whatever is in use", DisableDefaultText: true}
	return &cli.Command{
		Name: "prompts", Usage: "show, compare or change what models are asked",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the prompts, and where each comes from",
				Description: "A prompt of the workspace (.agent/prompts/NAME.md) takes precedence over your own\n" +
					"(prompts/NAME.md next to your configuration), and your own over the built-in one. A\n" +
					"workspace's text is used only once you have allowed it: it decides what a model is told.\n\n" + cmdline.Examples("agent prompts list", "all of them"),
				Flags: []cli.Flag{cmdline.WorkspaceFlag(), cmdline.JSONFlag(cmdline.Document[[]Row]("prompts", 1))}, Action: c.list,
			},
			{
				Name: "show", Usage: "print a prompt as it is used", ArgsUsage: "NAME",
				Description: "The text is a template; see `agent context FILE` for the result.\n\n" +
					cmdline.Examples("agent prompts show IF", "the prompt of a goal", "agent prompts show system --built-in", "the built-in one"),
				Flags: []cli.Flag{cmdline.WorkspaceFlag(), builtIn}, Action: c.show,
			},
			{
				Name: "diff", Usage: "compare the prompts in use with the built-in ones", ArgsUsage: "[NAME]",
				Description: cmdline.Examples("agent prompts diff", "everything that you or the workspace changed", "agent prompts diff system", "one of them"),
				Flags:       []cli.Flag{cmdline.WorkspaceFlag()}, Action: c.diff,
			},
			{
				Name: "edit", Usage: "change your own version of a prompt in $VISUAL or $EDITOR", ArgsUsage: "NAME",
				Description: "It begins with the built-in one. If you empty the text, it is removed and the built-in one\n" +
					"is used again; a text that is not a template, or uses names that do not exist, is refused.\n\n" +
					cmdline.Examples("agent prompts edit PP", "needs a terminal"),
				Flags: []cli.Flag{cmdline.WorkspaceFlag()}, Action: c.edit,
			},
			{
				Name: "allow", Usage: "allow the prompts of a workspace, as they are now",
				Description: "They are first shown as changes to the built-in ones. A text that changes later must be\n" +
					"allowed again.\n\n" + cmdline.Examples("agent prompts allow", "asks first", "agent prompts allow --yes", "for scripts: after you have read them"),
				Flags: []cli.Flag{cmdline.WorkspaceFlag(), cmdline.YesFlag("allow them without asking")}, Action: c.allow,
			},
		},
	}
}

// A Row is a prompt as `prompts list --json` prints it.
type Row struct {
	Name   agent.Purpose `json:"name"`
	About  string        `json:"about"`
	Source string        `json:"source"` // "workspace", "user" or "built in"
	// Allowed is false for a text of a workspace that is not used until its user allows it.
	Allowed bool   `json:"allowed"`
	Bytes   int    `json:"bytes"`
	SHA256  string `json:"sha256"`
}

// sources names the origins of prompts, by layer.
var sources = map[int]string{wire.OfWorkspace: "workspace", wire.OfUser: "user", agent.BuiltIn: "built in"}

// loaded returns the prompts of a workspace.
func (c command) loaded(ctx *cli.Context) (p *agent.Prompts, home string, set config.Settings, err error) {
	if set, err = config.Load(ctx, c.Getenv); err != nil {
		return nil, "", nil, err
	}
	dir := set["workspace"].Text
	if err := cmdline.CheckDirectory(dir); err != nil {
		return nil, "", nil, err
	}
	home = config.UserPath(c.Getenv)
	p, err = wire.LoadPrompts(dir, home)
	return p, home, set, err
}

// list prints all prompts.
func (c command) list(ctx *cli.Context) error {
	p, home, set, err := c.loaded(ctx)
	if err != nil {
		return err
	}
	left, err := wire.Unallowed(p, home)
	if err != nil {
		return err
	}
	rows := []Row{}
	for _, s := range p.Sources() {
		open := slices.ContainsFunc(left, func(u agent.Source) bool { return u.Name == s.Name })
		rows = append(rows, Row{s.Name, s.Name.Describe(), sources[s.Layer], !open, len(s.Text), s.SHA256()})
	}
	if set.On("json") {
		return term.PrintJSON(c.Stdout, rows)
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		for _, r := range rows {
			from := r.Source
			if !r.Allowed {
				from += ", not allowed"
			}
			fmt.Fprintf(w, "%-15s %-22s %s\n", r.Name, from, r.About)
		}
		return nil
	})
}

// named returns the prompt that an argument names.
func (c command) named(ctx *cli.Context) (s agent.Source, builtIn string, home string, err error) {
	p, home, _, err := c.loaded(ctx)
	if err != nil {
		return s, "", "", err
	}
	name := agent.Purpose(strings.TrimSuffix(ctx.Args().First(), ".md"))
	builtIn, ok := agent.BuiltInText(name)
	if !ok || ctx.NArg() != 1 {
		return s, "", "", fault.Usage("`agent prompts list` shows their names", "name one prompt")
	}
	all := p.Sources()
	return all[slices.IndexFunc(all, func(s agent.Source) bool { return s.Name == name })], builtIn, home, nil
}

// show prints one prompt.
func (c command) show(ctx *cli.Context) error {
	s, text, _, err := c.named(ctx)
	if err != nil {
		return err
	}
	if !ctx.Bool("built-in") {
		text = s.Text
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		_, err := fmt.Fprint(w, term.Clean(text))
		return err
	})
}

// change returns a prompt as a change of the built-in one.
func change(s agent.Source) workspace.Change {
	text, _ := agent.BuiltInText(s.Name)
	return workspace.Change{Op: workspace.Modify, Path: string(s.Name) + ".md", Mode: 0o644, OldMode: 0o644, Before: []byte(text), After: []byte(s.Text)}
}

// diff prints the differences from the built-in prompts.
func (c command) diff(ctx *cli.Context) error {
	p, _, _, err := c.loaded(ctx)
	if err != nil {
		return err
	}
	list := p.Sources()
	if ctx.NArg() > 0 {
		s, _, _, err := c.named(ctx)
		if err != nil {
			return err
		}
		list = []agent.Source{s}
	}
	var cs workspace.Changeset
	for _, s := range list {
		if s.Layer != agent.BuiltIn {
			cs.Changes = append(cs.Changes, change(s))
		}
	}
	if diff := cs.Diff(); diff != "" {
		return c.PrintDiff(diff)
	}
	fmt.Fprintln(c.Stderr, "the prompts in use are the built-in ones")
	return nil
}

// edit lets the user change their own version.
func (c command) edit(ctx *cli.Context) error {
	s, text, home, err := c.named(ctx)
	if err != nil {
		return err
	}
	dir := wire.UserPrompts(home)
	if dir == "" {
		return fault.Usage("set HOME or XDG_CONFIG_HOME", "there is no directory for your prompts")
	}
	if !c.Attended() {
		return fault.Policy("run it on a terminal, or write "+filepath.Join(dir, string(s.Name)+".md"), "editing a prompt needs a terminal, and there is none")
	}
	name := string(s.Name) + ".md"
	path := filepath.Join(dir, name)
	own, err := config.ReadFile(path, true)
	if err != nil {
		return fault.Usage("make it a readable file", "read %s: %w", path, err)
	}
	if own != nil {
		text = string(own)
	}
	changed, err := c.EditTexts(ctx.Context, map[string][]byte{name: []byte(text)})
	if err != nil {
		return err
	}
	now, ok := changed[name]
	switch {
	case !ok:
		fmt.Fprintln(c.Stderr, "nothing was changed")
		return nil
	case strings.TrimSpace(string(now)) == "":
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fault.Usage("remove it by hand", "%w", err)
		}
		fmt.Fprintln(c.Stderr, "your version is removed; the built-in one is used")
		return nil
	}
	if err := agent.CheckPrompt(s.Name, string(now)); err != nil {
		return fault.Usage("nothing was written: edit it again", "%w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.Usage("make that directory writable", "%w", err)
	}
	if err := os.WriteFile(path, now, 0o600); err != nil {
		return fault.Usage("make that file writable", "%w", err)
	}
	fmt.Fprintln(c.Stderr, "written to "+path)
	if s.Layer == wire.OfWorkspace {
		fmt.Fprintln(c.Stderr, "the workspace has its own version, which takes precedence over yours")
	}
	return nil
}

// allow records the user's consent to the prompts of the workspace.
func (c command) allow(ctx *cli.Context) error {
	p, home, set, err := c.loaded(ctx)
	if err != nil {
		return err
	}
	left, err := wire.Unallowed(p, home)
	if err != nil {
		return err
	}
	if len(left) == 0 {
		fmt.Fprintln(c.Stderr, "the workspace has no prompts that are not allowed")
		return nil
	}
	var cs workspace.Changeset
	for _, s := range left {
		cs.Changes = append(cs.Changes, change(s))
	}
	if err := c.PrintDiff(cs.Diff()); err != nil {
		return err
	}
	if !set.On("yes") {
		if !c.Attended() {
			return fault.Policy("run again with --yes once you have read them, or on a terminal", "allowing prompts needs an approval, and there is no terminal")
		}
		yes, err := c.AskYes(ctx.Context, "Let models be asked with these prompts?")
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if !yes {
			return fault.Policy("nothing was changed", "the prompts were not allowed")
		}
	}
	if err := wire.Allow(home, left); err != nil {
		return err
	}
	fmt.Fprintf(c.Stderr, "allowed: %s, as they are now\n", run.Count(len(left), "prompt"))
	return nil
}
