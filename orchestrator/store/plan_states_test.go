package store_test

import (
	"strings"
	"testing"

	"agent/orchestrator/crew"
	"agent/orchestrator/store/storetest"
)

// The record has the same states of plans and tasks as the program.
func TestTheStatesOfPlansInSQLAreThoseInGo(t *testing.T) {
	t.Parallel()
	_, url := storetest.New(t)
	var plans, over, tasks []string
	for _, s := range crew.PlanStates() {
		plans = append(plans, string(s))
		if s.Over() {
			over = append(over, string(s))
		}
	}
	for _, s := range crew.TaskStates() {
		tasks = append(tasks, string(s))
	}
	for query, want := range map[string][]string{
		`select name from plan_state order by place`: plans, `select name from plan_state where final order by place`: over, `select name from task_state order by place`: tasks,
	} {
		if got := value(t, url, query); got != strings.Join(want, "\n") {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if list := constants(t, "../crew", "PlanState"); len(list) != len(plans) {
		t.Errorf("crew.PlanStates() %v differs from the constants %v", plans, list)
	}
	if list := constants(t, "../crew", "TaskState"); len(list) != len(tasks) {
		t.Errorf("crew.TaskStates() %v differs from the constants %v", tasks, list)
	}
}
