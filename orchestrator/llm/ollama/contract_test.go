package ollama_test

import (
	"net/http"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/llm/ollama"
)

func TestContract(t *testing.T) {
	llmtest.Contract(t, llmtest.Setup{
		Server: llmtest.Ollama,
		Provider: func(url string, send http.RoundTripper) (llm.Provider, error) {
			return ollama.New(ollama.Options{Host: url, Transport: send})
		},
		Truncated: "length",
		Samples:   "top_p top_k",
		Keeps:     true,
	})
}
