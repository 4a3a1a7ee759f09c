package verify

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/audit"
	"agent/verify/check"
	"agent/verify/compare"
	"agent/verify/format"
	"agent/verify/node"
	"agent/verify/python"
	"agent/verify/smoke"
	"agent/verify/syntax"
)

// Survey determines in advance what Verify needs to know about a workspace before any patch, which may require looking
// at each file, so that no verdict waits for it. base remembers the results.
func Survey(base *workspace.Manifest, cfg Config) { BoxesFor(Request{Base: base, Config: cfg}) }

// BoxesFor returns how many boxes Verify uses to judge the candidate of a request, so that others can start them ahead.
// Boxes for an unknown baseline, a proof or repeats are not included. What the boxes are started from does not matter.
func BoxesFor(req Request) (n int) {
	s := newSession(&Verifier{}, req, nil)
	cand := check.NewView(req.Base, req.Changeset)
	groups := s.groups(cand)
	if format.Applies(req.Changeset) == "" || len(syntax.Touched(cand)) > 0 || len(groups[check.GroupStatic]) > 0 {
		n++
	}
	delete(groups, check.GroupStatic)
	for _, defs := range groups {
		n += len(defs)
	}
	return n
}

// maxBoxes is how many boxes one Verify has at a time. The candidate needs three; the fourth lets the baseline begin
// while they run. More would only compete for two processors and for memory, of which each box may take a gigabyte.
const maxBoxes = 4

// A job is the work of one box. Once a touched file does not parse, programs are not worth starting; all other jobs go
// on.
type job struct {
	// program says that it runs workspace code, so a syntax error ends it early.
	program bool
	// do returns once its box is released.
	do func(ctx context.Context)
}

// run does everything that the report needs, and returns when no box is running.
func (s *session) run(ctx context.Context) {
	// Programs are not worth starting once a touched file does not parse.
	programs, stop := context.WithCancel(ctx)
	defer stop()
	s.recallLong(ctx)
	s.work(ctx, programs, s.plan(stop))
	s.narrow(ctx)
	s.retime(ctx)
	s.bring(ctx)
	s.rewatch(ctx)
	s.retrace(ctx)
	s.repeat(ctx)
	s.predate(ctx)
	s.confirm(ctx)
	s.measure(ctx)
	s.unsilence(ctx)
}

// work runs jobs, some of them concurrently; programs is the context of those that are programs.
func (s *session) work(ctx, programs context.Context, jobs []job) {
	slots := make(chan struct{}, maxBoxes)
	var wg sync.WaitGroup
	for _, j := range jobs {
		// Slots are taken in the order of the jobs, so the static box, which the others wait for, always gets one.
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
}

// plan lists the boxes for the gates that apply, the candidate's first.
func (s *session) plan(stop context.CancelFunc) []job {
	cand := check.NewView(s.req.Base, s.req.Changeset)
	groups := s.groups(cand)
	r := s.results
	for _, defs := range groups {
		for _, def := range defs {
			s.find(def, cand)
		}
	}
	// The static box comes first, since it fixes the bytes that the programs wait for; then the programs, which take
	// longest; then what can be cached.
	jobs := []job{{false, func(ctx context.Context) { s.static(ctx, groups[check.GroupStatic], stop) }}}
	// This includes every check of the workspace's own, which has its own group.
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
		// Without programs there is nothing to compare their baselines with; lint and types are still needed, for
		// findings next to the syntax error.
		if defs := groups[group]; len(defs) > 0 {
			jobs = append(jobs, job{group != check.GroupStatic, func(ctx context.Context) { s.baseline(ctx, group, defs) }})
		}
	}
	return append(jobs, job{false, func(ctx context.Context) { s.proof(ctx, r.wanted()) }})
}

// groups decides which checks apply, by the box that they share or by their kind of separate box. It records checks
// that do not apply as skipped.
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
			// It cannot be determined which program it is, so it is unknown whether it works.
			r.baseline(smoke.ProgramName, check.Outcome{})
			r.candidate(smoke.ProgramName, check.Infraf("%v", err))
		case def.Name == smoke.ImportsName && (err != nil || len(s.after.Args) > 0 && !s.before.Guess):
			r.skip(smoke.ImportsName, "the program is started instead")
		case reason != "":
			r.skip(def.Name, reason)
		default:
			groups[def.Group] = append(groups[def.Group], def)
		}
	}
	return groups
}

// reason returns why a gate has nothing to do on either side, or "".
func (s *session) reason(def check.Check, cand check.View) string {
	if s.gates != nil && !slices.Contains(s.gates, def.Gate) {
		return "not asked for"
	}
	if def.Name == smoke.ProgramName {
		if len(s.after.Args) > 0 {
			return ""
		}
		return "no entry point: name the program with [smoke] command in agent.toml"
	}
	reason := def.Applies(cand)
	if reason != "" && def.Gate == check.GateTests {
		reason = def.Applies(s.base) // tests that the patch deleted are reported as missing
	}
	return reason
}

// static runs the candidate's static gates in one box. If there is nothing to format, the bytes are final at once, and
// the programs need not wait for the box.
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

// staticInfra records that the gates after the formatter could not work.
func (s *session) staticInfra(err error, defs []check.Check, parses bool) {
	if parses {
		s.results.candidate(syntax.Name, check.Infraf("%v", err))
	}
	for _, def := range defs {
		s.results.candidate(def.Name, check.Infraf("%v", err))
	}
}

// check applies the final changeset and runs syntax, then lint and types under the base's configuration. Syntax sees
// the whole patch, including its configuration files. These are undone before lint and types, after ruff has been asked
// whether it accepts them.
func (s *session) check(ctx context.Context, box check.Runner, defs []check.Check, parses bool, stop context.CancelFunc) {
	kept, err := s.keep(ctx, s.bench(box, s.base, check.Entry{}), defs, s.final)
	if err == nil {
		err = box.Apply(ctx, s.final)
	}
	if err != nil {
		s.staticInfra(fmt.Errorf("apply the patch: %w", err), defs, parses)
		return
	}
	b := s.bench(box, check.NewView(s.req.Base, s.final), check.Entry{})
	b.Kept = kept
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
		// In this order: ruff must be asked while the new files are in place.
		refused = tryConfig(ctx, b, config)
		if err := box.Apply(ctx, config.Reverse()); err != nil {
			s.staticInfra(fmt.Errorf("restore the configuration: %w", err), defs, false)
			return
		}
		b.View = check.NewView(s.req.Base, judged)
	}
	for i, def := range defs {
		s.results.begin(def.Name, false)
		out := s.configured(ctx, def, s.within(s.warm(b, defs[:i]), def), judged)
		// These are findings of the linter, whatever its verdict.
		if def.Name == python.RuffName {
			out.Findings = append(out.Findings, refused...)
		}
		s.results.candidate(def.Name, out)
	}
}

// syntax checks the touched files and, if something is wrong, also their old text in the same box, so that this
// baseline usually costs nothing. It reports whether the programs are worth starting.
func (s *session) syntax(ctx context.Context, b check.Bench) bool {
	s.results.begin(syntax.Name, false)
	out := syntax.Run(ctx, b, syntax.Touched(b.View))
	before := check.Outcome{}
	if len(out.Findings) > 0 {
		var old []string
		for _, p := range syntax.Touched(b.View) {
			// A new file has no old text to excuse it.
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
	fresh, _, _ := compare.Findings(before.Findings, out.Findings, compare.NewDiff(s.final, b.View))
	return len(fresh) == 0
}

// syntaxBefore checks files of the base: it takes the patch back and then applies it again.
func (s *session) syntaxBefore(ctx context.Context, box check.Runner, old []string) check.Outcome {
	if err := box.Apply(ctx, s.final.Reverse()); err != nil {
		return check.Infraf("revert the patch: %v", err)
	}
	out := syntax.Run(ctx, s.bench(box, s.base, check.Entry{}), old)
	if err := box.Apply(ctx, s.final); err != nil {
		return check.Infraf("apply the patch again: %v", err)
	}
	return out
}

// tryConfig asks ruff whether it accepts the configuration of the patch, which the gates themselves do not use.
func tryConfig(ctx context.Context, b check.Bench, config workspace.Changeset) []check.Finding {
	out := python.RunRuff(ctx, b)
	if out.Blocked == "" {
		return nil
	}
	// ruff does not always name the file; the first one that the patch does not delete is the best guess.
	i := slices.IndexFunc(config.Changes, func(c workspace.Change) bool { return c.Op != workspace.Delete })
	return []check.Finding{{File: config.Changes[max(i, 0)].Path, Rule: "config", Message: out.Blocked}}
}

// program runs one gate that executes the candidate's code, in its own box. The box starts while the formatter still
// works, and is used once the bytes are final. If ctx ends, nothing is recorded: the reason is reported elsewhere.
func (s *session) program(ctx context.Context, def check.Check) {
	if s.idle(def) {
		s.results.begin(def.Name, false)
		s.results.candidate(def.Name, check.Outcome{Detail: def.Name})
		return
	}
	if out, ok := s.timedOut(def); ok {
		s.results.note(fmt.Sprintf("not all tests are run: %s did not finish within %s at %s; they are tried again a day later", def.Name, s.req.Config.Timeout, s.since[def.Name].UTC().Format("15:04 UTC")))
		s.results.candidate(def.Name, out)
		return
	}
	err := s.withBox(ctx, s.req.patched(), "", def.Group, func(box *sandbox.Box) {
		select {
		case <-s.settled:
		case <-ctx.Done():
			return
		}
		cs := s.seenBy(def, s.final)
		if err := box.Apply(ctx, cs); err != nil {
			s.results.candidate(def.Name, check.Infraf("apply the patch: %v", err))
			return
		}
		s.results.begin(def.Name, false)
		b := s.within(s.bench(box, check.NewView(s.req.Base, cs), s.after), def)
		if def.Group == check.GroupTests || def.Group == check.GroupSmoke {
			b.Lines = audit.Asked(cs)
		}
		if def.Group == check.GroupTests {
			b.Timeout = s.results.patience(def.Name, b.Timeout)
		}
		out := s.configured(ctx, def, b, cs)
		if ctx.Err() == nil {
			s.results.candidate(def.Name, out)
		}
	})
	// A start that was interrupted because ctx ended is not the engine's fault.
	if err != nil && ctx.Err() == nil {
		s.results.candidate(def.Name, check.Infraf("%v", err))
	}
}
