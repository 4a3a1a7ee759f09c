package openai_test

import (
	"net/http"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/llm/openai"
)

func TestContract(t *testing.T) {
	llmtest.Contract(t, llmtest.Setup{
		Server: llmtest.OpenAI,
		Provider: func(url string, send http.RoundTripper) (llm.Provider, error) {
			return openai.New(openai.Options{BaseURL: url + "/v1", Transport: send})
		},
		Truncated: "max_output_tokens",
		Samples:   "top_p",
		Free:      true,
		Chooses:   true,
		Keeps:     true,
	})
}
