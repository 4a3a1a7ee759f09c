package crew

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxAnswer bounds how much of an answer is read, in bytes.
const maxAnswer = 1 << 20

// errNoPlan means that an answer contains no plan.
var errNoPlan = errors.New(`the answer holds no plan: send one JSON object {"summary": …, "tasks": […]}, in a fence or alone`)

// answered is a plan as models write it. Models number tasks as they like.
type answered struct {
	Summary string `json:"summary"`
	Tasks   []struct {
		ID        label    `json:"id"`
		N         label    `json:"n"`
		Title     string   `json:"title"`
		Goal      string   `json:"goal"`
		Files     []string `json:"files"`
		Creates   []string `json:"creates"`
		DependsOn []label  `json:"depends_on"`
		Role      string   `json:"role"`
		Message   string   `json:"message"`
		Accept    accept   `json:"accept"`
	} `json:"tasks"`
}

// A label is the number or the name of a task.
type label string

// UnmarshalJSON accepts a number or a text.
func (l *label) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) == nil {
		*l = label(strings.TrimSpace(s))
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(text, &n); err != nil {
		return errors.New("the number of a task must be a number or a text")
	}
	*l = label(n)
	return nil
}

// An accept is an Acceptance, or only its text.
type accept Acceptance

// UnmarshalJSON accepts an object or a text.
func (a *accept) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, &a.Text) == nil {
		return nil
	}
	return json.Unmarshal(text, (*Acceptance)(a))
}

// ReadPlan reads the plan from a model's answer: summary and tasks, tidied and numbered from first+1. after lists
// further numbers on which a task may depend, such as those of a plan that it continues. The error says what to send
// instead.
func ReadPlan(answer string, first int, after []int) (p Plan, err error) {
	var a answered
	if err := decode(answer, "tasks", &a); err != nil {
		return Plan{}, err
	}
	// Known numbers mean earlier tasks, unless a new task has that name.
	known := map[label]int{}
	for _, n := range after {
		known[label(strconv.Itoa(n))] = n
	}
	names := map[label]bool{}
	for i, t := range a.Tasks {
		name := t.ID
		if name == "" {
			name = t.N
		}
		if name == "" {
			name = label(strconv.Itoa(first + i + 1))
		}
		if names[name] {
			return Plan{}, fmt.Errorf("two tasks have the id %q", string(name))
		}
		names[name], known[name] = true, first+i+1
	}
	p.Summary = strings.TrimSpace(a.Summary)
	for i, t := range a.Tasks {
		task := Task{
			N: first + i + 1, Title: t.Title, Goal: t.Goal, Files: t.Files, Creates: t.Creates, Role: t.Role, Message: t.Message, Accept: Acceptance(t.Accept),
		}
		for _, d := range t.DependsOn {
			n, ok := known[d]
			if !ok {
				return Plan{}, fmt.Errorf("task %d depends on %q, which is not a task", task.N, string(d))
			}
			task.DependsOn = append(task.DependsOn, n)
		}
		p.Tasks = append(p.Tasks, task)
	}
	p.Tidy()
	return p, nil
}

// decode reads the one JSON object of an answer that has the field, whatever prose surrounds it.
func decode(answer, field string, into any) error {
	answer = answer[:min(len(answer), maxAnswer)]
	said := errNoPlan
	for at := 0; ; {
		i := strings.IndexByte(answer[at:], '{')
		if i < 0 {
			return said
		}
		at += i
		d := json.NewDecoder(strings.NewReader(answer[at:]))
		var fields map[string]json.RawMessage
		if err := d.Decode(&fields); err != nil {
			// If it names the field, it was meant to be the plan: then it helps to say what is wrong with it.
			if strings.Contains(answer[at:], `"`+field+`"`) && errors.Is(said, errNoPlan) {
				said = fmt.Errorf("%w: %w", errNoPlan, err)
			}
			at++
			continue
		}
		if _, ok := fields[field]; !ok {
			at += int(d.InputOffset())
			continue
		}
		whole := answer[at : at+int(d.InputOffset())]
		if err := json.Unmarshal([]byte(whole), into); err != nil {
			return fmt.Errorf("the JSON object does not fit: %w", err)
		}
		return nil
	}
}
