package vendors_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/emulated"
	"agent/orchestrator/llm/journaltest"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/llm/vendors"
)

// planted is a key that may appear only in its header.
const planted = "planted-key-q7Rk2vXm9TbL4wZp8"

// talk is a chain with one vendor, and its records.
type talk struct {
	conf   llm.Config
	memory *journaltest.Memory
	server *llmtest.Server
	said   []string // every event, as a log would contain it
}

// newTalk returns a chain that asks a vendor's server, or the server of a model without calls of its own.
func newTalk(t *testing.T, name string, steps ...llmtest.Step) *talk {
	t.Helper()
	vendor := name
	if name == "emulated" {
		vendor = "compatible"
	}
	v, _, _ := llm.FindVendor(vendors.All(), vendor+"/m")
	k := &talk{memory: &journaltest.Memory{}, server: served[vendor].serve(steps...)}
	t.Cleanup(k.server.Close)
	if name == "emulated" {
		k.server.Emulate()
	}
	p, err := v.Open(k.server.URL() + served[vendor].path)
	if err != nil {
		t.Fatal(err)
	}
	if name == "emulated" {
		p = emulated.New(p)
	}
	k.conf = llm.Config{
		Links:   []llm.Link{{Provider: p, Model: "m", Keys: []llm.Key{llm.NewKey(planted)}, Price: &llm.Price{In: 1, Out: 10}, Tools: true}},
		Journal: k.memory, States: k.memory, Rand: func() float64 { return 0 }, Limits: llm.Limits{Attempts: 1},
	}
	return k
}

// ask asks the question of a step.
func (k *talk) ask(t *testing.T, run, step string, req llm.Request) (llm.Answer, error) {
	t.Helper()
	chain, err := llm.New(k.conf)
	if err != nil {
		t.Fatal(err)
	}
	return chain.Ask(t.Context(), llm.Call{Run: run, Step: step, Request: req, Yield: func(e llm.Event) error {
		k.said = append(k.said, fmt.Sprintf("%+v", e))
		return nil
	}})
}

// sealed fails the test if the key is in anything that is kept, shown or returned.
func (k *talk) sealed(t *testing.T, a llm.Answer, err error) {
	t.Helper()
	text, encoded := json.Marshal(k.memory.Records())
	if encoded != nil {
		t.Fatal(encoded)
	}
	for _, r := range k.memory.Records() {
		text = append(text, r.Request...)
		if r.State != nil {
			text = append(text, r.State.Data...)
		}
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		text = fmt.Appendf(text, "%v %+v %#v", e, e, e)
	}
	if all := string(text) + fmt.Sprintf("%+v %+v", a, k.said); strings.Contains(all, planted) {
		t.Errorf("the key is in\n%s", all)
	}
}

// names returns the vendors that are tested, including a model without calls of its own.
func names() []string {
	list := []string{"emulated"}
	for _, v := range vendors.All() {
		list = append(list, v.Name)
	}
	return list
}

func tooled() llm.Request {
	return llm.Request{
		System: "be brief", Messages: []llm.Message{{Role: llm.User, Text: "one and one?"}},
		Tools: []llm.Tool{{Name: "add", About: "adds", Schema: []byte(`{"type":"object"}`)}, {Name: "finish", Schema: []byte(`{"type":"object"}`)}},
	}
}

// Every vendor holds the same conversation, with thoughts, text, two calls at once and results. It is replayed byte for byte without the
// vendor, and no question is asked twice.
func TestEveryVendorHoldsAConversation(t *testing.T) {
	t.Parallel()
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newTalk(
				t, name,
				llmtest.Step{Thought: "hm", Text: "let me see", Usage: &llmtest.Usage{In: 100, Out: 20}, Calls: []llmtest.Call{{ID: "c1", Name: "add", Arguments: `{"a":1,"b":1}`}, {ID: "c2", Name: "ad", Arguments: "{}"}}},
				llmtest.Step{Calls: []llmtest.Call{{ID: "c3", Name: "finish", Arguments: `{"said":"two"}`}}, Usage: &llmtest.Usage{In: 150, Out: 10, Cached: 100}},
				llmtest.Step{Text: "two", Usage: &llmtest.Usage{In: 170, Out: 1}},
			)
			play := func(run string) (all []llm.Answer) {
				req := tooled()
				for i := range 3 {
					a, err := k.ask(t, run, fmt.Sprint("talk/", i), req)
					if err != nil {
						t.Fatalf("question %d of %s: %v", i, run, err)
					}
					all = append(all, a)
					results := llm.Message{Role: llm.User}
					for _, c := range a.Calls {
						results.Results = append(results.Results, llm.ToolResult{ID: c.ID, Text: "of " + c.Name, Error: c.Name == "ad"})
					}
					req.Messages = append(req.Messages, a.Message(), results)
				}
				return all
			}
			first := play("r1")
			if len(first[0].Calls) != 2 || first[0].Text != "let me see" || len(first[1].Calls) != 1 || first[1].Calls[0].Name != "finish" || first[2].Text != "two" || first[2].Calls != nil {
				t.Fatalf("said %+v", first)
			}
			asked := k.server.Requests()
			if m := asked[2].Messages; len(asked) != 3 || len(m) != 5 || len(m[2].Results) != 2 || !m[2].Results[1].Error || m[4].Results[0].Text != "of finish" {
				t.Errorf("asked %+v", asked)
			}
			k.sealed(t, llm.Answer{}, nil)
			if again := play("r1"); !reflect.DeepEqual(again, first) {
				t.Errorf("resumed as %+v", again)
			}
			k.conf.Links, k.conf.Replay = nil, "r1"
			if again := play("r2"); !reflect.DeepEqual(again, first) {
				t.Errorf("replayed as %+v", again)
			}
			if len(k.server.Requests()) != 3 || len(k.memory.Records()) != 3 {
				t.Errorf("%d requests, %d records", len(k.server.Requests()), len(k.memory.Records()))
			}
		})
	}
}

// If a server echoes the key that it received, the key still appears nowhere.
func TestAPlantedKeyAppearsNowhere(t *testing.T) {
	t.Parallel()
	call := llmtest.Call{ID: "c1", Name: "add", Arguments: `{"a":"` + planted + `"}`}
	for _, name := range names() {
		for what, step := range map[string]llmtest.Step{
			"arguments":        {Calls: []llmtest.Call{call}},
			"a name":           {Calls: []llmtest.Call{{ID: "c1", Name: planted, Arguments: "{}"}}},
			"an ID":            {Calls: []llmtest.Call{{ID: planted, Name: planted, Arguments: "{}"}}},
			"half of a call":   {Calls: []llmtest.Call{{ID: "c1", Name: planted, Arguments: `{"a":"` + planted + `"}`, Half: true}}, Break: true},
			"text beside":      {Text: planted, Calls: []llmtest.Call{{ID: "c1", Name: "add", Arguments: "{}"}}},
			"a reason to stop": {Calls: []llmtest.Call{{ID: "c1", Name: "add", Arguments: "{}"}}, Finish: planted},
			"an error":         {Status: 400, Message: "add: " + planted},
			"thoughts":         {Thought: planted, Calls: []llmtest.Call{{ID: "c1", Name: "add", Arguments: "{}"}}},
		} {
			t.Run(name+" in "+what, func(t *testing.T) {
				t.Parallel()
				k := newTalk(t, name, step)
				a, err := k.ask(t, "r", "s", tooled())
				if err == nil && what != "thoughts" {
					t.Errorf("it is an answer: %+v", a)
				}
				k.sealed(t, a, err)
			})
		}
	}
	k := newTalk(t, "openai", llmtest.Step{Text: "x"})
	req := tooled()
	req.Tools[0].About = planted
	if _, err := k.ask(t, "r", "s", req); !errors.Is(err, llm.ErrHoldsKey) || len(k.server.Requests()) != 0 {
		t.Errorf("a tool with a key is shown: %v", err)
	}
}
