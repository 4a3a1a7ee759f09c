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

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/images"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/selfbuild"
	"agent/orchestrator/store"
	"agent/sandbox"
	"agent/sandbox/workspace"
)

// What the boxes of the agent's own repository may use: its tests are many programs, and all lie in /tmp.
const (
	// Each test program is linked and run there. A tmpfs counts against the memory of the
	// box, which must therefore be more.
	selfTmp    = 3 << 30
	selfMemory = 6 << 30
	// Threads count as well, and every Go program starts some for each processor.
	selfPIDs = 1024
	// For each gate: the tests alone take longer than the five minutes that others get.
	selfTime = 30 * time.Minute
)

// settleTime bounds what a rebuild does once it was cancelled.
// It is for a scratch schema and two tags, not for a build: whoever pressed Ctrl-C waits
// no longer than that.
const settleTime = 30 * time.Second

// healthEvery is the pause between two questions to an image on trial.
// Each question starts the program anew, in a container of its own.
const healthEvery = 3 * time.Second

// A rebuild is one `agent self rebuild`.
// The approver is called from within the run that rebuild started; what it leaves in
// proved and cause is read when that run has ended.
type rebuild struct {
	// Writes its results to standard error: see selfRebuild.
	*cmdline
	session *session
	// Held from before the attempt begins until containers have followed the tags.
	journal *selfbuild.Journal
	set     config.Settings
	req     run.Request
	// Filled in piece by piece, as what the next steps need becomes known.
	work selfbuild.Work
	// proved says that the canary passed for the tree that work builds from. Without it
	// nothing is taken, whatever the run says: a promotion that nobody built an image of
	// is an ordinary change.
	proved bool
	// cause is why the new image was refused, nil where it was not.
	cause error
}

// selfRebuild takes a change to the next image. The document of the run, in words, is progress here: the result is which
// image is current.
//
// The journal is taken before the change is looked at, so that two rebuilds cannot prove
// themselves against the same current image and then both replace it.
func (c *cmdline) selfRebuild(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	asJSON := set.On("json")
	// The run below would print its own document, and a script would find two on standard
	// output.
	set["json"] = config.Value{Text: "false", Origin: "default"}
	// A copy: the caller's own standard output is where the result goes at the end.
	quiet := *c
	quiet.Stdout = c.Stderr
	req, intent, err := quiet.selfRequest(ctx, set)
	if err != nil {
		return err
	}
	// What the journal holds in the end; nil where the attempt did not begin.
	var state *selfbuild.State
	err = quiet.with(ctx.Context, set, true, func(s *session) error {
		return quiet.journal(ctx.Context, s.Engine, func(j *selfbuild.Journal) error {
			// Containers in which a killed rebuild tried its image hold memory, and may hold
			// the scratch schema that is about to be dropped.
			if err := s.Engine.ReapErrands(ctx.Context); err != nil {
				return err
			}
			// From here on a kill leaves an attempt in the journal, which the next process
			// ends.
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
			last := j.State()
			state = &last
			return err
		})
	})
	if state == nil {
		return err
	}
	// After the hand-over, whose error is told with the rest.
	return c.tellRebuilt(ctx.Context, *state, asJSON, err)
}

// why is what is recorded of an attempt that ended before there was an image: what its run says, else the error.
// The words of the run come first, as its error may be no more than an exit code. That a
// model or a person wanted nothing changed is no error anywhere else, but an attempt
// that ended must have a cause: without one it would read as settled.
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
// The string is the intent for the journal. The limits of the request are raised even
// when the error is not nil, as nobody uses them then.
func (c *cmdline) selfRequest(ctx *cli.Context, set config.Settings) (run.Request, string, error) {
	// Refused and not ignored: whoever set it wants the workspace left alone, and the
	// image on trial would be of a source that exists nowhere.
	if set.On("no_promote") {
		return run.Request{}, "", fault.Usage("leave no_promote out", "a rebuild of the agent writes its change to the workspace")
	}
	req, err := c.baseRequest(set)
	intent := "the workspace as it is"
	switch {
	// A request that is refused is neither of the others; without this a patch would be
	// read, perhaps from a terminal, for nothing.
	case err != nil:
	case ctx.IsSet("patch"):
		intent = "patch " + ctx.String("patch")
		req, err = c.request(ctx, set)
	case ctx.IsSet("goal"):
		intent = "goal " + ctx.String("goal")
		req, err = c.request(ctx, set)
	}
	// More than a workspace may ask for, and no more than the user allows.
	// Memory that somebody chose stays as it is, since it bounds the machine; processes
	// and time are raised to what the agent's own tests take.
	limits := &req.Config.Limits
	limits.Tmp, limits.PIDs = selfTmp, max(limits.PIDs, selfPIDs)
	if limits.Memory == 0 {
		limits.Memory = selfMemory
	}
	req.Config.Timeout = max(req.Config.Timeout, selfTime)
	return req, intent, err
}

// rebuild goes from the change to the settled image.
// Before the promotion the approver has the image built and tried, so that a refused
// image leaves the workspace as it was; after it the tags move. Only then can the trial
// say no, and the change stays in the workspace for `agent undo`.
func (r *rebuild) rebuild(ctx *cli.Context, intent string) error {
	// Every run of the session is guarded, also those that iterate begins.
	r.session.guard = func(a *approver) run.Approver { return &selfApprover{approver: a, rebuild: r} }
	r.work = selfbuild.Work{
		Period: ctx.Duration("trial"), Every: healthEvery,
		// Minutes pass in some phases: what goes on is told as it begins.
		Tell: func(p selfbuild.Phase) { fmt.Fprintln(r.Stderr, "self:", p) },
		HandOver: func(ctx context.Context) error {
			return r.session.Engine.HandOver(ctx, r.selfTags()+":current", resumed)
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
	// It says more than the run does, for which the approver only declined.
	case r.cause != nil:
		return r.cause
	// Also after a canary that passed: the promotion may have met a conflict, and an image
	// whose change is not in the workspace is not taken.
	case err != nil || !r.proved:
		return err
	}
	// A scratch schema of its own for the trial: the canary's was dropped when that ended.
	err = r.copied(ctx.Context, func(p selfbuild.Prover) error {
		r.work.Healthy = func(ctx context.Context) error {
			// Asked each time: the journal is what says which image is on trial.
			to := r.journal.State().Attempt.To
			return p.Healthy(ctx, to.Image, to.Source)
		}
		return refused(r.journal, r.journal.Take(ctx.Context, r.work))
	})
	var f *fault.Error
	if err == nil || errors.As(err, &f) || succeeded(r.journal) || r.req.Patch == nil && r.req.Goal == "" {
		return err
	}
	// Whatever it was, the change lies in the workspace without an image.
	return fault.Infra("see `agent doctor`, and run again; or `agent undo` takes the change back, which was written", "%w", err)
}

// refused is the error of a change whose image did not prove itself, or fell ill on trial.
// Trouble of the engine or the database is none of the change's, nor is what goes wrong once the image is settled, or
// where the way back did: that is classified as everywhere.
func refused(j *selfbuild.Journal, err error) error {
	var engine *sandbox.UnavailableError
	var database *store.UnavailableError
	if err == nil || errors.As(err, &engine) || errors.As(err, &database) || j.State().Attempt != nil || succeeded(j) {
		return err
	}
	next := "see `agent self status`; the image from before is current"
	// Before these phases nothing was written, and there would be nothing to undo.
	if last := j.State().Past; len(last) > 0 && (last[0].Phase == selfbuild.Swap || last[0].Phase == selfbuild.Trial) {
		next += ", and `agent undo` takes the change back" // it was written before the tags moved
	}
	return &fault.Error{Exit: run.ExitFail, Kind: "patch", Next: next, Err: err}
}

// succeeded reports whether the last attempt made its image the current one.
func succeeded(j *selfbuild.Journal) bool {
	s := j.State()
	return s.Attempt == nil && len(s.Past) > 0 && s.Past[0].Cause == ""
}

// resumed is the command line by which a container goes on with what args began: a loop where it stood, anything else anew.
// A loop that was begun with a number of iterations has done some of them: the same
// command once more would do them all again, for the same money. What concerns how it
// works, as its models and caps, is kept word by word.
func resumed(args []string) []string {
	// A loop that was itself resumed goes on in the same words.
	resumes := func(word string) bool { name, _ := loopFlag(word); return name == "resume" }
	if len(args) < 2 || args[0] != "sandbox" || args[1] != "loop" || slices.ContainsFunc(args, resumes) {
		return args
	}
	next := []string{"sandbox", "loop", "--resume"}
	for i := 2; i < len(args); i++ {
		// A flag has its value behind "=" or in the next word, which goes with it.
		switch name, joined := loopFlag(args[i]); name {
		// The loop that is carried on has these.
		case "iterations", "n", "goal", "g", "file", "candidates", "replay":
			if !joined {
				i++
			}
		// These have no word of their own behind them. --fresh would throw away the
		// interrupted iteration, which is what is to be gone on with.
		case "fresh", "until-clean":
		default:
			next = append(next, args[i])
		}
	}
	return next
}

// loopFlag is the name of the flag that a word of the command line begins, "" for none, and whether its value is in it.
// One dash or two are the same to the parser.
func loopFlag(word string) (name string, joined bool) {
	name, _, joined = strings.Cut(word, "=")
	bare := strings.TrimPrefix(strings.TrimPrefix(name, "-"), "-")
	if bare == name {
		return "", false
	}
	return bare, joined
}

// asItIs builds the workspace without a change, where a person or --yes wants it. What differs from the current version in
// protected parts needs the person.
//
// No gate judges it: the workspace is what it is, and the canary and the trial must do.
// So what --yes approves here is bounded by what has changed since an image that did
// prove itself.
func (r *rebuild) asItIs(ctx context.Context) error {
	// Read at this moment: what is compared here is also what is built.
	base, err := workspace.Rescan(ctx, r.req.Workspace, r.req.Exclude, workspace.Limits{})
	if err != nil {
		return fmt.Errorf("scan the workspace: %w", err)
	}
	held, err := r.held(base)
	if err != nil {
		return err
	}
	switch {
	case r.set.On("yes") && len(held) == 0:
	// Exit code 4, as wherever a person is missing.
	case !r.Attended():
		return fault.Policy("run it at a terminal", "%s", needsPerson(held))
	default:
		if len(held) > 0 {
			// The names come from the workspace, and one of them may hold what moves a cursor.
			fmt.Fprintln(r.Stderr, "self: since the current version changed, what judges, builds or takes back the agent:", term.CleanLine(strings.Join(held, ", ")))
		}
		// What was typed while the scan went on answers nothing that only a person may.
		r.DiscardInput()
		typed, err := r.Question(ctx, "Build the agent from the workspace as it is?", "[y]es, [n]o", 0)
		// Enter is no yes: there is no diff above this question that somebody could have
		// read.
		if err != nil || !term.OneOf(term.Normalize(typed), "y", "yes") {
			return errors.Join(err, fault.Policy("run again and answer yes", "the rebuild was declined"))
		}
	}
	return r.proveImage(ctx, base)
}

// held returns the protected paths in which a tree is not what the current version was built from.
// The first image has nothing to be compared with: whoever starts it trusts the
// workspace.
func (r *rebuild) held(m *workspace.Manifest) ([]string, error) {
	now := r.journal.State().Current
	if now == nil {
		return nil, nil
	}
	dir, err := r.selfDir()
	if err != nil {
		return nil, err
	}
	changed, err := selfbuild.Differences(dir, *now, gate.Tree(m))
	return selfbuild.Protected(changed...), err
}

// needsPerson says why a terminal is needed.
// It goes to the record as well, so it names the files.
func needsPerson(held []string) string {
	if len(held) == 0 {
		return "there is no terminal and no --yes"
	}
	return "a change of what judges, builds or takes back the agent needs a person at a terminal: " + strings.Join(held, ", ")
}

// proveImage builds the image of a tree and has it prove itself.
// What is built is m and not what lies in the workspace later: an edit in between gets
// into no image. The outcome is left in cause and proved for rebuild, as the approver
// that calls this can only answer with a decision.
func (r *rebuild) proveImage(ctx context.Context, m *workspace.Manifest) error {
	r.work.Source = gate.Tree(m)
	r.work.Build = func(ctx context.Context, ref string) (images.Build, error) { return r.build(ctx, ref, m) }
	err := r.copied(ctx, func(p selfbuild.Prover) error {
		r.work.Canary = func(ctx context.Context, image string) (map[string]string, error) {
			// The image has to name this source itself: another that took the tag is told by
			// it.
			return p.Canary(ctx, image, m.Digest())
		}
		return refused(r.journal, r.journal.Prove(ctx, r.work))
	})
	r.cause, r.proved = err, err == nil
	return err
}

// build makes the image: the toolchain, the modules, then the agent.
// The modules are installed before, from the lock file of the same tree, since the build
// itself has no network: a change cannot fetch what was not named when it was judged.
func (r *rebuild) build(ctx context.Context, ref string, m *workspace.Manifest) (images.Build, error) {
	tools, err := r.session.Builder.Ensure(ctx, images.Toolchain)
	if err != nil {
		return images.Build{}, err
	}
	wanted, err := gate.DependenciesOf(m, r.req.Rules())
	if err != nil {
		return images.Build{}, err
	}
	on, err := r.session.Builder.Install(ctx, tools, wanted)
	if err != nil {
		return images.Build{}, err
	}
	return r.session.Builder.Agent(ctx, ref, on, gate.Tree(m), m.Root)
}

// copied gives act a prover whose image works on a copy of the schema.
// The record itself is not used: a migration that goes wrong would be found out after it
// had taken the history with it. The error joins that of act with that of dropping the
// copy.
func (r *rebuild) copied(ctx context.Context, act func(selfbuild.Prover) error) (err error) {
	address := r.set["database_url"].Text
	// The agent's own database runs in a container, which may not be up.
	if address == "" {
		if address, err = r.session.OwnPostgres(ctx); err != nil {
			return err
		}
	}
	dir, err := r.selfDir()
	if err != nil {
		return err
	}
	// Of one name for one journal, which one process has: what a killed one left is found again.
	// The host belongs to it: two of them have a home of one name, and may have one database.
	host, _, _ := strings.Cut(sandbox.Owner(), "/")
	// 23 characters are well below the 63 that Postgres keeps of a name.
	name := fmt.Sprintf("agent_self_%x", sha256.Sum256([]byte(host+"/"+dir)))[:23]
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
	// Where packages come from is the machine's business and no setting of the agent, so
	// the image cannot know it. Keys of models are not among these: the canary asks no
	// model.
	for _, name := range []string{"NPM_CONFIG_REGISTRY", "GOPROXY", "PIP_INDEX_URL", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE"} {
		if v := r.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return act(selfbuild.Prover{Errands: r.session.Engine, Env: env, Certificates: r.machineCertificates()})
}

// tellRebuilt prints which image is current and why, and gives the exit code.
// The state is printed in any case, as it is the truth about the tags: also after an
// error one of the two images is current. In JSON it is the one document: the error is
// told for people alone then.
func (c *cmdline) tellRebuilt(ctx context.Context, state selfbuild.State, asJSON bool, err error) error {
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
	c.printProblem(c.Stderr, problem)
	return fault.Reported{Exit: code}
}
