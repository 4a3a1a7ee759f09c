package wire

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/orchestrator/llm"
)

func TestCallsAreJoinedByTheirMark(t *testing.T) {
	var c Calls
	for _, f := range [][4]string{
		{"0", "a", "read", `{"x":`}, {"1", "", "list", ""}, {"0", "b", "other", "1}"}, {"1", "late", "", " "},
	} {
		if err := c.Add(f[0], f[1], f[2], f[3]); err != nil {
			t.Fatal(err)
		}
	}
	want := []llm.ToolCall{{ID: "a", Name: "read", Arguments: `{"x":1}`}, {ID: "late", Name: "list", Arguments: "{}"}}
	whole := c.Whole(llm.Request{})
	if d := cmp.Diff(want, whole); d != "" || c.Len() != 2 || !c.Given(whole) {
		t.Errorf("(-want +got):\n%s", d)
	}
	// The same calls always get the same IDs, which differ from those of the conversation.
	req := llm.Request{Messages: []llm.Message{{Calls: []llm.ToolCall{{ID: "a"}, {ID: "call_3"}}}}}
	for range 2 {
		if whole := c.Whole(req); whole[0].ID != "call_4" || whole[1].ID != "late" || c.Given(whole) {
			t.Errorf("in a conversation: %+v", whole)
		}
	}
}

func TestCallsHaveABoundAndAreText(t *testing.T) {
	var c Calls
	for range MaxCalls {
		if err := c.Add(strings.Repeat("x", c.Len()), "", "", ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Add("one more", "", "", ""); !errors.Is(err, ErrCalls) {
		t.Errorf("one more: %v", err)
	}
	if err := c.Add("", "", "", "{}"); err != nil {
		t.Errorf("a fragment of one that was begun: %v", err)
	}
	for _, bad := range [][3]string{{"\xff", "", ""}, {"", "\xff", ""}, {"", "", "\xff"}} {
		if err := c.Add("", bad[0], bad[1], bad[2]); !errors.Is(err, ErrTorn) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A model's calls are sent back in a form that every vendor accepts, with the same meaning.
func TestWhatWasSaidGoesBackInAFormThatIsTaken(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"a": 1}`: `{"a": 1}`, "{}": "{}", "": `{"malformed_arguments":""}`, "null": `{"malformed_arguments":"null"}`, `[1]`: `{"malformed_arguments":"[1]"}`,
		`{"a":`: `{"malformed_arguments":"{\"a\":"}`, `{} {}`: `{"malformed_arguments":"{} {}"}`,
	} {
		if got := string(Arguments(llm.ToolCall{Arguments: arguments})); got != want {
			t.Errorf("the arguments %q go back as %s, want %s", arguments, got, want)
		}
	}
	for name, want := range map[string]string{
		"read": "read", "read_file-2": "read_file-2", "": "_", "9": "_9", "-a": "_-a", "a.b c": "a_b_c", "é": "_", strings.Repeat("x", 70): strings.Repeat("x", 64),
	} {
		if got := Name(llm.ToolCall{Name: name}); got != want {
			t.Errorf("the name %q goes back as %q, want %q", name, got, want)
		}
	}
	for _, id := range []string{"call_1", "toolu_01AB-c", strings.Repeat("x", 64)} {
		if got := ID(id); got != id {
			t.Errorf("the ID %q goes back as %q", id, got)
		}
	}
	seen := map[string]bool{}
	for _, id := range []string{"functions.read:0", "functions.read:1", "a b", "", strings.Repeat("x", 65)} {
		got := ID(id)
		if id != "" && (len(got) != len("call_")+24 || seen[got] || got != ID(id)) {
			t.Errorf("the ID %q goes back as %q", id, got)
		}
		seen[got] = true
	}
	if Said(llm.ToolResult{Text: "a"}) != "a" || Said(llm.ToolResult{Text: "a", Error: true}) != "Error: a" {
		t.Error("a result is not said as it is")
	}
}

func TestAQuestionIsAskedAsAWhole(t *testing.T) {
	good := llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.User, Text: "a"}}}
	if err := Check(good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*llm.Request){
		"no model is named":               func(r *llm.Request) { r.Model = "" },
		"the last message is not the use": func(r *llm.Request) { r.Messages = nil },
		"not valid UTF-8":                 func(r *llm.Request) { r.System = "\xff" },
		"of a model without a result": func(r *llm.Request) {
			r.Messages = append([]llm.Message{{Role: llm.Assistant, Calls: []llm.ToolCall{{ID: "1"}}}}, r.Messages...)
		},
	} {
		r := good
		spoil(&r)
		if err := Check(r); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
