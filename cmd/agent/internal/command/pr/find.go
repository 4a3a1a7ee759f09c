package pr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/checkpoint"
	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/command/sandbox"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/forge/mirror"
	"agent/orchestrator/llm"
	"agent/orchestrator/pull"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/sandbox/owner"
	"agent/verify/policy"
)

// The bounds on what a command asks of models by itself, unless the user says otherwise.
const (
	maxRequests = 30
	maxTime     = 300 * time.Second
)

// An order asks for a change to be found for the files in a directory.
type order struct {
	dir  string
	goal string // in the agent's own words
	// given is what others wrote about it: data, which widens nothing.
	given string
	scope []string
	// requests and time are what remains of the bounds.
	requests int
	time     time.Duration
	// guarded are kinds of hold that need an approval even if they do not block.
	guarded []string
}

// find lets the engineer find a change, with the very steps of `agent sandbox run --goal`, so that everything that
// decides there also decides here. It writes the change into the directory once it has passed. A change that needs an
// approval is not written unless --allow names its kind. The document is that of the run; progress goes to stderr.
func find(ctx *cli.Context, line *cmdline.Line, s *wire.Session, o order) (run.Document, error) {
	if s.Engine == nil {
		return run.Document{}, fault.Infra("start the engine, then run again; see `agent doctor`", "proving a change needs a container engine, and none answers")
	}
	set, req, err := settled(ctx, line, o)
	if err != nil {
		return run.Document{}, err
	}
	defer req.Place.Close()
	if req.Candidates, err = set.Candidates(); err != nil {
		return run.Document{}, err
	}
	req.Goal, req.Given, req.Scope, req.NoFeature = o.goal, o.given, o.scope, true
	// Standard output is for the result of the whole command.
	told := cmdline.New(line.Getenv, line.Stdin, line.Stderr, line.Stderr)
	a := &sandbox.Attempt{Line: told, Session: s, Settings: set, Guard: func(by *checkpoint.Approver) run.Approver { return guard{by, o.guarded, req.Allow} }}
	err = a.Iterate(ctx, req)
	if a.Ended == nil {
		return run.Document{}, err
	}
	return *a.Ended, nil
}

// settled returns the settings for the files of an order, and a request for them, whose Place the caller closes.
func settled(ctx *cli.Context, line *cmdline.Line, o order) (config.Settings, run.Request, error) {
	// The agent.toml of those files decides what is proved, within what the user allows.
	if err := ctx.Set("workspace", o.dir); err != nil {
		return nil, run.Request{}, err
	}
	set, err := config.Load(ctx, line.Getenv)
	if err != nil {
		return nil, run.Request{}, err
	}
	set = maps.Clone(set)
	for name, text := range map[string]string{
		"yes": "true", "no_promote": "false", "json": "false", "features": "false", "budget.requests": strconv.Itoa(o.requests), "budget.time": o.time.String(),
	} {
		v := set[name]
		v.Text = text
		set[name] = v
	}
	req, err := sandbox.BaseRequest(set)
	if err != nil {
		return nil, run.Request{}, err
	}
	if err := wire.CheckAnyModel(ctx.Context, set); err != nil {
		req.Place.Close()
		return nil, req, err
	}
	return set, req, nil
}

// A guard rejects some kinds of hold unless they were allowed in advance.
type guard struct {
	run.Approver
	kinds, allow []string
}

// Approve implements run.Approver.
func (g guard) Approve(ctx context.Context, p run.Proposal) (run.Answer, error) {
	held := slices.DeleteFunc(slices.Clone(p.Candidate.Holds), func(h policy.Hold) bool {
		return !slices.Contains(g.kinds, h.Kind) || slices.Contains(g.allow, h.Kind)
	})
	if len(held) > 0 {
		return checkpoint.Unattended("the change touches what needs --allow: " + checkpoint.ListHolds(held)), nil
	}
	return g.Approver.Approve(ctx, p)
}

// A budget is what a command may still ask of models.
type budget struct {
	requests int
	time     time.Duration
}

// newBudget returns the user's budget, or the bounds of such a command.
func newBudget(ctx *cli.Context, set config.Settings) (budget, error) {
	limits, err := set.Budget()
	b := budget{limits.Requests, limits.RunTime}
	if !ctx.IsSet("max-requests") {
		b.requests = min(b.requests, maxRequests)
	}
	if !ctx.IsSet("max-time") {
		b.time = min(b.time, maxTime)
	}
	return b, err
}

// over reports whether nothing remains.
func (b budget) over() bool { return b.requests <= 0 || b.time < time.Second }

// spend subtracts what a run asked for, according to the record.
func (b *budget) spend(ctx context.Context, s *wire.Session, id string) error {
	if id == "" {
		return nil
	}
	d, err := s.DB.Run(ctx, id)
	if err != nil {
		return err
	}
	var spent llm.Spent
	if d.Iteration != "" {
		id = d.Iteration
	}
	spent, _, err = s.DB.Spent(ctx, id, time.Now())
	b.requests -= spent.Requests
	b.time -= spent.Duration
	return err
}

// commitRun makes the commit of a promoted run on top of head. The same run always gives the same commit.
func (t *target) commitRun(ctx context.Context, s *wire.Session, id, head, subject string) (commit string, err error) {
	d, err := s.DB.Run(ctx, id)
	if err != nil {
		return "", err
	}
	p, err := tell(ctx, s, d)
	if err != nil {
		return "", err
	}
	p.work.Intent = subject
	changes, err := t.onto(ctx, head, p.changes)
	if err != nil {
		return "", err
	}
	return t.mirror.Make(ctx, mirror.NewCommit{Parent: head, Message: pull.Message(p.work), By: t.author(ctx), At: p.detail.Ended, Changes: changes})
}

// deliver pushes a commit to the branch of a pull request, unless it is already there, as after a kill. moved says that
// the branch now holds other commits, which stay.
func (t *target) deliver(ctx context.Context, branch, commit string) (moved bool, err error) {
	at, err := t.mirror.Fetch(ctx, "refs/heads/"+branch)
	if err != nil {
		return false, err
	}
	if t.mirror.Contains(ctx, at[0], commit) {
		return false, nil
	}
	if !t.mirror.Contains(ctx, commit, at[0]) {
		return true, nil
	}
	var rejected *mirror.RejectedError
	err = t.mirror.Push(ctx, commit, branch)
	if errors.As(err, &rejected) { // someone was faster, or it is protected
		now, ferr := t.mirror.Fetch(ctx, "refs/heads/"+branch)
		if ferr == nil && now[0] != at[0] {
			return true, nil
		}
	}
	return false, err
}

// beats is how often a lease is renewed. A lease that was not renewed for orphaned may be taken over.
const (
	beats    = 30 * time.Second
	orphaned = 90 * time.Second
)

// leased runs act while no other process works on the repository. ctx ends when another process takes over.
func (t *target) leased(ctx *cli.Context, s *wire.Session, act func() error) error {
	whole := ctx.Context
	token, err := s.DB.TakeLease(whole, t.repository(), cmp.Or(owner.Name(), fmt.Sprintf("process %d", os.Getpid())), func(by string, beat time.Time) bool {
		if alive, known := owner.Alive(by); known {
			return !alive
		}
		return time.Since(beat) > orphaned
	})
	var held *store.LeaseError
	if errors.As(err, &held) {
		return &fault.Error{Exit: run.ExitConflict, Kind: run.ProblemConflict, Next: "wait for it, or end that process", Err: held}
	}
	if err != nil {
		return err
	}
	under, stop := context.WithCancelCause(whole)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(beats)
		defer tick.Stop()
		for {
			select {
			case <-under.Done():
				return
			case <-tick.C:
				if err := s.DB.BeatLease(under, t.repository(), token); errors.Is(err, run.ErrFenced) {
					stop(err)
				}
			}
		}
	}()
	ctx.Context = under
	defer func() {
		stop(nil)
		<-ended
		ctx.Context = whole
	}()
	err = act()
	if cause := context.Cause(under); errors.Is(cause, run.ErrFenced) {
		err = &fault.Error{Exit: run.ExitConflict, Kind: run.ProblemConflict, Next: "run it again: it finds what was already done", Err: cause}
	}
	return errors.Join(err, s.DB.EndLease(context.WithoutCancel(whole), t.repository(), token))
}
