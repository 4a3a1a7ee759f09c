package verify

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"agent/sandbox/egress"
	"agent/sandbox/workspace"
	"agent/verify/check"
)

// fill sets every string in v to one that contains a secret, and every list to one element.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("a sesame b")
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() && v.Type().Field(i).Type != reflect.TypeFor[workspace.Changeset]() {
				fill(v.Field(i))
			}
		}
	}
}

// A field that is added to a report or an event must be hidden too, or be named here.
func TestEveryTextThatLeavesIsHidden(t *testing.T) {
	t.Parallel()
	hide := func(s string) string { return strings.ReplaceAll(s, "sesame", "[key]") }
	// The agent's own words, and the paths and names that later steps look things up by.
	own := map[string]bool{"Verdict": true, "verdict": true, "name": true, "tool": true, "Gate": true, "gate": true, "path": true, "kind": true}
	var report Report
	var event Event
	fill(reflect.ValueOf(&report).Elem())
	fill(reflect.ValueOf(&event).Elem())
	event.Request = &egress.Request{Method: "sesame", Host: "sesame", End: "sesame"}
	for what, v := range map[string]any{"report": report.hidden(hide), "event": event.Hidden(hide)} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var tree any
		if err := json.Unmarshal(data, &tree); err != nil {
			t.Fatal(err)
		}
		texts := 0
		var walk func(at string, v any)
		walk = func(at string, v any) {
			switch v := v.(type) {
			case map[string]any:
				for name, part := range v {
					if !own[name] {
						walk(at+"."+name, part)
					}
				}
			case []any:
				for _, part := range v {
					walk(at, part)
				}
			case string:
				texts++
				if strings.Contains(v, "sesame") {
					t.Errorf("%s holds a secret", at)
				}
			}
		}
		walk(what, tree)
		if texts < 3 {
			t.Errorf("%s: only %d texts were looked at", what, texts)
		}
	}
	// The original report is unchanged.
	if report.Gates[0].Findings[0].Message != "a sesame b" || report.Holds[0].Reason != "a sesame b" {
		t.Error("hiding changed the report that it was given")
	}
}

// An outcome that contains a secret is not cached; the rest of its group is.
func TestAnOutcomeWithASecretIsNotCached(t *testing.T) {
	t.Parallel()
	s := &session{hide: func(s string) string { return strings.ReplaceAll(s, "sesame", "[key]") }}
	kept := s.harmless(map[string]check.Outcome{
		"clean": {Output: "open"}, "output": {Output: "open sesame"}, "message": {Findings: []check.Finding{{Message: "no sesame"}}},
		"test": {Tests: []check.TestResult{{ID: "test_sesame"}}}, "detail": {Detail: "sesame"},
	})
	if len(kept) != 1 || kept["clean"].Output != "open" {
		t.Errorf("kept are %v", kept)
	}
	if kept := (&session{}).harmless(map[string]check.Outcome{"any": {Output: "open sesame"}}); len(kept) != 1 {
		t.Errorf("where nothing is hidden %v are kept", kept)
	}
}
