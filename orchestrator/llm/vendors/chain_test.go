package vendors_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/journaltest"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/llm/vendors"
)

// served are the vendors' servers, with the path after their address.
var served = map[string]struct {
	serve func(...llmtest.Step) *llmtest.Server
	path  string
}{
	"gemini": {llmtest.Gemini, ""}, "anthropic": {llmtest.Anthropic, ""}, "openai": {llmtest.OpenAI, "/v1"},
	"compatible": {llmtest.Compatible, "/v1"}, "ollama": {llmtest.Ollama, ""},
}

// With every vendor, a key over its limit rests and the next one is used, an answered question is answered again without a request, a
// truncated stream is requested again, and a cap holds.
func TestEveryVendorIsAskedThroughAChain(t *testing.T) {
	t.Parallel()
	for _, v := range vendors.All() {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			s := served[v.Name].serve(
				llmtest.Step{Status: 429, Message: "slow down", Headers: map[string]string{"Retry-After": "3600"}},
				llmtest.Step{Text: "half", Open: true},
				llmtest.Step{Text: "two", Usage: &llmtest.Usage{In: 100, Out: 20}},
			)
			defer s.Close()
			p, err := v.Open(s.URL() + served[v.Name].path)
			if err != nil {
				t.Fatal(err)
			}
			memory := &journaltest.Memory{}
			keys := []llm.Key{llm.NewKey("first-key-q7Rk2vXm9"), llm.NewKey("second-key-q7Rk2vXm9")}
			conf := llm.Config{
				Links:   []llm.Link{{Provider: p, Model: "m", Keys: keys, Price: &llm.Price{In: 1, Out: 10}}},
				Limits:  llm.Limits{RunCost: 100_000},
				Journal: memory, States: memory, Rand: func() float64 { return 0 },
			}
			call := llm.Call{Run: "r", Step: "s", Request: llm.Request{System: "be brief", MaxTokens: 500, Messages: []llm.Message{{Role: llm.User, Text: "one and one?"}}}}
			chain, err := llm.New(conf)
			if err != nil {
				t.Fatal(err)
			}
			a, err := chain.Ask(t.Context(), call)
			if err != nil || a.Text != "two" || a.Usage.In.N != 100 {
				t.Fatalf("got %+v, %v", a, err)
			}
			asked := s.Requests()
			if len(asked) != 3 || asked[0].KeyID != keys[0].ID || asked[1].KeyID != keys[1].ID || asked[2].KeyID != keys[1].ID {
				t.Errorf("the keys were used as %+v", asked)
			}
			spent, _, err := memory.Spent(t.Context(), "r", time.Time{})
			if err != nil || spent.Requests != 3 || spent.Cost < 300 || spent.Unpriced != 0 {
				t.Errorf("spent %+v, %v", spent, err)
			}
			conf.Links, conf.Replay = nil, "r"
			if chain, err = llm.New(conf); err != nil {
				t.Fatal(err)
			}
			if again, err := chain.Ask(t.Context(), call); err != nil || !reflect.DeepEqual(again, a) || len(s.Requests()) != 3 {
				t.Errorf("the replay gives %+v, %v", again, err)
			}
			conf.Links, conf.Replay, conf.Limits.RunCost = []llm.Link{{Provider: p, Model: "m", Keys: keys, Price: &llm.Price{In: 1, Out: 10}}}, "", 1
			if chain, err = llm.New(conf); err != nil {
				t.Fatal(err)
			}
			call.Step = "t"
			var capped *llm.BudgetError
			if _, err := chain.Ask(t.Context(), call); !errors.As(err, &capped) || len(s.Requests()) != 3 {
				t.Errorf("beyond a cap: %v", err)
			}
		})
	}
}
