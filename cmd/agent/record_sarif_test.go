package main

import (
	"strings"
	"testing"

	"agent/orchestrator/run"
)

func TestTheRecordIsShownAsSarif(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	got := h.ask(t, run.ExitDone, "runs", "show", "--sarif", "-", rejectedRun).stdout
	if !strings.Contains(got, `"ruleId": "arg-type"`) || !strings.Contains(got, `"id": "agent/`+rejectedRun+`"`) {
		t.Error(got)
	}
	h.ask(t, run.ExitUsage, "runs", "show", "--sarif", "-", "--json")
	// Only a flag excludes another flag: the environment may ask for JSON everywhere.
	h.env["AGENT_JSON"] = "true"
	if again := h.ask(t, run.ExitDone, "runs", "show", "--sarif", "-", rejectedRun).stdout; again != got {
		t.Error(again)
	}
}
