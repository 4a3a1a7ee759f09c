package pr

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/crew"
	"agent/orchestrator/crew/builder"
	"agent/orchestrator/forge/forgetest"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/sandbox/workspace"
	"agent/verify"
)

// carries makes the bench carry out a plan: each of texts is one task's version of till.py, proved on the previous one;
// the last one is delivered. It returns the orders.
func (b *bench) carries(texts ...string) *[]order {
	orders := &[]order{}
	b.carry = func(ctx *cli.Context, s *wire.Session, o order) (builder.Result, error) {
		*orders = append(*orders, o)
		before, err := os.ReadFile(filepath.Join(o.dir, "till.py"))
		if err != nil {
			return builder.Result{}, err
		}
		p := crew.Plan{Workspace: cmdline.Resolved(o.dir), Goal: o.goal, State: crew.Drafted}
		now := string(before)
		for i, text := range texts {
			id := "0t" + string(rune('1'+i))
			cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: "till.py", Before: []byte(now), After: []byte(text), Mode: 0o644}}}
			err := errors.Join(
				b.db.Create(ctx.Context, run.Record{ID: id, Workspace: p.Workspace, Intent: "task", Owner: "o", Started: time.Now()}),
				b.db.Advance(ctx.Context, id, 1, run.Analyzing, "", "s"),
				b.db.SaveCandidate(ctx.Context, id, 1, gate.Candidate{Verdict: verify.Pass, Changeset: cs, Digest: cs.Digest(), Diff: cs.Diff(), Gates: []verify.Gate{{Name: "lint", Verdict: verify.Pass}}}),
				b.db.Finish(ctx.Context, id, 1, run.Ending{State: run.Done, Verdict: verify.Pass}),
			)
			if err != nil {
				return builder.Result{}, err
			}
			now = text
			p.Tasks = append(p.Tasks, crew.Task{N: i + 1, Title: "task", Goal: "g", Role: crew.Worker, Message: "step " + string(rune('1'+i)), State: crew.Done, Landed: i + 1, Run: id})
		}
		if p.ID, err = b.db.Plans().AddPlan(ctx.Context, p); err != nil {
			return builder.Result{}, err
		}
		p.Run, p.State = b.promotedIn(o.dir, "plan", "till.py", string(before), now), crew.Delivered
		return builder.Result{Plan: p}, b.db.Plans().SavePlan(ctx.Context, p, "")
	}
	return orders
}

// With a plan, the pull request has one commit for each task, and the files of the whole; resumed after a kill, it has them once.
func TestAPlanBecomesOneCommitATask(t *testing.T) {
	for name, c := range map[string]struct{ moved, want string }{
		"the base stays": {"", "step 3\nstep 2\nstep 1"},
		"the base moves": {"other.py", "step 3\nstep 2\nstep 1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, till)
			b.hub.AddIssue(forgetest.Issue{Number: 12, Title: "shout", Body: "all of it"})
			b.judges(verdict(verify.Pass, run.ExitDone, nil))
			orders := b.carries("ONE\ntwo\nthree\nfour\nfive\n", "ONE\nTWO\nthree\nfour\nfive\n", "ONE\nTWO\nthree\nfour\nFIVE\n")
			carry := b.carry
			b.carry = func(ctx *cli.Context, s *wire.Session, o order) (builder.Result, error) {
				res, err := carry(ctx, s, o)
				if c.moved != "" {
					b.git.Commit(t, "shop/till", "main", "moved", map[string]string{c.moved: "x\n"})
				}
				return res, errors.Join(err, errors.New("killed"))
			}
			if _, _, err := b.agent("run", "--issue", "12", "--planned", "--no-ci", "shop/till"); err == nil {
				t.Fatal("it was not killed")
			}
			d, exit := b.passed("--resume", "--no-ci", "shop/till")
			if exit != run.ExitDone || d.Number != 1 || len(*orders) != 1 || !strings.Contains((*orders)[0].given, "all of it") {
				t.Fatalf("%+v, exit code %d, %+v", d, exit, *orders)
			}
			bare := b.git.Bare("shop/till")
			if log := forgetest.Run(t, bare, "log", "--format=%s", "main.."+d.Head); log != c.want {
				t.Errorf("%q, want %q", log, c.want)
			}
			if text := forgetest.Run(t, bare, "show", d.Head+"~1:till.py"); text != "ONE\nTWO\nthree\nfour\nfive" {
				t.Errorf("%q", text)
			}
			if text := forgetest.Run(t, bare, "show", d.Head+":till.py"); text != "ONE\nTWO\nthree\nfour\nFIVE" {
				t.Errorf("%q", text)
			}
			if out := forgetest.Run(t, bare, "fsck", "--strict"); out != "" {
				t.Error(out)
			}
			// A second opening finds it with its commits.
			at := b.git.At(t, "shop/till", d.Head)
			o := b.opened("--workspace", d.workspace(t, b), "--run", d.Runs[0], "--repo", "shop/till")
			if !o.Existed || o.Commit != at || len(o.Commits) < 3 {
				t.Errorf("%+v", o)
			}
		})
	}
}

// The result of a plan that delivered nothing is reported, and the passage stops there.
func TestAPlanThatFailsStops(t *testing.T) {
	b := newBench(t, till)
	b.carry = func(*cli.Context, *wire.Session, order) (builder.Result, error) {
		return builder.Result{Plan: crew.Plan{ID: 7, State: crew.Failed}, Error: &run.Problem{Message: "task 2 failed"}, Exit: run.ExitFail}, nil
	}
	d, exit := b.passed("--goal", "g", "--planned", "shop/till")
	if exit != run.ExitFail || d.Why != "plan 7 is failed: task 2 failed" || d.Number != 0 || len(b.git.Writes()) != 0 {
		t.Errorf("%+v, exit code %d", d, exit)
	}
}

// workspace returns the agent's own directory for the passage.
func (d Passage) workspace(t *testing.T, b *bench) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "agent", "forge", "*", "shop", "till", "runs", d.ID))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q %v", found, err)
	}
	return found[0]
}
