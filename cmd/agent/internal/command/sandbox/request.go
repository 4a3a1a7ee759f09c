package sandbox

import (
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/run"
	"agent/sandbox/workspace/promotion"
)

// Request builds the run's request from flags and files.
func Request(ctx *cli.Context, c *cmdline.Line, set config.Settings) (run.Request, error) {
	req, err := BaseRequest(set)
	if err != nil {
		return run.Request{}, err
	}
	name, given, err := patchName(ctx, c.Stdin)
	if err != nil {
		return run.Request{}, err
	}
	if !given {
		return goalRequest(ctx, set, req)
	}
	if err := patchOnly(ctx); err != nil {
		return run.Request{}, err
	}
	// The patch comes last: reading standard input waits for a person, who should not type in vain.
	const next = "name a file of edit blocks or a unified diff: agent sandbox run FILE, or - for standard input; " +
		"without a patch say what the change is for: --goal TEXT, or --candidates 1 to have the model choose"
	req.PatchName = name
	req.Target = strings.Join(ctx.StringSlice("file"), "")
	req.Patch, err = c.ReadPatch(ctx.Context, req.PatchName, next)
	return req, err
}

// findsChange returns the flags that ask for a change to be found, or say how: with any of them standard input is not a
// patch.
func findsChange() []string {
	return []string{"goal", "candidates", "model", "mode", "critic", "agree", "max-cost", "max-tokens", "max-requests", "max-time", "no-feature", "proposal", "replay"}
}

// patchName returns where the patch is: as the argument or --patch names it, or "-" if standard input is not a terminal
// and nothing says that a change is to be found. An empty pipe is then an empty patch, and causes no unintended request
// to a model.
func patchName(ctx *cli.Context, stdin any) (name string, given bool, err error) {
	arg := ctx.Args().Present()
	switch {
	case arg && ctx.IsSet("patch"):
		return "", false, fault.Usage("use only one of them", "--patch and %q are mutually exclusive", ctx.Args().First())
	case arg:
		return ctx.Args().First(), true, nil
	case ctx.IsSet("patch"):
		return ctx.String("patch"), true, nil
	case slices.ContainsFunc(findsChange(), ctx.IsSet), term.Terminal(stdin) != nil:
		return "", false, nil
	}
	// With a file to work on, missing input is not a patch either.
	if f, ok := stdin.(*os.File); ok && len(ctx.StringSlice("file")) > 0 {
		if info, err := f.Stat(); err == nil && info.Mode()&fs.ModeCharDevice != 0 {
			return "", false, nil
		}
	}
	return "-", true, nil
}

// BaseRequest returns what every request has: the workspace and the policy.
func BaseRequest(set config.Settings) (run.Request, error) {
	dir := set["workspace"].Text
	if err := cmdline.CheckDirectory(dir); err != nil {
		return run.Request{}, err
	}
	// From here on it is this directory, whatever its path names when the patch has been read.
	place, err := promotion.Hold(dir)
	if err != nil {
		return run.Request{}, fault.Usage("name a directory with --workspace", "workspace: %w", err)
	}
	// The configuration was read from the workspace once, before the run scans it; a run uses the values that applied
	// when it began.
	conf, err := set.VerifyConfig()
	if err != nil {
		return run.Request{}, err
	}
	protect, err := set.Protection()
	if err != nil {
		return run.Request{}, err
	}
	keep, err := set.Recording()
	if err != nil {
		return run.Request{}, err
	}
	allow, err := set.AllowKinds()
	return run.Request{
		Workspace: dir, Place: place, Exclude: config.ParseList(set["exclude"].Text), Protect: protect, Allow: allow, NoPromote: set.On("no_promote"), Features: set.On("features"), Config: conf,
		NoInstall: !set.On("dependencies.install"), InstallScripts: set.On("dependencies.scripts"),
		InstallAll: !set.On("dependencies.partial"), Packages: config.ParseList(set["environment.packages"].Text), Keep: keep,
	}, err
}

// goalRequest completes the request of a run that has to find the change itself: what it is for, where, and how many
// candidates are asked for.
func goalRequest(ctx *cli.Context, set config.Settings, req run.Request) (run.Request, error) {
	if ctx.String("replay") != "" {
		return req, excludes(ctx, "replay", "the recorded run has it", "goal", "file", "candidates", "model", "mode", "critic", "agree", "proposal", "no-feature")
	}
	if ctx.IsSet("proposal") {
		if err := excludes(ctx, "proposal", "the proposal has it", "goal", "file", "no-feature"); err != nil {
			return req, err
		}
	}
	// In a script, an empty goal is a variable that was not set.
	if ctx.IsSet("goal") && ctx.String("goal") == "" {
		return req, fault.Usage("say what the change is for, or omit --goal", "the goal is empty")
	}
	n, err := set.Candidates()
	if err != nil {
		return req, err
	}
	req.Goal, req.Scope, req.Candidates = ctx.String("goal"), ctx.StringSlice("file"), n
	req.NoFeature = ctx.Bool("no-feature")
	if ctx.IsSet("proposal") { // the proposal itself will tell whether it needs a model
		return req, nil
	}
	return req, wire.CheckAnyModel(ctx.Context, set)
}

// excludes refuses flags that would have no effect together with another one; why says what determines their values.
func excludes(ctx *cli.Context, with, why string, flags ...string) error {
	for _, flag := range flags {
		if ctx.IsSet(flag) {
			return fault.Usage("omit --"+flag+": "+why, "--%s and --%s are mutually exclusive", with, flag)
		}
	}
	return nil
}

// patchOnly refuses flags that only a run without a patch takes.
func patchOnly(ctx *cli.Context) error {
	for _, flag := range []string{"goal", "candidates", "model", "mode", "critic", "agree", "replay", "proposal", "no-feature"} {
		if ctx.IsSet(flag) {
			return fault.Usage("give a patch, or say what the change is for", "--patch and --%s are mutually exclusive", flag)
		}
	}
	if len(ctx.StringSlice("file")) > 1 {
		return fault.Usage("name only one default file for blocks without a path", "--patch takes one --file")
	}
	return nil
}
