// Package context implements `agent context`, which shows the question about a file that a model would get, without asking one.
package context

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/agent"
	"agent/orchestrator/llm"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/tournament"
	"agent/sandbox/workspace"
)

type command struct{ *cmdline.Line }

// A Document is a question as `agent context --json` prints it.
type Document struct {
	Purpose  agent.Purpose `json:"purpose"`
	Template string        `json:"template"` // digest of the templates
	Target   string        `json:"target"`
	Tokens   int           `json:"tokens"` // estimated
	System   string        `json:"system"`
	Text     string        `json:"text"`
	Parts    []agent.Part  `json:"parts"`  // what the text quotes
	Budget   wire.Budget   `json:"budget"` // bytes that may be quoted
	Cuts     []agent.Cut   `json:"cuts"`   // what was shortened to fit
}

// Command returns the command that shows what a model would be sent, and sends nothing.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "context", Usage: "print what a model would be asked about a file", ArgsUsage: "FILE",
		Description: "Prints the instructions and the question of `agent sandbox run --file FILE`, and on stderr\n" +
			"what the question is made of, why each file is in it, and what was cut to fit. No model is\n" +
			"asked and nothing is written. FILE is a path in the workspace. A file that is too long for\n" +
			"the model's context is shown in parts, as it would be sent. What the file uses, what uses\n" +
			"it, and what lint and types report for it are shown as they are recorded: `agent analyze`\n" +
			"and each run bring that up to date.\n\n" + cmdline.Examples(
			"agent context shop/stock.py", "a review of that file",
			"agent context shop/stock.py --goal 'refuse negative counts'", "with a goal"),
		Flags: []cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.StringFlag{Name: "goal", Usage: "what the change is for, as `TEXT`"},
			cmdline.JSONFlag(cmdline.Document[Document]("context", 1)),
		},
		Action: c.showContext,
	}
}

// showContext plans as a run would, and stops before a model is asked.
func (c command) showContext(ctx *cli.Context) error {
	// Errors in the command line are found first.
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	dir := set["workspace"].Text
	if err := cmdline.CheckDirectory(dir); err != nil {
		return err
	}
	// Without a file a model would have to choose one, and none is asked here.
	if ctx.NArg() == 0 {
		return fault.Usage("name a file of the workspace: agent context FILE", "no file was named")
	}
	// The workspace's own prompts count here, as in a run.
	prompts, err := wire.LoadPrompts(dir, config.UserPath(c.Getenv))
	if err != nil {
		return err
	}
	for _, name := range prompts.Own() {
		fmt.Fprintf(c.Stderr, "prompt of the workspace: %s, see `agent prompts diff %s`\n", name, name)
	}
	// The request is the one that `sandbox run` would make from the same flags.
	conf, err := set.VerifyConfig()
	if err != nil {
		return err
	}
	req := run.Request{Goal: ctx.String("goal"), Scope: []string{ctx.Args().First()}, Config: conf}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		// A scan is enough: no snapshot is made, and no engine is needed.
		base, err := workspace.Rescan(ctx.Context, cmdline.Resolved(dir), config.ParseList(set["exclude"].Text), workspace.Limits{})
		if err != nil {
			return fmt.Errorf("scan the workspace: %w", err)
		}
		// The engineer has no model: with a file named there is nothing to choose.
		budget := wire.QuestionBudget(set)
		engineer := &agent.Engineer{Prompts: prompts, Window: wire.Window(set), Budget: budget.Bytes}
		scout := s.Scout(engineer, loop.Iteration{Fence: loop.NewFenceWord()})
		// A run would first find out more; only what is known is shown here.
		scout.Survey, scout.Findings = s.Recorded, s.Glance().Findings
		plan, err := scout.Plan(ctx.Context, base, req)
		if err != nil {
			return err
		}
		// The fence differs from run to run; everything else is as it would be sent.
		q, cuts, err := engineer.Question(plan.Task.Kind, "propose/1", plan.Task.Brief, plan.Task.Fence)
		if err != nil {
			return err
		}
		hidden, _ := wire.HideSecrets(q)
		if hidden.System != q.System || hidden.Text != q.Text {
			fmt.Fprintln(c.Stderr, "what looks like a secret is sent as [secret 1] and so on")
		}
		return c.printContext(plan, hidden, budget, cuts, set.On("json"))
	})
}

// printContext prints a question: the text on stdout, the information about it on stderr.
func (c command) printContext(plan tournament.Plan, q agent.Question, budget wire.Budget, cuts []agent.Cut, asJSON bool) error {
	// Lists are never null, as in every document.
	doc := Document{
		Purpose: q.Purpose, Template: q.Digest, Target: plan.Task.Brief.Target, Tokens: llm.Estimate(q.System, q.Text).N,
		System: q.System, Text: q.Text, Cuts: append([]agent.Cut{}, cuts...), Parts: q.Parts, Budget: budget,
	}
	if asJSON {
		return term.PrintJSON(c.Stdout, doc)
	}
	// Cleaned for a terminal; --json has every byte.
	err := term.Print(c.Stdout, func(w io.Writer) error {
		fmt.Fprintf(w, "%s\n---\n\n%s", term.Clean(q.System), term.Clean(q.Text))
		return nil
	})
	fmt.Fprintf(c.Stderr, "%s, template %.12s, about %d tokens\n", q.Purpose, q.Digest, doc.Tokens)
	fmt.Fprintf(c.Stderr, "budget: %d bytes, by %s\n", budget.Bytes, budget.Why)
	for _, p := range q.Parts {
		fmt.Fprintf(c.Stderr, "shown: %s, %d bytes%s\n", term.Clean(p.Name), p.Bytes, term.Clean(because(p.Why)))
	}
	// What a model does not see explains many of its answers.
	for _, cut := range cuts {
		fmt.Fprintf(c.Stderr, "cut: %s from %d to %d bytes, over the budget\n", term.Clean(cut.Section), cut.From, cut.To)
	}
	return err
}

// because formats a reason that follows a statement.
func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}
