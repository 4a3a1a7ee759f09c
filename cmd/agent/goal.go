package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/agent"
	"agent/orchestrator/forge"
	"agent/orchestrator/run"
)

// goalRequest completes the request of a run that is to find the change
// itself: what it is for, where, and how many are asked for.
func (c *cmdline) goalRequest(ctx *cli.Context, set config.Settings, req run.Request) (run.Request, error) {
	if ctx.String("replay") != "" {
		// A flag that changes nothing would be believed to.
		for _, flag := range []string{"goal", "file", "candidates", "model", "proposal", "no-feature"} {
			if ctx.IsSet(flag) {
				return req, fault.Usage("leave --"+flag+" out: the recorded run has it", "--replay and --%s do not go together", flag)
			}
		}
		return req, nil
	}
	if ctx.IsSet("proposal") {
		for _, flag := range []string{"goal", "file", "no-feature"} {
			if ctx.IsSet(flag) {
				return req, fault.Usage("leave --"+flag+" out: the proposal has it", "--proposal and --%s do not go together", flag)
			}
		}
	}
	// An empty goal is a variable that was not set, in a script.
	if ctx.IsSet("goal") && ctx.String("goal") == "" {
		return req, fault.Usage("say what the change is for, or leave --goal out", "the goal is empty")
	}
	// Checked with the settings; read here.
	n, err := set.Candidates()
	if err != nil {
		return req, err
	}
	req.Goal, req.Scope, req.Candidates = ctx.String("goal"), ctx.StringSlice("file"), n
	req.NoFeature = ctx.Bool("no-feature")
	if ctx.IsSet("proposal") { // whether it needs a model is known once it is read
		return req, nil
	}
	return req, checkAnyModel(ctx.Context, set)
}

// patchOnly refuses what only a run without a patch takes.
func patchOnly(ctx *cli.Context) error {
	for _, flag := range []string{"goal", "candidates", "model", "replay", "proposal", "no-feature"} {
		if ctx.IsSet(flag) {
			return fault.Usage("give a patch, or say what the change is for", "--patch and --%s do not go together", flag)
		}
	}
	if len(ctx.StringSlice("file")) > 1 {
		return fault.Usage("name the one file that blocks without a file name mean", "--patch takes one --file")
	}
	return nil
}

// scout returns who plans an iteration.
func (s *session) scout(e *agent.Engineer, it run.Iteration) *run.Scout {
	return &run.Scout{
		Engineer: e, Knowledge: s.db, Orders: s.db, Hotspots: forge.Hotspots, Fence: it.Fence, Last: it.Order.Last,
		Survey: s.survey, Findings: s.examiner().Findings,
	}
}

// promptsDir is where a workspace may have prompts of its own.
const promptsDir = ".agent/prompts"

// loadPrompts returns the prompts for a workspace.
func loadPrompts(dir string) (*agent.Prompts, error) {
	// A prompt that does not work is an error, not a reason to take the
	// built-in one: nobody would notice.
	prompts, err := agent.LoadPrompts(promptFiles(filepath.Join(dir, promptsDir)))
	if err != nil {
		return nil, fault.Usage("mend or remove that file of "+promptsDir, "%w", err)
	}
	return prompts, nil
}

// promptFiles are the prompts in a directory of a workspace: regular
// files of a bounded size, and no links, since a link could show any
// file of the user's to a model.
type promptFiles string

// Open implements fs.FS.
func (d promptFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid} // only whole files are read
}

// ReadFile implements fs.ReadFileFS.
func (d promptFiles) ReadFile(name string) ([]byte, error) {
	// The two directories above the file are looked at as well.
	for _, dir := range []string{string(d), filepath.Dir(string(d))} {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
	}
	// The same bounds as for a configuration file.
	data, err := config.ReadFile(filepath.Join(string(d), path.Base(name)), false)
	if err == nil && data == nil {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return data, nil
}
