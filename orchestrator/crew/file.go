package crew

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// filed is a plan as a person edits it.
type filed struct {
	Goal    string      `toml:"goal,multiline"`
	Summary string      `toml:"summary"`
	Tasks   []filedTask `toml:"task"`
}

// filedTask is a task in it.
type filedTask struct {
	N         int      `toml:"n"`
	Title     string   `toml:"title"`
	Goal      string   `toml:"goal,multiline"`
	Files     []string `toml:"files"`
	Creates   []string `toml:"creates"`
	DependsOn []int    `toml:"depends_on"`
	Role      string   `toml:"role"`
	Message   string   `toml:"message"`
	Accept    struct {
		Command []string `toml:"command"`
		Tests   []string `toml:"tests"`
		Text    string   `toml:"text"`
	} `toml:"accept"`
}

// fileHead explains the file to the person who edits it.
const fileHead = `# A plan. Tasks that are done are not shown and stay as they are; a task deleted here is dropped from the plan.
#   files       are changed, creates are new; a task that touches other files is held
#   depends_on  are the numbers of the tasks that it waits for
#   role        worker, librarian or fixer; see "agent roles"
#   accept      command must exit with status 0 in a box, without a shell; tests must exist; text is for the reviewer

`

// File returns the plan as a TOML file for a person to edit: the tasks that are not finished.
func (p *Plan) File() ([]byte, error) {
	f := filed{Goal: p.Goal, Summary: p.Summary}
	for _, t := range p.Tasks {
		if t.State == Done || t.State == Replaced {
			continue
		}
		ft := filedTask{N: t.N, Title: t.Title, Goal: t.Goal, Files: t.Files, Creates: t.Creates, DependsOn: t.DependsOn, Role: t.Role, Message: t.Message}
		ft.Accept.Command, ft.Accept.Tests, ft.Accept.Text = t.Accept.Command, t.Accept.Tests, t.Accept.Text
		f.Tasks = append(f.Tasks, ft)
	}
	text, err := toml.Marshal(f)
	return append([]byte(fileHead), text...), err
}

// Edited returns the plan with the goal and the tasks from a file in the form that File returns. Finished tasks stay.
// Tasks that failed or were held or blocked wait again. The error says where the file does not fit.
func (p *Plan) Edited(text []byte) (Plan, error) {
	var f filed
	err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&f)
	var strict *toml.StrictMissingError
	var wrong *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		return Plan{}, fmt.Errorf("unknown field:\n%s", strict.String())
	case errors.As(err, &wrong):
		row, _ := wrong.Position()
		return Plan{}, fmt.Errorf("line %d: %w", row, err)
	case err != nil:
		return Plan{}, err
	}
	next := p.Clone()
	next.Goal, next.Summary = strings.TrimSpace(f.Goal), strings.TrimSpace(f.Summary)
	if next.Goal == "" {
		return Plan{}, errors.New("the goal is empty")
	}
	next.Tasks = slices.DeleteFunc(next.Tasks, func(t Task) bool { return t.State != Done && t.State != Replaced })
	for _, ft := range f.Tasks {
		t := Task{N: ft.N, Title: ft.Title, Goal: ft.Goal, Files: ft.Files, Creates: ft.Creates, DependsOn: ft.DependsOn, Role: ft.Role, Message: ft.Message, State: Waiting}
		t.Accept = Acceptance{ft.Accept.Command, ft.Accept.Tests, ft.Accept.Text}
		if was := p.Task(t.N); was != nil {
			t.Tries = was.Tries
		}
		next.Tasks = append(next.Tasks, t)
	}
	slices.SortStableFunc(next.Tasks, func(a, b Task) int { return a.N - b.N })
	next.Tidy()
	return next, nil
}
