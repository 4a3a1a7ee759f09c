//go:build bench

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/orchestrator/agent"
	"agent/orchestrator/agent/critic"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
	"agent/orchestrator/tournament"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A mistake is something that a weak model does wrong. It has no memory: its answer depends only on the question.
type mistake struct {
	name   string
	answer func(c chore, q agent.Question) string
	// judged returns a further program, besides those of the fix, that the mistake may lead to.
	judged func(c chore) map[string]string
	// blind says that the project's own checks find nothing wrong with any change.
	blind bool
}

// blockOf returns an edit block.
func blockOf(file, old, new string) string {
	return fmt.Sprintf("<EDIT file=%q>\n<SEARCH>\n%s\n</SEARCH>\n<REPLACE>\n%s\n</REPLACE>\n</EDIT>\n", file, old, new)
}

// right returns the whole fix.
func (c chore) right() string {
	text := "<THOUGHT>as the goal says</THOUGHT>\n"
	for _, f := range c.Fix {
		text += blockOf(f.File, f.Old, f.New)
	}
	return text
}

// whole returns the whole target instead of an edit.
func (c chore) whole() string {
	return fmt.Sprintf("<FILE file=%q>\n%s</FILE>\n", c.Target, c.fixed(1)[c.Target])
}

// stale returns a block whose search text is not in the file.
func (c chore) stale() string {
	first, _, _ := strings.Cut(c.Fix[0].Old, "\n")
	indent := first[:len(first)-len(strings.TrimLeft(first, " \t"))]
	return blockOf(c.Target, first+"\n"+indent+"handle_everything_else(that, was, there, before)", c.Fix[0].New)
}

// extra is a line without effect, indented like the first line of the fix; missing is one that cannot work.
func (c chore) extra() string {
	return c.indent() + map[string]string{"python": "_note = 0", "typescript": "void 0;", "go": "_ = 0"}[c.Language]
}

func (c chore) missing() string {
	return c.indent() + map[string]string{"python": "helpers.check()", "typescript": "helpers.check();", "go": "helpers.Check()"}[c.Language]
}

func (c chore) indent() string {
	return c.Fix[0].Old[:len(c.Fix[0].Old)-len(strings.TrimLeft(c.Fix[0].Old, " \t"))]
}

// with returns the program with a line before the place of the fix.
func (c chore) with(line, text string) map[string]string {
	files := c.fixed(0)
	files[c.Target] = strings.Replace(files[c.Target], c.Fix[0].Old, line+"\n"+text, 1)
	return files
}

// failure returns the failure that the question quotes.
func failure(q agent.Question) string {
	_, rest, _ := strings.Cut(q.Text, "<<"+benchFence+" edit\n")
	text, _, _ := strings.Cut(rest, benchFence+">>")
	return text
}

// repairs reports whether a question asks for a repair.
func repairs(q agent.Question) bool { return strings.HasPrefix(q.Step, "heal/") }

const benchFence = "5f3c9a0e7b1d2468"

// mistakes returns the recorded mistakes of weak models.
func mistakes() []mistake {
	right := func(c chore, q agent.Question) string {
		if q.Purpose == agent.PickTarget {
			return c.Target
		}
		return c.right()
	}
	// change makes a model that chooses its target well.
	change := func(f func(c chore, q agent.Question) string) func(chore, agent.Question) string {
		return func(c chore, q agent.Question) string {
			if q.Purpose == agent.PickTarget {
				return c.Target
			}
			return f(c, q)
		}
	}
	return []mistake{
		{name: "none", answer: right},
		{name: "wrong indentation", answer: change(func(c chore, _ agent.Question) string {
			return blockOf(c.Target, dedented(c.Fix[0].Old), dedented(c.Fix[0].New))
		})},
		{name: "prose and fences around", answer: change(func(c chore, _ agent.Question) string {
			return "Sure! I looked at the code. Here is the change:\n\n```xml\n" + c.right() + "```\n\nLet me know if it helps.\n"
		})},
		{name: "cut off", answer: change(func(c chore, q agent.Question) string {
			if text := c.right(); !repairs(q) {
				return text[:len(text)-len("</REPLACE>\n</EDIT>\n")-len(c.Fix[0].New)/2]
			}
			return c.right()
		})},
		{
			name: "missing import", judged: func(c chore) map[string]string { return c.with(c.missing(), c.Fix[0].New) },
			answer: change(func(c chore, q agent.Question) string {
				first, _, _ := strings.Cut(c.Fix[0].New, "\n")
				if repairs(q) && strings.Contains(q.Text, "helpers is not defined") {
					return blockOf(c.Target, c.missing()+"\n"+first, first)
				}
				return blockOf(c.Target, c.Fix[0].Old, c.missing()+"\n"+c.Fix[0].New)
			}),
		},
		{name: "one block of two stale", answer: change(func(c chore, q agent.Question) string {
			good := blockOf(c.Target, c.Fix[0].Old, c.Fix[0].New)
			switch {
			case !repairs(q):
				return good + c.stale()
			case strings.Contains(q.Text, "your answer, of which nothing was applied") && strings.Contains(q.Text, good):
				return good
			}
			return c.stale() // it has forgotten the rest
		})},
		{name: "stale block", answer: change(func(c chore, q agent.Question) string {
			lines := strings.Split(strings.TrimSpace(c.Fix[0].Old), "\n")
			if repairs(q) && strings.Contains(failure(q), strings.TrimSpace(lines[0])) {
				return c.right()
			}
			return c.stale()
		})},
		{name: "repeats itself", answer: change(func(c chore, q agent.Question) string {
			if strings.Contains(q.Text, "the same answer twice") || q.Temperature > 0.5 {
				return c.whole()
			}
			return c.stale()
		})},
		{name: "target in a sentence", answer: func(c chore, q agent.Question) string {
			if q.Purpose == agent.PickTarget {
				return "I would change this one:\n\n1. **`" + path.Base(c.Target) + "`**: the function is there.\n"
			}
			if q.File != c.Target {
				return "<THOUGHT>not here</THOUGHT>\nNOTHING\n"
			}
			return c.right()
		}},
		{name: "edits when it sees rules for edits", answer: func(c chore, q agent.Question) string {
			if q.Purpose == agent.PickTarget && strings.Contains(q.System, "<SEARCH>") {
				return blockOf("the file", "old", "new")
			}
			if q.Purpose != agent.PickTarget && q.File != c.Target {
				return "<THOUGHT>not here</THOUGHT>\nNOTHING\n"
			}
			return right(c, q)
		}},
		{name: "follows what it read last", answer: change(func(c chore, q agent.Question) string {
			if strings.Contains(q.Text[max(0, len(q.Text)-300):], c.Goal) {
				return c.right()
			}
			return "<THOUGHT>it looks fine</THOUGHT>\nNOTHING\n"
		})},
		{name: "copies no line", answer: change(func(c chore, q agent.Question) string {
			if strings.Contains(q.System, "<FILE file=") {
				return c.whole()
			}
			return blockOf(c.Target, "the function of the goal", c.Fix[0].New)
		})},
		{
			name: "passes and is wrong", blind: true, judged: func(c chore) map[string]string { return c.with(c.extra(), c.Fix[0].Old) },
			answer: change(func(c chore, q agent.Question) string {
				if q.Purpose == agent.AnswerCritic && strings.Contains(q.Text, "the goal is missed") {
					return blockOf(c.Target, c.extra()+"\n"+c.Fix[0].Old, c.Fix[0].New)
				}
				return blockOf(c.Target, c.Fix[0].Old, c.extra()+"\n"+c.Fix[0].Old)
			}),
		},
		{name: "forgotten caller", answer: change(func(c chore, q agent.Question) string {
			text := blockOf(c.Target, c.Fix[0].Old, c.Fix[0].New)
			if len(c.Fix) > 1 && repairs(q) {
				if text = ""; strings.Contains(q.Text, c.Fix[1].Old) {
					text = blockOf(c.Fix[1].File, c.Fix[1].Old, c.Fix[1].New)
				}
			}
			return text
		})},
	}
}

// dedented removes the common indentation of all lines, like a model that starts at the margin.
func dedented(text string) string {
	lines := strings.Split(text, "\n")
	least := len(text)
	for _, l := range lines {
		least = min(least, len(l)-len(strings.TrimLeft(l, " \t")))
	}
	for i := range lines {
		lines[i] = lines[i][least:]
	}
	return strings.Join(lines, "\n")
}

// given assigns a mistake to each chore: a forgotten caller if the chore has one, else all the others in turn.
func given(list []chore, all []mistake) []mistake {
	out, at := make([]mistake, len(list)), 0
	last := len(all) - 1
	for i, c := range list {
		if len(c.Fix) > 1 {
			out[i] = all[last]
			continue
		}
		out[i] = all[at%last]
		at++
	}
	return out
}

// A measure helps weak models. Its without removes it from a question; its read removes it from the reading of an answer.
type measure struct {
	name    string
	without func(q agent.Question) agent.Question
	read    func(q agent.Question, text string) string
}

// cut removes from and the text after it, up to and without to, or to the end if there is no to.
func cut(text, from, to string) string {
	before, rest, ok := strings.Cut(text, from)
	if !ok {
		return text
	}
	if _, after, ok := strings.Cut(rest, to); ok {
		return before + to + after
	}
	return before
}

// measures returns the measures that are left out in turn.
func measures() []measure {
	text := func(from, to string) func(agent.Question) agent.Question {
		return func(q agent.Question) agent.Question {
			q.Text = cut(q.Text, from, to)
			return q
		}
	}
	return []measure{
		{name: "the rejected answer quoted to its author", without: text("<<"+benchFence+" your answer, of which nothing was applied", "as they are.")},
		{name: "a refusal shows the lines of the file that come nearest", without: func(q agent.Question) agent.Question {
			if said := failure(q); said != "" {
				first, _, _ := strings.Cut(said, "\n")
				q.Text = strings.Replace(q.Text, said, first+"\n", 1)
			}
			return q
		}},
		{name: "after an equal answer another form and more freedom", without: func(q agent.Question) agent.Question {
			q.Text, q.Temperature = cut(q.Text, "You have sent the same answer twice", "line by line."), min(q.Temperature, 0.1)
			return q
		}},
		{name: "the answer about the target is read leniently", read: func(q agent.Question, text string) string {
			if q.Purpose == agent.PickTarget && !strings.Contains(q.Text, "\n"+text+"\n") {
				return ""
			}
			return text
		}},
		{name: "instructions of its own for each purpose", without: func(q agent.Question) agent.Question {
			if q.Purpose == agent.PickTarget {
				q.System += "\n<SEARCH>\n</SEARCH>\n"
			}
			return q
		}},
		{name: "the goal again at the end", without: func(q agent.Question) agent.Question {
			q.Text = cut(cut(q.Text, "The task again:", "\x00"), "The goal again:", "\x00")
			return q
		}},
		{name: "a short file may be sent whole", without: func(q agent.Question) agent.Question {
			q.System = strings.ReplaceAll(q.System, "<FILE file=", "<EDIT file=")
			return q
		}},
		{name: "a repair shows the file that the failure names", without: func(q agent.Question) agent.Question {
			if repairs(q) && strings.HasPrefix(path.Base(q.File), "main.") {
				q.Text = cut(q.Text, "The file, ", "The goal again:")
			}
			return q
		}},
		{name: "a critic"},
	}
}

// A weakling is a scripted model of one chore.
type weakling struct {
	chore   chore
	mistake mistake
	off     measure
	asked   *int
}

// Ask implements agent.Model.
func (w weakling) Ask(_ context.Context, q agent.Question) (agent.Reply, error) {
	*w.asked++
	if w.off.without != nil {
		q = w.off.without(q)
	}
	text := w.mistake.answer(w.chore, q)
	if w.off.read != nil {
		text = w.off.read(q, text)
	}
	return agent.Reply{Text: text, Model: "weak/1"}, nil
}

// A judgeOfChore is a critic that knows the right change.
type judgeOfChore struct{ chore chore }

// Ask implements agent.Model.
func (j judgeOfChore) Ask(_ context.Context, q agent.Question) (agent.Reply, error) {
	_, diff, _ := strings.Cut(q.Text, "<<"+benchFence+" diff\n")
	for _, f := range j.chore.Fix {
		for line := range strings.SplitSeq(f.New, "\n") {
			if !strings.Contains(f.Old, line) && !strings.Contains(diff, "+"+line) {
				text, err := json.Marshal(map[string]any{"findings": []any{map[string]any{"severity": "blocker", "file": f.File, "line": 1, "text": "the goal is missed: nothing does it"}}})
				return agent.Reply{Text: string(text), Model: "critic/1"}, err
			}
		}
	}
	return agent.Reply{Text: `{"findings": []}`, Model: "critic/1"}, nil
}

// A planOfChore asks for the target, as a run with a goal does, and shows that file.
type planOfChore struct {
	chore    chore
	engineer *agent.Engineer
}

// Plan implements tournament.Planner.
func (p planOfChore) Plan(ctx context.Context, base *workspace.Manifest, req run.Request) (tournament.Plan, error) {
	task := agent.Task{Fence: agent.NewFence(benchFence), Kind: agent.Implement, Brief: agent.Brief{Goal: req.Goal}}
	for _, e := range base.Entries {
		if e.Kind == workspace.File {
			task.Brief.Files = append(task.Brief.Files, e.Path)
		}
	}
	slices.Sort(task.Brief.Files)
	slices.SortStableFunc(task.Brief.Files, func(a, b string) int { return strings.Count(b, "text") - strings.Count(a, "text") })
	targets, err := p.engineer.Targets(ctx, task, "target/1", nil)
	if err != nil {
		return tournament.Plan{}, err
	}
	target := append(targets, task.Brief.Files[0])[0] // an answer without a target means the first file of the list
	code, err := base.ReadFile(target)
	task.Brief.Files, task.Brief.Target, task.Brief.Language, task.Brief.Code = nil, target, agent.Language(target), string(code)
	return tournament.Plan{Why: "the bench", Task: task}, err
}

// An outcome is the result of a chore.
type outcome struct {
	promoted, right bool
	asked           int
}

// A rehearsal is the bench with scripted models.
type rehearsal struct {
	db      *store.DB
	trier   *trier
	prompts *agent.Prompts
	root    string
}

// do runs one chore with a measure left out; the zero measure leaves out none.
func (b rehearsal) do(ctx context.Context, dir string, c chore, m mistake, off measure) (outcome, error) {
	for name, text := range c.Files {
		if err := os.MkdirAll(filepath.Join(dir, path.Dir(name)), 0o755); err != nil {
			return outcome{}, err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return outcome{}, err
		}
	}
	read := func(base *workspace.Manifest) (map[string]string, error) {
		files := map[string]string{}
		for _, e := range base.Entries {
			if e.Kind == workspace.File {
				text, err := base.ReadFile(e.Path)
				if err != nil {
					return nil, err
				}
				files[e.Path] = string(text)
			}
		}
		return files, nil
	}
	right := false
	judge := func(ctx context.Context, req verify.Request) (verify.Report, error) {
		files, err := read(req.Base.With(req.Changeset))
		if err != nil {
			return verify.Report{}, err
		}
		passed, err := b.trier.all(ctx, []try{{c, files}})
		if err != nil {
			return verify.Report{}, err
		}
		right = passed[0]
		gate := verify.Gate{Name: "tests", Verdict: verify.Pass}
		if !right && !m.blind {
			at := c.Target
			if len(c.Fix) > 1 {
				at = c.Fix[1].File
			}
			gate.Verdict, gate.Findings = verify.Fail, []verify.Finding{{File: at, Line: 1, Rule: "test", Message: "helpers is not defined, or the test fails"}}
		}
		return verify.Report{Verdict: gate.Verdict, Gates: []verify.Gate{gate}, Changeset: req.Changeset}, nil
	}
	asked := 0
	engineer := &agent.Engineer{Model: weakling{c, m, off, &asked}, Prompts: b.prompts}
	crew := tournament.Crew{Engineer: engineer, Planner: planOfChore{c, engineer}}
	if off.name != "a critic" {
		crew.Critics = critic.Panel{Members: []critic.Member{{Name: "critic/1", Engineer: &agent.Engineer{Model: judgeOfChore{c}, Prompts: b.prompts}}}}
	}
	r := &tournament.Runner{
		Crew:   func(string, func(agent.Progress)) tournament.Crew { return crew },
		Runner: &run.Runner{Store: b.db, Critiques: b.db, Orphans: b.db, Images: runtest.Frozen{}, Verifier: runtest.Judge(judge)},
	}
	doc := r.Run(ctx, run.Request{Workspace: dir, Goal: c.Goal, Approver: runtest.Decide(run.Apply)})
	if doc.State != run.Promoted {
		if doc.Error == nil || doc.Error.Kind == run.ProblemInfra {
			return outcome{}, fmt.Errorf("%s, %s: ended %s: %+v", c.Name, m.name, doc.State, doc.Error)
		}
		return outcome{asked: asked}, nil
	}
	base, err := workspace.Scan(ctx, dir, nil, workspace.Limits{})
	if err != nil {
		return outcome{}, err
	}
	files, err := read(base)
	if err != nil {
		return outcome{}, err
	}
	passed, err := b.trier.all(ctx, []try{{c, files}})
	return outcome{promoted: true, right: err == nil && passed[0], asked: asked}, err
}

// all runs every chore with a measure left out.
func (b rehearsal) all(t *testing.T, list []chore, with []mistake, off measure) []outcome {
	t.Helper()
	out, errs := make([]outcome, len(list)), make([]error, len(list))
	var work sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i := range list {
		slots <- struct{}{}
		dir := filepath.Join(b.root, fmt.Sprintf("%s-%d", strings.ReplaceAll(off.name, " ", "-"), i))
		work.Go(func() {
			out[i], errs[i] = b.do(t.Context(), dir, list[i], with[i], off)
			<-slots
		})
	}
	work.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// benchScripted prints two tables: the result of each mistake, and the worth of each measure.
func benchScripted(t *testing.T, r *trier, list []chore, with []mistake) {
	prompts, err := agent.LoadPrompts(nil)
	if err != nil {
		t.Fatal(err)
	}
	db, _ := storetest.Warm(t)
	b := rehearsal{db, r, prompts, t.TempDir()}
	began := time.Now()
	whole := b.all(t, list, with, measure{})
	fmt.Println("| mistake | chores | promoted and right | promoted and wrong | questions |\n|---|--:|--:|--:|--:|")
	for _, m := range mistakes() {
		var of []outcome
		for i := range list {
			if with[i].name == m.name {
				of = append(of, whole[i])
			}
		}
		right, wrong, asked := count(of)
		fmt.Printf("| %s | %d | %d | %d | %.1f |\n", m.name, len(of), right, wrong, float64(asked)/float64(len(of)))
	}
	right, wrong, _ := count(whole)
	fmt.Printf("\n| left out | promoted and right, of %d | promoted and wrong |\n|---|--:|--:|\n| nothing | %d | %d |\n", len(list), right, wrong)
	for _, m := range measures() {
		less, bad, _ := count(b.all(t, list, with, m))
		fmt.Printf("| %s | %d | %d |\n", m.name, less, bad)
		if less >= right {
			t.Errorf("without %q as much is promoted and right", m.name)
		}
	}
	fmt.Printf("\n%.0f s, %d boxes for hidden tests\n", time.Since(began).Seconds(), r.Boxes)
}

// count adds up outcomes.
func count(list []outcome) (right, wrong, asked int) {
	for _, o := range list {
		if asked += o.asked; o.promoted && o.right {
			right++
		} else if o.promoted {
			wrong++
		}
	}
	return right, wrong, asked
}
