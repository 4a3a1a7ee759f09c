package jobs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/cmdline/cmdlinetest"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/crew"
	"agent/orchestrator/loop"
	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
	"agent/sandbox"
)

// An office is a record of plans, controlled from a directory that none of them belongs to.
type office struct {
	db  *store.DB
	env map[string]string
}

func newOffice(t *testing.T) *office {
	t.Helper()
	db, url := storetest.New(t)
	return &office{db, map[string]string{"HOME": t.TempDir(), "AGENT_DATABASE_URL": url, "AGENT_WORKSPACE": "/gone"}}
}

// says runs `agent jobs`.
func (o *office) says(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, log bytes.Buffer
	line := cmdline.New(func(k string) string { return o.env[k] }, strings.NewReader(""), &out, &log)
	err = cmdlinetest.App(&log, Command(line)).RunContext(t.Context(), append([]string{"agent", "jobs"}, args...))
	return out.String(), log.String(), err
}

// add records a plan in this state and returns its number.
func (o *office) add(t *testing.T, state crew.PlanState, owner, goal string) string {
	t.Helper()
	p := crew.Plan{Workspace: "/gone", Goal: goal, State: crew.Drafted, Tasks: []crew.Task{{N: 1, Title: "first", State: crew.Waiting, Role: crew.Worker}}}
	var err error
	if p.ID, err = o.db.Plans().AddPlan(t.Context(), p); err == nil && owner != "" {
		p, err = o.db.Plans().TakePlan(t.Context(), p.ID, "", owner)
	}
	if p.State = state; err == nil {
		err = o.db.Plans().SavePlan(t.Context(), p, owner)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(p.ID)
}

// Unfinished work is listed with its process, even if that has died. Plans that never began or are over are not listed.
func TestWhatIsAtWorkIsListed(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if out, log, err := o.says(t, "list"); out != "" || !strings.Contains(log, "nothing is running") || err != nil {
		t.Errorf("%q, %q, %v", out, log, err)
	}
	if out, _, err := o.says(t, "list", "--json"); strings.TrimSpace(out) != "[]" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	for _, state := range crew.PlanStates() {
		if state != crew.Building {
			o.add(t, state, "", "stands "+string(state))
		}
	}
	o.add(t, crew.Building, sandbox.Owner(), "lives\non")
	o.add(t, crew.Building, "no\x1b[2Jbody", "is dead")
	out, _, err := o.says(t, "list")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(out), "\n")[1:] {
		got = append(got, strings.Join(strings.Fields(line)[1:3], " "))
	}
	if want := []string{"died no␛[2Jbody", "at work", "failed /gone", "awaiting /gone", "paused /gone"}; strings.Join(got, ";") != strings.Join(want, ";") || strings.Contains(out, "\x1b") {
		t.Errorf("listed are %q in\n%s", got, out)
	}
	var list []Job
	out, _, err = o.says(t, "list", "--json")
	if err != nil || json.Unmarshal([]byte(out), &list) != nil || len(list) != 5 || list[0].Alive || !list[1].Alive || list[1].Owner != sandbox.Owner() || list[2].Owner != "" {
		t.Errorf("%v\n%s", err, out)
	}
	for name, stands := range map[string]string{"8": "died no␛[2Jbody\n", "7": "at work " + sandbox.Owner() + "\n", "2": "paused \n"} {
		out, log, err := o.says(t, "show", name)
		if err != nil || !strings.Contains(out, "waiting  1. first") || log != stands {
			t.Errorf("%s: %q, %q, %v", name, out, log, err)
		}
	}
}

// A request goes to the process that works on a plan. Without one nothing is requested, and the output says what continues the plan.
func TestWhoIsAskedForWhat(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	alive := o.add(t, crew.Building, sandbox.Owner(), "lives")
	for _, c := range []struct{ act, told, wanted string }{{"pause", "asked to pause", "pause"}, {"resume", "continues", ""}, {"cancel", "asked to end", "cancel"}, {"pause", "asked to pause", "pause"}} {
		out, _, err := o.says(t, c.act, alive)
		if err != nil || out != "plan 1: "+c.told+"\n" {
			t.Errorf("%s: %q, %v", c.act, out, err)
		}
		if got, err := o.db.Plans().Wanted(t.Context(), 1); got != c.wanted || err != nil {
			t.Errorf("%s: %q is wanted, %v", c.act, got, err)
		}
	}
	var job Job
	if out, _, err := o.says(t, "cancel", "--json", alive); err != nil || json.Unmarshal([]byte(out), &job) != nil || job.Plan.ID != 1 || !job.Alive {
		t.Errorf("%v\n%s", err, out)
	}
	dead := o.add(t, crew.Building, "nobody", "died")
	for _, act := range []string{"pause", "resume", "cancel"} {
		for name, words := range map[string][2]string{
			dead: {"the process of plan 2 has died", "agent build --plan 2"}, o.add(t, crew.Paused, "", ""): {"it is paused", "agent build --plan"}, o.add(t, crew.Drafted, "", ""): {"it is drafted", "agent build --plan"},
			o.add(t, crew.Delivered, "", ""): {"it is delivered", "agent jobs list"}, o.add(t, crew.Dropped, "", ""): {"it is dropped", "agent jobs list"},
		} {
			out, _, err := o.says(t, act, name)
			problem, code := fault.Classify(t.Context(), err)
			if err == nil || out != "" || code != run.ExitConflict || !strings.Contains(err.Error(), words[0]) || !strings.Contains(problem.Next, words[1]) {
				t.Errorf("%s %s: %q, exit %d, %v; next %s", act, name, out, code, err, problem.Next)
			}
		}
	}
	for _, act := range []string{"show", "pause", "resume", "cancel"} {
		for _, args := range [][]string{{act}, {act, ""}, {act, "x"}, {act, "999"}, {act, "--", "-1"}} {
			if _, _, err := o.says(t, args...); err == nil {
				t.Errorf("%q names a plan", args)
			} else if _, code := fault.Classify(t.Context(), err); code != run.ExitUsage {
				t.Errorf("%q: exit %d, %v", args, code, err)
			}
		}
	}
	if got, err := o.db.Plans().Wanted(t.Context(), 1); got != "cancel" || err != nil {
		t.Errorf("%q is wanted of the first in the end, %v", got, err)
	}
}

// A loop whose process lives is listed, and can be addressed by the beginning of its name; a dead one is not.
func TestALoopIsSteered(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for id, owner := range map[string]string{"1ngalive0000": sandbox.Owner(), "1ngdead00000": "nobody"} {
		it := loop.Iteration{ID: id, Workspace: "/w/" + id, Owner: owner, Order: loop.Order{Loop: id, Done: 2, Goal: "round\x1b[2J"}, Fence: "f", Phase: loop.Work, Started: time.Now()}
		if _, err := o.db.StartIteration(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	out, _, err := o.says(t, "list")
	if err != nil || !strings.Contains(out, "1ngalive0000  at work") || !strings.Contains(out, "a loop, at iteration 3: round") || strings.Contains(out, "1ngdead") || strings.Contains(out, "\x1b") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, c := range []struct{ act, wanted string }{{"pause", "pause"}, {"cancel", "cancel"}, {"resume", ""}} {
		if out, _, err := o.says(t, c.act, "1nga"); err != nil || !strings.HasPrefix(out, "loop 1ngalive0000: ") {
			t.Errorf("%s: %q, %v", c.act, out, err)
		}
		if got, err := o.db.LoopWanted(t.Context(), "1ngalive0000"); got != c.wanted || err != nil {
			t.Errorf("%s: %q is wanted, %v", c.act, got, err)
		}
	}
	for _, name := range []string{"1ngdead00000", "1ngnone", "loop"} {
		_, _, err := o.says(t, "pause", name)
		if problem, code := fault.Classify(t.Context(), err); code != run.ExitUsage || !strings.Contains(problem.Next, "agent jobs list") {
			t.Errorf("%s: exit %d, %v", name, code, err)
		}
	}
}
