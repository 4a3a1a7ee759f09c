package self

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	sandboxcmd "agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/images"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/orchestrator/selfbuild"
	"agent/orchestrator/store/database"
	"agent/sandbox"
	"agent/sandbox/workspace"
)

// settleTime bounds dropping the scratch schema, even for a rebuild that was cancelled.
const settleTime = 30 * time.Second

// A rebuild is one `agent self rebuild`. The approver is called within the run that rebuild started. What it leaves in
// proved and cause is read when that run has ended.
type rebuild struct {
	// It writes its results to standard error: see command.rebuild.
	command
	attempt *sandboxcmd.Attempt
	// Held from before the attempt begins until containers have followed the tags.
	journal *selfbuild.Journal
	set     config.Settings
	req     run.Request
	// Filled in step by step, as the values for the next steps become known.
	work selfbuild.Work
	// proved says that the canary passed for the tree that work builds from. Without it no image is taken, whatever the
	// run says: a promotion for which no image was built is an ordinary change.
	proved bool
	// cause is why the new image was refused, nil if it was not.
	cause error
}

// needsPerson says why a terminal is needed. It goes into the record too, so it names the files.
func needsPerson(held []held) string {
	if len(held) == 0 {
		return "there is no terminal and no --yes"
	}
	// Paths that no setting approves come first.
	return held[0].why + " needs a person at a terminal: " + strings.Join(names(held), ", ")
}

// refused returns the error for a change whose image did not prove itself, or failed on trial. A problem of the engine
// or the database is not the change's fault. Nor is a failure after the image is settled, or a failed way back. Such
// errors are returned unchanged.
func refused(j *selfbuild.Journal, err error) error {
	var engine *sandbox.UnavailableError
	var database *database.UnavailableError
	if err == nil || errors.As(err, &engine) || errors.As(err, &database) || j.State().Attempt != nil || j.Succeeded() {
		return err
	}
	next := "see `agent self status`; the previous image is current"
	// Before these phases nothing was written, and there would be nothing to undo.
	if last := j.State().Past; len(last) > 0 && (last[0].Phase == selfbuild.Swap || last[0].Phase == selfbuild.Trial) {
		next += ", and `agent undo` takes the change back" // it was written before the tags moved
	}
	return &fault.Error{Exit: run.ExitFail, Kind: run.ProblemPatch, Next: next, Err: err}
}

// proveImage builds the image of a tree and has it prove itself. It builds m and not the later content of the
// workspace: an edit in between gets into no image. It leaves the outcome in cause and proved for rebuild, since the
// approver that calls it can only answer with a decision.
func (r *rebuild) proveImage(ctx context.Context, m *workspace.Manifest) error {
	r.work.Source = gate.Tree(m)
	r.work.Build = func(ctx context.Context, ref string) (images.Build, error) { return r.build(ctx, ref, m) }
	err := r.copied(ctx, func(p selfbuild.Prover) error {
		r.work.Canary = func(ctx context.Context, image string) (map[string]string, error) {
			// The image must name this source itself: that reveals another image that took the tag.
			return p.Canary(ctx, image, m.Digest())
		}
		return refused(r.journal, r.journal.Prove(ctx, r.work))
	})
	r.cause, r.proved = err, err == nil
	return err
}

// build builds the image: the toolchain, the modules, then the agent. The modules are installed first, from the lock
// file of the same tree, since the build itself has no network: a change cannot fetch anything that was not named when
// it was judged.
func (r *rebuild) build(ctx context.Context, ref string, m *workspace.Manifest) (images.Build, error) {
	tools, err := r.attempt.Session.Builder.Ensure(ctx, images.Toolchain)
	if err != nil {
		return images.Build{}, err
	}
	wanted, err := gate.DependenciesOf(m, r.req.Rules())
	if err != nil {
		return images.Build{}, err
	}
	on, err := r.attempt.Session.Builder.Install(ctx, tools, wanted)
	if err != nil {
		return images.Build{}, err
	}
	return r.attempt.Session.Builder.Agent(ctx, ref, on, gate.Tree(m), m.Root)
}

// copied passes act a prover whose image works on a copy of the schema. The record itself is not used: a broken
// migration would be noticed only after it had destroyed the history. The error joins that of act with that of dropping
// the copy.
func (r *rebuild) copied(ctx context.Context, act func(selfbuild.Prover) error) (err error) {
	address := r.set["database_url"].Text
	// The agent's own database runs in a container, which may not be running.
	if address == "" {
		if address, err = r.attempt.Session.OwnPostgres(ctx); err != nil {
			return err
		}
	}
	dir, err := home(r.Line)
	if err != nil {
		return err
	}
	// There is one name per journal, which one process holds, so what a killed process left is found again. The name
	// includes the host: two hosts may have homes of the same name, and share one database.
	host, _, _ := strings.Cut(sandbox.Owner(), "/")
	// 23 characters are well below the 63 that Postgres keeps of a name.
	name := fmt.Sprintf("agent_self_%x", sha256.Sum256([]byte(host+"/"+dir)))[:23]
	own, drop, err := database.Scratch(ctx, address, name)
	if err != nil {
		return err
	}
	defer func() {
		steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		err = errors.Join(err, drop(steady))
	}()
	own, passwords, err := database.Apart(own)
	if err != nil {
		return err
	}
	env := []string{"AGENT_DATABASE_URL=" + own}
	// Where packages come from is a matter of the machine and not a setting of the agent, so the image cannot know it.
	// Keys of models are not included: the canary asks no model.
	for _, name := range []string{"NPM_CONFIG_REGISTRY", "GOPROXY", "PIP_INDEX_URL", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE"} {
		if v := r.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return act(selfbuild.Prover{Errands: r.attempt.Session.Engine, Env: env, Passwords: passwords, Certificates: r.machineCertificates()})
}
