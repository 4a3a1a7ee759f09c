package hook

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/proof"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/forge/revision"
	"agent/orchestrator/run"
)

const (
	// mostPushed is how many commits of one push are judged: the newest.
	mostPushed = 50
	// maxRefs bounds what is read from standard input, in bytes.
	maxRefs = 1 << 20
)

// A prover judges the changes between two trees.
type prover func(ctx context.Context, intent, before, after string) run.Document

// A job is one thing that a hook has to judge.
type job struct{ intent, before, after string }

// preCommit judges what is staged.
func (c command) preCommit(ctx *cli.Context) error {
	return c.judge(ctx, "commit", func(ctx context.Context, repo *revision.Repository) ([]job, error) {
		tree, err := repo.StagedTree(ctx, c.Getenv("GIT_INDEX_FILE"))
		if err != nil {
			return nil, err
		}
		head, err := headOf(ctx, repo)
		if err != nil {
			return nil, err
		}
		if head != revision.EmptyTree {
			if was, err := repo.Git(ctx, "rev-parse", "--verify", head+"^{tree}"); err != nil || was == tree {
				return nil, err // nothing is staged, as with --allow-empty or a new message
			}
		}
		return []job{{"what is staged", head, tree}}, nil
	})
}

// prePush judges the pushed commits, according to git's input.
func (c command) prePush(ctx *cli.Context) error {
	refs, err := pushed(c.Stdin)
	if err != nil {
		return fault.Usage("call it from git's hook: see githooks(5)", "%w", err)
	}
	remote := ctx.Args().First()
	return c.judge(ctx, "push", func(ctx context.Context, repo *revision.Repository) ([]job, error) {
		var list []job
		seen := map[string]bool{}
		for _, ref := range refs {
			steps, more, err := repo.Pushed(ctx, ref.local, ref.known, remote, mostPushed)
			if err != nil {
				return nil, err
			}
			if more {
				fmt.Fprintf(c.Stderr, "agent: %s: only the newest %d commits are judged\n", term.CleanLine(ref.name), mostPushed)
			}
			for _, s := range steps {
				if !s.Empty && !seen[s.Commit] {
					list = append(list, job{"commit " + s.Commit[:12] + " " + headline(s.Subject), s.Parent, s.Commit})
				}
				seen[s.Commit] = true
			}
		}
		return list, nil
	})
}

// headline returns the beginning of a subject.
func headline(subject string) string {
	if r := []rune(subject); len(r) > 72 {
		return string(r[:72]) + "…"
	}
	return subject
}

// A ref is a reference that is pushed.
type ref struct{ name, local, known string }

// pushed reads the input that git gives to pre-push; see githooks(5). Deleted references add nothing.
func pushed(in io.Reader) (refs []ref, err error) {
	lines := bufio.NewScanner(io.LimitReader(in, maxRefs))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		switch {
		case len(f) == 0:
		case len(f) != 4:
			return nil, fmt.Errorf("%q is not a line of a push", lines.Text())
		case strings.Trim(f[1], "0") != "":
			refs = append(refs, ref{f[0], f[1], f[3]})
		}
	}
	return refs, lines.Err()
}

// judge judges what find returns within the hook's limits, and stops failures with exit code 1.
func (c command) judge(ctx *cli.Context, what string, find func(context.Context, *revision.Repository) ([]job, error)) error {
	// Git shows both streams of a hook, and standard output may belong to another program.
	c.Stdout = c.Stderr
	limit := ctx.Duration("timeout")
	timed, cancel := context.WithTimeout(ctx.Context, limit)
	defer cancel()
	err := c.judgeWithin(timed, ctx, what, find)
	var stopped fault.Reported
	switch {
	case err == nil || errors.As(err, &stopped):
		return err
	case ctx.Context.Err() != nil:
		return ctx.Context.Err()
	}
	problem, _ := fault.Classify(ctx.Context, err)
	if timed.Err() != nil {
		problem = run.Problem{Message: fmt.Sprintf("no verdict within %s", limit.Round(time.Second)), Next: "allow more time: `agent hook install --timeout 10m`; the next " + what + " reuses what is known by now"}
	}
	return c.unjudged(problem, what, ctx.Bool("strict"))
}

// unjudged reports that there is no verdict. That stops nothing, unless the hook is strict.
func (c command) unjudged(p run.Problem, what string, strict bool) error {
	c.PrintProblem(c.Stderr, p)
	if strict {
		fmt.Fprintf(c.Stderr, "agent: the %s is stopped: nothing was judged (--strict); `git %s --no-verify` skips the hook\n", what, what)
		return fault.Reported{Exit: run.ExitFail}
	}
	fmt.Fprintf(c.Stderr, "agent: not judged; the %s continues\n", what)
	return nil
}

// judgeWithin judges until a job fails.
func (c command) judgeWithin(timed context.Context, ctx *cli.Context, what string, find func(context.Context, *revision.Repository) ([]job, error)) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	repo, err := proof.Repository(cmdline.Resolved(set["workspace"].Text))
	if err != nil {
		return err
	}
	list, err := find(timed, repo)
	if err != nil || len(list) == 0 {
		return err
	}
	return proof.With(timed, c.Line, set, false, func(p *proof.Prover) error {
		return c.all(timed, list, p.Trees, what)
	})
}

// all judges one job after the other, up to the first that does not pass.
func (c command) all(ctx context.Context, list []job, prove prover, what string) error {
	for _, j := range list {
		doc := prove(ctx, j.intent, j.before, j.after)
		switch doc.Exit {
		case run.ExitDone:
			continue
		case run.ExitFail, run.ExitApproval:
			c.Summary().Document(doc)
			fmt.Fprintf(c.Stderr, "agent: the %s is stopped by %s; `git %s --no-verify` skips the hook\n", what, term.CleanLine(j.intent), what)
			return fault.Reported{Exit: run.ExitFail}
		}
		if doc.Error != nil {
			return &fault.Error{Exit: doc.Exit, Kind: doc.Error.Kind, Next: doc.Error.Next, Err: errors.New(doc.Error.Message)}
		}
		return errors.New("no verdict")
	}
	return nil
}
