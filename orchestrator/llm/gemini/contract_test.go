package gemini_test

import (
	"net/http"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/gemini"
	"agent/orchestrator/llm/llmtest"
)

func TestContract(t *testing.T) {
	llmtest.Contract(t, llmtest.Setup{
		Server: llmtest.Gemini,
		Provider: func(url string, send http.RoundTripper) (llm.Provider, error) {
			return gemini.New(gemini.Options{BaseURL: url, Transport: send})
		},
		Truncated: "MAX_TOKENS",
		Samples:   "top_p top_k",
		Counts:    true,
		Chooses:   true,
		Keeps:     true,
	})
}
