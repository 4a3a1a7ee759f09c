package prove

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"agent/cmd/agent/internal/cmdline"
	"agent/orchestrator/forge/revision"
	"agent/orchestrator/run"
	"agent/verify"
)

// history returns n commits, c1 to cn, after a parent c0.
func history(n int) (steps []revision.Step) {
	for i := 1; i <= n; i++ {
		steps = append(steps, revision.Step{Commit: fmt.Sprintf("c%d", i), Parent: fmt.Sprintf("c%d", i-1), Subject: "subject"})
	}
	return steps
}

// judged fails the step that brings in the bad commit, and notes what it was asked.
type judged struct {
	bad   string
	exit  int
	asked []string
}

func (j *judged) prove(_ context.Context, _, before, after string) run.Document {
	j.asked = append(j.asked, before+".."+after)
	doc := run.Document{Verdict: verify.Pass, Run: "r1"}
	if j.bad != "" && after >= j.bad && before < j.bad {
		doc.Verdict, doc.Exit, doc.State = verify.Fail, j.exit, run.Rejected
		doc.Error = &run.Problem{Kind: run.ProblemPatch, Message: "the patch failed: tests", Next: "fix it"}
	}
	return doc
}

func TestCommitsAreJudgedInOrderUpToTheFirstBadOne(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		judged
		want  string
		first string
		exit  int
		left  int
	}{
		{judged{}, "c0..c1 c1..c2 c2..c3 c3..c4 c4..c5", "", 0, 0},
		{judged{bad: "c3", exit: run.ExitFail}, "c0..c1 c1..c2 c2..c3", "c3", 1, 2},
		{judged{bad: "c1", exit: run.ExitApproval}, "c0..c1", "c1", 4, 4},
		{judged{bad: "c2", exit: run.ExitInfra}, "c0..c1 c1..c2", "", 3, 3},
	} {
		told := 0
		doc, exit := inOrder(t.Context(), Document{Left: 5}, history(5), c.prove, func(Commit) { told++ })
		if got := strings.Join(c.asked, " "); got != c.want || doc.FirstBad != c.first || exit != c.exit || doc.Left != c.left || told != len(c.asked) {
			t.Errorf("asked %s, first bad %q, exit %d, %d left; want %s, %q, %d, %d", got, doc.FirstBad, exit, doc.Left, c.want, c.first, c.exit, c.left)
		}
	}
}

func TestBisectionFindsTheFirstBadCommit(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 9; n++ {
		for bad := 1; bad <= n; bad++ {
			j := judged{bad: fmt.Sprintf("c%d", bad), exit: run.ExitFail}
			doc, exit := bisect(t.Context(), Document{}, history(n), j.prove, func(Commit) {})
			if doc.FirstBad != j.bad || exit != run.ExitFail || len(j.asked) > 5 {
				t.Errorf("of %d commits %s was found for %s, exit %d, by %v", n, doc.FirstBad, j.bad, exit, j.asked)
			}
		}
		good := judged{}
		if doc, exit := bisect(t.Context(), Document{}, history(n), good.prove, func(Commit) {}); doc.FirstBad != "" || exit != 0 || len(good.asked) != 1 {
			t.Errorf("of %d good commits %q is bad, exit %d, by %v", n, doc.FirstBad, exit, good.asked)
		}
	}
	lost := judged{bad: "c2", exit: run.ExitInfra}
	if doc, exit := bisect(t.Context(), Document{}, history(4), lost.prove, func(Commit) {}); doc.FirstBad != "" || exit != run.ExitInfra {
		t.Errorf("%+v, %d", doc, exit)
	}
}

func TestWhatIsPrinted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := command{cmdline.New(func(string) string { return "" }, strings.NewReader(""), &out, &out)}
	steps := history(3)
	steps[0].Empty, steps[1].Merge = true, true
	steps[1].Subject = "over\x1b[31mturned"
	j := judged{bad: "c3", exit: run.ExitFail}
	doc, _ := inOrder(t.Context(), Document{Range: "c0..c3", Left: 3}, steps, j.prove, c.tell)
	c.summary(doc)
	for _, want := range []string{"✓ c1  no file changed  subject\n", "✓ c2  pass, as a merge on its first parent  over", "✗ c3  fail  subject\n", "next: fix it", "first bad commit: c3\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") || len(j.asked) != 2 {
		t.Errorf("%q, asked %v", out.String(), j.asked)
	}
	for doc, want := range map[*Document]string{
		{Range: "a..a"}: "a..a holds no commit", {Commits: []Commit{{Verdict: verify.Infra}}, Left: 1}: "not all commits were judged",
		{Commits: []Commit{{Verdict: verify.Pass}}}: "no bad commit",
	} {
		out.Reset()
		if c.summary(*doc); !strings.Contains(out.String(), want) {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
	if got := headline(strings.Repeat("ü", 100)); len([]rune(got)) != 73 {
		t.Errorf("%q", got)
	}
}
