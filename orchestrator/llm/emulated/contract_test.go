package emulated_test

import (
	"net/http"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/compatible"
	"agent/orchestrator/llm/emulated"
	"agent/orchestrator/llm/llmtest"
)

func TestContract(t *testing.T) {
	llmtest.Contract(t, llmtest.Setup{
		Server: func(steps ...llmtest.Step) *llmtest.Server { return llmtest.Compatible(steps...).Emulate() },
		Provider: func(url string, send http.RoundTripper) (llm.Provider, error) {
			p, err := compatible.New(compatible.Options{BaseURL: url + "/v1", Transport: send})
			return lister{emulated.New(p), p}, err
		},
		Truncated: "length",
		Samples:   "top_p top_k",
		Emulated:  true,
	})
}

// lister is a provider that is emulated, and tells which models there are.
type lister struct {
	emulated.Provider
	llm.Lister
}
