package pr

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/forge"
	"agent/orchestrator/pull"
	"agent/orchestrator/run"
)

// watchCommand returns the command that watches the build servers of a pull request.
func (c command) watchCommand() *cli.Command {
	return &cli.Command{
		Name: "watch", Usage: "wait for the build servers of a pull request", ArgsUsage: "NUMBER",
		Description: "Asks for the jobs of the pull request's last commit until all have ended, and follows it if\n" +
			"somebody pushes. A job that failed is run once more, and reported as flaky if it then\n" +
			"passes; if it fails again, the relevant part of its log is shown: text from outside, cut and\n" +
			"cleaned. While the forge or the network has trouble, the result counts as not known yet.\n" +
			"Exit code 0 all passed, or it was merged, 1 a job failed twice, 5 time is over: also if no\n" +
			"job has begun by then, since a build that ran nothing is not a pass.\n\n" + cmdline.Examples(
			"agent pr watch 12", "every 30 s, for 20 minutes",
			"agent pr watch 12 --interval 10s --timeout 1h --no-rerun", "longer, and failures as they are"),
		Flags: slices.Concat([]cli.Flag{cmdline.WorkspaceFlag(), repositoryFlag()}, patienceFlags(), []cli.Flag{
			&cli.BoolFlag{Name: "no-rerun", Usage: "run no job again", DisableDefaultText: true},
			cmdline.JSONFlag(cmdline.Document[Watched]("pull-watch", 1)),
		}),
		Action: c.watch,
	}
}

// A Watched is what `pr watch --json` prints.
type Watched struct {
	Repository string `json:"repository"`
	Number     int    `json:"number"`
	Commit     string `json:"commit"`
	// Outcome is one of passed, failed, timeout, merged and closed.
	Outcome string       `json:"outcome"`
	Jobs    []WatchedJob `json:"jobs"`
	// Flaky are the names of jobs that first failed and then passed, on the same commit.
	Flaky []string `json:"flaky"`
}

// A WatchedJob is a job of a Watched.
type WatchedJob struct {
	Name  string         `json:"name"`
	State forge.JobState `json:"state"`
	URL   string         `json:"url"`
	// Log is the part of a failed job's log that says why, "" if it has none.
	Log string `json:"log,omitempty"`
}

// watch runs the command. It needs no record.
func (c command) watch(ctx *cli.Context) error {
	number, err := pullNumber(ctx)
	if err != nil {
		return err
	}
	interval, timeout, err := patience(ctx)
	if err != nil {
		return err
	}
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	t, err := c.target(ctx.Context, set, ctx.String("repo"))
	if err != nil {
		return err
	}
	w := c.watching(t, number)
	w.rerun = !ctx.Bool("no-rerun")
	if err := w.wait(ctx.Context, interval, timeout); err != nil {
		return ForgeFault(err)
	}
	return w.report(set.On("json"))
}

// wait polls until there is an outcome. It counts polls rather than time, so that it does not give up early on a slow
// forge.
func (w *watching) wait(ctx context.Context, interval, timeout time.Duration) error {
	for range int(timeout/interval) + 1 {
		ended, err := w.poll(ctx)
		if ended || err != nil {
			return err
		}
		if err := w.sleep(ctx, interval); err != nil {
			return err
		}
	}
	w.doc.Outcome = "timeout"
	return nil
}

// patienceFlags say how often and how long a forge is polled.
func patienceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.DurationFlag{Name: "interval", Value: 30 * time.Second, Usage: "ask every `TIME`"},
		&cli.DurationFlag{Name: "timeout", Value: 20 * time.Minute, Usage: "wait at most `TIME`"},
	}
}

// patience returns the values of these flags.
func patience(ctx *cli.Context) (interval, timeout time.Duration, err error) {
	interval, timeout = ctx.Duration("interval"), ctx.Duration("timeout")
	if interval < time.Second || timeout < interval {
		err = fault.Usage("use an interval of 1s or more, and a timeout that is not shorter", "--interval %v and --timeout %v", interval, timeout)
	}
	return interval, timeout, err
}

// watching returns a new watch of a pull request.
func (c command) watching(t *target, number int) *watching {
	w := &watching{command: c, target: t, rerun: true, again: map[string]bool{}}
	w.doc = Watched{Repository: t.address.Slug(), Number: number, Jobs: []WatchedJob{}, Flaky: []string{}}
	return w
}

// A watching is one run of `pr watch`.
type watching struct {
	command
	*target
	rerun bool
	again map[string]bool // the jobs that were run again, by name
	told  string
	doc   Watched
}

// poll asks once, and reports whether there is an outcome.
func (w *watching) poll(ctx context.Context) (ended bool, err error) {
	p, err := w.api.Pull(ctx, w.doc.Number)
	if errors.Is(err, forge.ErrTransient) {
		w.tell("not known yet: " + err.Error())
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if w.doc.Commit != p.HeadCommit { // jobs that were run again belonged to another commit
		w.doc.Commit, w.again = p.HeadCommit, map[string]bool{}
	}
	if p.State != forge.Open {
		w.doc.Outcome = string(p.State)
		return true, nil
	}
	jobs, err := w.api.Jobs(ctx, p.HeadCommit)
	if errors.Is(err, forge.ErrTransient) {
		w.tell("not known yet: " + err.Error())
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return w.settle(ctx, jobs)
}

// settle determines the outcome of a commit's jobs.
func (w *watching) settle(ctx context.Context, jobs []forge.Job) (ended bool, err error) {
	// The agent's own statuses do not come from a build server.
	jobs = slices.DeleteFunc(jobs, func(j forge.Job) bool { return strings.HasPrefix(j.Name, "agent/") })
	w.doc.Jobs = []WatchedJob{}
	count := map[forge.JobState]int{}
	var failed []forge.Job
	for _, j := range jobs {
		count[j.State]++
		w.doc.Jobs = append(w.doc.Jobs, WatchedJob{Name: j.Name, State: j.State, URL: j.URL})
		if j.State == forge.Failed {
			failed = append(failed, j)
		}
	}
	w.tell(fmt.Sprintf("%.12s: %d passed, %d failed, %d waiting", w.doc.Commit, count[forge.Passed], count[forge.Failed], count[forge.Waiting]))
	switch {
	case len(jobs) == 0 || count[forge.Waiting] > 0:
		return false, nil
	case len(failed) == 0:
		for _, j := range jobs {
			if w.again[j.Name] && j.State == forge.Passed {
				w.doc.Flaky = append(w.doc.Flaky, j.Name)
			}
		}
		w.doc.Outcome = "passed"
		return true, nil
	}
	return w.retry(ctx, failed)
}

// retry has failed jobs run again. A job that cannot be run again, or already was, has failed.
func (w *watching) retry(ctx context.Context, failed []forge.Job) (ended bool, err error) {
	over := slices.ContainsFunc(failed, func(j forge.Job) bool { return !w.rerun || !j.HasLog || w.again[j.Name] })
	if over {
		w.doc.Outcome = "failed"
		w.logs(ctx, failed)
		return true, nil
	}
	for _, j := range failed {
		err := w.api.Rerun(ctx, j)
		if errors.Is(err, forge.ErrTransient) {
			return false, nil
		}
		if err != nil { // the token lacks the right, or the host the ability
			w.tell("not run again: " + err.Error())
			w.doc.Outcome = "failed"
			w.logs(ctx, failed)
			return true, nil
		}
		w.again[j.Name] = true
		w.tell("run again: " + j.Name)
	}
	return false, nil
}

// logs reads why jobs failed. It reports a log that it cannot get, and the failure stands.
func (w *watching) logs(ctx context.Context, failed []forge.Job) {
	for _, j := range failed {
		if !j.HasLog {
			continue
		}
		text, err := w.log(ctx, j)
		if err != nil {
			w.tell(err.Error())
			continue
		}
		at := slices.IndexFunc(w.doc.Jobs, func(d WatchedJob) bool { return d.Name == j.Name && d.State == forge.Failed && d.Log == "" })
		w.doc.Jobs[max(at, 0)].Log = text
	}
}

// log returns the relevant part of a job's log.
func (w *watching) log(ctx context.Context, j forge.Job) (string, error) {
	r, err := w.api.Log(ctx, j)
	if err != nil {
		return "", err
	}
	defer r.Close()
	text, err := pull.CutLog(r)
	if err != nil {
		err = fmt.Errorf("read the log of %s: %w", j.Name, err)
	}
	return text, err
}

// tell prints a message, unless it is the one printed last.
func (w *watching) tell(text string) {
	if text != w.told {
		fmt.Fprintln(w.Stderr, "agent: "+term.CleanLine(text))
	}
	w.told = text
}

// report prints the outcome.
func (w *watching) report(asJSON bool) error {
	var err error
	if asJSON {
		err = term.PrintJSON(w.Stdout, w.doc)
	} else {
		err = term.Print(w.Stdout, w.print)
	}
	if err == nil {
		err = w.ending()
	}
	return err
}

// ending returns the error with the exit code for an outcome.
func (w *watching) ending() error {
	exit := map[string]int{"passed": run.ExitDone, "merged": run.ExitDone, "failed": run.ExitFail, "closed": run.ExitFail, "timeout": run.ExitBudget}[w.doc.Outcome]
	if exit != run.ExitDone {
		return fault.Reported{Exit: exit}
	}
	return nil
}

// print prints the watched build for people.
func (w *watching) print(out io.Writer) error {
	fmt.Fprintf(out, "pull request %d at %.12s: %s\n", w.doc.Number, w.doc.Commit, w.doc.Outcome)
	for _, j := range w.doc.Jobs {
		fmt.Fprintf(out, "  %-8s %s\n", j.State, term.CleanLine(j.Name))
		for text := range strings.Lines(j.Log) {
			fmt.Fprintf(out, "    %s\n", term.CleanLine(text))
		}
	}
	for _, name := range w.doc.Flaky {
		fmt.Fprintf(out, "flaky: %s failed first and then passed, on the same commit\n", term.CleanLine(name))
	}
	return nil
}
