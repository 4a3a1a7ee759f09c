package loop

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/retrieve"
	"agent/orchestrator/gate"
	"agent/orchestrator/ledger"
	"agent/orchestrator/loop/directive"
	"agent/orchestrator/loop/related"
	"agent/orchestrator/run"
	"agent/orchestrator/survey"
	"agent/orchestrator/tournament"
	"agent/sandbox/workspace"
)

// A Scout plans runs without a patch: it chooses the file to work on and gathers what is known about it. It implements Planner.
//
// The order of choice is: the files that the request names; the first of the person's directives that no run attended to; a file in the
// cascade queue, since something that it uses has changed; the model's own choice, checked against the tree. If that is not a valid
// choice, it is the file that changed most often, or the next one by name.
type Scout struct {
	Engineer  *agent.Engineer
	Knowledge Knowledge
	// Orders tells which directives are settled; if nil, all are open.
	Orders Orders
	// Hotspots returns the files that changed most often, none if that is unknown; nil if there is no such source.
	Hotspots func(ctx context.Context, dir string, n int) ([]string, error)
	// Survey returns what is known about the workspace; nil if nothing is.
	Survey func(ctx context.Context, base *workspace.Manifest) (survey.Survey, error)
	// Findings returns what lint and types say about a file before any change, as [survey.Examiner.Findings] does; nil if nobody looks.
	Findings func(ctx context.Context, base *workspace.Manifest, rules gate.Rules, path string) (string, error)
	// Last is the previous target, which is not chosen again. Turns lists those that had their turn before: the others come first.
	Last  string
	Turns []string
	// Explores says that the model looks around with tools: for a goal it finds the files itself.
	Explores bool
	// Fence is the word that quotes untrusted text; NewFenceWord draws one.
	Fence string
}

// Bounds on what a plan reads.
const (
	maxTarget  = workspace.MaxContent // bytes of a file to work on: as many as may be written
	maxListed  = 2000                 // files that the model is shown to choose from
	maxFitting = 300                  // the same, for files that fit a goal
	// maxOutlines is how many of these are shown with what they define.
	maxOutlines = 30
	maxHotspot  = 5
	maxRules    = 8 << 10
	rulesShare  = 16 // rules may have 1/rulesShare of a large budget
	historyLen  = 3
)

// NewFenceWord draws a word for a fence: 128 random bits in hex.
func NewFenceWord() string {
	var b [16]byte
	rand.Read(b[:]) // never returns an error
	return hex.EncodeToString(b[:])
}

// Plan chooses and gathers. It reads the knowledge before it chooses, since the model sees the history when it chooses. An error of the
// store ends the plan: without its memory a run would repeat what was learnt to be wrong. An error that the person can fix, such as a
// name that does not exist, is an *agent.StopError.
func (s *Scout) Plan(ctx context.Context, base *workspace.Manifest, req run.Request) (tournament.Plan, error) {
	plan := tournament.Plan{Task: agent.Task{Fence: agent.NewFence(s.Fence), Kind: agent.Patch, Window: s.Engineer.Window.Tokens, Budget: s.Engineer.Budget}}
	b := &plan.Task.Brief
	b.Goal, b.Given, b.Tools = req.Goal, req.Given, s.Explores
	known, err := s.survey(ctx, base)
	if err != nil {
		return tournament.Plan{}, err
	}
	b.Project = known.Project()
	if req.Goal != "" {
		plan.Task.Kind = agent.Implement
	}
	memory, err := s.Knowledge.Memory(ctx, base.Root)
	if err != nil {
		return tournament.Plan{}, fmt.Errorf("read the memory: %w", err)
	}
	history, err := s.Knowledge.History(ctx, base.Root, historyLen)
	if err != nil {
		return tournament.Plan{}, fmt.Errorf("read the history: %w", err)
	}
	b.Memory, b.History = memory.Text, agent.Recent(history)
	if err := s.choose(ctx, base, known, req, &plan); err != nil {
		return tournament.Plan{}, err
	}
	room := cmp.Or(s.Engineer.Budget, agent.DefaultBudget)
	if err := s.describe(base, req, room, b); err != nil {
		return tournament.Plan{}, err
	}
	b.Related = related.Excerpts(base, known, *b, room)
	if _, ok := base.Lookup(b.Target); ok {
		b.Around, b.Lazy = known.Around(b.Target), known.Lazy(b.Target)
		if b.Findings, err = s.findings(ctx, base, req, b.Target); err != nil {
			return tournament.Plan{}, err
		}
	}
	if req.Proposal != nil {
		plan.Aim(*req.Proposal)
	}
	return plan, nil
}

// survey returns what is known about the workspace: an empty ledger if nothing is.
func (s *Scout) survey(ctx context.Context, base *workspace.Manifest) (survey.Survey, error) {
	if s.Survey == nil {
		return survey.Survey{Ledger: ledger.New(nil)}, nil
	}
	known, err := s.Survey(ctx, base)
	if err != nil {
		return survey.Survey{}, fmt.Errorf("survey the workspace: %w", err)
	}
	return known, nil
}

// findings returns what is wrong with the target now, "" if nobody looks.
func (s *Scout) findings(ctx context.Context, base *workspace.Manifest, req run.Request, target string) (string, error) {
	if s.Findings == nil {
		return "", nil
	}
	text, err := s.Findings(ctx, base, req.Rules(), target)
	if err != nil {
		return "", fmt.Errorf("look at %s before any change: %w", target, err)
	}
	return text, nil
}

// choose sets the target and says why it was chosen. A goal never has to wait for the cascade queue: the person has said what to do
// now. A queued file that no longer exists is skipped: deleting it has settled what it waited for.
func (s *Scout) choose(ctx context.Context, base *workspace.Manifest, known survey.Survey, req run.Request, plan *tournament.Plan) error {
	b := &plan.Task.Brief
	if len(req.Scope) > 0 {
		b.Target = path.Clean(req.Scope[0])
		if _, ok := base.Lookup(b.Target); !ok && req.Goal == "" {
			return &agent.StopError{Message: b.Target + " is not in the workspace", Next: "name a file of the workspace with --file, or give a --goal that creates it"}
		}
		plan.Why = "as asked"
		if req.Proposal == nil {
			plan.SettleReview(reviewed(base, req, b.Target), nil)
		}
		return nil
	}
	if req.Goal == "" {
		// What a person has said comes before what follows from a change.
		ordered, err := s.order(ctx, base, plan)
		if err != nil || ordered && b.Target != "" {
			return err
		}
		if !ordered {
			if found, err := s.follow(ctx, base, plan); found || err != nil {
				return err
			}
		}
	}
	if s.Explores && b.Goal != "" {
		plan.Why = cmp.Or(plan.Why, "the model looks around")
		plan.SettleReview(false, nil)
		return nil
	}
	all := s.candidates(base)
	if len(all) == 0 {
		if b.Goal != "" {
			plan.Why = cmp.Or(plan.Why, "an empty workspace")
			plan.SettleReview(false, nil)
			return nil // the goal may create the first file
		}
		return &agent.StopError{Message: "the workspace has no file to work on", Next: "say with --goal what to create"}
	}
	// A review that found nothing, for the goal of the loop if it has one, would find nothing again; a directive may concern any file.
	open := all
	if plan.Directive == "" {
		open = slices.DeleteFunc(slices.Clone(all), func(p string) bool { return reviewed(base, req, p) })
	}
	if len(open) == 0 {
		plan.SettleReview(true, nil)
		return nil
	}
	files := s.fresh(open)
	if b.Goal == "" {
		files = s.due(files)
	}
	// For a directive, whose order it is matters more than who chose the file for it.
	why, err := s.pick(ctx, base, known, files, &plan.Task)
	plan.Why = cmp.Or(plan.Why, why)
	plan.SettleReview(false, slices.DeleteFunc(open, func(p string) bool { return p == b.Target }))
	return err
}

// reviewed reports whether a file is unchanged since a review found nothing in it.
func reviewed(base *workspace.Manifest, req run.Request, path string) bool {
	e, ok := base.Lookup(path)
	return ok && e.Digest != "" && req.Reviewed[path] == e.Digest
}

// follow has the plan attend to the first file in the cascade queue that still exists, and reports whether there is one.
func (s *Scout) follow(ctx context.Context, base *workspace.Manifest, plan *tournament.Plan) (bool, error) {
	queue, err := s.Knowledge.Queue(ctx, base.Root)
	if err != nil {
		return false, fmt.Errorf("read the cascade queue: %w", err)
	}
	for _, w := range queue {
		// A file that is too large to be written cannot follow, and must not block the rest.
		if e, ok := base.Lookup(w.Path); ok && e.Kind == workspace.File && e.Size <= maxTarget {
			plan.Task.Brief.Target, plan.Task.Brief.Cascade = w.Path, w.Because+"\n\n"+w.Diff
			plan.Why = "cascade: " + w.Because
			return true, nil
		}
	}
	return false, nil
}

// pick has the model choose among the files, and chooses itself if the answer is not valid. The model sees names and, for the files
// that fit a goal best, what they define. That is cheap, and no text of a file can ask to be chosen. The answer counts only if it is
// one of the files, so "../.ssh/config" is not a choice.
func (s *Scout) pick(ctx context.Context, base *workspace.Manifest, known survey.Survey, files []string, task *agent.Task) (string, error) {
	hot, err := s.hotspots(ctx, base)
	if err != nil {
		return "", err
	}
	b := &task.Brief
	if len(files) == 1 {
		b.Target = files[0]
		return "the only file", nil
	}
	ranked, err := s.rank(ctx, base, files, hot)
	if err != nil {
		return "", err
	}
	ask, most := *task, maxListed
	ask.Brief = agent.Brief{Goal: b.Goal, Given: b.Given, Project: b.Project, History: b.History, Findings: strings.Join(hot, "\n")}
	// The order of choice if the model names none.
	why, rest := "the model named no file of the workspace; this one changed most, or comes first", append(hot, files...)
	if b.Goal != "" {
		hits := retrieve.Rank(known.Ledger, known.Summaries.Files, ranked, b.Goal+"\n"+b.Given)
		ranked, most = nil, maxFitting
		for _, h := range hits {
			ranked = append(ranked, h.Path)
		}
		if hits[0].Score > 0 {
			why, rest = "the model named no file of the workspace; this one fits the goal best", ranked
			ask.Brief.Candidates = outlines(known.Ledger, hits)
		}
	}
	ask.Brief.Files, ask.Brief.Unlisted = ranked[:min(len(ranked), most)], max(0, len(ranked)-most)
	chosen, err := s.Engineer.Targets(ctx, ask, "target", func(p string) bool { return slices.Contains(files, p) })
	if err != nil {
		return "", err
	}
	if len(chosen) > 0 {
		b.Target, why = chosen[0], "the model's choice"
		b.Others = together(base, chosen[1:])
		if len(b.Others) > 0 {
			why += ", with " + agent.Paths(b.Others)
		}
		return why, nil
	}
	for _, name := range rest {
		if slices.Contains(files, name) {
			b.Target = name
			break
		}
	}
	return why, nil
}

// outlines says what the best-fitting files define, one line each.
func outlines(book *ledger.Ledger, hits []retrieve.Hit) string {
	var b strings.Builder
	for _, h := range hits[:min(len(hits), maxOutlines)] {
		if f, ok := book.File(h.Path); ok && h.Score > 0 {
			fmt.Fprintln(&b, f.Outline())
		}
	}
	return b.String()
}

// together returns the texts of files that are to be changed together with the target. It leaves out what is not text: the model chose
// by name.
func together(base *workspace.Manifest, paths []string) (files []agent.File) {
	for _, p := range paths {
		if text, err := related.Text(base, p); err == nil {
			files = append(files, agent.File{Path: p, Text: text})
		}
	}
	return files
}

// hotspots returns the files that changed most often and still exist. Work is worth most where changes are frequent.
func (s *Scout) hotspots(ctx context.Context, base *workspace.Manifest) ([]string, error) {
	if s.Hotspots == nil {
		return nil, nil
	}
	names, err := s.Hotspots(ctx, base.Root, maxHotspot)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, nil // a history that cannot be read only makes the choice poorer
	}
	return slices.DeleteFunc(names, func(p string) bool { _, ok := base.Lookup(p); return !ok }), nil
}

// candidates lists the files that may be worked on: text in a known language, and not too large. Large data, such as lock files, is
// included only if there is nothing else.
func (s *Scout) candidates(base *workspace.Manifest) []string {
	var files, data []string
	for _, e := range base.Entries {
		if e.Kind != workspace.File || e.Size == 0 || e.Size > maxTarget {
			continue
		}
		switch agent.Language(e.Path) {
		case "text":
		case "json", "yaml", "toml", "html", "css", "markdown":
			if e.Size > maxData {
				data = append(data, e.Path)
				continue
			}
			files = append(files, e.Path)
		default:
			files = append(files, e.Path)
		}
	}
	if len(files) == 0 {
		return data
	}
	return files
}

// fresh leaves the last target out unless there is no other: a loop should not polish one file for ever.
func (s *Scout) fresh(files []string) []string {
	others := slices.DeleteFunc(slices.Clone(files), func(p string) bool { return p == s.Last })
	if len(others) == 0 {
		return files
	}
	return others
}

// rulesFiles hold a project's rules for those who change it; the first one that exists counts.
var rulesFiles = []string{"AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md"}

// describe reads the target, the other files in scope and the rules. A target that does not exist has no code: the goal is to create
// it. Rules that are too long are skipped, since half of them may say the opposite of the whole.
func (s *Scout) describe(base *workspace.Manifest, req run.Request, room int, b *agent.Brief) error {
	b.Language = agent.Language(b.Target)
	if e, ok := base.Lookup(b.Target); ok {
		if e.Kind != workspace.File || e.Size > maxTarget {
			return &agent.StopError{
				Usage:   true,
				Message: fmt.Sprintf("%s is a %s of %d bytes: only a file of at most %d can be worked on", b.Target, e.Kind, e.Size, maxTarget),
				Next:    "name another file with --file",
			}
		}
		text, err := related.Text(base, b.Target)
		if err != nil {
			return err
		}
		b.Code = text
	}
	for _, name := range req.Scope[min(1, len(req.Scope)):] {
		text, err := related.Text(base, path.Clean(name))
		if err != nil {
			return err
		}
		b.Others = append(b.Others, agent.File{Path: path.Clean(name), Text: text})
	}
	var err error
	b.Rules, err = Rules(base, room)
	return err
}

// Rules returns a project's rules for those who change it. It is "" if there are none, or if they are too long for a question of room
// bytes.
func Rules(base *workspace.Manifest, room int) (string, error) {
	for _, name := range rulesFiles {
		if e, ok := base.Lookup(name); ok && e.Kind == workspace.File && e.Size <= int64(max(maxRules, room/rulesShare)) {
			return related.Text(base, name)
		}
	}
	return "", nil
}

// order has the plan follow the first directive that no run attended to, and reports whether there is one. The directive is in the
// words of the person in charge, so it is the goal.
func (s *Scout) order(ctx context.Context, base *workspace.Manifest, plan *tournament.Plan) (bool, error) {
	list, err := directive.List(base.Root)
	if err != nil || len(list) == 0 {
		return false, err
	}
	var attended []string
	if s.Orders != nil {
		if attended, err = s.Orders.Attended(ctx, base.Root); err != nil {
			return false, fmt.Errorf("read which directives were attended to: %w", err)
		}
	}
	for _, d := range list {
		if slices.Contains(attended, d.Text) {
			continue
		}
		b := &plan.Task.Brief
		plan.Directive, plan.Why, plan.Task.Kind, b.Goal = d.Text, "directive: "+d.Text, agent.Implement, d.Text
		if e, ok := base.Lookup(d.Path); ok && e.Kind == workspace.File {
			b.Target, b.Goal = d.Path, d.Rest
		}
		return true, nil
	}
	return false, nil
}

// rank puts files in the order in which a model should see them, since a list may be cut: those that wait to follow a change, those
// that changed last and most often, then larger before smaller and upper before deeper ones. The same workspace and record give the
// same order.
func (s *Scout) rank(ctx context.Context, base *workspace.Manifest, files, hot []string) ([]string, error) {
	queue, err := s.Knowledge.Queue(ctx, base.Root)
	if err != nil {
		return nil, fmt.Errorf("read the cascade queue: %w", err)
	}
	history, err := s.Knowledge.History(ctx, base.Root, historyLen)
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	waiting, changed := map[string]bool{}, map[string]int{}
	for _, w := range queue {
		waiting[w.Path] = true
	}
	// The newest entry comes first; the files that changed often come after.
	slices.Reverse(history)
	for _, e := range history {
		changed[e.Path] = cmp.Or(changed[e.Path], len(changed)+1)
	}
	for _, p := range hot {
		changed[p] = cmp.Or(changed[p], len(changed)+1)
	}
	list := make([]standing, 0, len(files))
	for _, p := range files {
		e, _ := base.Lookup(p)
		st := standing{path: p, waiting: waiting[p], changed: changed[p], size: e.Size, depth: strings.Count(p, "/")}
		list = append(list, st)
	}
	slices.SortFunc(list, compareStanding)
	ranked := make([]string, 0, len(list))
	for _, st := range list {
		ranked = append(ranked, st.path)
	}
	return ranked, nil
}
