package check

import (
	"fmt"
	"strings"
	"testing"

	"agent/sandbox/guest"
)

func TestARecordIsReadAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	const passed = `{"kind": "test", "id": "a::b", "outcome": "passed"}` + "\n"
	for text, want := range map[string]string{
		"": "0/0 0 passed",
		`{"kind": "collected", "ids": ["a::b", "a::c"]}` + "\n" + `{"kind": "collected"}` + "\n" + passed:          "1/2 1 passed",
		`{"kind": "start", "id": "a::b"}` + "\n":                                                                   "0/0 0 passed, a::b runs",
		`{"kind": "start", "id": "a::b"}` + "\n" + passed:                                                          "1/0 1 passed",
		`{"kind": "start", "id": "a::b"}` + "\n" + `{"kind": "test", "outcome": "passed"}` + "\n":                  "1/0 1 passed, first a::b",
		`{"kind": "start", "id": "a::b"}` + "\n" + `{"kind": "test", "id": "a`:                                     "0/0 0 passed, a::b runs",
		`{"kind": "collect", "id": "a", "outcome": "error"}` + "\n" + passed:                                       "1/0 1 passed, 1 error",
		strings.Replace(passed, "passed", "xfailed", 1) + strings.Replace(passed, "passed", "skipped", 1) + passed: "3/0 1 passed, 1 skipped, 1 xfailed",
		passed + `{"kind": "finished", "status": 1}` + "\n":                                                        "1/0 1 passed, status 1",
		passed + `{"kind": "finished", "status": 0}`:                                                               "1/0 1 passed, status 0",
		strings.TrimSuffix(passed, "\n") + "\r\n":                                                                  "1/0 1 passed",
		// What is wrong.
		"\n":                             "error: line \"\"",
		"null\n":                         "error: unknown kind of record \"\"",
		"[]\n":                           "error: line \"[]\"",
		"{\"kind\": \"test\"\n" + passed: "error: line \"{\\\"kind\\\": \\\"test\\\"\"",
		"\xff\xfe\n":                     "error: line \"\uFFFD\"",
		`{"kind": "TEST", "outcome": "passed"}` + "\n":                      "error: unknown kind of record \"TEST\"",
		`{"kind": "collect", "outcome": "passed"}` + "\n":                   "error: a collect record has the outcome \"passed\"",
		`{"kind": "test", "outcome": "ok"}` + "\n":                          "error: a test record has the outcome \"ok\"",
		`{"kind": "test", "outcome": "passed\u202e"}` + "\n":                "error: a test record has the outcome \"passed\"",
		`{"kind": "finished"}` + "\n" + passed:                              "error: it continues after its end",
		`{"kind": "finished"}` + "\n" + `{"kind": "finished", "status": 0}`: "error: it continues after its end",
		`{"kind": "finished", "status": "0"}` + "\n":                        "error: line",
	} {
		run, err := ParseRecord([]byte(text))
		got := fmt.Sprintf("%d/%d %s", run.Ran, run.Collected, run.Summary())
		if strings.Contains(want, "first") {
			got += ", first " + run.Results[0].ID
		}
		if run.Running != "" {
			got += ", " + run.Running + " runs"
		}
		if run.Finished {
			got += fmt.Sprint(", status ", run.Status)
		}
		if err != nil {
			got = "error: " + err.Error()
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want) || !strings.HasPrefix(want, "error: line")) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestWhatARecordSaysIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é\\n", MaxMessage)
	for file, want := range map[string]string{"/work/a/b.py": "a/b.py", "a.py": "a.py", "/work/../etc/x": "", "../x": "", "/usr/lib/x.py": "", "/work": "", "": "", "/workshop/a.py": ""} {
		run, err := ParseRecord(fmt.Appendf(nil, `{"kind": "test", "id": "a::b", "outcome": "failed", "message": "%s", "file": "%s"}`, long, file))
		if err != nil || len(run.Results) != 1 {
			t.Fatal(err)
		}
		r := run.Results[0]
		if r.File != want || len(r.Message) > MaxMessage+len(" …") || !strings.HasSuffix(r.Message, " …") || strings.ContainsAny(r.Message, "\n\uFFFD") {
			t.Errorf("%q: %q, %d bytes", file, r.File, len(r.Message))
		}
	}
}

func TestAResultCountsForWhatItsAssertionsDid(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[string]string{"passed": "false false true", "failed": "true false true", "error": "true false true", "skipped": "false true false", "xfailed": "false true false", "": "false false true"} {
		r := TestResult{ID: "a.py::b", Outcome: outcome}
		if got := fmt.Sprint(r.Bad(), r.Skipped(), r.Ran()); got != want {
			t.Errorf("%s: %s, want %s", outcome, got, want)
		}
		if r.ID = "a.py"; r.Ran() {
			t.Errorf("a file ran and %s", outcome)
		}
	}
	for name, c := range map[string]struct {
		w                     Witness
		drawn, absent, unlike bool
	}{
		"as drawn":         {Witness{Failing: 2, Passing: 2}, true, false, false},
		"none ran":         {Witness{Failing: 1, Passing: 2, Missing: 3}, false, true, false},
		"some ran":         {Witness{Failing: 1, Passing: 2, Missing: 2}, false, false, false},
		"one passed":       {Witness{Failing: 2, Passing: 2, Passed: 1}, false, false, true},
		"one failed":       {Witness{Failing: 2, Passing: 2, Failed: 1}, false, false, false},
		"all failed":       {Witness{Failing: 2, Passing: 2, Failed: 2}, false, false, true},
		"the only one":     {Witness{Failing: 1, Passing: 1, Failed: 1}, false, false, true},
		"none that passes": {Witness{Failing: 1}, true, false, false},
		"there are none":   {Witness{}, true, true, false},
	} {
		if c.w.AsDrawn() != c.drawn || c.w.Absent() != c.absent || c.w.Unlike() != c.unlike {
			t.Errorf("%s: %v %v %v", name, c.w.AsDrawn(), c.w.Absent(), c.w.Unlike())
		}
	}
}

func TestOnlyAPlainAddressIsALink(t *testing.T) {
	t.Parallel()
	const host = "https://example.com/"
	for raw, ok := range map[string]bool{
		host: true, host + "a?b=c#d": true, "https://example.com": true, host + strings.Repeat("a", MaxMessage-len(host)): true, host + strings.Repeat("a", MaxMessage-len(host)+1): false,
		"": false, "http://example.com/": false, "HTTPS://example.com/": true, "https:///a": false, "https:a": false, "//example.com/": false, "https://user@example.com/": false, "https://u:p@example.com/": false,
		host + "a b": false, host + "\n": false, host + "é": false, "https://exаmple.com/": false, host + "\x7f": false, host + "%zz": false, "javascript:alert(1)": false,
	} {
		if got := Link(raw); got != "" && got != raw || (got != "") != ok {
			t.Errorf("%.60q: %q", raw, got)
		}
	}
}

func TestTextsAreCutAtTheirBounds(t *testing.T) {
	t.Parallel()
	whole := strings.Repeat("a", MaxMessage)
	for text, want := range map[string]string{
		"": "", " \t\r\n ": "", " a\n\tb\r\nc ": "a b c", whole: whole, whole + "b": whole + " …", whole[1:] + "é": whole[1:] + " …", "\x1b[1ma\u202eb\x00": "ab", "\xff": "\uFFFD",
	} {
		if got := Shorten(text); got != want {
			t.Errorf("%.40q: %.40q", text, got)
		}
	}
	for text, want := range map[string][2]string{"": {"", ""}, "\n \n": {"", ""}, "a": {"a", "a"}, "\n a \n\nb\n \n": {"a", "b"}, "a\r\nb\r\n": {"a", "b"}} {
		if FirstLine(text) != want[0] || LastLine(text) != want[1] {
			t.Errorf("%q: %q and %q", text, FirstLine(text), LastLine(text))
		}
	}
	if got := Join([]string{"", "a", "", "b", ""}, "; "); got != "a; b" || Join(nil, "; ") != "" {
		t.Errorf("%q", got)
	}
	out := guest.Output{Head: []byte("head")[:4:4], Tail: []byte("tail"), Dropped: 3}
	if got := string(Bytes(out)); got != "head\ntail" || string(out.Head) != "head" || Bytes(guest.Output{}) != nil {
		t.Errorf("%q", got)
	}
}
