package builder

import (
	"context"
	"fmt"
	"path"

	"agent/orchestrator/crew"
	"agent/orchestrator/run"
)

// auditGoal is the goal of a plan of reviews, as the reviewer of the whole sees it.
const auditGoal = "Every file is reviewed, and what is wrong is mended: bugs, wrong results, unhandled errors. No matter of taste, and no feature."

// Audit records, as drafted, a plan that reviews the files of a workspace, one task for each; it asks no planner. [Builder.Build] carries
// it out: all fixes are approved once and applied together. more counts the files that do not fit, the overview's last ones.
func (b *Builder) Audit(ctx context.Context, req run.Request) (p crew.Plan, more int, problem *run.Problem) {
	base, problem := b.scan(ctx, req)
	if problem != nil {
		return crew.Plan{}, 0, problem
	}
	brief, err := b.Overview(ctx, base, auditGoal, true)
	if err != nil {
		return crew.Plan{}, 0, trouble(ctx, "survey the workspace", err)
	}
	p = crew.Plan{Workspace: base.Root, Goal: auditGoal, Summary: "a review of all files", State: crew.Drafted}
	for i, file := range brief.Files[:min(len(brief.Files), crew.MaxTasks)] {
		t := crew.Task{N: i + 1, Title: "review " + crew.Clip(file, 100), Goal: "Review " + file + " and mend what is wrong with it.", Files: []string{file}, Role: crew.Auditor, State: crew.Waiting}
		t.Message, t.Accept.Text = "mend "+path.Base(file), "what was wrong in the file is mended"
		p.Tasks = append(p.Tasks, t)
	}
	if wrong := p.Check(exists(base), b.Roles); len(wrong) > 0 {
		return p, 0, &run.Problem{Kind: run.ProblemUsage, Message: "plan the reviews: " + wrong[0], Next: "see `agent roles`"}
	}
	if p.ID, err = b.Plans.AddPlan(ctx, p); err != nil {
		return p, 0, trouble(ctx, "record the plan", err)
	}
	b.begins(p)
	more = len(brief.Files) - len(p.Tasks) + brief.Unlisted
	b.tell(p, 0, fmt.Sprintf("plan %d: %s", p.ID, run.Count(len(p.Tasks), "review")))
	return p, more, nil
}
