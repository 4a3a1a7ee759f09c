package pr

import (
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/proof"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
)

// A comparison is a pair of directories with the files of two commits.
type comparison struct{ before, after string }

// judge proves the changes between two directories, with the settings that apply in the first one, and promotes
// nothing. intent says for the record what is proved.
func judge(ctx *cli.Context, line *cmdline.Line, s *wire.Session, of comparison, intent string) (run.Document, error) {
	if s.Engine == nil {
		return run.Document{}, fault.Infra("start the engine, then run again; see `agent doctor`", "proving the change needs a container engine, and none answers")
	}
	// The agent.toml of those files decides what is proved, within what the user allows.
	if err := ctx.Set("workspace", of.before); err != nil {
		return run.Document{}, err
	}
	set, err := config.Load(ctx, line.Getenv)
	if err != nil {
		return run.Document{}, err
	}
	req, err := sandbox.BaseRequest(set)
	if err != nil {
		return run.Document{}, err
	}
	defer req.Place.Close()
	board, err := line.Prepare(ctx.Context, s, &req.Config)
	if err != nil {
		return run.Document{}, err
	}
	prover := proof.Prover{Request: req, Start: func() (proof.Runner, func()) { return s.Runner(board.Event), board.Close }}
	return prover.Directory(ctx.Context, intent, of.after), nil
}

// candidate returns the part of a document that a pull request shows.
func candidate(doc run.Document) gate.Candidate {
	c := gate.Candidate{Verdict: doc.Verdict, Unproven: doc.Unproven}
	if n := len(doc.Candidates); n > 0 {
		last := doc.Candidates[n-1]
		c.Gates, c.Skipped, c.Holds, c.Diff, c.Digest = last.Gates, last.Skipped, last.Holds, last.Diff, last.Digest
	}
	return c
}
