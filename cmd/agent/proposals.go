package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/knowledge"
)

// proposalsCommand is the group about changes that were proposed and not
// made. Nothing here writes to a workspace: `sandbox run --proposal`
// takes one up, through the whole gate.
func (c *cmdline) proposalsCommand() *cli.Command {
	return &cli.Command{
		Name: "proposals", Usage: "changes that were proposed and not made",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the open proposals of a workspace, the oldest first",
				Description: "PEER_REVIEW and FEATURE passed every gate and were not promoted, or are a feature that\n" +
					"nobody has written yet; FAILED_… did not pass, whatever repairs they had.\n\n" + examples(
					"agent proposals list", "of the workspace here",
					"agent sandbox run --proposal 3", "take one up again"),
				Flags:  []cli.Flag{workspaceFlag(), jsonFlag()},
				Action: c.proposalsList,
			},
			{
				Name: "show", Usage: "show one proposal: text, reason, diff", ArgsUsage: "N",
				Description: examples("agent proposals show 3", "what it is, and why it was not made"),
				Flags:       []cli.Flag{jsonFlag()},
				Action:      c.proposalsShow,
			},
			{
				Name: "drop", Usage: "take a proposal off the list", ArgsUsage: "N",
				Description: "The record keeps it, see v_proposals of `agent sql`.\n\n" + examples(
					"agent proposals drop 3", "nobody is asked about it again"),
				Flags:  []cli.Flag{jsonFlag()},
				Action: c.proposalsDrop,
			},
		},
	}
}

// A proposalRow is a proposal as --json prints it. The patch is text:
// what is no UTF-8 in it is shown as such, and --proposal uses the bytes.
type proposalRow struct {
	ID        int64             `json:"proposal"`
	Kind      run.ProposalKind  `json:"kind"`
	State     run.ProposalState `json:"state"`
	Workspace string            `json:"workspace"`
	Path      string            `json:"path,omitempty"`
	Goal      string            `json:"goal,omitempty"`
	Text      string            `json:"text"`
	Reason    string            `json:"reason"`
	Diff      string            `json:"diff,omitempty"`
	Run       string            `json:"run,omitempty"`
	At        time.Time         `json:"at"`
}

// newProposalRow translates a kept proposal.
//
// The order of the fields is that of the type: one that is put between them
// breaks this line, which is meant.
func newProposalRow(p run.KeptProposal) proposalRow {
	return proposalRow{p.ID, p.Kind, p.State, p.Workspace, p.Path, p.Goal, p.Text, p.Reason, string(p.Patch), p.Run, p.At}
}

// proposalsList prints what waits for a decision in one workspace.
func (c *cmdline) proposalsList(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	return c.with(ctx.Context, set, false, func(s *session) error {
		// By the name that the record uses, whatever way the person is at it.
		found, err := s.DB.Proposals(ctx.Context, resolved(set["workspace"].Text))
		if err != nil {
			return err
		}
		// Never nil: a list without entries is [] in JSON, and not null.
		rows := []proposalRow{}
		for _, p := range found {
			rows = append(rows, newProposalRow(p))
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, rows)
		}
		// Nothing on stdout, so that a script counts no line.
		if len(rows) == 0 {
			fmt.Fprintln(c.Stderr, "no proposal is open here")
			return nil
		}
		return term.Print(c.Stdout, func(w io.Writer) error {
			t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "PROPOSAL\tKIND\tFILE\tAT\tREASON")
			for _, r := range rows {
				fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\n", r.ID, r.Kind, term.CleanLine(r.Path), r.At.Local().Format(time.DateTime), term.Headline(r.Reason))
			}
			return t.Flush()
		})
	})
}

// proposal returns the proposal that an argument or a flag names.
//
// Numbers count over all workspaces of a database, so one is enough to name it.
// Settled proposals are found too; the caller decides whether that will do.
func (s *session) proposal(ctx context.Context, name string) (run.KeptProposal, error) {
	const next = "see `agent proposals list`"
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil || n < 1 {
		return run.KeptProposal{}, fault.Usage(next, "%q is no number of a proposal", name)
	}
	p, err := s.DB.Proposal(ctx, n)
	if errors.Is(err, database.ErrNotFound) {
		err = fault.Usage(next, "there is no proposal %d", n)
	}
	return p, err
}

// proposalsShow prints one proposal, settled or not.
//
// All of its text was written by a model or taken from a file, so it is cleaned
// of what would move the cursor before it is printed.
func (c *cmdline) proposalsShow(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	return c.with(ctx.Context, set, false, func(s *session) error {
		p, err := s.proposal(ctx.Context, ctx.Args().First())
		if err != nil {
			return err
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, newProposalRow(p))
		}
		pal := c.Palette(c.Stdout)
		return term.Print(c.Stdout, func(w io.Writer) error {
			fmt.Fprintf(w, "%s  proposal %d (%s)  %s\n", pal.Bold(string(p.Kind)), p.ID, p.State, pal.Dim(term.CleanLine(p.Workspace)))
			// What a model wrote is told from what a person did.
			for _, part := range []struct{ name, text string }{
				{"file", p.Path}, {"goal", p.Goal}, {"run", p.Run}, {"reason", p.Reason}, {"text", p.Text},
			} {
				if part.text != "" {
					fmt.Fprintf(w, "%s: %s\n", part.name, strings.TrimRight(term.Clean(part.text), "\n"))
				}
			}
			if len(p.Patch) > 0 {
				fmt.Fprintln(w)
				term.DiffView{Palette: pal}.Print(w, string(p.Patch))
			}
			return nil
		})
	})
}

// proposalsDrop settles a proposal that nobody wants.
//
// It is marked and stays in the record.
func (c *cmdline) proposalsDrop(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	return c.with(ctx.Context, set, false, func(s *session) error {
		p, err := s.proposal(ctx.Context, ctx.Args().First())
		if err != nil {
			return err
		}
		// Dropped twice is dropped.
		err = s.DB.SettleProposal(ctx.Context, p.ID, run.ProposalDropped)
		if errors.Is(err, knowledge.ErrSettled) {
			return fault.Usage("see `agent proposals list`", "proposal %d is %s already", p.ID, p.State)
		}
		if err != nil {
			return err
		}
		p.State = run.ProposalDropped
		if set.On("json") {
			return term.PrintJSON(c.Stdout, newProposalRow(p))
		}
		_, err = fmt.Fprintf(c.Stdout, "dropped proposal %d\n", p.ID)
		return err
	})
}

// resume makes the request one that takes the proposal of that name up
// again. Only an open one of this very workspace can be.
//
// A proposal for another workspace is refused even where its patch would apply:
// it was judged in the other one.
func (s *session) resume(ctx context.Context, name string, set config.Settings, req run.Request) (run.Request, error) {
	p, err := s.proposal(ctx, name)
	if err != nil {
		return req, err
	}
	switch here := resolved(req.Workspace); {
	case p.State != run.ProposalOpen:
		return req, fault.Usage("see `agent proposals list`", "proposal %d is %s already", p.ID, p.State)
	case p.Workspace != here:
		return req, fault.Usage("run again with --workspace "+p.Workspace, "proposal %d is for another workspace than %s", p.ID, here)
	}
	req = p.Resume(req)
	// A patch that passed once needs no model; the others do.
	if req.Patch == nil {
		err = wire.CheckAnyModel(ctx, set)
	}
	return req, err
}

// feature decides about a proposed feature, before anything of it is
// written. Nobody asked for it, so only a person at the terminal has it
// written: with --yes, without a terminal and after the countdown, whatever
// expiry says, it stays a proposal. What comes of it is proved, and has a
// checkpoint of its own.
func (a *approver) feature(ctx context.Context, p run.KeptProposal) (run.Answer, error) {
	switch {
	case a.yes:
		return unattended("--yes has no feature written that nobody asked for"), nil
	case !a.Attended():
		return unattended("there is no terminal"), nil
	}
	// As at every checkpoint: the board rests, and no key of before counts.
	defer a.board.Pause()()
	pal := a.Palette(a.Stderr)
	fmt.Fprintf(a.Stderr, "\n%s for %s\n\n%s\n\n", pal.Good("A feature is proposed"), term.CleanLine(p.Path), strings.TrimRight(term.Clean(p.Text), "\n"))
	a.DiscardInput()
	for {
		typed, err := a.Question(ctx, "Have it written?", "[p]roceed, [s]kip, [d]elete", a.wait.Time)
		switch {
		case errors.Is(err, term.ErrExpired):
			return unattended("the countdown ended"), nil
		case errors.Is(err, io.EOF):
			return unattended("the terminal gave no answer"), nil
		case err != nil:
			return run.Answer{}, err
		}
		answer := run.Answer{By: run.ByTerminal}
		switch word := term.Normalize(typed); {
		case word == "" || term.OneOf(word, "p", "proceed", "y", "yes"):
			answer.Decision = run.Apply
		case term.OneOf(word, "s", "skip", "n", "no"):
			answer.Decision = run.Skip
		case term.OneOf(word, "d", "delete", "drop"):
			answer.Decision = run.Drop
		default:
			fmt.Fprintln(a.Stderr, "please answer with one of the letters")
			continue
		}
		return answer, nil
	}
}
