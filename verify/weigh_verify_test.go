package verify

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"agent/verify/check"
	"agent/verify/policy"
	"agent/verify/verifytest"
)

// weighed returns a workspace with one row of each language's table, and what the patch changes in it; earlier has the content of the
// test files before the last promotions.
func weighed(t *testing.T, rows map[string]rewrite) (files, after map[string]string, earlier map[string][]byte) {
	t.Helper()
	files, after, earlier = map[string]string{}, map[string]string{}, map[string][]byte{}
	for _, l := range weighedLanguages() {
		r := rows[l.name]
		name := func(p string) string { return strings.ReplaceAll(p, "@", l.name) }
		text := func(body string) string { return l.text(l.name, body) }
		for p, content := range l.files {
			files[p] = content
		}
		program := r.apply(t, l.code, r.promoted)
		files[name(l.program)], files[name(l.test)] = program, text(r.before)
		after[name(l.test)] = text(r.after)
		if r.program != "" {
			after[name(l.program)] = r.apply(t, program, r.program)
		}
		if r.earlier != "" {
			earlier[name(l.test)] = []byte(text(r.earlier))
		}
	}
	return files, after, earlier
}

// blocking returns the holds of a report that block, by path.
func blocking(r Report) map[string]string {
	held := map[string]string{}
	for _, h := range append(policy.ReviewText(r.Changeset, nil), r.Holds...) {
		if h.Block {
			held[h.Path] = h.Kind + ": " + h.Reason
		}
	}
	return held
}

// A rewritten test is measured in every language. One that proves less is held with a mutant that shows it, even if it took two
// promotions to get there. One that proves as much does not block. The report says what measuring cost.
func TestARewrittenTestIsWeighed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows map[string]rewrite
		want string // part of each hold; "" for none
	}{
		"weaker": {map[string]rewrite{"Python": weakerPythonTests[0], "Go": weakerGoTests[0], "JavaScript": weakerNodeTests[0]}, "proves less than before: c%/prog"},
		"in two steps": {
			map[string]rewrite{"Python": weakerPythonTests[24], "Go": weakerGoTests[11], "JavaScript": weakerNodeTests[9]}, "the test from before the last promotions failed, the new one passes",
		},
		"as strong":                  {map[string]rewrite{"Python": honestPythonTests[6], "Go": honestGoTests[1], "JavaScript": honestNodeTests[1]}, ""},
		"it knew what is no promise": {map[string]rewrite{"Python": honestPythonTests[len(honestPythonTests)-2], "Go": honestGoTests[13], "JavaScript": honestNodeTests[15]}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, after, earlier := weighed(t, c.rows)
			s := newSite(t, files).only(check.GateTests)
			s.verifier.weighFor = 2 * time.Minute
			req := s.request(verifytest.Change(t, s.base, after))
			req.Earlier = func(_ context.Context, p string, now []byte) ([]byte, error) {
				if string(now) != files[p] {
					return nil, fmt.Errorf("%s holds %q", p, now)
				}
				return earlier[p], nil
			}
			r, err := s.verifier.Verify(t.Context(), req, nil)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, r, check.Pass)
			held := blocking(r)
			for _, l := range weighedLanguages() {
				p := strings.ReplaceAll(l.test, "@", l.name)
				if got := held[p]; (got != "") != (c.want != "") || !strings.Contains(got, strings.ReplaceAll(c.want, "%", l.name)) {
					t.Errorf("%s: %q, want %q", p, got, c.want)
				}
			}
			if g := find(t, r, check.GateTests); strings.Count(g.Detail, "rewritten tests measured with") != len(c.rows) {
				t.Errorf("the gate says %q", g.Detail)
			}
		})
	}
}

// Patches that only add tests, or write the same in another way, are not measured.
func TestNewTestsAreNotWeighed(t *testing.T) {
	t.Parallel()
	files, after, _ := weighed(t, map[string]rewrite{
		"Python": {before: py("assert grade(90) == \"good\""), after: "\n\nclass TestMore:\n    def test_fair(self):\n        assert grade(60) == \"fair\"\n" + py("assert grade(90) == \"good\"  # the best")},
		"Go":     {before: gtWant("Grade(90)", `"good"`), after: gtWant("Grade(90)", `"good"`) + strings.Replace(gtWant("Grade(60)", `"fair"`), "TestOne", "TestTwo", 1)},
		"JavaScript": {before: nt("assert.strictEqual(grade(90), 'good');"), after: nt("assert.strictEqual(grade(90), 'good');") +
			"\ndescribe('more', () => {\n  it('is fair', () => {\n    assert.strictEqual(grade(60), 'fair');\n  });\n});\n"},
	})
	s := newSite(t, files).only(check.GateTests)
	r := s.verify(t, after)
	expect(t, r, check.Pass)
	if g := find(t, r, check.GateTests); strings.Contains(g.Detail, "mutants") || len(blocking(r)) > 0 {
		t.Errorf("%s: %v", g.Detail, blocking(r))
	}
}
