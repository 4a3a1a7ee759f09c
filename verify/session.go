package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agent/sandbox"
	"agent/sandbox/egress"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/format"
	"agent/verify/node"
	"agent/verify/python"
	"agent/verify/smoke"
	"agent/verify/syntax"
)

// maxBoxes is how many boxes one Verify has at a time. The candidate needs
// three; the fourth lets the baseline begin while they run. More would only
// compete for two processors and for memory, of which each box may take a gigabyte.
const maxBoxes = 4

// defaultTimeout bounds every command but the smoke test's, which has its own
// watch. It is long, because a whole test suite has to fit.
const defaultTimeout = 5 * time.Minute

// A session is one call of Verify. Its data goes one way: plan decides which
// boxes there are, each box hands outcomes to results, and results judges. What
// one box must know of another, the final bytes of the candidate, comes through
// settled.
type session struct {
	boxes   Launcher
	turns   *sandbox.Turns
	req     Request
	tools   check.Tools
	results *results
	store   *store
	types   *typeCache
	hide    func(string) string // as Verifier.Hide

	base check.View
	// The program of each side.
	before, after check.Entry
	// What the changeset can affect, by family and of what each check works in;
	// written by plan alone.
	families map[*check.Family]check.Reach
	reach    map[string]check.Reach

	// The engine went away, or a box that nothing in it had ended.
	lost atomic.Bool

	// Closed when the changeset is final. final may be read after that only, but
	// for the static box, which sets it.
	settled chan struct{}
	final   workspace.Changeset
}

// newSession prepares a call; it starts nothing, so that there is nothing to
// undo when the context has ended already.
func newSession(v *Verifier, req Request, emit func(Event)) *session {
	tools := check.Toolchain
	if v.tools != nil {
		tools = *v.tools
	}
	req.Config.Timeout = cmp.Or(req.Config.Timeout, defaultTimeout)
	s := &session{
		boxes: v.Boxes, turns: v.Turns, hide: v.Hide, req: req, tools: tools, base: check.NewView(req.Base, workspace.Changeset{}),
		settled: make(chan struct{}), final: req.Changeset, families: map[*check.Family]check.Reach{}, reach: map[string]check.Reach{},
	}
	s.store = newStore(v.Cache, req.Toolchain, tools, req.Config)
	s.types = req.typesFor(newTypeCache(s.store, s.base))
	if emit != nil {
		told := emit
		emit = func(e Event) { told(e.Hidden(s.hide)) }
	}
	s.results = newResults(emit, req)
	return s
}

// A job is one box's work. A program is not worth starting once a touched
// file does not parse; everything else goes on then.
type job struct {
	// It runs the workspace's code, so a syntax error ends it early.
	program bool
	// do ends when its box is given up.
	do func(ctx context.Context)
}

// run does everything that the report needs and returns when no box is at work.
func (s *session) run(ctx context.Context) {
	// Programs are not worth starting once a touched file does not parse.
	programs, stop := context.WithCancel(ctx)
	defer stop()
	jobs := s.plan(stop)

	slots := make(chan struct{}, maxBoxes)
	var wg sync.WaitGroup
	for _, j := range jobs {
		// Slots are taken in the order of the jobs, so the static box, for which
		// the others wait, always has one.
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		give := s.turn(ctx)
		wg.Go(func() {
			defer func() { <-slots }()
			defer give()
			of := ctx
			if j.program {
				of = programs
			}
			// The syntax error may have been found while this job waited.
			if of.Err() == nil {
				j.do(of)
			}
		})
	}
	wg.Wait()
	s.repeat(ctx)
}

// turn waits for a turn among the boxes of this machine, and returns what gives it
// back. One that cannot be had costs nobody the verdict: all are only slower then.
func (s *session) turn(ctx context.Context) (give func()) {
	give, err := s.turns.Take(ctx, s.req.Rank)
	if err == nil {
		return give
	}
	if ctx.Err() == nil {
		s.results.note(err.Error())
	}
	return func() {}
}

// plan lists the boxes that the gates need which apply, the candidate's first.
func (s *session) plan(stop context.CancelFunc) []job {
	cand := check.NewView(s.req.Base, s.req.Changeset)
	groups := s.groups(cand)
	r := s.results
	for _, defs := range groups {
		for _, def := range defs {
			s.find(def, cand)
		}
	}
	// The static box is first, since it fixes the bytes for which the programs
	// wait; then the programs, which take longest; then what can be cached.
	jobs := []job{{false, func(ctx context.Context) { s.static(ctx, groups[check.GroupStatic], stop) }}}
	// Of every check of the workspace's own too, which has a group to itself.
	programs := append([]string{check.GroupSmoke, check.GroupTests}, node.OwnGroups...)
	all := append([]string{check.GroupStatic, check.GroupTests, check.GroupSmoke}, node.OwnGroups...)
	for _, def := range r.own {
		programs, all = append(programs, def.Group), append(all, def.Group)
	}
	for _, group := range programs {
		for _, def := range groups[group] {
			jobs = append(jobs, job{true, func(ctx context.Context) { s.program(ctx, def) }})
		}
	}
	for _, def := range s.trials(groups[check.GroupTests]) {
		jobs = append(jobs, job{true, func(ctx context.Context) { s.unaided(ctx, def) }})
	}
	for _, group := range all {
		// Without programs there is nothing to compare theirs with; lint and
		// types are still wanted, for the findings next to the syntax error.
		if defs := groups[group]; len(defs) > 0 {
			jobs = append(jobs, job{group != check.GroupStatic, func(ctx context.Context) { s.baseline(ctx, group, defs) }})
		}
	}
	return append(jobs, job{false, func(ctx context.Context) { s.proof(ctx, r.wanted()) }})
}

// groups decides which checks apply, by the box that they share or the kind of box
// that each has to itself. What does not apply is recorded as skipped.
func (s *session) groups(cand check.View) map[string][]check.Check {
	r := s.results
	if reason := format.Applies(s.req.Changeset); reason != "" {
		r.skip(format.Name, reason)
	}
	if len(syntax.Touched(cand)) == 0 {
		r.skip(syntax.Name, "no touched file has a parser")
	}
	var err error
	s.before, s.after, err = smoke.Entries(s.base, cand, s.tools, s.req.Config.Smoke)
	groups := map[string][]check.Check{}
	for _, def := range append(checks(), r.own...) {
		reason := s.reason(def, cand)
		switch {
		case def.Name == smoke.ProgramName && err != nil:
			// Which program it is cannot be told, so nobody knows that it works.
			r.baseline(smoke.ProgramName, check.Outcome{})
			r.candidate(smoke.ProgramName, check.Infraf("%v", err))
		case def.Name == smoke.ImportsName && (err != nil || len(s.after.Args) > 0):
			r.skip(smoke.ImportsName, "the program is started instead")
		case reason != "":
			r.skip(def.Name, reason)
		default:
			groups[def.Group] = append(groups[def.Group], def)
		}
	}
	return groups
}

// reason says why a gate has nothing to do on either side, or "".
func (s *session) reason(def check.Check, cand check.View) string {
	if def.Name == smoke.ProgramName {
		if len(s.after.Args) > 0 {
			return ""
		}
		return "no entry point: name the program with [smoke] command in agent.toml"
	}
	reason := def.Applies(cand)
	if reason != "" && def.Gate == check.GateTests {
		reason = def.Applies(s.base) // tests that the patch deleted are missed
	}
	return reason
}

// bench prepares what a gate works with on one side: v is what stands in the
// box at that moment, e the program of that side.
func (s *session) bench(box check.Runner, v check.View, e check.Entry) check.Bench {
	return check.Bench{Box: box, Tools: s.tools, View: v, Timeout: s.req.Config.Timeout, Smoke: s.req.Config.Smoke, Entry: e}
}

// withBox starts a box for a group of checks, lets use work in it and gives it up,
// whatever happens; side says which box of the group it is, "" for the candidate's.
// The error is that of the start. A box that does not close is remarked on, not
// more: its label and its lease let anyone remove it later.
func (s *session) withBox(ctx context.Context, on Layer, side, group string, use func(box *sandbox.Box)) error {
	purpose := side + group
	box, err := s.boxes.Start(ctx, sandbox.Spec{
		Image: on.Snapshot, Delta: on.Delta, Run: s.req.Run, Purpose: purpose, Lease: s.req.Lease, Limits: RoomFor(s.req.Config.Limits, s.req.Base), Runtime: s.req.Config.Runtime,
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

// reachesOut reports whether the checks of a group are for programs that may have a
// way out: the workspace's own, not the tools that look at it.
func reachesOut(group string) bool {
	return group == check.GroupSmoke || group == check.GroupTests || strings.HasPrefix(group, check.GroupOwn)
}

// settle fixes the bytes of the candidate: the programs may start. It is called
// exactly once in a session that starts a static box, also when the formatter
// did not work, because a job that waits for ever would be worse than one that
// runs for a verdict that is infra anyway.
func (s *session) settle(cs workspace.Changeset) {
	s.final = cs
	s.results.settle(cs)
	close(s.settled)
	if s.req.Settled != nil {
		s.req.Settled(cs)
	}
}

// static runs the candidate's static gates in one box. When there is nothing to
// format the bytes are final at once, and the programs need not wait for it.
func (s *session) static(ctx context.Context, defs []check.Check, stop context.CancelFunc) {
	formats := format.Applies(s.req.Changeset) == ""
	parses := len(syntax.Touched(check.NewView(s.req.Base, s.req.Changeset))) > 0
	if !formats {
		s.settle(s.req.Changeset)
		if !parses && len(defs) == 0 {
			return
		}
	}
	err := s.withBox(ctx, s.req.patched(), "", check.GroupStatic, func(box *sandbox.Box) {
		if formats {
			s.results.begin(format.Name, false)
			cs, out := format.Run(ctx, s.bench(box, s.base, check.Entry{}), s.req.Changeset)
			s.results.candidate(format.Name, out)
			s.settle(cs)
		}
		s.check(ctx, box, defs, parses, stop)
	})
	if err == nil {
		return
	}
	if formats {
		s.results.candidate(format.Name, check.Infraf("%v", err))
		s.settle(s.req.Changeset)
	}
	s.staticInfra(err, defs, parses)
}

// staticInfra records that the gates behind the formatter could not work.
func (s *session) staticInfra(err error, defs []check.Check, parses bool) {
	if parses {
		s.results.candidate(syntax.Name, check.Infraf("%v", err))
	}
	for _, def := range defs {
		s.results.candidate(def.Name, check.Infraf("%v", err))
	}
}

// check applies the final changeset and runs syntax, then lint and types under
// the base's configuration. Syntax sees the whole patch, the configuration files
// in it as well; they are taken back before lint and types, after ruff has been
// asked whether it would accept them.
func (s *session) check(ctx context.Context, box check.Runner, defs []check.Check, parses bool, stop context.CancelFunc) {
	if err := box.Apply(ctx, s.final); err != nil {
		s.staticInfra(fmt.Errorf("apply the patch: %w", err), defs, parses)
		return
	}
	v := check.NewView(s.req.Base, s.final)
	b := s.bench(box, v, check.Entry{})
	if parses && !s.syntax(ctx, b) {
		s.results.unparsed()
		stop()
	}
	if len(defs) == 0 {
		return
	}
	config, judged := splitConfig(s.final)
	var refused []check.Finding
	if !config.Empty() {
		// In this order: ruff is asked while the new files still stand there.
		refused = tryConfig(ctx, b, config)
		if err := box.Apply(ctx, config.Reverse()); err != nil {
			s.staticInfra(fmt.Errorf("put the configuration back: %w", err), defs, false)
			return
		}
		b.View = check.NewView(s.req.Base, judged)
	}
	for i, def := range defs {
		s.results.begin(def.Name, false)
		out := s.unplugged(ctx, def, s.within(s.warm(b, defs[:i]), def), judged)
		// They are the linter's words, whichever verdict it comes to.
		if def.Name == python.RuffName {
			out.Findings = append(out.Findings, refused...)
		}
		s.results.candidate(def.Name, out)
	}
}

// syntax checks the touched files, and when something is wrong also what they
// were before, in the same box, so that this baseline costs nothing on a good day.
// It reports whether the programs are worth starting.
func (s *session) syntax(ctx context.Context, b check.Bench) bool {
	s.results.begin(syntax.Name, false)
	out := syntax.Run(ctx, b, syntax.Touched(b.View))
	before := check.Outcome{}
	if len(out.Findings) > 0 {
		var old []string
		for _, p := range syntax.Touched(b.View) {
			// A file that is new has no old text to excuse it.
			if c := b.View.Changed[p]; c.Op != workspace.Create {
				old = append(old, check.OldPath(c))
			}
		}
		if len(old) > 0 {
			before = s.syntaxBefore(ctx, b.Box, old)
		}
	}
	s.results.baseline(syntax.Name, before)
	s.results.candidate(syntax.Name, out)
	fresh, _, _ := check.Compare(before.Findings, out.Findings, check.NewDiff(s.final, b.View))
	return len(fresh) == 0
}

// syntaxBefore checks files of the base: the patch is taken back for it, and then
// applied again.
func (s *session) syntaxBefore(ctx context.Context, box check.Runner, old []string) check.Outcome {
	if err := box.Apply(ctx, s.final.Reverse()); err != nil {
		return check.Infraf("take the patch back: %v", err)
	}
	out := syntax.Run(ctx, s.bench(box, s.base, check.Entry{}), old)
	if err := box.Apply(ctx, s.final); err != nil {
		return check.Infraf("apply the patch again: %v", err)
	}
	return out
}

// tryConfig asks ruff whether it accepts the configuration that the patch
// brings, which the gates themselves do not use.
func tryConfig(ctx context.Context, b check.Bench, config workspace.Changeset) []check.Finding {
	out := python.RunRuff(ctx, b)
	if out.Blocked == "" {
		return nil
	}
	// ruff does not always name the file; the first that the patch leaves is the
	// best guess.
	i := slices.IndexFunc(config.Changes, func(c workspace.Change) bool { return c.Op != workspace.Delete })
	return []check.Finding{{File: config.Changes[max(i, 0)].Path, Rule: "config", Message: out.Blocked}}
}

// program runs one gate that executes the candidate's code, in a box of its own.
// The box starts while the formatter still works, and is used once the bytes are
// final. When ctx ends nothing is recorded: the reason is told elsewhere.
func (s *session) program(ctx context.Context, def check.Check) {
	if s.idle(def) {
		s.results.begin(def.Name, false)
		s.results.candidate(def.Name, check.Outcome{Detail: def.Name})
		return
	}
	err := s.withBox(ctx, s.req.patched(), "", def.Group, func(box *sandbox.Box) {
		select {
		case <-s.settled:
		case <-ctx.Done():
			return
		}
		cs := s.seenBy(def)
		if err := box.Apply(ctx, cs); err != nil {
			s.results.candidate(def.Name, check.Infraf("apply the patch: %v", err))
			return
		}
		s.results.begin(def.Name, false)
		out := def.Run(ctx, s.within(s.bench(box, check.NewView(s.req.Base, cs), s.after), def))
		if ctx.Err() == nil {
			s.results.candidate(def.Name, out)
		}
	})
	// A start that the end of ctx interrupted is not the engine's trouble.
	if err != nil && ctx.Err() == nil {
		s.results.candidate(def.Name, check.Infraf("%v", err))
	}
}

// seenBy is what a check in a box of its own sees of the final changeset: all of
// it, but for one with a configuration, which stays as it was with all that it
// reads.
func (s *session) seenBy(def check.Check) workspace.Changeset {
	if def.Config == nil {
		return s.final
	}
	_, rest := splitConfig(s.final)
	_, rest = def.Unplug(s.base, check.NewView(s.req.Base, rest), rest)
	_, rest = check.SplitChanges(rest, func(p string) bool { return path.Base(p) == ".gitignore" })
	return rest
}

// unplugged runs a check with the plugins that the workspace gives it as they
// were before the patch cs. The patch's own stand in the box again afterwards,
// for the checks that come next.
func (s *session) unplugged(ctx context.Context, def check.Check, b check.Bench, cs workspace.Changeset) check.Outcome {
	own, others := def.Unplug(s.base, b.View, cs)
	if own.Empty() {
		return def.Run(ctx, b)
	}
	if err := b.Box.Apply(ctx, own.Reverse()); err != nil {
		return check.Infraf("put the plugins back: %v", err)
	}
	b.View = check.NewView(s.req.Base, others)
	out := def.Run(ctx, b)
	if err := b.Box.Apply(ctx, own); err != nil {
		return check.Infraf("put the patch's plugins in place: %v", err)
	}
	out.Detail += ", with plugins as they were before the patch"
	return out
}
