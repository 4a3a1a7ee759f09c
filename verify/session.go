package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"agent/sandbox"
	"agent/sandbox/egress"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/kept"
	"agent/verify/node"
	"agent/verify/room"
	"agent/verify/typecache"
)

// defaultTimeout bounds every command except the smoke test's, which has its own watch. It is long, because a whole
// test suite has to fit.
const defaultTimeout = 5 * time.Minute

// A session is one call of Verify. Its data flows one way: plan decides which boxes there are, each box passes outcomes
// to results, and results judges. The only thing that one box needs from another, the final bytes of the candidate,
// comes through settled.
type session struct {
	boxes   Launcher
	take    func(ctx context.Context, rank int) (give func(), err error)
	gates   []string // as Verifier.gates
	req     Request
	tools   check.Tools
	results *results
	store   *kept.Store
	types   *typecache.Row
	hide    func(string) string // as Verifier.Hide
	// As Verifier.weighFor.
	weighFor time.Duration

	base check.View
	// before and after are the program of each side.
	before, after check.Entry
	// families and reach are what the changeset can affect, by family and by the packages that each check works in;
	// only plan writes them.
	families map[*check.Family]check.Reach
	reach    map[string]check.Reach

	// since says when checks did not end in time, for those that are not run as a whole; it is written before everything else.
	since map[string]time.Time

	// lost says that the engine went away, or that a box ended that nothing in it had ended.
	lost atomic.Bool

	// settled is closed when the changeset is final. Only then may final be read, except by the static box, which sets
	// it.
	settled chan struct{}
	final   workspace.Changeset
}

// newSession prepares a call. It starts nothing, so there is nothing to undo if the context has already ended.
func newSession(v *Verifier, req Request, emit func(Event)) *session {
	base := check.NewView(req.Base, workspace.Changeset{})
	tools, versions := node.Suited(*cmp.Or(v.tools, &check.Toolchain), req.Versions, base)
	req.Versions = versions
	req.Config.Timeout = cmp.Or(req.Config.Timeout, defaultTimeout)
	s := &session{
		boxes: v.Boxes, take: v.Turns.Take, gates: v.gates, hide: v.Hide, weighFor: v.weighFor, req: req, tools: tools, base: base,
		settled: make(chan struct{}), final: req.Changeset, families: map[*check.Family]check.Reach{}, reach: map[string]check.Reach{}, since: map[string]time.Time{},
	}
	s.store = newStore(v.Cache, req.Toolchain, tools, req.Config)
	s.store.Making = v.Making
	s.types = req.types(s.store, s.base)
	if emit != nil {
		told := emit
		emit = func(e Event) { told(e.Hidden(s.hide)) }
	}
	s.results = newResults(emit, req)
	return s
}

// turn waits for a turn among the boxes on this machine, and returns the function that gives it back. Failing to get a
// turn does not affect the verdict: everything is only slower then.
func (s *session) turn(ctx context.Context) (give func()) {
	give, err := s.take(ctx, s.req.Rank)
	if err == nil {
		return give
	}
	if ctx.Err() == nil {
		s.results.note(err.Error())
	}
	return func() {}
}

// bench prepares what a gate works with on one side: v is the current content of the box, e the program of that side.
func (s *session) bench(box check.Runner, v check.View, e check.Entry) check.Bench {
	return check.Bench{Box: box, Tools: s.tools, View: v, Timeout: s.req.Config.Timeout, Smoke: s.req.Config.Smoke, Entry: e}
}

// withBox starts a box for a group of checks, lets use work in it and releases it, whatever happens. side says which
// box of the group it is, "" for the candidate's. The error is that of the start. A box that does not close is only
// noted: its label and its lease let anyone remove it later.
func (s *session) withBox(ctx context.Context, on Layer, side, group string, use func(box *sandbox.Box)) error {
	purpose := side + group
	box, err := s.boxes.Start(ctx, sandbox.Spec{
		Image: on.Snapshot, Delta: on.Delta, Run: s.req.Run, Purpose: purpose, Lease: s.req.Lease, Limits: room.For(s.req.Config.Limits, s.req.Base), Runtime: s.req.Config.Runtime,
	})
	if err != nil {
		var away *sandbox.UnavailableError
		if errors.As(err, &away) {
			s.lost.Store(true)
		}
		return fmt.Errorf("start a box for %s: %w", purpose, err)
	}
	defer func() {
		if box.Lost() && ctx.Err() == nil {
			s.lost.Store(true)
		}
		if err := box.Release(ctx); err != nil {
			s.results.note(fmt.Sprintf("close the box of %s: %v", purpose, err))
		}
	}()
	if list := s.req.Config.Egress; len(list) > 0 && reachesOut(group) {
		box.AllowEgress(&egress.Proxy{Allow: list, Record: func(r egress.Request) { s.results.requested(purpose, r) }})
	}
	use(box)
	return nil
}

// reachesOut reports whether the checks of a group are for programs that may reach the network: the workspace's own,
// not the tools that examine it.
func reachesOut(group string) bool {
	return group == check.GroupSmoke || group == check.GroupTests || strings.HasPrefix(group, check.GroupOwn)
}

// settle fixes the bytes of the candidate: the programs may start. It is called exactly once in a session that starts a
// static box, even if the formatter failed: a job that waits forever would be worse than one that runs for a verdict
// that is infra anyway.
func (s *session) settle(cs workspace.Changeset) {
	s.final = cs
	s.results.settle(cs)
	close(s.settled)
	if s.req.Settled != nil {
		s.req.Settled(cs)
	}
}

// seenBy returns what a check in its own box sees of a changeset: all of it, except that a check with a configuration
// does not see changes to it or to anything that it reads.
func (s *session) seenBy(def check.Check, cs workspace.Changeset) workspace.Changeset {
	if def.Config == nil {
		return cs
	}
	_, rest := splitConfig(cs)
	_, rest = def.Unplug(s.base, check.NewView(s.req.Base, rest), rest)
	_, rest = check.SplitChanges(rest, func(p string) bool { return path.Base(p) == ".gitignore" })
	return rest
}

// warm gives a bench the types cache if every check that ran before it in its box runs no workspace code.
func (s *session) warm(b check.Bench, earlier []check.Check) check.Bench {
	if s.types != nil && !slices.ContainsFunc(earlier, func(c check.Check) bool { return !c.Inert }) {
		b.Known = s.types
	}
	return b
}
