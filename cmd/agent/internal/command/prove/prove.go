// Package prove implements `agent prove`, which judges commits of a repository, each as a patch on its parent.
package prove

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/proof"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/forge/revision"
	"agent/orchestrator/run"
	"agent/verify"
)

type command struct{ *cmdline.Line }

// Command returns the command that proves commits.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "prove", Usage: "prove commits: each as a patch on its parent", ArgsUsage: "[RANGE]",
		Description: "Judges commits by the same gates as `agent sandbox run`, and names the first bad one. RANGE is\n" +
			"A..B for the commits of B that A lacks, A...B for those since the two diverged, or one commit;\n" +
			"by default HEAD. Commits are taken oldest first, along first parents, so a merge is judged by\n" +
			"what it brings to its branch. It stops at the first that fails; --bisect finds that one with\n" +
			"few proofs instead, each of all commits so far, and takes those after it to be bad too. Files\n" +
			"come from git's objects: nothing is checked out, fetched or written, no filter or hook is run,\n" +
			"and the working tree may hold anything. Links, submodules, Git LFS files and large files are\n" +
			"not judged, and are named. A commit that passes is the baseline of the next one.\n\n" + cmdline.Examples(
			"agent prove", "the last commit",
			"agent prove main..HEAD", "each commit of this branch",
			"agent prove v1.2..main --bisect", "which commit broke it?",
			"agent prove main..HEAD --json", "for scripts"),
		Flags: []cli.Flag{
			cmdline.WorkspaceFlag(),
			&cli.BoolFlag{Name: "bisect", Usage: "find the first bad commit by bisection", DisableDefaultText: true},
			cmdline.AllowFlag(), cmdline.NoInstallFlag(), cmdline.JSONFlag(cmdline.Document[Document]("prove", 1)),
		},
		Action: c.prove,
	}
}

// A Document is what `prove --json` prints.
type Document struct {
	Range string `json:"range"`
	// Commits are the commits that were proved, in that order.
	Commits []Commit `json:"commits"`
	// FirstBad is the first commit that failed, "" for none.
	FirstBad string `json:"first_bad"`
	// Left is how many commits of the range were not examined.
	Left int `json:"left"`
}

// A Commit is a commit that was proved.
type Commit struct {
	Commit  string `json:"commit"`
	Subject string `json:"subject"`
	// Parent is the state that it was proved on: its first parent, or with --bisect the beginning of the range; "" for
	// nothing.
	Parent  string         `json:"parent"`
	Merge   bool           `json:"merge"`
	Empty   bool           `json:"empty"`
	Verdict verify.Verdict `json:"verdict"`
	// Result is the run, null if the commit changes no file.
	Result *run.Document `json:"result"`
}

// prove runs the command.
func (c command) prove(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	expression := ctx.Args().First()
	if expression == "" {
		expression = "HEAD"
	}
	// Errors in the range are reported before an engine is needed.
	repo, err := proof.Repository(cmdline.Resolved(set["workspace"].Text))
	if err != nil {
		return err
	}
	steps, err := repo.Range(ctx.Context, expression)
	if err != nil {
		return proof.Fault(err)
	}
	if ctx.Bool("bisect") && !strings.Contains(expression, "..") {
		return fault.Usage("name a range: agent prove --bisect A..B", "--bisect needs a range of commits")
	}
	doc := Document{Range: expression, Commits: []Commit{}, Left: len(steps)}
	search, asJSON := inOrder, set.On("json")
	if ctx.Bool("bisect") {
		search = bisect
	}
	exit := run.ExitDone
	if len(steps) > 0 {
		err = proof.With(ctx.Context, c.Line, set, false, func(p *proof.Prover) error {
			doc, exit = search(ctx.Context, doc, steps, p.Trees, func(s Commit) {
				if !asJSON {
					c.tell(s)
				}
			})
			return nil
		})
		if err != nil {
			return err
		}
	}
	if asJSON {
		if err := term.PrintJSON(c.Stdout, doc); err != nil {
			return err
		}
	} else {
		c.summary(doc)
	}
	if exit != run.ExitDone {
		return fault.Reported{Exit: exit}
	}
	return nil
}

// A prover judges the changes between two commits.
type prover func(ctx context.Context, intent, before, after string) run.Document

// inOrder proves one commit after the other, up to the first that does not pass.
func inOrder(ctx context.Context, doc Document, steps []revision.Step, prove prover, tell func(Commit)) (Document, int) {
	for _, s := range steps {
		one, exit := judge(ctx, s, s.Parent, s.Empty, prove)
		doc.Commits, doc.Left = append(doc.Commits, one), doc.Left-1
		tell(one)
		if exit != run.ExitDone {
			if exit == run.ExitFail || exit == run.ExitApproval {
				doc.FirstBad = s.Commit
			}
			return doc, exit
		}
	}
	return doc, run.ExitDone
}

// bisect finds the first commit up to which the commits together do not pass, if all of them together do not.
func bisect(ctx context.Context, doc Document, steps []revision.Step, prove prover, tell func(Commit)) (Document, int) {
	begin, bad := steps[0].Parent, run.ExitDone
	good, last := -1, len(steps)-1
	for at := last; good < last; at = (good + last) / 2 {
		one, exit := judge(ctx, steps[at], begin, false, prove)
		doc.Commits = append(doc.Commits, one)
		tell(one)
		switch exit {
		case run.ExitDone:
			if at == len(steps)-1 {
				doc.Left = len(steps) - len(doc.Commits)
				return doc, exit
			}
			good = at
		case run.ExitFail, run.ExitApproval:
			last, bad = at, exit
			doc.FirstBad = steps[at].Commit
		default: // it is unknown which
			doc.FirstBad, doc.Left = "", len(steps)-len(doc.Commits)
			return doc, exit
		}
		if last-good == 1 {
			break
		}
	}
	doc.Left = len(steps) - len(doc.Commits)
	return doc, bad
}

// judge proves one commit.
func judge(ctx context.Context, s revision.Step, parent string, empty bool, prove prover) (Commit, int) {
	one := Commit{Commit: s.Commit, Subject: s.Subject, Parent: parent, Merge: s.Merge, Empty: s.Empty, Verdict: verify.Pass}
	if empty {
		return one, run.ExitDone
	}
	doc := prove(ctx, "commit "+short(s.Commit)+" "+headline(s.Subject), parent, s.Commit)
	one.Verdict, one.Result = doc.Verdict, &doc
	return one, doc.Exit
}

// headline returns the beginning of a subject.
func headline(subject string) string {
	if r := []rune(subject); len(r) > 72 {
		return string(r[:72]) + "…"
	}
	return subject
}

// short returns the name of a commit for people.
func short(commit string) string { return commit[:min(12, len(commit))] }

// tell prints a commit, and why it did not pass.
func (c command) tell(s Commit) {
	p := c.Palette(c.Stdout)
	text := string(s.Verdict)
	switch {
	case s.Empty && s.Result == nil:
		text = "no file changed"
	case s.Merge:
		text += ", as a merge on its first parent"
	}
	mark := p.Good("✓")
	if s.Verdict != verify.Pass {
		mark = p.Bad("✗")
	}
	fmt.Fprintf(c.Stdout, "%s %s  %s  %s\n", mark, short(s.Commit), text, term.CleanLine(s.Subject))
	if s.Result == nil {
		return
	}
	if s.Verdict != verify.Pass {
		fmt.Fprintln(c.Stdout)
		c.Summary().Document(*s.Result)
		fmt.Fprintln(c.Stdout)
		return
	}
	for _, u := range s.Result.Unproven {
		fmt.Fprintf(c.Stdout, "    %s\n", p.Dim(term.CleanLine(u.Reason)))
	}
}

// summary prints the result.
func (c command) summary(doc Document) {
	switch {
	case doc.FirstBad != "":
		fmt.Fprintf(c.Stdout, "first bad commit: %s\n", short(doc.FirstBad))
	case len(doc.Commits) == 0:
		fmt.Fprintf(c.Stdout, "%s holds no commit\n", doc.Range)
	case doc.Left > 0 && doc.Commits[len(doc.Commits)-1].Verdict != verify.Pass:
		fmt.Fprintln(c.Stdout, "not all commits were judged")
	default:
		fmt.Fprintln(c.Stdout, "no bad commit")
	}
}
