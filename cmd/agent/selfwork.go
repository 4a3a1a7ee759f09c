package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"agent/images"
	"agent/orchestrator/run"
	"agent/orchestrator/selfbuild"
	"agent/orchestrator/store"
	"agent/sandbox/workspace"
)

// What the boxes of the agent's own repository may use: its tests are many programs, and all lie in /tmp.
const (
	selfTmp    = 3 << 30
	selfMemory = 6 << 30
	selfPIDs   = 1024
	selfTime   = 30 * time.Minute
)

// settleTime bounds what a rebuild does once it was cancelled.
const settleTime = 30 * time.Second

// healthEvery is the pause between two questions to an image on trial.
const healthEvery = 3 * time.Second

// A rebuild is one `agent self rebuild`.
type rebuild struct {
	*cmdline
	session *session
	journal *selfbuild.Journal
	set     settings
	req     run.Request
	work    selfbuild.Work
	proved  bool
	// cause is why the new image was refused, nil where it was not.
	cause error
}

// selfRebuild takes a change to the next image. The document of the run, in words, is progress here: the result is which
// image is current.
func (c *cmdline) selfRebuild(ctx *cli.Context) error {
	set, err := c.settings(ctx)
	if err != nil {
		return err
	}
	asJSON := set.on("json")
	set["json"] = value{"false", "default"}
	quiet := *c
	quiet.stdout = c.stderr
	req, intent, err := quiet.selfRequest(ctx, set)
	if err != nil {
		return err
	}
	return quiet.with(ctx.Context, set, true, func(s *session) error {
		return quiet.journal(ctx.Context, s.engine, func(j *selfbuild.Journal) error {
			if err := s.engine.ReapErrands(ctx.Context); err != nil {
				return err
			}
			if err := j.Begin(intent); err != nil {
				return err
			}
			r := &rebuild{cmdline: &quiet, session: s, journal: j, set: set, req: req}
			err := r.rebuild(ctx, intent)
			if j.State().Attempt != nil { // it ended before there was an image to judge
				steady, cancel := context.WithTimeout(context.WithoutCancel(ctx.Context), settleTime)
				defer cancel()
				err = errors.Join(err, j.Fail(steady, s.why(err)))
			}
			return c.tellRebuilt(j.State(), asJSON, err)
		})
	})
}

// why is what is recorded of an attempt that ended before there was an image: what its run says, else the error.
func (s *session) why(err error) error {
	switch {
	case s.ended != nil && s.ended.Error != nil:
		return errors.New(s.ended.Error.Message)
	case err == nil:
		return errors.New("there was no change")
	}
	return err
}

// selfRequest is the run that proves the change, without patch and goal where there is none.
func (c *cmdline) selfRequest(ctx *cli.Context, set settings) (run.Request, string, error) {
	if set.on("no_promote") {
		return run.Request{}, "", usage("leave no_promote out", "a rebuild of the agent writes its change to the workspace")
	}
	req, err := c.baseRequest(set)
	intent := "the workspace as it is"
	switch {
	case err != nil:
	case ctx.IsSet("patch"):
		intent = "patch " + ctx.String("patch")
		req, err = c.request(ctx, set)
	case ctx.IsSet("goal"):
		intent = "goal " + ctx.String("goal")
		req, err = c.request(ctx, set)
	}
	// More than a workspace may ask for, and no more than the user allows.
	limits := &req.Config.Limits
	limits.Tmp, limits.PIDs = selfTmp, max(limits.PIDs, selfPIDs)
	if limits.Memory == 0 {
		limits.Memory = selfMemory
	}
	req.Config.Timeout = max(req.Config.Timeout, selfTime)
	return req, intent, err
}

// rebuild goes from the change to the settled image.
func (r *rebuild) rebuild(ctx *cli.Context, intent string) error {
	r.session.guard = func(a *approver) run.Approver { return &selfApprover{approver: a, rebuild: r} }
	r.work = selfbuild.Work{
		Period: ctx.Duration("trial"), Every: healthEvery,
		Tell: func(p selfbuild.Phase) { fmt.Fprintln(r.stderr, "self:", p) },
		HandOver: func(ctx context.Context) error {
			return r.session.engine.HandOver(ctx, r.selfTags()+":current", resumed)
		},
	}
	var err error
	switch {
	case r.req.Patch != nil:
		err = r.prove(ctx, r.set, r.session, r.req)
	case r.req.Goal != "":
		err = r.iterate(ctx, r.set, r.session, r.req)
	default:
		err = r.asItIs(ctx.Context)
	}
	switch {
	case r.cause != nil:
		return r.cause
	case err != nil || !r.proved:
		return err
	}
	return r.copied(ctx.Context, func(p selfbuild.Prover) error {
		r.work.Healthy = func(ctx context.Context) error {
			to := r.journal.State().Attempt.To
			return p.Healthy(ctx, to.Image, to.Source)
		}
		return r.journal.Take(ctx.Context, r.work)
	})
}

// resumed is the command line by which a container goes on with what args began: a loop where it stood, anything else anew.
func resumed(args []string) []string {
	if len(args) < 2 || args[0] != "sandbox" || args[1] != "loop" || slices.Contains(args, "--resume") {
		return args
	}
	next := []string{"sandbox", "loop", "--resume"}
	for i := 2; i < len(args); i++ {
		name, _, joined := strings.Cut(args[i], "=")
		switch name {
		// The loop that is carried on has these.
		case "--iterations", "-n", "--goal", "-g", "--file", "--candidates", "--replay":
			if !joined {
				i++
			}
		case "--fresh", "--until-clean":
		default:
			next = append(next, args[i])
		}
	}
	return next
}

// asItIs builds the workspace without a change, where a person or --yes wants it. What differs from the current version in
// protected parts needs the person.
func (r *rebuild) asItIs(ctx context.Context) error {
	base, err := workspace.Rescan(ctx, r.req.Workspace, r.req.Exclude, workspace.Limits{})
	if err != nil {
		return fmt.Errorf("scan the workspace: %w", err)
	}
	var held []string
	if now := r.journal.State().Current; now != nil {
		dir, err := r.selfDir()
		if err != nil {
			return err
		}
		changed, err := selfbuild.Differences(dir, *now, run.Tree(base))
		if err != nil {
			return err
		}
		held = selfbuild.Protected(changed...)
	}
	switch {
	case r.set.on("yes") && len(held) == 0:
	case !r.attended():
		return policy("run it at a terminal", "%s", needsPerson(held))
	default:
		if len(held) > 0 {
			fmt.Fprintln(r.stderr, "self: since the current version changed, what judges, builds or takes back the agent:", cleanLine(strings.Join(held, ", ")))
		}
		typed, err := r.question(ctx, "Build the agent from the workspace as it is?", "[y]es, [n]o", 0)
		if err != nil || !oneOf(normal(typed), "y", "yes") {
			return errors.Join(err, policy("run again and answer yes", "the rebuild was declined"))
		}
	}
	return r.proveImage(ctx, base)
}

// needsPerson says why a terminal is needed.
func needsPerson(held []string) string {
	if len(held) == 0 {
		return "there is no terminal and no --yes"
	}
	return "a change of what judges, builds or takes back the agent needs a person at a terminal: " + strings.Join(held, ", ")
}

// proveImage builds the image of a tree and has it prove itself.
func (r *rebuild) proveImage(ctx context.Context, m *workspace.Manifest) error {
	r.work.Source = run.Tree(m)
	r.work.Build = func(ctx context.Context, ref string) (images.Build, error) { return r.build(ctx, ref, m) }
	err := r.copied(ctx, func(p selfbuild.Prover) error {
		r.work.Canary = func(ctx context.Context, image string) (map[string]string, error) {
			return p.Canary(ctx, image, m.Digest())
		}
		return r.journal.Prove(ctx, r.work)
	})
	r.cause, r.proved = err, err == nil
	return err
}

// build makes the image: the toolchain, the modules, then the agent.
func (r *rebuild) build(ctx context.Context, ref string, m *workspace.Manifest) (images.Build, error) {
	tools, err := r.session.builder.Ensure(ctx, images.Toolchain)
	if err != nil {
		return images.Build{}, err
	}
	wanted, err := run.DependenciesOf(m, r.req)
	if err != nil {
		return images.Build{}, err
	}
	on, err := r.session.builder.Install(ctx, tools, wanted)
	if err != nil {
		return images.Build{}, err
	}
	return r.session.builder.Agent(ctx, ref, on, run.Tree(m), m.Root)
}

// copied gives act a prover whose image works on a copy of the schema.
func (r *rebuild) copied(ctx context.Context, act func(selfbuild.Prover) error) (err error) {
	address := r.set["database_url"].text
	if address == "" {
		if address, err = r.session.ownPostgres(ctx); err != nil {
			return err
		}
	}
	dir, err := r.selfDir()
	if err != nil {
		return err
	}
	// Of one name for one journal, which one process has: what a killed one left is found again.
	name := fmt.Sprintf("agent_self_%x", sha256.Sum256([]byte(dir)))[:23]
	own, drop, err := store.Scratch(ctx, address, name)
	if err != nil {
		return err
	}
	defer func() {
		steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		err = errors.Join(err, drop(steady))
	}()
	env := []string{"AGENT_DATABASE_URL=" + own}
	for _, name := range []string{"NPM_CONFIG_REGISTRY", "GOPROXY", "PIP_INDEX_URL", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE"} {
		if v := r.getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return act(selfbuild.Prover{Errands: r.session.engine, Env: env, Certificates: r.machineCertificates()})
}

// tellRebuilt prints which image is current and why, and gives the exit code.
func (c *cmdline) tellRebuilt(state selfbuild.State, asJSON bool, err error) error {
	if asJSON {
		if printed := printJSON(c.stdout, state); printed != nil {
			return printed
		}
	} else if now := state.Current; now != nil {
		fmt.Fprintf(c.stdout, "source %s is current\n", now.Name())
	}
	var f *fault
	var reported errReported
	if err == nil || errors.As(err, &f) || errors.As(err, &reported) {
		return err
	}
	next := "see `agent self status`; the image from before is current"
	if last := state.Past; len(last) > 0 && (last[0].Phase == selfbuild.Swap || last[0].Phase == selfbuild.Trial) {
		next += ", and `agent undo` takes the change back" // it was written before the tags moved
	}
	return &fault{exit: run.ExitFail, kind: "patch", next: next, err: err}
}

// A selfApprover decides at the checkpoint of a rebuild: it asks, as for every run, and then has the new image built and
// prove itself, before anything is written.
type selfApprover struct {
	*approver
	rebuild *rebuild
}

// Approve adds the holds of what no policy approves, and ends with the canary.
func (a *selfApprover) Approve(ctx context.Context, p run.Proposal) (run.Answer, error) {
	if p.Feature != nil {
		return a.approver.Approve(ctx, p)
	}
	var paths []string
	for _, change := range p.Candidate.Changeset.Changes {
		paths = append(paths, change.Path)
		if change.From != "" {
			paths = append(paths, change.From)
		}
	}
	held := selfbuild.Protected(paths...)
	person := *a.approver
	if len(held) > 0 {
		if !a.attended() {
			return unattended(needsPerson(held)), nil
		}
		for _, path := range held {
			p.Candidate.Holds = append(p.Candidate.Holds, workspace.Hold{
				Path: path, Kind: "self", Block: true, Reason: "it judges, builds or takes back the agent itself",
			})
		}
		person.yes, person.allow = false, nil
	}
	answer, err := person.Approve(ctx, p)
	if err != nil || answer.Decision != run.Apply {
		return answer, err
	}
	defer a.board.yield()()
	base, err := workspace.Rescan(ctx, p.Workspace, a.rebuild.req.Exclude, workspace.Limits{})
	if err == nil {
		err = a.rebuild.proveImage(ctx, base.With(p.Candidate.Changeset))
	}
	if err != nil {
		return run.Answer{Decision: run.Skip, By: "the new image: " + err.Error()}, nil
	}
	return answer, nil
}
