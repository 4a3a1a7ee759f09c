package verify

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"agent/sandbox/guest"
	"agent/sandbox/workspace"
	"agent/verify/boxtest"
	"agent/verify/check"
	"agent/verify/checktest"
)

// hostile draws bytes as a program under test might write them: pieces of
// escapes, of the tools' own output, and anything else.
func hostile() *rapid.Generator[[]byte] {
	pieces := rapid.OneOf(
		rapid.SampledFrom([]string{
			"\x1b[", "\x1b]0;", "\x07", "\x1b\\", "\x1b", "31m", "\r", "\r\n", "\n", "\x00", "\u202e", "\u009b", "\xff", "é",
			"Traceback (most recent call last):\n", "  File \"/work/a.py\", line 3, in f\n", "ValueError: x\n", "/work/a.js:2\n",
			`{"kind": "test", "id": "a::b", "outcome": "passed"}` + "\n", `{"kind": "finished", "status": 0}` + "\n", "{", "}", "null\n", "[]\n",
			`{"code": "F821", "filename": "/work/a.py", "message": "m", "location": {"row": -1, "column": 99999999999}}` + "\n",
			`{"file": "../../etc/passwd", "line": -3, "message": "m", "severity": "error"}` + "\n", "a.py:1: error: m  [x]\n", "mypy: error: \n",
		}),
		rapid.StringN(0, 8, 20),
	)
	return rapid.Custom(func(t *rapid.T) []byte {
		return []byte(strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), ""))
	})
}

func TestCleanTextIsSafeAndStaysAsItIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := check.Clean(hostile().Draw(t, "output"))
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

// hostileResult is what a tool may have written at worst, with any exit status.
func hostileResult(t *rapid.T) guest.Result {
	return guest.Result{
		Exit:   rapid.IntRange(0, 3).Draw(t, "exit"),
		Stdout: guest.Output{Head: hostile().Draw(t, "stdout")},
		Stderr: guest.Output{Head: hostile().Draw(t, "stderr")},
	}
}

func TestParsersTakeAnythingWithoutTakingItForAPass(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		res := hostileResult(t)
		found, err := parseRuff(res)
		if err == nil && (res.Exit == 0) != (len(found) == 0) {
			t.Fatalf("ruff: status %d with %+v", res.Exit, found)
		}
		checktest.Inside(t, found)
		found, blocked, err := parseMypy(res)
		if err == nil && blocked == "" && (res.Exit == 0) != (len(found) == 0) {
			t.Fatalf("mypy: status %d with %+v", res.Exit, found)
		}
		checktest.Inside(t, found)
		run, err := check.ParseRecord(res.Stdout.Head)
		if err == nil && trouble(run, res) == "" && (!run.Finished || res.Exit != run.Status) {
			t.Fatalf("tests: %+v", run)
		}
	})
}

func TestParsersTakeAnythingWithoutTakingItForAPassSyntax(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		if answer, err := parseSyntax(hostileResult(t), 1); err == nil && len(answer.Checked)+len(answer.Skipped) != 1 {
			t.Fatalf("syntax: %+v", answer)
		}
	})
}

func TestParsersTakeAnythingWithoutTakingItForAPassEnding(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		end := readEnding(hostileResult(t))
		checktest.Inside(t, []check.Finding{end.Where, end.Told})
	})
}

func TestScannerOfQuotesTakesAnything(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{`"""`, `'''`, `"`, `'`, `\`, "#", "\n", "x", guard, " "})
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Join(rapid.SliceOfN(piece, 0, 15).Draw(t, "pieces"), "")
		hasMainGuard([]byte(body))
		// A guard after a complete docstring and a newline is always seen.
		doc := strings.NewReplacer(`"`, "", `\`, "", "if", "").Replace(body)
		if !hasMainGuard([]byte("\"\"\"" + doc + "\"\"\"\n" + guard)) {
			t.Fatalf("the guard after %q is not seen", doc)
		}
		// Inside one it never is.
		if hasMainGuard([]byte("\"\"\"" + doc + "\n" + guard + "\"\"\"\n")) {
			t.Fatalf("the guard inside %q is seen", doc)
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
		d := check.NewDiff(cs, check.NewView(&workspace.Manifest{}, cs))
		fresh, old, fixed := check.Compare(base, cand, d)
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
		// A workspace next to itself has nothing new.
		if fresh, _, fixed := check.Compare(base, base, check.Diff{}); len(fresh) != 0 || fixed != 0 {
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
	cache := boxtest.NewMemory()
	st := newStore(cache, "image", check.Toolchain, Config{})
	key := st.baselineKey("digest", check.GroupTests)
	if err := st.save(t.Context(), key, map[string]check.Outcome{check.GateTests: out}); err != nil {
		t.Fatal(err)
	}
	back := map[string]check.Outcome{}
	ok, err := st.load(t.Context(), key, &back)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	want, _ := json.Marshal(out)
	got, _ := json.Marshal(back[check.GateTests])
	if string(got) != string(want) {
		t.Errorf("%s, want %s", got, want)
	}
	for _, other := range []string{st.baselineKey("digest", check.GroupSmoke), st.baselineKey("other", check.GroupTests), newStore(cache, "new", check.Toolchain, Config{}).baselineKey("digest", check.GroupTests)} {
		if ok, err := st.load(t.Context(), other, &back); ok || err != nil {
			t.Errorf("%s is found: %v", other, err)
		}
	}
}

func TestOnlyJudgementsLast(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.sh": "echo\n", "b.sh": "echo\n\n"}
	base := boxtest.Scan(t, files)
	v := check.NewView(base, workspace.Changeset{})
	for verdict, want := range map[check.Verdict]bool{"": true, check.Infra: false, check.Timeout: false, check.OOM: false} {
		kept := lasting(v, map[string]check.Outcome{checkRuff: {}, checkMypy: {Verdict: verdict}})
		if _, ruff := kept[checkRuff]; !ruff {
			t.Errorf("with %q beside it a judgement is lost", verdict)
		}
		if _, mypy := kept[checkMypy]; mypy != want {
			t.Errorf("%q is kept: %v", verdict, mypy)
		}
	}
	// While a finding was looked at the user wrote its file: kept without its line, it
	// would make the same finding of every later patch a new one.
	judged := map[string]check.Outcome{}
	judged[checkShell] = check.Outcome{Findings: []check.Finding{{File: "b.sh", Line: 2, Rule: "blank"}, {Rule: "of no file"}, {File: "gone.sh", Rule: "of no file"}}}
	if len(lasting(v, judged)) != 1 {
		t.Error("a finding of a blank line is not kept")
	}
	files["a.sh"] = "echo by hand\n"
	boxtest.Write(t, base.Root, files)
	judged[checkMypy] = check.Outcome{Findings: check.NewSources(v).Fill([]check.Finding{{File: "a.sh", Line: 1, Rule: "SC1010"}})}
	if kept := lasting(v, judged); len(kept) != 1 {
		t.Errorf("kept %v", kept)
	}
}
