package survey_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agent/images"
	"agent/orchestrator/agent"
	"agent/orchestrator/gate"
	"agent/orchestrator/ledger"
	"agent/orchestrator/loop"
	"agent/orchestrator/run/runtest"
	"agent/orchestrator/store/storetest"
	"agent/orchestrator/survey"
	"agent/verify"
)

// A narrator is a model that describes files by a given rule.
type narrator struct {
	asked  []agent.Question
	answer func(paths []string) (string, error)
}

func (n *narrator) Ask(_ context.Context, q agent.Question) (agent.Reply, error) {
	n.asked = append(n.asked, q)
	var paths []string
	_, list, _ := strings.Cut(q.Text, " files\n")
	for line := range strings.Lines(list) {
		if line = strings.TrimSpace(line); strings.HasSuffix(line, ".py") {
			paths = append(paths, line)
		}
	}
	text, err := n.answer(paths)
	return agent.Reply{Text: text, Model: "m/1"}, err
}

// tells describes every file.
func tells(paths []string) (string, error) {
	text := fmt.Sprintf("PROJECT: It has %d.\n", len(paths))
	for _, p := range paths {
		text += p + ": About " + p + ".\n"
	}
	return text, nil
}

// bookOf returns a ledger of n files with the same digest.
func bookOf(n int, sum string) *ledger.Ledger {
	var files []ledger.File
	for i := range n {
		files = append(files, ledger.File{Path: fmt.Sprintf("f%03d.py", i), Language: "python", SHA256: sum, Lines: 1})
	}
	return ledger.New(append(files, ledger.File{Path: "logo.png", SHA256: sum, Problem: "not a text"}))
}

// describer returns a describer with this model and a record of its own.
func describer(t *testing.T, m *narrator) *survey.Describer {
	t.Helper()
	prompts, err := agent.LoadPrompts(nil)
	if err != nil {
		t.Fatal(err)
	}
	db, _ := storetest.New(t)
	return &survey.Describer{Store: db, Engineer: &agent.Engineer{Model: m, Prompts: prompts}, Fence: loop.NewFenceWord()}
}

// Many files are described in batches, each state of a file only once, and the project as a whole.
func TestAModelDescribesWhatIsNew(t *testing.T) {
	t.Parallel()
	m := &narrator{answer: tells}
	d := describer(t, m)
	for round, c := range []struct {
		book          *ledger.Ledger
		asked, told   int
		project, file string
	}{
		{bookOf(230, "s1"), 5, 200, "It has 40.", "About f000.py."}, // no more questions than that
		{bookOf(230, "s1"), 6, 230, "It has 40.", "About f000.py."},
		{bookOf(230, "s1"), 6, 230, "It has 40.", "About f000.py."},
		{bookOf(30, "s2"), 7, 30, "It has 30.", "About f000.py."}, // nearly all have changed, and many are gone
		{bookOf(31, "s2"), 8, 31, "It has 30.", "About f000.py."}, // one file does not change the description of the whole
	} {
		got, err := d.Describe(t.Context(), "/w", c.book)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.asked) != c.asked || len(got.Files) != c.told || got.Project != c.project || got.Files["f000.py"] != c.file {
			t.Errorf("round %d: asked %d times, %d files, %q, %q", round, len(m.asked), len(got.Files), got.Project, got.Files["f000.py"])
		}
		known, err := survey.Described(t.Context(), d.Store, "/w", c.book)
		if err != nil || fmt.Sprint(known) != fmt.Sprint(got) {
			t.Errorf("round %d: %v: the record has %d files", round, err, len(known.Files))
		}
	}
	for i, q := range m.asked[:5] {
		if q.Step != fmt.Sprintf("describe/%d", i+1) || !strings.Contains(q.Text, "f000.py: ") || len(q.Text) > 32<<10 {
			t.Errorf("%s with %d bytes", q.Step, len(q.Text))
		}
	}
	left, err := d.Store.Summaries(t.Context(), "/w")
	if err != nil || len(left) != 32 { // 31 files and the project
		t.Errorf("%d rows are left, %v", len(left), err)
	}
}

// An answer in another form ends the work. A file that the model skips is not asked about again. An error of the model is returned, and
// earlier descriptions stay.
func TestADescriptionThatGoesWrong(t *testing.T) {
	t.Parallel()
	m := &narrator{answer: func([]string) (string, error) { return "I cannot help with that.", nil }}
	d := describer(t, m)
	if got, err := d.Describe(t.Context(), "/w", bookOf(100, "s1")); err != nil || len(m.asked) != 1 || got.Project != "" || len(got.Files) > 0 {
		t.Errorf("%v after %d questions: %v", got, len(m.asked), err)
	}
	m.answer = func(paths []string) (string, error) { return tells(paths[:1]) }
	for range 2 {
		if got, err := d.Describe(t.Context(), "/w", bookOf(30, "s1")); err != nil || len(m.asked) != 2 || len(got.Files) != 1 {
			t.Errorf("%v after %d questions: %v", got, len(m.asked), err)
		}
	}
	spent := &agent.StopError{Budget: true, Message: "spent"}
	m.answer = func(paths []string) (string, error) {
		if len(m.asked) == 4 {
			return "", spent
		}
		return tells(paths)
	}
	got, err := d.Describe(t.Context(), "/w", bookOf(90, "s2"))
	if !errors.Is(err, spent) || len(got.Files) != 40 {
		t.Errorf("%d files, %v", len(got.Files), err)
	}
}

// The prompt briefly lists what a file uses and who uses it, what must stay, and what is lazy.
func TestASurveyTellsWhatIsAroundAFile(t *testing.T) {
	t.Parallel()
	s := newStudy(t, map[string]string{
		"tax.py":  "\"\"\"Taxes.\"\"\"\n\nfrom typing import Any\n\n\ndef rate(x: Any):\n    return x\n\n\ndef alone():\n    return 1\n",
		"cart.py": "from tax import rate\n\n\ndef cart():\n    return rate(1)\n",
	})
	book, _ := s.must(t)
	known := survey.Survey{Ledger: book}
	if got := known.Around("tax.py"); got != "Its own are used by:\n- cart.py, line 1, 5: function rate(x: Any)\nMust not be renamed or removed, since other files use them: rate\n" {
		t.Errorf("around tax.py:\n%s", got)
	}
	if got := known.Around("cart.py"); got != "It uses:\n- tax.py:6: function rate(x: Any)\n" {
		t.Errorf("around cart.py:\n%s", got)
	}
	if got := known.Lazy("tax.py"); !strings.Contains(got, "line 6: the type Any says nothing\n") {
		t.Errorf("lazy: %q", got)
	}
	if got := known.Project(); !strings.HasSuffix(got, "\n\ncart.py: 1 function, 5 lines.\ntax.py: Taxes.\n") {
		t.Errorf("project: %q", got)
	}
	if got := (survey.Survey{Ledger: ledger.New(nil)}); got.Project()+got.Around("a.py")+got.Lazy("a.py") != "" {
		t.Error("an empty ledger says something")
	}
	if got := survey.Overview(bookOf(1000, "s"), ledger.Summaries{}, 2000); len(got) > 2100 || !strings.Contains(got, " more files]\n") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// inspects answers in place of the gates.
type inspects func(req verify.Request) []verify.Gate

func (i inspects) Findings(_ context.Context, req verify.Request, _ func(verify.Event)) ([]verify.Gate, error) {
	return i(req), nil
}

// absent has no image.
type absent struct{ runtest.Frozen }

func (absent) Ensure(context.Context, string) (images.Image, error) {
	return images.Image{}, images.ErrAbsent
}

func TestTheFindingsOfOneFileAreShown(t *testing.T) {
	t.Parallel()
	base := runtest.Scan(t, map[string]string{"a.py": "x = 1\n", "lib/b.py": "y = 1\n"})
	var asked verify.Request
	x := &survey.Examiner{Images: runtest.Frozen{}, Run: "look", Inspector: inspects(func(req verify.Request) []verify.Gate {
		asked = req
		many := []verify.Finding{{File: "lib/b.py", Line: 9, Message: "elsewhere"}}
		for range 60 {
			many = append(many, verify.Finding{File: "a.py", Line: 3, Rule: "F821", Message: "undefined name y"})
		}
		return []verify.Gate{{Name: "lint", Findings: many}, {Name: "types", Verdict: verify.Infra}}
	})}
	limits := verify.Config{Smoke: verify.Smoke{Seconds: 3}}
	got, err := x.Findings(t.Context(), base, gate.Rules{Config: limits}, "a.py")
	if err != nil || strings.Count(got, "line 3: lint F821: undefined name y\n") != 50 || !strings.HasSuffix(got, "[10 more findings]\n") || strings.Contains(got, "elsewhere") {
		t.Errorf("%v: %s", err, got)
	}
	// The values that gates depend on must be the run's, otherwise the same is determined twice.
	if asked.Base != base || asked.Toolchain != "sha256:tools" || asked.Config.Smoke.Seconds != 3 || asked.Snapshot == "" || asked.Lease.IsZero() {
		t.Errorf("asked %+v", asked)
	}
	x.Images = absent{}
	if got, err := x.Findings(t.Context(), base, gate.Rules{}, "a.py"); err != nil || got != "" {
		t.Errorf("without an image: %q, %v", got, err)
	}
}
