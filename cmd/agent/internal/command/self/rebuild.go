package self

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/mod/modfile"

	"agent/cmd/agent/internal/checkpoint"
	"agent/cmd/agent/internal/cmdline"
	sandboxcmd "agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/selfbuild"
	"agent/sandbox/workspace"
)

// The resources of boxes for the agent's own repository: its tests are many programs, all in /tmp.
const (
	// Each test program is linked and run there. A tmpfs counts towards the memory of the box, which must therefore be
	// larger.
	tmpBytes    = 3 << 30
	memoryBytes = 6 << 30
	// Threads count too, and every Go program starts some for each processor.
	processes = 1024
	// For each gate: the tests alone take longer than the five minutes that others get.
	gateTime = 30 * time.Minute
)

// healthEvery is the pause between two health checks of an image on trial. Each check starts the program anew, in a
// container of its own.
const healthEvery = 3 * time.Second

// rebuild takes a change to the next image. The document of the run, in words, is only progress here: the result is
// which image is current.
//
// It takes the journal before it looks at the change, so that two rebuilds cannot prove themselves against the same
// current image and then both replace it.
func (c command) rebuild(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	if err := checkRepository(set["workspace"].Text); err != nil {
		return err
	}
	asJSON := set.On("json")
	// Otherwise the run below would print its own document, and a script would find two on standard output.
	set["json"] = config.Value{Text: "false", Origin: "default"}
	// A copy: the result goes to the caller's own standard output at the end.
	quiet := *c.Line
	quiet.Stdout = c.Stderr
	req, intent, err := request(ctx, &quiet, set)
	if err != nil {
		return err
	}
	// The final content of the journal; nil if the attempt did not begin.
	var state *selfbuild.State
	err = quiet.With(ctx.Context, set, true, func(s *wire.Session) error {
		return (command{&quiet}).journal(ctx.Context, s.Engine, func(j *selfbuild.Journal) error {
			// Containers in which a killed rebuild tried its image hold memory, and may use the scratch schema that is
			// about to be dropped.
			if err := s.Engine.ReapErrands(ctx.Context); err != nil {
				return err
			}
			r := &rebuild{command: command{&quiet}, attempt: &sandboxcmd.Attempt{Line: &quiet, Session: s, Settings: set}, journal: j, set: set, req: req}
			begun := false
			err := j.Attempt(ctx.Context, intent, func() error { begun = true; return r.run(ctx) }, func(err error) error { return why(r.attempt.Ended, err) })
			if begun {
				last := j.State()
				state = &last
			}
			return err
		})
	})
	if state == nil {
		return err
	}
	// After the hand-over, whose error is reported with the rest.
	return c.tellRebuilt(ctx.Context, *state, asJSON, err)
}

// checkRepository checks whether dir can be the agent's own repository, before an image is built or a database started:
// an image of the agent cannot be built from anything else.
func checkRepository(dir string) error {
	if err := cmdline.CheckDirectory(dir); err != nil {
		return err
	}
	const next = "name the agent's own repository with --workspace"
	text, err := workspace.ReadFile(dir, "go.mod")
	if err != nil {
		return fault.Usage(next, "%s is not the agent's repository: %w", dir, err)
	}
	if module := modfile.ModulePath(text); module != "agent" {
		return fault.Usage(next, "%s is not the agent's repository: its go.mod names the module %q", dir, module)
	}
	for _, program := range []string{"agent", "guest"} {
		info, err := os.Stat(filepath.Join(dir, "cmd", program))
		if err != nil || !info.IsDir() {
			return fault.Usage(next, "%s is not the agent's repository: it has no cmd/%s", dir, program)
		}
	}
	return nil
}

// why returns the recorded cause of an attempt that ended before there was an image: the message of its run, or else
// the error. The run's message comes first, since its error may be only an exit code. That a model or a person wanted
// no change is not an error elsewhere. But an attempt that ended must have a cause: without one it would read as
// settled.
func why(ended *run.Document, err error) error {
	switch {
	case ended != nil && ended.Error != nil:
		return errors.New(ended.Error.Message)
	case err == nil:
		return errors.New("there was no change")
	}
	return err
}

// request returns the run that proves the change, without patch and goal if there is none. The string is the intent for
// the journal. The limits of the request are raised even if the error is not nil, since they are not used then.
func request(ctx *cli.Context, c *cmdline.Line, set config.Settings) (run.Request, string, error) {
	if err := checkPromotes(set); err != nil {
		return run.Request{}, "", err
	}
	req, err := sandboxcmd.BaseRequest(set)
	intent := "the workspace as it is"
	switch {
	// A refused request is neither of the others. Without this case a patch would be read, perhaps from a terminal, in
	// vain.
	case err != nil:
	case ctx.IsSet("patch"):
		intent = "patch " + ctx.String("patch")
		req, err = sandboxcmd.Request(ctx, c, set)
	case ctx.IsSet("goal"):
		intent = "goal " + ctx.String("goal")
		req, err = sandboxcmd.Request(ctx, c, set)
	}
	raise(&req)
	return req, intent, err
}

// checkPromotes refuses no_promote instead of ignoring it: a user who set it wants the workspace left alone, and the
// image on trial would come from a source that exists nowhere.
func checkPromotes(set config.Settings) error {
	if set.On("no_promote") {
		return fault.Usage("omit no_promote", "a rebuild of the agent writes its change to the workspace")
	}
	return nil
}

// raise gives the boxes more than a workspace may ask for. Memory that the user chose stays as it is, since it bounds
// the machine; /tmp, processes and time are raised to what the agent's own tests take.
func raise(req *run.Request) {
	limits := &req.Config.Limits
	limits.Tmp, limits.PIDs = tmpBytes, max(limits.PIDs, processes)
	if limits.Memory == 0 {
		limits.Memory = memoryBytes
	}
	req.Config.Timeout = max(req.Config.Timeout, gateTime)
}

// run goes from the change to the settled image. Before the promotion the approver has the image built and tried, so
// that a refused image leaves the workspace as it was. After the promotion the tags move. Only then can the trial fail,
// and the change stays in the workspace for `agent undo`.
func (r *rebuild) run(ctx *cli.Context) error {
	r.prepare(ctx.Duration("trial"))
	var err error
	switch {
	case r.req.Patch != nil:
		err = r.attempt.Prove(ctx, r.req)
	case r.req.Goal != "":
		err = r.attempt.Iterate(ctx, r.req)
	default:
		err = r.asItIs(ctx.Context)
	}
	return r.take(ctx.Context, err, r.req.Patch != nil || r.req.Goal != "")
}

// prepare prepares one attempt, whose image is on trial for the time trial.
func (r *rebuild) prepare(trial time.Duration) {
	// Every run of the session is guarded, including those that Iterate begins.
	r.attempt.Guard = func(a *checkpoint.Approver) run.Approver { return &approver{Approver: a, rebuild: r} }
	r.proved, r.cause = false, nil
	r.work = selfbuild.Work{
		Period: trial, Every: healthEvery,
		// Some phases take minutes: each is reported as it begins.
		Tell: func(p selfbuild.Phase) { fmt.Fprintln(r.Stderr, "self:", p) },
		HandOver: func(ctx context.Context) error {
			return r.attempt.Session.Engine.HandOver(ctx, tags(r.Line)+":current", resumed)
		},
	}
}

// take makes the image current that proved itself before the change was written. err is the error of the run, and
// changed says that there was a change to write.
func (r *rebuild) take(ctx context.Context, err error, changed bool) error {
	switch {
	// The cause says more than the run does, for which the approver only declined.
	case r.cause != nil:
		return r.cause
	// This applies even if the canary passed: the promotion may have met a conflict, and an image is not taken if its
	// change is not in the workspace.
	case err != nil || !r.proved:
		return err
	}
	// The trial has a scratch schema of its own: the canary's was dropped when the canary ended.
	err = r.copied(ctx, func(p selfbuild.Prover) error {
		r.work.Healthy = func(ctx context.Context) error {
			// Read each time: the journal determines which image is on trial.
			to := r.journal.State().Attempt.To
			return p.Healthy(ctx, to.Image, to.Source)
		}
		return refused(r.journal, r.journal.Take(ctx, r.work))
	})
	var f *fault.Error
	if err == nil || errors.As(err, &f) || r.journal.Succeeded() || !changed {
		return err
	}
	// Whatever the error was, the change is in the workspace without an image.
	return fault.Infra("see `agent doctor`, and run again; or take back the written change with `agent undo`", "%w", err)
}

// asItIs builds the workspace without a change, if a person or --yes wants it. A difference from the current version
// needs the person, as held says.
//
// No gate judges it: the workspace is what it is, and the canary and the trial must suffice. Therefore what --yes
// approves here is bounded by the changes since an image that did prove itself.
func (r *rebuild) asItIs(ctx context.Context) error {
	// Read now: what is compared here is also what is built.
	base, err := workspace.Rescan(ctx, r.req.Workspace, r.req.Exclude, workspace.Limits{})
	if err != nil {
		return fmt.Errorf("scan the workspace: %w", err)
	}
	diff, err := r.journal.Difference(nil, gate.Tree(base))
	if err != nil {
		return err
	}
	held := r.held(diff.Paths(), diff)
	switch {
	case r.set.On("yes") && len(held) == 0:
	// Exit code 4, as always if a person is missing.
	case !r.Attended():
		return fault.Policy("run it at a terminal", "%s", needsPerson(held))
	default:
		if err := r.askForAll(ctx, held, diff); err != nil {
			return err
		}
	}
	return r.proveImage(ctx, base)
}

// askForAll shows the differences from the current version and asks whether to build them.
func (r *rebuild) askForAll(ctx context.Context, held []held, diff selfbuild.Difference) error {
	if len(held) > 0 {
		term.DiffView{Palette: r.Palette(r.Stderr)}.Print(r.Stderr, diff.Changes.Diff())
		// The names come from the workspace, and one of them may hold characters that move a cursor.
		fmt.Fprintf(r.Stderr, "self: since the current version there is %s\n", term.CleanLine(held[0].why+": "+strings.Join(names(held), ", ")))
		for _, c := range diff.Concerns {
			fmt.Fprintln(r.Stderr, "self: look at", term.CleanLine(c.String()))
		}
	}
	// Enter does not mean yes, and anything typed during the scan is not an answer.
	yes, err := r.AskYes(ctx, "Build the agent from the workspace as it is?")
	if err != nil || !yes {
		return errors.Join(err, fault.Policy("run again and answer yes", "the rebuild was declined"))
	}
	return nil
}

// tellRebuilt prints which image is current and why, and returns the exit code. It always prints the state, since that
// is the truth about the tags: even after an error one of the two images is current. With JSON, the state is the only
// document, and the error is printed only for people.
func (c command) tellRebuilt(ctx context.Context, state selfbuild.State, asJSON bool, err error) error {
	if asJSON {
		if printed := term.PrintJSON(c.Stdout, state); printed != nil {
			return printed
		}
	} else if now := state.Current; now != nil {
		fmt.Fprintf(c.Stdout, "source %s is current\n", now.Name())
	}
	var reported fault.Reported
	if err == nil || !asJSON || errors.As(err, &reported) {
		return err
	}
	problem, code := fault.Classify(ctx, err)
	c.PrintProblem(c.Stderr, problem)
	return fault.Reported{Exit: code}
}
