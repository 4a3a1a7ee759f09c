package anthropic_test

import (
	"net/http"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/anthropic"
	"agent/orchestrator/llm/llmtest"
)

func TestContract(t *testing.T) {
	llmtest.Contract(t, llmtest.Setup{
		Server: llmtest.Anthropic,
		Provider: func(url string, send http.RoundTripper) (llm.Provider, error) {
			return anthropic.New(anthropic.Options{BaseURL: url, Transport: send})
		},
		Truncated: "max_tokens",
		Samples:   "top_k",
		Free:      true,
		Chooses:   true,
		Keeps:     true,
		Counts:    true,
	})
}
