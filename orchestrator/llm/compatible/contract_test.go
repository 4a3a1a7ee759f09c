package compatible_test

import (
	"net/http"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/compatible"
	"agent/orchestrator/llm/llmtest"
)

func TestContract(t *testing.T) {
	llmtest.Contract(t, llmtest.Setup{
		Server: llmtest.Compatible,
		Provider: func(url string, send http.RoundTripper) (llm.Provider, error) {
			return compatible.New(compatible.Options{BaseURL: url + "/v1", Transport: send})
		},
		Truncated: "length",
		Samples:   "top_p top_k",
		Free:      true,
		Chooses:   true,
		Keeps:     true,
	})
}
