// Package proof proves changes that already exist: commits, the index, and the working tree. Commands, git hooks and
// hooks of coding agents build on it. It promotes nothing.
package proof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/forge/revision"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A Runner proves revisions. *run.Runner is one.
type Runner interface {
	ProveRevision(ctx context.Context, req run.Request, intent string, find func(context.Context, *workspace.Manifest) (run.Revision, error)) run.Document
}

// A Prover proves revisions of one workspace.
type Prover struct {
	Repo    *revision.Repository
	Request run.Request
	// Start returns the runner that proves the next revision, and a function to call when that has ended.
	Start func() (Runner, func())
}

// With opens the repository of the configured workspace and a session, and passes both to act. If quiet, it shows no
// progress.
func With(ctx context.Context, line *cmdline.Line, set config.Settings, quiet bool, act func(*Prover) error) error {
	req, err := sandbox.BaseRequest(set)
	if err != nil {
		return err
	}
	defer req.Place.Close()
	repo, err := Repository(req.Place.Path)
	if err != nil {
		return err
	}
	return line.With(ctx, set, true, func(s *wire.Session) error {
		board, err := line.Prepare(ctx, s, &req.Config)
		if err != nil {
			return err
		}
		board.Close()
		smoke := time.Duration(cmp.Or(req.Config.Smoke.Seconds, 10)) * time.Second
		return act(&Prover{Repo: repo, Request: req, Start: func() (Runner, func()) {
			if quiet {
				return s.Runner(nil), func() {}
			}
			board := line.NewBoard(smoke)
			return s.Runner(board.Event), board.Close
		}})
	})
}

// Repository opens the repository of a workspace. If there is none, the error says what to do.
func Repository(dir string) (*revision.Repository, error) {
	repo, err := revision.Open(dir)
	if errors.Is(err, revision.ErrNone) {
		return nil, fault.Usage("run it in a work tree of git, or name one with --workspace; a bare repository has none", "%w", err)
	}
	return repo, err
}

// Trees proves the changes between two commits or trees.
func (p *Prover) Trees(ctx context.Context, intent, before, after string) run.Document {
	return p.prove(ctx, intent, func(ctx context.Context, disk *workspace.Manifest) (revision.Change, error) {
		return p.Repo.Trees(ctx, disk, before, after)
	})
}

// WorkingTree proves the changes between a commit and the files on disk.
func (p *Prover) WorkingTree(ctx context.Context, intent, before string) run.Document {
	return p.prove(ctx, intent, func(ctx context.Context, disk *workspace.Manifest) (revision.Change, error) {
		return p.Repo.WorkingTree(ctx, disk, before)
	})
}

// Directory proves the changes between the files on disk and those of another directory, whatever they hold.
func (p *Prover) Directory(ctx context.Context, intent, after string) run.Document {
	return p.prove(ctx, intent, func(ctx context.Context, disk *workspace.Manifest) (c revision.Change, err error) {
		seen, err := workspace.Scan(ctx, after, p.Request.Exclude, workspace.Limits{})
		if err != nil {
			return c, err
		}
		c.Base, c.Changes, c.Apart, err = revision.Between(disk, seen, nil)
		return c, err
	})
}

// prove proves the change that find returns.
func (p *Prover) prove(ctx context.Context, intent string, find func(context.Context, *workspace.Manifest) (revision.Change, error)) run.Document {
	runner, ended := p.Start()
	defer ended()
	return runner.ProveRevision(ctx, p.Request, intent, func(ctx context.Context, disk *workspace.Manifest) (run.Revision, error) {
		c, err := find(ctx, disk)
		return run.Revision{Base: c.Base, Changes: c.Changes, Apart: apart(c.Apart)}, err
	})
}

// mostApart is how many of the changes that were not judged are named one by one.
const mostApart = 20

// apart lists the parts of a change that no gate can judge.
func apart(list []revision.Apart) (told []verify.Unproven) {
	for i, a := range list {
		reason := a.Path + " was not judged: " + a.Reason
		if i == mostApart {
			reason = fmt.Sprintf("%d more changes were not judged", len(list)-i)
		}
		if i <= mostApart {
			told = append(told, verify.Unproven{Gate: "syntax", Kind: verify.NoGate, Part: true, Reason: reason})
		}
	}
	return told
}

// Fault turns an error about a revision into one that says what to do next.
func Fault(err error) error {
	var none *revision.NoRevisionError
	switch {
	case errors.As(err, &none) && none.Shallow:
		return fault.Usage("fetch more of the history: `git fetch --unshallow`, or a checkout with fetch-depth 0", "%w", err)
	case errors.As(err, &none):
		return fault.Usage("see `git log --oneline --all`", "%w", err)
	}
	return err
}
