package main

import (
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/wire"
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
	return req, wire.CheckAnyModel(ctx.Context, set)
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
