// Package runs implements `agent runs`, which shows from the record what was tried, and how it ended.
package runs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/apply"
	"agent/cmd/agent/internal/command/replay"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/sarif"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/store/history"
	"agent/verify"
)

type command struct{ *cmdline.Line }

// Command returns the group of commands that read the record. They never write, except that they first settle the
// leftovers of dead processes, so that they show how those runs ended.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	const which = "[RUN]"
	const about = "RUN is the name of a run, or its beginning or end; latest or @1 is the latest run of this\n" +
		"workspace, @2 the one before. Without RUN, the latest is used.\n\n"
	return &cli.Command{
		Name: "runs", Usage: "what was tried, and how it ended",
		Subcommands: append([]*cli.Command{
			{
				Name: "list", Usage: "list runs, the newest first",
				Description: cmdline.Examples(
					"agent runs list", "the last 20 of this workspace",
					"agent runs list --all", "of every workspace",
					"agent runs list --state rejected", "patches that failed here"),
				Flags: []cli.Flag{
					cmdline.WorkspaceFlag(), cmdline.AllFlag("runs of every workspace"),
					&cli.StringFlag{Name: "state", Usage: "only runs in `STATE`: " + stateNames()},
					&cli.IntFlag{Name: "limit", Usage: "at most `N` runs", Value: 20},
					cmdline.JSONFlag(cmdline.Document[[]Row]("runs", 1)),
				},
				Action: c.runsList,
			},
			{
				Name: "show", Usage: "show one run: states, gates, findings, files", ArgsUsage: which,
				Description: about + cmdline.PagedHelp + cmdline.Examples("agent runs show", "the latest run", "agent runs show 1k3 --json", "all of one run",
					"agent runs show --sarif findings.sarif", "for a code host or an editor"),
				Flags: append(append(naming(),
					cmdline.JSONFlag(cmdline.Document[shownRun]("recorded-run", 1)),
					&cli.StringFlag{Name: "sarif", Usage: "write the findings on the last candidate to `FILE` as SARIF 2.1.0 (- for standard output)"},
				), cmdline.ViewFlags()...),
				Action: c.runsShow,
			},
			{
				Name: "diff", Usage: "print the diff of a run, fit for git apply", ArgsUsage: which,
				Description: about + cmdline.PagedHelp + cmdline.Examples("agent runs diff | git apply", "apply by hand what was proved"),
				Flags:       append(naming(), cmdline.ViewFlags()...),
				Action:      c.runsDiff,
			},
			apply.Command(line, which, about),
			c.runsLogs(which, about),
			c.runsCalls(which, about),
		}, replay.Commands(line, which, about)...),
	}
}

// naming returns the flags that say which run is meant.
func naming() []cli.Flag {
	return []cli.Flag{cmdline.WorkspaceFlag(), cmdline.AllFlag("also runs of other workspaces"), cmdline.LastFlag()}
}

// named returns the run that the command line means.
func named(ctx *cli.Context, s *wire.Session, set config.Settings) (history.RunDetail, error) {
	name, err := cmdline.RunName(ctx)
	if err != nil {
		return history.RunDetail{}, err
	}
	return s.NamedIn(ctx.Context, name, cmdline.Scope(ctx, set))
}

// A Row is a run as `runs list --json` prints it.
//
// Scripts rely on the names and the order of the fields: fields are added and never renamed.
type Row struct {
	Run       string         `json:"run"`
	State     run.State      `json:"state"`
	Verdict   verify.Verdict `json:"verdict"`
	Workspace string         `json:"workspace"`
	Intent    string         `json:"intent"`
	Started   time.Time      `json:"started"`
	Seconds   float64        `json:"seconds"`
	Exit      *int           `json:"exit"` // null while the run goes on
	Promoted  bool           `json:"promoted"`
	UndoneBy  string         `json:"undone_by,omitempty"`
	AppliedBy string         `json:"applied_by,omitempty"` // the later run that applied its change
	Outcome   string         `json:"outcome,omitempty"`    // awaiting_approval if it is not decided yet
	Error     *run.Problem   `json:"error"`
	// Null while the run goes on, and if unknown.
	Unproven []verify.Unproven `json:"unproven"`
}

// newRow translates a row of the store. The exit code is left out while there is none: 0 would read as success.
func newRow(r history.RunRow) Row {
	row := Row{
		Run: r.ID, State: r.State, Verdict: r.Verdict, Workspace: r.Workspace, Intent: r.Intent, Started: r.Started,
		Seconds: r.Seconds, Promoted: r.Promoted, UndoneBy: r.UndoneBy, AppliedBy: r.AppliedBy, Outcome: r.Outcome, Error: r.Error,
		Unproven: r.Unproven,
	}
	if !r.Ended.IsZero() {
		row.Exit = &r.Exit
	}
	return row
}

// runsList prints the newest runs of the workspace, or of all.
func (c command) runsList(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	filter := history.RunFilter{Workspace: cmdline.Scope(ctx, set), State: ctx.String("state"), Limit: ctx.Int("limit")}
	if filter.Limit <= 0 {
		return fault.Usage("use a number above 0", "--limit %d is not above 0", filter.Limit)
	}
	// A misspelt state would list nothing, which would look like good news.
	if filter.State != "" && !slices.Contains(run.States(), run.State(filter.State)) {
		return fault.Usage("the states are: "+stateNames(), "unknown state %q", filter.State)
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		found, err := s.DB.Runs(ctx.Context, filter)
		if err != nil {
			return err
		}
		rows := []Row{}
		for _, r := range found {
			rows = append(rows, newRow(r))
		}
		// A directory that is gone may have runs; one that never existed is a typo.
		if dir := ctx.String("workspace"); dir != "" && len(rows) == 0 {
			if err := cmdline.CheckDirectory(dir); err != nil {
				return err
			}
		}
		if set.On("json") {
			return term.PrintJSON(c.Stdout, rows)
		}
		if len(rows) == 0 {
			where := ""
			if filter.Workspace != "" {
				where = " in " + term.CleanLine(filter.Workspace) + "; --all shows other workspaces"
			}
			fmt.Fprintf(c.Stderr, "no run%s: `agent sandbox run --patch FILE` makes one\n", where)
			return nil
		}
		return c.printRuns(rows)
	})
}

// stateNames lists the possible states of a run, for people.
func stateNames() string {
	var names []string
	for _, s := range run.States() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// printRuns prints the list as a table. On a terminal it cuts the lines to fit.
func (c command) printRuns(rows []Row) error {
	// The table is built completely first: a tabwriter does not know how wide a line may be.
	var text strings.Builder
	// Two spaces between columns, and no tabs: text copied from a terminal stays aligned.
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tSTATE\tVERDICT\tSTARTED\tSECONDS\tINTENT\tWORKSPACE")
	for _, r := range rows {
		state, verdict := string(r.State), r.Verdict
		switch {
		case r.UndoneBy != "":
			state += " (undone)"
		case r.AppliedBy != "":
			state = "applied later"
		case r.Outcome != "":
			state = strings.ReplaceAll(r.Outcome, "_", " ")
		}
		// The run ended because it lacked an approval. Its change passed, which is what the user wants to know.
		if r.Outcome == run.OutcomeAwaiting || r.AppliedBy != "" {
			verdict = verify.Pass
		}
		told := string(verdict)
		if verdict == verify.Pass && verify.NothingRan(r.Unproven, "tests") {
			told += " (" + term.NothingRan + ")"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.1f\t%s\t%s\n", r.Run, state, told, r.Started.Local().Format(time.DateTime), r.Seconds,
			term.CleanLine(r.Intent), term.CleanLine(r.Workspace))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		columns, _ := c.Size(c.Stdout)
		lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
		if term.Terminal(c.Stdout) != nil {
			lines = narrowed(lines, columns)
		}
		for _, line := range lines {
			if term.Terminal(c.Stdout) != nil {
				line = ansi.Truncate(line, columns, "…")
			}
			fmt.Fprintln(w, strings.TrimRight(line, " "))
		}
		return nil
	})
}

// A shownRun is a run as `runs show --json` prints it: the document of the run, and what only the record knows.
type shownRun struct {
	run.Document
	Intent   string    `json:"intent"`
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"`
	Exit     *int      `json:"exit"`
	UndoneBy string    `json:"undone_by,omitempty"`
	// The later run that applied its change, and the run whose change this one was to apply.
	AppliedBy string       `json:"applied_by,omitempty"`
	Applies   string       `json:"applies,omitempty"`
	States    []shownState `json:"states"`
}

// A shownState is one state of a run.
//
// States are in the order in which the run entered them; the last is its current state.
type shownState struct {
	State run.State `json:"state"`
	At    time.Time `json:"at"`
	Note  string    `json:"note,omitempty"`
}

// shown rebuilds the document of a recorded run.
func shown(ctx context.Context, s *wire.Session, d history.RunDetail) (shownRun, error) {
	// The document is built only from the record; a field that the record lacks is not guessed.
	row := newRow(d.RunRow)
	v := shownRun{
		Document: run.Document{
			Run: d.ID, State: d.State, Verdict: d.Verdict, Workspace: d.Workspace, Snapshot: d.Snapshot,
			Candidates: []gate.Document{}, Error: d.Error, Unproven: append([]verify.Unproven{}, d.Unproven...), Exit: d.Exit, Outcome: d.Outcome,
		},
		Intent: d.Intent, Started: d.Started, Seconds: d.Seconds, Exit: row.Exit, UndoneBy: d.UndoneBy, AppliedBy: d.AppliedBy, Applies: d.Applies, States: []shownState{},
	}
	if v.Outcome != "" && d.Error != nil {
		v.Next = d.Error.Next
	}
	for _, st := range d.States {
		v.States = append(v.States, shownState{st.State, st.At, s.Hide(st.Note)})
	}
	for _, cand := range d.Candidates {
		v.Candidates = append(v.Candidates, cand.Document())
	}
	v.Critiques = d.Critiques
	// An empty list would say that everything was judged.
	if row.Unproven == nil && d.Verdict == verify.Pass && len(d.Candidates) > 0 {
		v.Unproven = wire.Unrecorded()
	}
	// The run may have been recorded before a secret was configured.
	v.Document = v.Document.Hidden(s.Hide)
	// A promotion that was rolled back wrote nothing, and does not count as one in a document.
	if d.Promotion == nil || d.Promotion.Status != run.Committed {
		return v, nil
	}
	// The diff is made from the bytes in the record, which are those that were written.
	p, err := s.DB.PromotionOf(ctx, d.ID)
	if err != nil {
		return v, err
	}
	v.Promotion = &run.DocumentPromotion{Files: d.Promotion.Files, Diff: p.Changeset.Diff(), ApprovedBy: p.Approved}
	return v, nil
}

// runsShow prints everything that is known about one run.
//
// It checks the SARIF file before it asks the database, like everything that the user may have mistyped.
func (c command) runsShow(ctx *cli.Context) error {
	set, view, err := c.Viewer(ctx)
	if err != nil {
		return err
	}
	findings := ctx.String("sarif")
	if findings != "-" {
		if err := sarif.CheckFile(findings); err != nil {
			return err
		}
	}
	if findings != "" && ctx.Bool("json") {
		return fault.Usage("use only one of them", "--sarif and --json are mutually exclusive")
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		d, err := named(ctx, s, set)
		if err != nil {
			return err
		}
		v, err := shown(ctx.Context, s, d)
		if err != nil {
			return err
		}
		switch {
		case findings == "-":
			return term.PrintJSON(c.Stdout, sarif.New(v.Document))
		case findings != "":
			return sarif.WriteFile(findings, v.Document)
		case set.On("json"):
			return term.PrintJSON(c.Stdout, v)
		}
		return view.Page(ctx.Context, func(w io.Writer) error { return command{view.Line}.printRun(w, v) })
	})
}

// printRun prints a recorded run for people.
//
// Seconds are counted from the start of the run, not from state to state.
func (c command) printRun(w io.Writer, v shownRun) error {
	// The result looks as it did when the run ended, with the states above it.
	sum := c.Summary()
	sum.Out = w
	fmt.Fprintf(w, "%s, %s\n", term.CleanLine(v.Intent), v.Started.Local().Format(time.DateTime))
	for _, st := range v.States {
		sum.Line(sum.Palette.Dim(fmt.Sprintf("  %6.1fs  %-17s %s", st.At.Sub(v.Started).Seconds(), st.State, term.CleanLine(st.Note))))
	}
	if v.UndoneBy != "" {
		fmt.Fprintf(w, "undone by run %s\n", v.UndoneBy)
	}
	if v.AppliedBy != "" {
		fmt.Fprintf(w, "applied later, by run %s\n", v.AppliedBy)
	}
	sum.Document(v.Document)
	return nil
}

// runsDiff prints what was written, or what was tried last: after a refusal it shows the patch as it was understood.
func (c command) runsDiff(ctx *cli.Context) error {
	set, view, err := c.Viewer(ctx)
	if err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		d, err := named(ctx, s, set)
		if err != nil {
			return err
		}
		v, err := shown(ctx.Context, s, d)
		if err != nil {
			return err
		}
		diff := ""
		switch n := len(v.Candidates); {
		// What was written takes precedence over what was tried: the format gate may have changed it.
		case v.Promotion != nil:
			diff = v.Promotion.Diff
		case n > 0:
			diff = v.Candidates[n-1].Diff
		}
		if diff == "" {
			return fault.Usage("see `agent runs show "+d.ID+"`", "run %s changed nothing: it has no diff", d.ID)
		}
		return view.Page(ctx.Context, func(w io.Writer) error { return view.WriteDiff(w, diff) })
	})
}
