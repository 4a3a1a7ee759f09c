// Package review implements `agent review`: a person looks at what was promoted, and their opinion is recorded.
package review

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/user"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/checkpoint"
	"agent/cmd/agent/internal/cmdline"
	undocmd "agent/cmd/agent/internal/command/undo"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/history"
	"agent/sandbox/workspace"
	"agent/verify"
)

type command struct{ *cmdline.Line }

// Command returns the command that shows a person what was promoted, and records their opinion. A review decides
// nothing: the change is already in the workspace, under the recorded approval. A script may therefore accept too, and
// nothing waits for it.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "review", Usage: "review applied changes", ArgsUsage: "[RUN]",
		Description: "Walks through the promoted diffs that are not reviewed yet, the oldest first: diff, goal, gates, findings\n" +
			"that it fixed, model and cost; then asks: accept, comment, undo, open the files in $VISUAL\n" +
			"or $EDITOR, or continue with the next. Your answer is recorded under your name, for\n" +
			"`agent blame` and the view v_reviews. Without a terminal it prints the list; with\n" +
			"--accept or --comment it asks nothing. With RUN it is about this run only.\n" + cmdline.PagedHelp + cmdline.Examples(
			"agent review", "all unreviewed changes in this workspace",
			"agent review 1k3 --accept --comment 'checked on staging'", "for scripts",
			"agent review --all --json", "of every workspace: what was applied, and what was said about it"),
		Flags: append([]cli.Flag{
			cmdline.WorkspaceFlag(), cmdline.AllFlag("every workspace, including what was reviewed or undone"),
			&cli.BoolFlag{Name: "accept", Usage: "record that RUN is accepted", DisableDefaultText: true},
			&cli.StringFlag{Name: "comment", Usage: "record `TEXT` as your comment on RUN"},
			cmdline.JSONFlag(cmdline.Document[[]Reviewed]("reviews", 1)),
		}, cmdline.ViewFlags()...),
		Action: c.review,
	}
}

// A Reviewed is a promotion as `review --json` prints it. Scripts rely on the names of its fields; none is renamed.
type Reviewed struct {
	Run       string    `json:"run"`
	Workspace string    `json:"workspace"`
	At        time.Time `json:"at"`
	Intent    string    `json:"intent"`
	Approved  string    `json:"approved_by"`
	UndoneBy  string    `json:"undone_by,omitempty"`
	Model     string    `json:"model"`
	// In the currency of the prices; null if unknown.
	Cost *float64 `json:"cost"`
	// The gates of the promoted candidate.
	Gates []verify.Gate `json:"gates"`
	// The parts of it that no gate judged.
	Unproven []verify.Unproven  `json:"unproven"`
	Fixed    int                `json:"fixed"` // findings that existed before
	Files    []run.DocumentFile `json:"files"`
	Diff     string             `json:"diff"`
	// The last review; the verdict is empty if there is none.
	Reviewer string                `json:"reviewer,omitempty"`
	Verdict  history.ReviewVerdict `json:"verdict"`
	Comment  string                `json:"comment,omitempty"`
	// The pull requests that hold the change, and its purpose there.
	Pull string `json:"pull,omitempty"`

	// For an undo, not for scripts.
	changes workspace.Changeset
	record  run.Record
}

// review runs the command. It ends in one of four ways: an opinion on one run, the list for programs, the questions,
// and the list for people. With --json it asks nothing, even on a terminal.
func (c command) review(ctx *cli.Context) error {
	set, view, err := c.Viewer(ctx)
	if err != nil {
		return err
	}
	name, says := ctx.Args().First(), store.Review{Comment: ctx.String("comment")}
	switch {
	// Both flags together make one review that includes the comment: accepted is the stronger verdict.
	case ctx.Bool("accept"):
		says.Verdict = history.Accepted
	case says.Comment != "":
		says.Verdict = history.Commented
	}
	// Without a name the latest run would be accepted, which possibly no one has looked at.
	if says.Verdict != "" && name == "" {
		return fault.Usage("name the run: see `agent review --json`", "--accept and --comment need a run")
	}
	// A user who names a run wants it, whatever was said about it before.
	filter := history.ReviewFilter{All: ctx.Bool("all") || name != "", Workspace: cmdline.Scope(ctx, set)}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		list, err := toReview(ctx.Context, s, name, filter)
		if err != nil {
			return err
		}
		if says.Verdict != "" {
			says.Run = list[0].Run
			if err := say(ctx.Context, s, says); err != nil {
				return err
			}
			// The list was read before; what is printed is what is now on record.
			list[0].Verdict, list[0].Comment, list[0].Reviewer = says.Verdict, says.Comment, reviewer()
		}
		switch {
		// The opinion is recorded before anything is printed: if the reader closed the pipe, only the answer is lost,
		// not the review.
		case set.On("json"):
			return printReviews(ctx.Context, s, c.Stdout, list)
		case says.Verdict != "":
			_, err := fmt.Fprintf(c.Stdout, "run %s is %s\n", says.Run, says.Verdict)
			return err
		case c.Attended():
			return command{view.Line}.walk(ctx.Context, s, list)
		}
		return view.Page(ctx.Context, func(w io.Writer) error { return command{view.Line}.listReviews(ctx.Context, w, s, list, name != "") })
	})
}

// toReview lists what is to be reviewed: the named run, or what the filter finds. With a name, the list holds that run,
// or there is a usage error, so a caller may take the first entry. Without a name it may be empty.
func toReview(ctx context.Context, s *wire.Session, name string, filter history.ReviewFilter) ([]history.Promoted, error) {
	if name == "" {
		return s.DB.Promotions(ctx, filter)
	}
	d, err := s.NamedIn(ctx, name, filter.Workspace)
	if err != nil {
		return nil, err
	}
	filter.Run = d.ID
	list, err := s.DB.Promotions(ctx, filter)
	if err == nil && len(list) == 0 {
		err = fault.Usage("see `agent runs show "+d.ID+"`", "run %s promoted nothing to review", d.ID)
	}
	return list, err
}

// say records a review under the name of the person. Reviews are added and never changed: earlier opinions stay on
// record.
func say(ctx context.Context, s *wire.Session, r store.Review) error {
	r.Reviewer = reviewer()
	return s.DB.AddReview(ctx, r)
}

// reviewer returns the name of the person who runs the program. It tells people whom to ask, and proves nothing: anyone
// who may write to the record can use another name. In a container the user may have none.
func reviewer() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "unknown"
}

// reviewed reads everything that a person wants to know about a promotion. It does so when the promotion's turn comes
// and not with the list: diffs may be large, and a user who quits after two does not need the other hundred.
func reviewed(ctx context.Context, s *wire.Session, p history.Promoted) (Reviewed, error) {
	// Lists are never null in JSON.
	r := Reviewed{
		Run: p.Run, Workspace: p.Workspace, At: p.At, Intent: p.Intent, Approved: p.Approved, UndoneBy: p.UndoneBy,
		Model: p.Model, Cost: p.Cost, Gates: []verify.Gate{}, Unproven: []verify.Unproven{}, Reviewer: p.Reviewer, Verdict: p.Verdict, Comment: p.Comment, Pull: p.Pull,
	}
	d, err := s.DB.Run(ctx, p.Run)
	if err != nil {
		return r, err
	}
	written, err := s.DB.PromotionOf(ctx, p.Run)
	if err != nil {
		return r, err
	}
	doc := written.Document()
	r.record, r.changes, r.Files, r.Diff = d.Record, written.Changeset, doc.Files, doc.Diff
	// One of several candidates was promoted.
	for _, cand := range d.Candidates {
		// Compared by the digest, since the number of a candidate says nothing about its fate.
		if cand.Digest == written.Changeset.Digest() {
			doc := cand.Document()
			r.Gates, r.Unproven = doc.Gates, doc.Unproven
			if cand.Unproven == nil {
				r.Unproven = wire.Unrecorded()
			}
		}
	}
	// Each gate counts separately: a finding that two tools report counts twice.
	for _, g := range r.Gates {
		r.Fixed += g.Fixed
	}
	return r, nil
}

// printReviews prints promotions for programs, as one document, [] if there are none. It prints a complete document or
// returns an error.
func printReviews(ctx context.Context, s *wire.Session, w io.Writer, list []history.Promoted) error {
	all := []Reviewed{}
	for _, p := range list {
		r, err := reviewed(ctx, s, p)
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	return term.PrintJSON(w, all)
}

// listReviews prints the waiting promotions as a table, or one run in full. If the list is empty it says so on standard
// error, where no script counts it as a row.
func (c command) listReviews(ctx context.Context, w io.Writer, s *wire.Session, list []history.Promoted, whole bool) error {
	if whole {
		r, err := reviewed(ctx, s, list[0])
		if err != nil {
			return err
		}
		showReview(w, c.Palette(c.Stdout), r)
		return c.WriteDiff(w, r.Diff)
	}
	if len(list) == 0 {
		fmt.Fprintln(c.Stderr, "nothing is waiting for review")
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tPROMOTED\tMODEL\tREVIEW\tINTENT\tWORKSPACE")
	for _, p := range list {
		verdict := string(p.Verdict)
		if verdict == "" {
			verdict = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", p.Run, p.At.Local().Format(time.DateTime), term.CleanLine(p.Model), verdict, term.CleanLine(p.Intent), term.CleanLine(p.Workspace))
	}
	return t.Flush()
}

// showReview writes what is known about a promotion, above its diff. It reduces everything that others wrote to one
// line each, even a comment of several lines: no one can fake the lines that it writes itself.
func showReview(w io.Writer, pal term.Palette, r Reviewed) {
	fmt.Fprintf(w, "%s %s  %s  %s\n", pal.Bold("run "+r.Run), term.CleanLine(r.Intent), r.At.Local().Format(time.DateTime), pal.Dim(term.CleanLine(r.Workspace)))
	// Unknown is not nothing: a model without a price may have cost something.
	cost := "cost unknown"
	if r.Cost != nil {
		cost = fmt.Sprintf("cost %.4f", *r.Cost)
	}
	fmt.Fprintf(w, "%s, %s, approved by %s\n", term.CleanLine(r.Model), cost, term.CleanLine(r.Approved))
	fmt.Fprintf(w, "%s; %s fixed\n", pal.Good(checkpoint.GatesLine(r.Gates, r.Unproven)), run.Count(r.Fixed, "finding"))
	for _, u := range r.Unproven {
		fmt.Fprintf(w, "%s %s\n", pal.Warn("not judged:"), term.CleanLine(u.Reason))
	}
	if r.Verdict != "" {
		fmt.Fprintf(w, "%s by %s: %s\n", r.Verdict, term.CleanLine(r.Reviewer), term.CleanLine(r.Comment))
	}
	if r.Pull != "" {
		fmt.Fprintf(w, "pull request %s\n", term.CleanLine(r.Pull))
	}
	if r.UndoneBy != "" {
		fmt.Fprintf(w, "undone by run %s\n", r.UndoneBy)
	}
	fmt.Fprintln(w)
}

// walk shows promotions one after another and does what the person says. It records each opinion at once, so that
// quitting, or a kill, loses none. The end of input counts as quitting. The error is that of the record or of ctx.
func (v command) walk(ctx context.Context, s *wire.Session, list []history.Promoted) error {
	for i, p := range list {
		r, err := reviewed(ctx, s, p)
		if err != nil {
			return err
		}
		fmt.Fprintf(v.Stderr, "\n%d of %d\n", i+1, len(list))
		showReview(v.Stderr, v.Palette(v.Stderr), r)
		checkpoint.Preview(&v.Console, r.Diff, "f shows all")
		for next := false; !next; {
			key, err := v.Ask(ctx, reviewQuestion())
			switch {
			case errors.Is(err, io.EOF), err == nil && key == 'q':
				return nil
			case err != nil:
				return err
			}
			if next, err = v.answer(ctx, s, r, key); err != nil {
				return err
			}
		}
	}
	fmt.Fprintln(v.Stderr, "nothing else is waiting for review")
	return nil
}

// reviewQuestion returns the question about a promotion. Enter accepts nothing.
func reviewQuestion() term.Question {
	return term.Question{Text: "Your review?", Choices: []term.Choice{
		{Key: 'a', Name: "accept", Help: "record that the change is good"},
		{Key: 'c', Name: "comment", Help: "record a line of text"},
		{Key: 'u', Name: "undo", Help: "take the change back, after a question"},
		{Key: 'e', Name: "editor", Help: "open the files as they are now", More: "o"},
		{Key: 'f', Name: "full diff", Help: "show the whole diff in the pager", More: "d"},
		{Key: 'n', Name: "next", Help: "continue without a review"},
		{Key: 'q', Name: "quit", Help: "end the review"},
	}}
}

// answer does what the person said about one promotion, and reports whether to go on to the next one. After a comment,
// another opinion on the same promotion may follow.
func (v command) answer(ctx context.Context, s *wire.Session, r Reviewed, key rune) (next bool, err error) {
	// say adds the name of the person.
	says := store.Review{Run: r.Run}
	switch key {
	case 'n':
		return true, nil
	case 'f':
		// This is the view of the checkpoint at which the change was approved.
		checkpoint.PageDiff(ctx, &v.Console, r.Diff)
		return false, nil
	case 'e':
		v.openFiles(ctx, r)
		return false, nil
	case 'a':
		says.Verdict = history.Accepted
	case 'c':
		// Without a comment, or without a terminal, the question is asked again, and reports the missing terminal.
		if says.Comment, err = v.AskLine(ctx, "Your comment:"); err != nil || says.Comment == "" {
			return false, ctx.Err()
		}
		says.Verdict = history.Commented
	case 'u':
		// If the undo is refused, that was reported, and the person may choose again. The undo asks its own question,
		// since it writes to the workspace. The undo is first on record as a run; the review only names who wanted it.
		doc, err := undocmd.Undo(ctx, v.Line, s, false, r.record, r.changes)
		if err == nil {
			err = v.Report(doc, false)
		}
		if err != nil {
			v.Exit(ctx, err, false)
			return false, ctx.Err()
		}
		says.Verdict = history.Undone
	}
	return says.Verdict != history.Commented, say(ctx, s, says)
}

// openFiles opens those files of a promotion that still exist in the user's own editor. No shell: the names are
// arguments, and absolute. It reports an error instead of returning it: the review goes on without an editor.
func (v command) openFiles(ctx context.Context, r Reviewed) {
	var files []string
	for _, f := range r.Files {
		// ReadFile follows no link: a run, or a later edit, may have put one in place of a file, and the editor would
		// write through it to a file outside of the workspace.
		if _, gone := workspace.ReadFile(r.Workspace, f.Path); gone == nil {
			files = append(files, filepath.Join(r.Workspace, filepath.FromSlash(f.Path)))
		}
	}
	words, err := v.Editor()
	switch {
	case err != nil:
	case len(files) == 0:
		err = errors.New("none of its files exists any more")
	default:
		err = v.RunAtKeys(ctx, append(words, files...))
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(v.Stderr, "agent: open the editor:", term.CleanLine(err.Error()))
	}
}
