package wire

import (
	"testing"

	"agent/cmd/agent/internal/config"
	"agent/orchestrator/crew"
)

// A task file can lower caps of the settings, and cannot raise any.
func TestATaskFileRaisesNoCap(t *testing.T) {
	t.Parallel()
	set := config.Settings{"budget.requests": {Text: "100"}, "budget.tokens": {Text: "0"}, "budget.cost": {Text: "2"}, "budget.time": {Text: "1h0m0s"}}
	lower, err := Tightened(set, crew.LoopLimits{Requests: 7, Tokens: 1000, Cost: 0.5, Time: "10m"}, false)
	for name, want := range map[string]string{"budget.requests": "7", "budget.tokens": "1000", "budget.cost": "0.5", "budget.time": "10m"} {
		if err != nil || lower[name].Text != want || lower[name].Origin != "the task file" {
			t.Errorf("%s is %+v, %v", name, lower[name], err)
		}
	}
	same, err := Tightened(set, crew.LoopLimits{Requests: 700, Cost: 50, Time: "10h"}, false)
	for name, was := range set {
		if err != nil || same[name].Text != was.Text {
			t.Errorf("%s is %+v, %v", name, same[name], err)
		}
	}
	// In a resumed loop a person may raise a cap; those that the person does not set stay lower.
	set["budget.cost"] = config.Value{Text: "2", Origin: "--max-cost"}
	for resumed, want := range map[bool]string{true: "2", false: "0.5"} {
		got, err := Tightened(set, crew.LoopLimits{Requests: 7, Cost: 0.5}, resumed)
		if err != nil || got["budget.cost"].Text != want || got["budget.requests"].Text != "7" {
			t.Errorf("resumed %v: %+v, %+v, %v", resumed, got["budget.cost"], got["budget.requests"], err)
		}
	}
	if _, err := Tightened(set, crew.LoopLimits{Time: "soon"}, false); err == nil {
		t.Error("soon is a time")
	}
}
