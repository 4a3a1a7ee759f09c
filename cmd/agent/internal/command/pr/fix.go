package pr

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/forge"
	"agent/orchestrator/pull"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/verify"
)

// maxRounds is how often a build is repaired and checked again, unless the user says otherwise.
const maxRounds = 3

// fixCommand returns the command that repairs a failing build.
func (c command) fixCommand() *cli.Command {
	return &cli.Command{
		Name: "fix-ci", Usage: "repair what the build servers find wrong with a pull request", ArgsUsage: "NUMBER",
		Description: "Waits for the build servers as `agent pr watch` does. If a job failed twice, the relevant part of\n" +
			"its log is given to the engineer as data, with what the workspace's own gates find on the branch,\n" +
			"or that they do not show the failure. The engineer's change goes through every gate, and if the\n" +
			"gates showed the failure, it must be gone; then it becomes one commit on the branch, and the\n" +
			"build is watched again. The definition of the build, tests, suppressions and the configuration of\n" +
			"tools are not touched without --allow. Commits of others are never rewritten; if somebody pushes\n" +
			"meanwhile, it starts again from there. At most 3 rounds, 30 requests to models and 300 s of them.\n" +
			"After a kill nothing is done twice. Exit code 0 the build passes, 1 it does not, 4 an approval is\n" +
			"needed, 5 a bound is reached, 6 another process is at work on the repository.\n\n" + cmdline.Examples(
			"agent pr fix-ci 12", "watch, repair, watch again",
			"agent pr fix-ci 12 --rounds 1 --model ollama/qwen3", "one attempt by a local model",
			"agent pr fix-ci 12 --allow ci", "it may change the workflow too"),
		Flags: slices.Concat([]cli.Flag{
			cmdline.WorkspaceFlag(), repositoryFlag(),
			&cli.IntFlag{Name: "rounds", Value: maxRounds, Usage: "repair it at most `N` times"},
		}, patienceFlags(), findFlags(), []cli.Flag{cmdline.JSONFlag(cmdline.Document[Repaired]("pull-fix-ci", 1))}),
		Action: c.fix,
	}
}

// findFlags say which model is asked for a change, what that may cost, and what is approved.
func findFlags() []cli.Flag {
	return append(config.Flags("model", "mode", "max-cost", "max-tokens", "max-requests", "max-time"), cmdline.AllowFlag(), cmdline.NoInstallFlag())
}

// A Repaired is what `pr fix-ci --json` prints: the build as last seen, and what was done about it.
type Repaired struct {
	Watched
	Rounds []Round `json:"rounds"`
}

// A Round is one attempt to repair a build.
type Round struct {
	// Commit is the commit whose build failed, and Failed the names of its failed jobs.
	Commit string   `json:"commit"`
	Failed []string `json:"failed"`
	// Reproduced is what the workspace's own gates say about the failure. If they do not show it, NotReproduced says why.
	Reproduced    string `json:"reproduced,omitempty"`
	NotReproduced string `json:"not_reproduced,omitempty"`
	// Run found the repair, or tried to.
	Run     string         `json:"run,omitempty"`
	Verdict verify.Verdict `json:"verdict,omitempty"`
	// Fix is the commit with the repair, "" for none; Why says why there is none.
	Fix string `json:"fix,omitempty"`
	Why string `json:"why,omitempty"`
}

// fix runs the command.
func (c command) fix(ctx *cli.Context) error {
	number, err := pullNumber(ctx)
	if err != nil {
		return err
	}
	interval, timeout, err := patience(ctx)
	if err != nil {
		return err
	}
	if n := ctx.Int("rounds"); n < 1 || n > 10 {
		return fault.Usage("use 1 to 10", "--rounds %d", n)
	}
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	return c.With(ctx.Context, set, false, func(s *wire.Session) error {
		t, err := c.target(ctx.Context, set, ctx.String("repo"))
		if err != nil {
			return err
		}
		f, err := c.fixing(ctx, set, s, t, number)
		if err != nil {
			return err
		}
		if err := t.leased(ctx, s, func() error { return f.run(interval, timeout, ctx.Int("rounds")) }); err != nil {
			return ForgeFault(err)
		}
		return f.report(set.On("json"))
	})
}

// A fixing is one run of `pr fix-ci`.
type fixing struct {
	*watching
	ctx     *cli.Context
	session *wire.Session
	left    budget
	rounds  []Round
	tried   []string // what did not help, for the next question
	exit    int      // of what ended it before the build passed, 0 if nothing did
	judged  string   // the commit that shown and unshown are about
	shown   string
	unshown string
}

// fixing returns a new repair of the build of a pull request.
func (c command) fixing(ctx *cli.Context, set config.Settings, s *wire.Session, t *target, number int) (*fixing, error) {
	left, err := newBudget(ctx, set)
	return &fixing{watching: c.watching(t, number), ctx: ctx, session: s, left: left, rounds: []Round{}}, err
}

// run watches and repairs until the build has passed, or until nothing more can be done.
func (f *fixing) run(interval, timeout time.Duration, rounds int) error {
	if err := f.takeUp(); err != nil {
		return err
	}
	for {
		if err := f.wait(f.ctx.Context, interval, timeout); err != nil {
			return err
		}
		if f.doc.Outcome != "failed" {
			return nil
		}
		if len(f.rounds) >= rounds || f.left.over() {
			f.exit = run.ExitBudget
			return nil
		}
		pushed, err := f.round()
		if err != nil {
			return err
		}
		if !pushed && f.exit != 0 {
			return nil
		}
	}
}

// takeUp completes what a killed process had committed and not pushed.
func (f *fixing) takeUp() error {
	ctx := f.ctx.Context
	rows, err := f.session.DB.CIRounds(ctx, f.repository(), f.doc.Number)
	if err != nil || len(rows) == 0 {
		return err
	}
	last := rows[len(rows)-1]
	if last.FixCommit == "" || last.Pushed || last.Why != "" {
		return nil
	}
	p, err := f.api.Pull(ctx, f.doc.Number)
	if err != nil || p.State != forge.Open {
		return err
	}
	if _, err := f.mirror.Commit(ctx, last.FixCommit); err != nil {
		last.Why = "the process that made the commit was killed before it was pushed, and the commit is gone"
	} else if err := f.push(p, &last); err != nil {
		return err
	}
	_, err = f.session.DB.SaveCIRound(ctx, f.repository(), f.doc.Number, last)
	return err
}

// push puts the commit of a round on the branch, or says why it is not there.
func (f *fixing) push(p forge.Pull, row *store.CIRound) error {
	moved, err := f.deliver(f.ctx.Context, p.Head, row.FixCommit)
	if err != nil {
		return err
	}
	if row.Pushed = !moved; moved {
		row.Why = "somebody pushed meanwhile: their commits stay, and their build is watched"
	}
	return nil
}

// round makes one attempt. pushed says that it made a commit, so the branch has a new one: that one, or one pushed meanwhile.
func (f *fixing) round() (pushed bool, err error) {
	ctx := f.ctx.Context
	p, err := f.openPull(ctx, f.doc.Number)
	if err != nil {
		return false, err
	}
	if p.Fork {
		return false, fault.Policy("ask its author, or push the branch to the repository itself", "pull request %d comes from a fork, whose branch belongs to somebody else", p.Number)
	}
	row := store.CIRound{HeadCommit: f.doc.Commit, Failed: failedNames(f.doc.Jobs), Flaky: f.doc.Flaky}
	if row.ID, err = f.session.DB.SaveCIRound(ctx, f.repository(), p.Number, row); err != nil {
		return false, err
	}
	doc, err := f.attempt(p, &row)
	if err != nil {
		return false, err
	}
	if row.FixCommit != "" {
		// Recorded before it is pushed, so that it is found if the process is killed in between.
		if _, err := f.session.DB.SaveCIRound(ctx, f.repository(), p.Number, row); err != nil {
			return false, err
		}
		if err := f.push(p, &row); err != nil {
			return false, err
		}
	}
	r := Round{Commit: row.HeadCommit, Failed: row.Failed, Reproduced: row.Reproduced, NotReproduced: f.unshown, Run: row.Run, Verdict: doc.Verdict, Why: row.Why}
	if row.Pushed {
		r.Fix = row.FixCommit
	}
	f.rounds = append(f.rounds, r)
	f.tell(fmt.Sprintf("round %d: %s", len(f.rounds), r.told()))
	_, err = f.session.DB.SaveCIRound(ctx, f.repository(), p.Number, row)
	return row.FixCommit != "", err
}

// told describes a round on one line.
func (r Round) told() string {
	if r.Fix != "" {
		return fmt.Sprintf("repaired by %.12s (run %s)", r.Fix, r.Run)
	}
	return "not repaired: " + r.Why
}

// failedNames returns the names of the failed jobs.
func failedNames(jobs []WatchedJob) (names []string) {
	for _, j := range jobs {
		if j.State == forge.Failed {
			names = append(names, j.Name)
		}
	}
	return names
}

// A scene is the branch of a pull request when its build failed: where it left its base, and its files.
type scene struct {
	head          string
	before, after string   // directories
	changed       []string // paths of the workspace
}

// attempt lets the engineer repair the branch as it is in the round, and makes the commit. If it makes none, the row
// says why. f.exit is set if another round would have the same result.
func (f *fixing) attempt(p forge.Pull, row *store.CIRound) (doc run.Document, err error) {
	ctx := f.ctx.Context
	at, err := f.scene(p)
	if err != nil {
		return doc, err
	}
	if at.head != row.HeadCommit {
		row.Why = "somebody pushed meanwhile: the build of their commits is watched"
		return doc, nil
	}
	if err := f.reproduce(at); err != nil {
		return doc, err
	}
	row.Reproduced = f.shown
	dir, _, err := f.export(ctx, at.head, "-fix")
	if err != nil {
		return doc, err
	}
	jobs := f.failures()
	doc, err = f.find(f.ctx, f.session, order{
		dir: dir, goal: pull.RepairGoal, given: pull.Failure(jobs, f.shown, f.tried), scope: pull.Named(jobs, at.changed, 3),
		requests: f.left.requests, time: f.left.time, guarded: pull.Guarded(),
	})
	if err != nil {
		return doc, err
	}
	row.Run = doc.Run
	if err := f.left.spend(ctx, f.session, doc.Run); err != nil {
		return doc, err
	}
	if doc.Promotion == nil {
		f.unrepaired(doc, row)
		return doc, nil
	}
	if f.shown != "" {
		gone, err := f.judge(at.before, dir)
		if err != nil {
			return doc, err
		}
		if shown, _ := pull.Reproduced(pull.Findings(candidate(gone)), gone.Verdict); gone.Verdict != verify.Pass {
			row.Why = fmt.Sprintf("with the change of run %s the gates still show a failure", doc.Run)
			f.tried = append(f.tried, doc.Promotion.Diff+"\n"+shown)
			return doc, nil
		}
	}
	f.tried = append(f.tried, doc.Promotion.Diff)
	row.FixCommit, err = f.commitRun(ctx, f.session, doc.Run, at.head, "Repair the build: "+strings.Join(row.Failed, ", "))
	return doc, err
}

// unrepaired records why a run made no change, and whether another round would have the same result.
func (f *fixing) unrepaired(doc run.Document, row *store.CIRound) {
	row.Why = reason(doc)
	switch doc.Exit {
	case run.ExitApproval, run.ExitBudget, run.ExitInfra, run.ExitConflict, run.ExitCancelled:
		f.exit = doc.Exit
	default:
		tried := row.Why
		if n := len(doc.Candidates); n > 0 {
			tried += "\n" + doc.Candidates[n-1].Diff
		}
		f.tried = append(f.tried, tried)
	}
}

// reason returns why a run wrote nothing.
func reason(doc run.Document) string {
	if doc.Error != nil {
		return doc.Error.Message
	}
	if n := len(doc.Candidates); n > 0 && doc.Candidates[n-1].Thought != "" {
		return "the engineer says: " + doc.Candidates[n-1].Thought
	}
	return "no change was found"
}

// scene writes out the files that the round is about.
func (f *fixing) scene(p forge.Pull) (at scene, err error) {
	ctx := f.ctx.Context
	base, head := "refs/heads/"+p.Base, f.kind.HeadRef(p.Number)
	commits, err := f.mirror.Fetch(ctx, base, head)
	if err != nil {
		return at, err
	}
	at.head = commits[1]
	meet, err := f.mirror.MergeBase(ctx, base, head)
	if err != nil {
		return at, err
	}
	diff, err := f.mirror.Diff(ctx, meet, at.head, f.prefix)
	if err != nil {
		return at, err
	}
	at.changed = slices.Sorted(maps.Keys(pull.Lines(diff)))
	if at.before, _, err = f.tree(ctx, meet); err != nil {
		return at, err
	}
	at.after, _, err = f.tree(ctx, at.head)
	return at, err
}

// reproduce lets the gates judge the branch, once for each commit. If they do not show the failure, it says so, and the
// repair relies only on the log.
func (f *fixing) reproduce(at scene) error {
	if f.judged == at.head {
		return nil
	}
	doc, err := f.judge(at.before, at.after)
	if err != nil {
		return err
	}
	f.judged = at.head
	f.shown, f.unshown = pull.Reproduced(pull.Findings(candidate(doc)), doc.Verdict)
	if f.shown == "" {
		f.tell("the failure is not reproduced: " + f.unshown)
	} else {
		f.tell("the failure is reproduced by the gates")
	}
	return nil
}

// judge proves the changes between two directories.
func (f *fixing) judge(before, after string) (run.Document, error) {
	return f.prove(f.ctx, f.session, comparison{before, after}, fmt.Sprintf("the build of pull request %d", f.doc.Number))
}

// failures returns the failed jobs, with their logs.
func (f *fixing) failures() (list []pull.FailedJob) {
	for _, j := range f.doc.Jobs {
		if j.State == forge.Failed {
			list = append(list, pull.FailedJob{Name: j.Name, Log: j.Log})
		}
	}
	return list
}

// report prints what was done.
func (f *fixing) report(asJSON bool) error {
	doc := Repaired{f.doc, f.rounds}
	var err error
	if asJSON {
		err = term.PrintJSON(f.Stdout, doc)
	} else {
		err = term.Print(f.Stdout, func(out io.Writer) error {
			for i, r := range doc.Rounds {
				fmt.Fprintf(out, "round %d: %s failed at %.12s\n  %s\n", i+1, term.CleanLine(strings.Join(r.Failed, ", ")), r.Commit, term.CleanLine(r.told()))
				if r.Reproduced == "" {
					fmt.Fprintf(out, "  not reproduced: %s\n", term.CleanLine(r.NotReproduced))
				}
			}
			return f.print(out)
		})
	}
	if err == nil && f.exit != 0 {
		return fault.Reported{Exit: f.exit}
	}
	if err == nil {
		err = f.ending()
	}
	return err
}
