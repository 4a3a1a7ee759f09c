// Package ci implements `agent ci`, which proves the commit that a build server has checked out against the commit at
// which it began.
package ci

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"fmt"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/proof"
	"agent/cmd/agent/internal/sarif"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/run"
)

type command struct{ *cmdline.Line }

// Command returns the command that proves what a build server has checked out.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "ci", Usage: "prove the checked-out commit against its merge base, on a build server",
		Description: "Judges HEAD as one change since the commit where its branch began: the base of the GitHub\n" +
			"pull request or GitLab merge request that their variables name, else --base, else its first\n" +
			"parent. On GitHub, findings are annotations of the lines. The working tree is not looked at.\n" +
			"Exit codes are those of a run: 0 proved, 1 failed, 3 not judged, 4 held.\n\n" + cmdline.Examples(
			"agent ci", "GitHub and GitLab: nothing else is needed",
			"agent ci --base origin/main", "elsewhere",
			"agent ci --gitlab gl-code-quality-report.json --sarif agent.sarif", "reports to keep"),
		Flags: []cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.StringFlag{Name: "base", Usage: "judge what HEAD has since it diverged from `REV`"},
			&cli.StringFlag{Name: "gitlab", Usage: "write the findings to `FILE` as a GitLab code quality report"},
			&cli.StringFlag{Name: "sarif", Usage: "write the findings to `FILE` as SARIF 2.1.0"},
			cmdline.AllowFlag(), cmdline.NoInstallFlag(), cmdline.JSONFlag(cmdline.RunDocument()),
		},
		Action: c.prove,
	}
}

// base returns the revision at which, according to the build server, the change began; "" if it names none.
func base(getenv func(string) string) string {
	known := func(id string) string {
		if strings.Trim(id, "0") == "" {
			return ""
		}
		return id
	}
	branch := func(name string) string {
		if name == "" {
			return ""
		}
		return "origin/" + name
	}
	return cmp.Or(
		branch(getenv("GITHUB_BASE_REF")),
		known(getenv("CI_MERGE_REQUEST_DIFF_BASE_SHA")), branch(getenv("CI_MERGE_REQUEST_TARGET_BRANCH_NAME")), known(getenv("CI_COMMIT_BEFORE_SHA")),
	)
}

// prove runs the command.
func (c command) prove(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	for _, name := range []string{ctx.String("sarif"), ctx.String("gitlab")} {
		if err := sarif.CheckFile(name); err != nil {
			return err
		}
	}
	repo, err := proof.Repository(cmdline.Resolved(set["workspace"].Text))
	if err != nil {
		return err
	}
	head, err := repo.Commit(ctx.Context, "HEAD")
	if err != nil {
		return proof.Fault(err)
	}
	began, name := "", cmp.Or(ctx.String("base"), base(c.Getenv))
	if name == "" {
		steps, err := repo.Range(ctx.Context, head)
		if err != nil {
			return proof.Fault(err)
		}
		began = steps[0].Parent
	} else if began, err = repo.Commit(ctx.Context, name); err == nil {
		began, err = repo.MergeBase(ctx.Context, began, head)
	}
	if err != nil {
		return proof.Fault(err)
	}
	return proof.With(ctx.Context, c.Line, set, false, func(p *proof.Prover) error {
		doc := p.Trees(ctx.Context, fmt.Sprintf("commits %.12s..%.12s", began, head), began, head)
		return c.deliver(ctx, doc, set.On("json"))
	})
}

// deliver prints the result and writes the reports.
func (c command) deliver(ctx *cli.Context, doc run.Document, asJSON bool) error {
	if name := ctx.String("sarif"); name != "" {
		if err := sarif.WriteFile(name, doc); err != nil {
			return err
		}
	}
	if name := ctx.String("gitlab"); name != "" {
		var text bytes.Buffer
		err := term.PrintJSON(&text, gitlab(doc))
		if err == nil {
			err = os.WriteFile(name, text.Bytes(), 0o644)
		}
		if err != nil {
			return fault.Infra("name another file: --gitlab FILE", "write the findings: %w", err)
		}
	}
	if asJSON || c.Getenv("GITHUB_ACTIONS") != "true" {
		return c.Report(doc, asJSON)
	}
	// The output of tools and programs must not be read as commands of the workflow.
	token := rand.Text()
	fmt.Fprintf(c.Stdout, "::stop-commands::%s\n", token)
	err := c.Report(doc, false)
	fmt.Fprintf(c.Stdout, "::%s::\n", token)
	github(c.Stdout, doc)
	return err
}
