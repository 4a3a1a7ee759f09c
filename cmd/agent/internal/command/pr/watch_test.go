package pr

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/forge/forgetest"
	"agent/orchestrator/run"
)

// exitOf returns the exit code of an error.
func exitOf(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return run.ExitDone
	}
	if reported, ok := errors.AsType[fault.Reported](err); ok {
		return reported.Exit
	}
	_, exit := fault.Classify(t.Context(), err)
	return exit
}

// watched returns the document of `pr watch --json`, its exit code and the number of waits. It calls then instead of
// each wait.
func (b *bench) watched(then func(n int), args ...string) (w Watched, exit, waits int, told string) {
	b.t.Helper()
	b.sleep = func(context.Context, time.Duration) error {
		waits++
		if then != nil {
			then(waits)
		}
		return nil
	}
	out, told, err := b.agent(append([]string{"watch", "--json"}, args...)...)
	if uerr := json.Unmarshal([]byte(out), &w); uerr != nil {
		b.t.Fatalf("%v %v\n%s%s", err, uerr, out, told)
	}
	return w, exitOf(b.t, err), waits, told
}

func TestBuildServersAreWatched(t *testing.T) {
	b := newBench(t, till)
	head := b.git.Commit(t, "shop/till", "feature", "change", map[string]string{"till.py": "ONE\n"})
	b.pull("feature")
	// No job at all is not a pass.
	w, exit, waits, _ := b.watched(nil, "--interval", "1m", "--timeout", "5m", "1")
	if exit != run.ExitBudget || w.Outcome != "timeout" || waits != 6 || len(w.Jobs) != 0 {
		t.Errorf("%+v, exit code %d after %d waits", w, exit, waits)
	}
	b.hub.AddJob(forgetest.Job{Commit: head, Name: "lint", Status: "completed", Conclusion: "success"})
	b.hub.AddJob(forgetest.Job{Commit: head, Name: "deploy", Status: "completed", Conclusion: "skipped"})
	flaky := b.hub.AddJob(forgetest.Job{Commit: head, Name: "test", Status: "completed", Conclusion: "failure", Log: "collecting\n\x1b[31mAssertionError: 3 != 4\x1b[0m\n"})
	// The jobs are taken as they are.
	w, exit, waits, _ = b.watched(nil, "--no-rerun", "1")
	if exit != run.ExitFail || w.Outcome != "failed" || w.Jobs[2].Log != "collecting\nAssertionError: 3 != 4" || waits != 0 || len(b.hub.Reruns()) != 0 {
		t.Errorf("%+v, exit code %d after %d waits", w, exit, waits)
	}
	// A second try passes.
	w, exit, waits, told := b.watched(nil, "1")
	if exit != run.ExitDone || w.Outcome != "passed" || waits != 1 || !slices.Equal(w.Flaky, []string{"test"}) || !slices.Equal(b.hub.Reruns(), []int64{flaky}) || !strings.Contains(told, "run again: test") {
		t.Errorf("%+v, exit code %d after %d waits: %s", w, exit, waits, told)
	}
	if w.Commit != head || len(w.Jobs) != 3 {
		t.Errorf("%+v", w)
	}
	// Someone pushes meanwhile.
	var next string
	w, exit, _, _ = b.watched(func(n int) {
		if n == 1 {
			b.hub.AddJob(forgetest.Job{Commit: next, Name: "test", Status: "completed", Conclusion: "success"})
		}
	}, "1")
	if exit != run.ExitDone || w.Outcome != "passed" {
		t.Errorf("%+v, exit code %d", w, exit)
	}
	next = b.git.Commit(t, "shop/till", "feature", "more", map[string]string{"till.py": "TWO\n"})
	w, exit, waits, _ = b.watched(func(n int) {
		if n == 2 {
			b.hub.AddJob(forgetest.Job{Commit: next, Name: "test", Status: "completed", Conclusion: "success"})
		}
	}, "1")
	if exit != run.ExitDone || w.Commit != next || waits != 2 {
		t.Errorf("%+v, exit code %d after %d waits", w, exit, waits)
	}
	out, _, err := b.agent("watch", "1")
	if err != nil || !strings.Contains(out, "pull request 1 at") || !strings.Contains(out, "passed   test") {
		t.Errorf("%s %v", out, err)
	}
	w, exit, _, _ = b.watched(func(int) { b.hub.Close(1, true) }, "1")
	if exit != run.ExitDone {
		t.Errorf("%+v, exit code %d", w, exit)
	}
	b.hub.Close(1, false)
	if w, exit, _, _ = b.watched(nil, "1"); exit != run.ExitFail || w.Outcome != "closed" {
		t.Errorf("%+v, exit code %d", w, exit)
	}
}

// After an error of the forge the outcome is unknown; a token that is no longer accepted ends the command.
func TestTroubleOfTheForgeIsNoFailure(t *testing.T) {
	b := newBench(t, till)
	head := b.git.Commit(t, "shop/till", "feature", "change", map[string]string{"till.py": "ONE\n"})
	b.pull("feature")
	b.hub.AddJob(forgetest.Job{Commit: head, Name: "test", Status: "completed", Conclusion: "success"})
	whole, left := b.git.API, 2
	b.git.API = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if left > 0 {
			left--
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		whole.ServeHTTP(w, r)
	})
	w, exit, waits, told := b.watched(nil, "1")
	if exit != run.ExitDone || w.Outcome != "passed" || waits != 2 || !strings.Contains(told, "not known yet: ") {
		t.Errorf("%+v, exit code %d after %d waits: %s", w, exit, waits, told)
	}
	b.refused(run.ExitUsage, "--interval 1ms", "watch", "--interval", "1ms", "1")
	b.refused(run.ExitUsage, "no pull request was named", "watch")
	b.refused(run.ExitUsage, "not found", "watch", "9")
	b.git.Deny()
	b.refused(run.ExitUsage, "does not accept the token", "watch", "1")
}
