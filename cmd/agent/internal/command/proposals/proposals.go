// Package proposals implements `agent proposals`, which manages proposed changes that are not yet applied.
package proposals

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

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/run"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/knowledge"
)

type command struct{ *cmdline.Line }

// Command returns the group of commands for changes that were proposed and not made. None of them writes to a
// workspace: `sandbox run --proposal` resumes one, through the whole gate.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "proposals", Usage: "proposed changes not yet applied",
		Subcommands: []*cli.Command{
			{
				Name: "list", Usage: "list the open proposals of a workspace, the oldest first",
				Description: "PEER_REVIEW and FEATURE passed every gate but were not promoted, or are a feature that is\n" +
					"not written yet; FAILED_… did not pass, whatever repairs were tried.\n\n" + cmdline.Examples(
					"agent proposals list", "of the workspace here",
					"agent sandbox run --proposal 3", "take one up again"),
				Flags:  []cli.Flag{cmdline.WorkspaceFlag(), cmdline.JSONFlag(cmdline.Document[[]row]("proposals", 1))},
				Action: c.proposalsList,
			},
			{
				Name: "show", Usage: "show one proposal: text, reason, diff", ArgsUsage: "N",
				Description: cmdline.Examples("agent proposals show 3", "what it is, and why it was not applied"),
				Flags:       []cli.Flag{cmdline.JSONFlag(cmdline.Document[row]("proposal", 1))},
				Action:      c.proposalsShow,
			},
			{
				Name: "drop", Usage: "take a proposal off the list", ArgsUsage: "N",
				Description: "The record keeps it: see v_proposals in `agent sql`.\n\n" + cmdline.Examples(
					"agent proposals drop 3", "you are not asked about it again"),
				Flags:  []cli.Flag{cmdline.JSONFlag(cmdline.Document[row]("proposal", 1))},
				Action: c.proposalsDrop,
			},
		},
	}
}

// A row is a proposal as --json prints it. The patch is text: bytes that are not UTF-8 are shown as such, and
// --proposal uses the bytes.
type row struct {
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

// newRow translates a kept proposal.
//
// The fields are in the order of the type: adding one between them breaks this line, on purpose.
func newRow(p run.KeptProposal) row {
	return row{p.ID, p.Kind, p.State, p.Workspace, p.Path, p.Goal, p.Text, p.Reason, string(p.Patch), p.Run, p.At}
}

// proposalsList prints what waits for a decision in one workspace.
func (c command) proposalsList(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		// Use the name in the record, whatever path the user took to the workspace.
		found, err := s.DB.Proposals(ctx.Context, cmdline.Resolved(set["workspace"].Text))
		if err != nil {
			return err
		}
		// Never nil: an empty list is [] in JSON, and not null.
		rows := []row{}
		for _, p := range found {
			rows = append(rows, newRow(p))
		}
		// A directory that is gone may have proposals; one that never existed is a typo.
		if len(rows) == 0 {
			if err := cmdline.CheckDirectory(set["workspace"].Text); err != nil {
				return err
			}
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

// find returns the proposal that an argument or a flag names.
//
// Numbers count over all workspaces of a database, so the number is enough. Settled proposals are found too; the caller
// decides whether to accept them.
func find(ctx context.Context, s *wire.Session, name string) (run.KeptProposal, error) {
	n, err := number(name)
	if err != nil {
		return run.KeptProposal{}, err
	}
	p, err := s.DB.Proposal(ctx, n)
	if errors.Is(err, database.ErrNotFound) {
		err = fault.Usage(listed, "there is no proposal %d", n)
	}
	return p, err
}

// listed says where to find the numbers of proposals.
const listed = "see `agent proposals list`"

// number reads the number of a proposal, which needs no database.
func number(name string) (int64, error) {
	n, err := strconv.ParseInt(name, 10, 64)
	switch {
	case name == "":
		return 0, fault.Usage(listed, "no proposal was named")
	case err != nil || n < 1:
		return 0, fault.Usage(listed, "invalid proposal number %q", name)
	}
	return n, nil
}

// proposalsShow prints one proposal, settled or not.
//
// A model wrote all of its text, or it comes from a file, so anything that would move the cursor is cleaned from it
// first.
func (c command) proposalsShow(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	if _, err := number(ctx.Args().First()); err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		p, err := find(ctx.Context, s, ctx.Args().First())
		if err != nil {
			return err
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, newRow(p))
		}
		pal := c.Palette(c.Stdout)
		return term.Print(c.Stdout, func(w io.Writer) error {
			fmt.Fprintf(w, "%s  proposal %d (%s)  %s\n", pal.Bold(string(p.Kind)), p.ID, p.State, pal.Dim(term.CleanLine(p.Workspace)))
			// The labels distinguish what a model wrote from what a person did.
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

// proposalsDrop settles a proposal that is not wanted.
//
// The proposal is marked and stays in the record.
func (c command) proposalsDrop(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	if _, err := number(ctx.Args().First()); err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		p, err := find(ctx.Context, s, ctx.Args().First())
		if err != nil {
			return err
		}
		// Dropping twice is the same as dropping once.
		err = s.DB.SettleProposal(ctx.Context, p.ID, run.ProposalDropped)
		if errors.Is(err, knowledge.ErrSettled) {
			return fault.Usage("see `agent proposals list`", "proposal %d is already %s", p.ID, p.State)
		}
		if err != nil {
			return err
		}
		p.State = run.ProposalDropped
		if set.On("json") {
			return term.PrintJSON(c.Stdout, newRow(p))
		}
		_, err = fmt.Fprintf(c.Stdout, "dropped proposal %d\n", p.ID)
		return err
	})
}

// Resume makes the request resume the proposal of that name. The proposal must be open, and of this very workspace.
//
// A proposal for another workspace is refused even if its patch would apply: it was judged in that other one.
func Resume(ctx context.Context, s *wire.Session, name string, set config.Settings, req run.Request) (run.Request, error) {
	p, err := find(ctx, s, name)
	if err != nil {
		return req, err
	}
	switch here := cmdline.Resolved(req.Workspace); {
	case p.State != run.ProposalOpen:
		return req, fault.Usage("see `agent proposals list`", "proposal %d is already %s", p.ID, p.State)
	case p.Workspace != here:
		return req, fault.Usage("run again with --workspace "+p.Workspace, "proposal %d is for a workspace other than %s", p.ID, here)
	}
	req = p.Resume(req)
	// A patch that passed once needs no model; other proposals do.
	if req.Patch == nil {
		err = wire.CheckAnyModel(ctx, set)
	}
	return req, err
}
