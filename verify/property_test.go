package verify

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/python"
	"agent/verify/shell"
	"agent/verify/syntax"
	"agent/verify/verifytest"
)

func TestCleanTextIsSafeAndStaysAsItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := check.Clean(checktest.Hostile().Draw(t, "output"))
		for _, r := range text {
			if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
				t.Fatalf("%q holds %U", text, r)
			}
		}
		if !utf8.ValidString(text) || check.Clean([]byte(text)) != text {
			t.Fatalf("%q is not stable", text)
		}
		n := rapid.IntRange(0, 40).Draw(t, "n")
		if end := check.Tail(text, n); len(end) > n || !utf8.ValidString(end) || !strings.HasSuffix(strings.TrimRight(text, " \t\n"), end) {
			t.Fatalf("tail %d of %q is %q", n, text, end)
		}
		if one := check.Shorten(text); strings.ContainsAny(one, "\n\t") || len(one) > check.MaxMessage+8 {
			t.Fatalf("%q is no single line", one)
		}
	})
}

func TestParsersTakeAnythingWithoutTakingItForAPassSyntax(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if answer, err := syntax.Parse(checktest.HostileResult(t), 1); err == nil && len(answer.Checked)+len(answer.Skipped) != 1 {
			t.Fatalf("syntax: %+v", answer)
		}
	})
}

func TestFindingsAddUp(t *testing.T) {
	t.Parallel()
	finding := rapid.Custom(func(t *rapid.T) check.Finding {
		return check.Finding{
			File: rapid.SampledFrom([]string{"a.py", "b.py"}).Draw(t, "file"), Line: rapid.IntRange(1, 5).Draw(t, "line"),
			Rule: rapid.SampledFrom([]string{"F1", "F2", "import-not-found"}).Draw(t, "rule"), Message: "m",
			Source: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "source"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		base := rapid.SliceOfN(finding, 0, 6).Draw(t, "base")
		cand := rapid.SliceOfN(finding, 0, 6).Draw(t, "cand")
		before, after := "1\n2\n3\n4\n5\n", rapid.SampledFrom([]string{"1\n2\n3\n4\n5\n", "1\nx\n3\n4\n5\n", "0\n1\n2\n9\n4\n5\n", ""}).Draw(t, "after")
		cs := workspace.Changeset{Changes: []workspace.Change{{Op: workspace.Modify, Path: "a.py", Before: []byte(before), After: []byte(after)}}}
		d := compare.NewDiff(cs, check.NewView(&workspace.Manifest{}, cs))
		fresh, old, fixed := compare.Findings(base, cand, d)
		if len(fresh)+old != len(cand) {
			t.Fatalf("%d new and %d old of %d", len(fresh), old, len(cand))
		}
		if fixed < 0 || fixed > len(base) {
			t.Fatalf("%d fixed of %d", fixed, len(base))
		}
		for _, f := range fresh {
			if !slices.Contains(cand, f) {
				t.Fatalf("%+v was not found by the gate", f)
			}
		}
		// A workspace compared with itself has nothing new.
		if fresh, _, fixed := compare.Findings(base, base, check.Diff{}); len(fresh) != 0 || fixed != 0 {
			t.Fatalf("%+v %d", fresh, fixed)
		}
	})
}

func TestOutcomeSurvivesTheCache(t *testing.T) {
	t.Parallel()
	out := check.Outcome{
		Findings: []check.Finding{{File: "a.py", Line: 1, Column: 2, Rule: "r", Message: "m", Source: "s"}},
		Blocked:  "b", Detail: "d", Output: "o", Seconds: 1.5, Peak: 7,
		Tests:  []check.TestResult{{ID: "a::b", Outcome: "passed"}, {ID: "a::c", Outcome: "failed", File: "a", Line: 3, Message: "m"}},
		Ending: &check.Ending{Exit: -1, Signal: "SIGSEGV", Crashes: []string{"x"}, Where: check.Finding{Message: "x"}},
	}
	cache := verifytest.NewMemory()
	st := newStore(cache, "image", check.Toolchain, Config{})
	key := st.BaselineKey("digest", check.GroupTests)
	if err := st.Save(t.Context(), key, map[string]check.Outcome{check.GateTests: out}); err != nil {
		t.Fatal(err)
	}
	back := map[string]check.Outcome{}
	ok, err := st.Load(t.Context(), key, &back)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	want, _ := json.Marshal(out)
	got, _ := json.Marshal(back[check.GateTests])
	if string(got) != string(want) {
		t.Errorf("%s, want %s", got, want)
	}
	for _, other := range []string{st.BaselineKey("digest", check.GroupSmoke), st.BaselineKey("other", check.GroupTests), newStore(cache, "new", check.Toolchain, Config{}).BaselineKey("digest", check.GroupTests)} {
		if ok, err := st.Load(t.Context(), other, &back); ok || err != nil {
			t.Errorf("%s is found: %v", other, err)
		}
	}
}

func TestOnlyJudgementsLast(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.sh": "echo\n", "b.sh": "echo\n\n"}
	base := verifytest.Scan(t, files)
	v := check.NewView(base, workspace.Changeset{})
	for verdict, want := range map[check.Verdict]bool{"": true, check.Infra: false, check.Timeout: false, check.OOM: false} {
		kept := lasting(v, map[string]check.Outcome{python.RuffName: {}, python.MypyName: {Verdict: verdict}})
		if _, ruff := kept[python.RuffName]; !ruff {
			t.Errorf("with %q beside it a judgement is lost", verdict)
		}
		if _, mypy := kept[python.MypyName]; mypy != want {
			t.Errorf("%q is kept: %v", verdict, mypy)
		}
	}
	// The user wrote the file while its finding was examined. Kept without its source line, the finding would make the same finding new
	// with every later patch.
	judged := map[string]check.Outcome{}
	judged[shell.Name] = check.Outcome{Findings: []check.Finding{{File: "b.sh", Line: 2, Rule: "blank"}, {Rule: "of no file"}, {File: "gone.sh", Rule: "of no file"}}}
	if len(lasting(v, judged)) != 1 {
		t.Error("a finding of a blank line is not kept")
	}
	files["a.sh"] = "echo by hand\n"
	verifytest.Write(t, base.Root, files)
	judged[python.MypyName] = check.Outcome{Findings: check.NewSources(v).Fill([]check.Finding{{File: "a.sh", Line: 1, Rule: "SC1010"}})}
	if kept := lasting(v, judged); len(kept) != 1 {
		t.Errorf("kept %v", kept)
	}
}
