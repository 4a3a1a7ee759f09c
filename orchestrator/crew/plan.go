package crew

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"agent/sandbox/workspace"
)

// The bounds of a plan.
const (
	MaxTasks  = 40
	maxFiles  = 24
	maxArgs   = 32
	maxTitle  = 120  // bytes
	maxGoal   = 4000 // bytes
	maxAccept = 1000 // bytes
)

// A Plan says how a goal is reached: by tasks, and what each waits for.
type Plan struct {
	// ID is its number in the record, 0 before it is recorded.
	ID int64 `json:"plan"`
	// Workspace is an absolute path, links resolved.
	Workspace string `json:"workspace"`
	Goal      string `json:"goal"`
	// Summary is the planner's description of the plan.
	Summary string    `json:"summary"`
	State   PlanState `json:"state"`
	// Why says why it is in that state, "" for no reason.
	Why   string `json:"why,omitempty"`
	Tasks []Task `json:"tasks"`
	// Review is the result of the last review of the whole, nil for none. Rounds counts the reviews after which
	// something was fixed, and Replanned how often a part was planned again.
	Review    *Review `json:"review,omitempty"`
	Rounds    int     `json:"rounds"`
	Replanned int     `json:"replanned"`
	// Run is the run that delivered the whole, or waits for an approval.
	Run string `json:"run,omitempty"`
	// Loop is the task file that runs loop after loop, nil for a plan of tasks. Ending says why its loops ended.
	Loop   *Loop  `json:"loop,omitempty"`
	Ending string `json:"ending,omitempty"`
	// Replays is the plan whose recorded answers this one uses, 0 for none.
	Replays int64 `json:"replays,omitempty"`
	// Owner is the process that works on it, or "".
	Owner   string    `json:"-"`
	Created time.Time `json:"created"`
}

// A PlanState is the state of a plan.
type PlanState string

// The states of a plan. `agent build --resume` continues a paused, awaiting or failed one.
const (
	Drafted   PlanState = "drafted"   // made, but not begun
	Building  PlanState = "building"  // a process works on it, or has died
	Paused    PlanState = "paused"    // by a person, a cap, or trouble that is not a task's fault
	Awaiting  PlanState = "awaiting"  // everything is done but not yet approved
	Failed    PlanState = "failed"    // some of its tasks were not done
	Delivered PlanState = "delivered" // written to the workspace, or committed
	Dropped   PlanState = "dropped"
)

// PlanStates lists them, in the order of a plan's life.
func PlanStates() []PlanState {
	return []PlanState{Drafted, Building, Paused, Awaiting, Failed, Delivered, Dropped}
}

// Over reports whether nothing more can be done with a plan.
func (s PlanState) Over() bool { return s == Delivered || s == Dropped }

// A Task is one step of a plan, which one run carries out.
type Task struct {
	// N is its number in the plan, from 1. A number is never used twice.
	N     int    `json:"n"`
	Title string `json:"title"`
	Goal  string `json:"goal"`
	// Files are changed, Creates are new; a task that touches other files is held.
	Files   []string `json:"files"`
	Creates []string `json:"creates"`
	// DependsOn are the numbers of the tasks that must be done first.
	DependsOn []int  `json:"depends_on"`
	Role      string `json:"role"`
	// Message is the message of its commit.
	Message string     `json:"message"`
	Accept  Acceptance `json:"accept"`

	State TaskState `json:"state"`
	// Why says what is wrong with a task that is held, failed, blocked or replaced.
	Why string `json:"why,omitempty"`
	// Tries counts how often it was begun.
	Tries int `json:"tries"`
	// Landed is its position among the tasks that are done, from 1; 0 if it is not done.
	Landed int `json:"landed,omitempty"`
	// Run is the run whose candidate the integration tree has, or the last run that failed.
	Run string `json:"run,omitempty"`
}

// An Acceptance says when a task is done. The command and the tests are checked in a box, as gates are; Text is for the
// reviewer of the whole.
type Acceptance struct {
	// Command, run without a shell, must exit with status 0.
	Command []string `json:"command"`
	// Tests are files of tests that must exist at the end.
	Tests []string `json:"tests"`
	Text  string   `json:"text"`
}

// A TaskState is the state of a task.
type TaskState string

// The states of a task.
const (
	Waiting  TaskState = "waiting"
	Running  TaskState = "running"
	Held     TaskState = "held" // it touched files that are not its own, and no one has allowed that
	Done     TaskState = "done"
	Undone   TaskState = "failed"
	Blocked  TaskState = "blocked"  // a task on which it depends was not done
	Replaced TaskState = "replaced" // by tasks of a later plan
)

// TaskStates lists them, in the order of a task's life.
func TaskStates() []TaskState {
	return []TaskState{Waiting, Running, Held, Done, Undone, Blocked, Replaced}
}

// Touches lists the files that a task says it changes or creates.
func (t Task) Touches() []string { return slices.Concat(t.Files, t.Creates, t.Accept.Tests) }

// Task returns the task with that number, or nil.
func (p *Plan) Task(n int) *Task {
	for i := range p.Tasks {
		if p.Tasks[i].N == n {
			return &p.Tasks[i]
		}
	}
	return nil
}

// Tidy normalizes what a person or a model wrote: paths are clean, lists have no duplicates, the default role is
// worker, and the default message is the title.
func (p *Plan) Tidy() {
	for i := range p.Tasks {
		t := &p.Tasks[i]
		t.Title, t.Goal, t.Accept.Text = strings.TrimSpace(t.Title), strings.TrimSpace(t.Goal), strings.TrimSpace(t.Accept.Text)
		t.Role = cmp.Or(strings.TrimSpace(t.Role), Worker)
		t.Message = cmp.Or(strings.TrimSpace(t.Message), t.Title)
		t.State = cmp.Or(t.State, Waiting)
		t.Files, t.Creates, t.Accept.Tests = paths(t.Files), paths(t.Creates), paths(t.Accept.Tests)
		slices.Sort(t.DependsOn)
		t.DependsOn = append([]int{}, slices.Compact(t.DependsOn)...)
		t.Accept.Command = append([]string{}, t.Accept.Command...)
	}
	p.Tasks = append([]Task{}, p.Tasks...)
}

// paths cleans a list of paths.
func paths(list []string) []string {
	clean := []string{}
	for _, p := range list {
		if p = strings.TrimSpace(p); p == "" {
			continue
		}
		if p = path.Clean(p); !slices.Contains(clean, p) {
			clean = append(clean, p)
		}
	}
	return clean
}

// Check says what is wrong with a plan, one sentence for each fault, to its author: a person, or a model that is asked
// again. exists reports which files the workspace has. Check does not look at finished tasks again, but others may
// depend on them.
func (p *Plan) Check(exists func(path string) bool, roles Roles) (wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if n := len(p.Tasks); n == 0 {
		return []string{"the plan has no task"}
	} else if n > MaxTasks {
		return []string{fmt.Sprintf("the plan has %d tasks, more than %d", n, MaxTasks)}
	}
	seen := map[int]bool{}
	for _, t := range p.Tasks {
		if t.N < 1 || seen[t.N] {
			say("task number %d is below 1 or used twice: number tasks from 1", t.N)
		}
		seen[t.N] = true
	}
	for _, t := range p.Tasks {
		for _, d := range t.DependsOn {
			if !seen[d] || d == t.N {
				say("task %d depends on %d, which is not another task", t.N, d)
			}
		}
	}
	if cycle := p.cycle(); len(wrong) == 0 && cycle != nil {
		say("tasks %s depend on each other in a circle", Numbers(cycle))
	}
	if len(wrong) > 0 {
		return wrong // the code below walks the graph
	}
	creators := map[string]int{}
	for _, t := range p.Tasks {
		if t.State == Replaced {
			continue
		}
		for _, f := range t.Creates {
			if by := creators[f]; by != 0 {
				say("tasks %d and %d both create %s", by, t.N, f)
			}
			creators[f] = t.N
		}
	}
	for _, t := range p.Tasks {
		if t.State == Waiting {
			p.checkTask(t, exists, creators, roles, say)
		}
	}
	return wrong
}

// checkTask checks one task that is yet to begin.
func (p *Plan) checkTask(t Task, exists func(string) bool, creators map[string]int, roles Roles, say func(string, ...any)) {
	for _, text := range []struct {
		name, text string
		most       int
	}{{"title", t.Title, maxTitle}, {"goal", t.Goal, maxGoal}} {
		switch {
		case text.text == "":
			say("task %d has no %s", t.N, text.name)
		case len(text.text) > text.most:
			say("the %s of task %d has %d bytes, more than %d", text.name, t.N, len(text.text), text.most)
		}
	}
	if len(t.Files)+len(t.Creates) == 0 {
		say("task %d names no file: say which it changes or creates", t.N)
	}
	if n := len(t.Touches()); n > maxFiles {
		say("task %d names %d files, more than %d: split it", t.N, n, maxFiles)
	}
	for _, f := range t.Touches() {
		if err := workspace.CheckPath(f); err != nil {
			say("task %d: %v", t.N, err)
		}
	}
	before := p.before(t.N)
	for _, f := range t.Files {
		by, made := creators[f]
		if !exists(f) && (!made || !slices.Contains(before, by)) {
			say("task %d changes %s, which does not exist: name a file of the project, put it into creates, or depend on the task that creates it", t.N, f)
		}
	}
	for _, f := range t.Creates {
		if exists(f) {
			say("task %d creates %s, which already exists: put it into files", t.N, f)
		}
	}
	a := t.Accept
	switch {
	case len(a.Command) == 0 && len(a.Tests) == 0 && a.Text == "":
		say("nothing says when task %d is done: give a command, tests, or what a reviewer should look for", t.N)
	case len(a.Command) > maxArgs || slices.ContainsFunc(a.Command, func(s string) bool { return len(s) > maxAccept || strings.ContainsRune(s, 0) }):
		say("the command of task %d is too long", t.N)
	case len(a.Command) > 0 && strings.TrimSpace(a.Command[0]) == "":
		say("the command of task %d names no program", t.N)
	case len(a.Text) > maxAccept:
		say("the acceptance of task %d has %d bytes, more than %d", t.N, len(a.Text), maxAccept)
	}
	if err := roles.Delegate(Lead, t.Role); err != nil {
		say("task %d: %v", t.N, err)
	}
}

// Numbers joins task numbers: "3, 4 and 7".
func Numbers(list []int) string {
	var b strings.Builder
	for i, n := range list {
		switch {
		case i == 0:
		case i == len(list)-1:
			b.WriteString(" and ")
		default:
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	return b.String()
}

// Clone returns a copy that shares nothing that changes.
func (p *Plan) Clone() Plan {
	c := *p
	c.Tasks = slices.Clone(p.Tasks)
	for i := range c.Tasks {
		c.Tasks[i].DependsOn = slices.Clone(c.Tasks[i].DependsOn)
	}
	return c
}
