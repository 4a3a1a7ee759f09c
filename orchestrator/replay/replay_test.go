package replay_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/replay"
	"agent/orchestrator/run"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/store"
	"agent/orchestrator/store/database"
	"agent/orchestrator/store/history"
	"agent/sandbox/workspace"
	"agent/verify"
)

// formats is a verifier whose formatter appends a remark to a.py, and whose verdict is v.
func formats(v verify.Verdict) runtest.Judge {
	return func(ctx context.Context, req verify.Request) (verify.Report, error) {
		report, err := runtest.Says(v)(ctx, req)
		report.Changeset = workspace.Changeset{}
		for _, c := range req.Changeset.Changes {
			if c.Path == "a.py" {
				c.After = append([]byte(strings.TrimSuffix(string(c.After), "# formatted\n")), "# formatted\n"...)
			}
			report.Changeset.Changes = append(report.Changeset.Changes, c)
		}
		return report, err
	}
}

// record performs a run that keeps its files.
func record(t *testing.T, b *runtest.Bench, req run.Request) run.Document {
	t.Helper()
	b.Runner.Recorder, b.Runner.AfterRun = b.DB, runtest.AtOnce{}
	req.Keep.Files = true
	return b.Run(t.Context(), req)
}

// replayed judges a recorded run again with j, in a directory of its own.
func replayed(t *testing.T, b *runtest.Bench, id string, j runtest.Judge) (*replay.Report, error) {
	t.Helper()
	e, err := b.DB.Evidence(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	r := &replay.Replayer{Images: runtest.Frozen{}, Verifier: j}
	return r.Replay(t.Context(), e, t.TempDir(), func(d string) ([]byte, error) { return b.DB.Content(t.Context(), d) })
}

// The files are read after the promotion has changed some of them, and the workspace no longer exists when the run is replayed.
func TestARunIsReplayedFromItsRecordAlone(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, formats(verify.Pass))
	b.Write(t, "other.py", "y = 1\n")
	doc := record(t, b, b.Request())
	if doc.State != run.Promoted {
		t.Fatalf("ended %+v", doc.Error)
	}
	if err := os.RemoveAll(b.Dir); err != nil {
		t.Fatal(err)
	}
	rep, err := replayed(t, b, doc.Run, formats(verify.Pass))
	if err != nil {
		t.Fatal(err)
	}
	if !rep.Identical || rep.Snapshot != doc.Snapshot || len(rep.Verdicts) != 1 || rep.Verdicts[0].Replayed != verify.Pass || rep.Verdicts[0].Tree == rep.Snapshot {
		t.Errorf("the replay is %+v", rep)
	}
	// A different formatter and a different verdict are each reported.
	rep, err = replayed(t, b, doc.Run, runtest.Says(verify.Fail))
	if err != nil || rep.Identical {
		t.Fatalf("another judgement is %+v, %v", rep, err)
	}
	var what []string
	for _, d := range rep.Differs {
		what = append(what, d.What)
	}
	if diff := cmp.Diff([]string{"tree", "changeset", "verdict", "tests", "tests found"}, what); diff != "" {
		t.Errorf("differences (-want +got):\n%s", diff)
	}
	if d := rep.Differs[4]; d.Candidate != 1 || d.Recorded != "" || d.Replayed != "a.py:1: X1 wrong" {
		t.Errorf("the finding is %+v", d)
	}
	// A machine failure does not count as a difference.
	if _, err := replayed(t, b, doc.Run, runtest.Says(verify.Infra)); err == nil || !strings.Contains(err.Error(), "candidate 1 again: tests") {
		t.Errorf("trouble gives %v", err)
	}
}

// The recorded verdict of the run must follow from its candidates; otherwise the replay reports it.
func TestTheVerdictOfTheRunIsCompared(t *testing.T) {
	t.Parallel()
	type recorded struct {
		*runtest.Bench
		run string
	}
	benches := map[verify.Verdict]recorded{}
	for _, v := range []verify.Verdict{verify.Pass, verify.Fail} {
		b := runtest.Setup(t, runtest.Says(v))
		benches[v] = recorded{b, record(t, b, b.Request()).Run}
	}
	for want, c := range map[string]struct {
		says   verify.Verdict
		change func(e *replay.Evidence)
	}{
		"verdict: pass, now fail":           {verify.Fail, func(e *replay.Evidence) { e.Verdict = verify.Pass }},
		"verdict: promoted, fail, now fail": {verify.Fail, func(e *replay.Evidence) { e.State = run.Promoted }},
		"verdict: promoted, fail, now pass": {verify.Pass, func(e *replay.Evidence) { e.Verdict = verify.Fail }},
		"verdict: promoted, pass, now ":     {verify.Pass, func(e *replay.Evidence) { e.Candidates = nil }},
		"verdict: fail, now ":               {verify.Fail, func(e *replay.Evidence) { e.Candidates[0].Verdict = verify.Cancelled }},
		"":                                  {verify.Pass, func(e *replay.Evidence) { e.State, e.Verdict = run.Rejected, verify.Policy }},
	} {
		b := benches[c.says]
		e, err := b.DB.Evidence(t.Context(), b.run)
		if err != nil {
			t.Fatal(err)
		}
		c.change(&e)
		r := &replay.Replayer{Images: runtest.Frozen{}, Verifier: runtest.Says(c.says)}
		rep, err := r.Replay(t.Context(), e, t.TempDir(), func(d string) ([]byte, error) { return b.DB.Content(t.Context(), d) })
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, d := range rep.Differs {
			got += fmt.Sprintf("%s: %s, now %s", d.What, d.Recorded, d.Replayed)
		}
		if got != want || rep.Identical != (want == "") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A candidate that the edit engine refused is refused again, without a gate.
func TestARefusedCandidateIsRefusedAgain(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	b.Write(t, "b.py", "z = 1\n")
	req := b.Request()
	// After a failed edit the question is repeated.
	answers := []run.Answer{
		{Decision: run.Amend, Response: []byte(`<EDIT file="a.py"><SEARCH>nothing like it</SEARCH><REPLACE>x</REPLACE></EDIT>`)},
		{Decision: run.Skip},
	}
	req.Approver = approves(func(run.Proposal) run.Answer {
		a := answers[0]
		answers = answers[1:]
		return a
	})
	doc := record(t, b, req)
	if len(doc.Candidates) != 2 || doc.Candidates[1].Verdict != verify.Fail {
		t.Fatalf("the run is %+v", doc)
	}
	rep, err := replayed(t, b, doc.Run, runtest.Says(verify.Pass))
	if err != nil || !rep.Identical || len(rep.Verdicts) != 2 || rep.Verdicts[1].Replayed != verify.Fail {
		t.Errorf("the replay is %+v, %v", rep, err)
	}
}

// approves answers a checkpoint by calling itself.
type approves func(run.Proposal) run.Answer

func (a approves) Approve(_ context.Context, p run.Proposal) (run.Answer, error) { return a(p), nil }

// If a run cannot be replayed, the error says so, and why.
func TestWhatIsNotWholeIsNotReplayed(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Fail))
	lacks := func(req run.Request, want string) {
		t.Helper()
		b.Runner.Recorder, b.Runner.AfterRun = b.DB, runtest.AtOnce{}
		doc := b.Run(t.Context(), req)
		_, err := b.DB.Evidence(t.Context(), doc.Run)
		var lacking *history.LackingError
		if !errors.As(err, &lacking) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	req := b.Request()
	lacks(req, "record.files is off")
	req.Keep = run.Keep{Files: true, Bytes: 5}
	lacks(req, "6 bytes in total, more than the 5 of record.bytes")
	req.Keep = run.Keep{Files: true, Never: "not for you"}
	lacks(req, "not for you")
	req.Keep = run.Keep{Files: true}
	huge := filepath.Join(b.Dir, "huge")
	if err := errors.Join(os.WriteFile(huge, nil, 0o600), os.Truncate(huge, 16<<20+1)); err != nil {
		t.Fatal(err)
	}
	lacks(req, "huge is larger than 16 MiB")
	if err := os.Remove(huge); err != nil {
		t.Fatal(err)
	}
	// Somebody writes while the boxes are working: no gate has judged those bytes.
	b.Runner.Verifier = runtest.Judge(func(ctx context.Context, req verify.Request) (verify.Report, error) {
		b.Write(t, "a.py", "x = 7\n")
		return runtest.Says(verify.Fail)(ctx, req)
	})
	b.Write(t, "b.py", "secret = 1\n")
	req.Patch = []byte(`<EDIT file="b.py"><SEARCH>secret = 1</SEARCH><REPLACE>secret = 2</REPLACE></EDIT>`)
	b.Write(t, "a.py", "x = 6\n")
	lacks(req, "a.py changed while it was read")
	if _, err := b.DB.Content(t.Context(), workspace.Digest([]byte("x = 7\n"))); !errors.Is(err, database.ErrNotFound) {
		t.Errorf("bytes that no gate saw were kept: %v", err)
	}
	b.Runner.AfterRun = nil
	doc := b.Run(t.Context(), req)
	if _, err := b.DB.Evidence(t.Context(), doc.Run); err == nil || !strings.Contains(err.Error(), "before its files were kept") {
		t.Errorf("a run whose process ended gives %v", err)
	}
}

// A changed record is found before anything is judged.
func TestEvidenceThatWasChangedIsUnfit(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Pass))
	doc := record(t, b, b.Request())
	whole, err := b.DB.Evidence(t.Context(), doc.Run)
	if err != nil {
		t.Fatal(err)
	}
	read := func(d string) ([]byte, error) { return b.DB.Content(t.Context(), d) }
	bad := func(string) ([]byte, error) { return []byte("other"), nil }
	for want, c := range map[string]struct {
		change func(e *replay.Evidence)
		read   func(string) ([]byte, error)
	}{
		"does not match its digest":           {func(*replay.Evidence) {}, bad},
		"not the one that was judged":         {func(e *replay.Evidence) { e.Snapshot = "0" + e.Snapshot[1:] }, read},
		"read the inventory":                  {func(e *replay.Evidence) { e.Inventory = e.Candidates[0].Response }, read},
		"changes of a candidate do not match": {func(e *replay.Evidence) { e.Candidates[0].Files[0].Mode = 0o777 }, read},
		"builds on a changeset that no":       {func(e *replay.Evidence) { e.Candidates[0].Onto = "x" }, read},
		"not a path in the workspace":         {func(e *replay.Evidence) { e.Settings.Protect = []string{"/x"} }, read},
	} {
		e := whole
		e.Candidates = append([]replay.Exhibit{}, whole.Candidates...)
		e.Candidates[0].Files = append([]replay.ExhibitFile{}, whole.Candidates[0].Files...)
		c.change(&e)
		r := &replay.Replayer{Images: runtest.Frozen{}, Verifier: runtest.Says(verify.Pass)}
		_, err := r.Replay(t.Context(), e, t.TempDir(), c.read)
		var unfit *replay.UnfitError
		if !errors.As(err, &unfit) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	whole.Candidates[0].Asked, whole.Settings.Toolchain, whole.Settings.Definitions = "other", "sha256:old", "0"
	whole.Settings.Versions = map[string]string{"ruff": "0.1"}
	r := &replay.Replayer{Images: runtest.Frozen{}, Verifier: runtest.Says(verify.Pass)}
	rep, err := r.Replay(t.Context(), whole, t.TempDir(), read)
	if err != nil || len(rep.Differs) != 1 || rep.Differs[0].What != "response" || len(rep.Notes) != 2 || !strings.Contains(rep.Notes[0], "differs from the recorded one") {
		t.Errorf("another edit engine gives %+v, %v", rep, err)
	}
}

// The second run of an unchanged workspace stores nothing except its own row.
func TestAnUnchangedWorkspaceIsKeptOnce(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Fail))
	b.Write(t, "b.py", "w = 1\n")
	sent := &sending{DB: b.DB}
	for i, want := range []int{2, 2} { // one file and the inventory: what the patch touches is stored already
		b.Runner.Recorder, b.Runner.AfterRun = sent, runtest.AtOnce{}
		req := b.Request()
		req.Keep.Files = true
		doc := b.Run(t.Context(), req)
		if _, err := b.DB.Evidence(t.Context(), doc.Run); err != nil || sent.contents != want {
			t.Errorf("run %d sent %d contents in all, want %d (%v)", i, sent.contents, want, err)
		}
	}
}

// However small the files are, only some of them are in memory at a time.
func TestManySmallFilesAreKeptInPieces(t *testing.T) {
	t.Parallel()
	b := runtest.Setup(t, runtest.Says(verify.Fail))
	for i := range 2500 {
		b.Write(t, fmt.Sprintf("many%d.txt", i), strconv.Itoa(i))
	}
	sent := &sending{DB: b.DB}
	b.Runner.Recorder, b.Runner.AfterRun = sent, runtest.AtOnce{}
	req := b.Request()
	req.Keep.Files = true
	doc := b.Run(t.Context(), req)
	if _, err := b.DB.Evidence(t.Context(), doc.Run); err != nil || sent.contents < 2500 || sent.most > 1000 {
		t.Errorf("%d contents were sent, %d at a time: %v", sent.contents, sent.most, err)
	}
}

// sending counts the contents that are sent or looked up.
type sending struct {
	*store.DB
	contents, most int
}

func (s *sending) Absent(ctx context.Context, digests []string) ([]string, error) {
	s.most = max(s.most, len(digests))
	return s.DB.Absent(ctx, digests)
}

func (s *sending) SaveContents(ctx context.Context, contents map[string][]byte) error {
	s.contents, s.most = s.contents+len(contents), max(s.most, len(contents))
	return s.DB.SaveContents(ctx, contents)
}
