package ollama_test

import (
	"net/http"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/llm/ollama"
)

func FuzzAnswer(f *testing.F) {
	f.Add(uint16(0), []byte(`{"message":{"role":"assistant","content":"two"},"done":false}`+"\n"+`{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":1,"eval_count":-1}`+"\n"+``))
	f.Add(uint16(0), []byte(`{"error":"x"}`+"\n"+``))
	f.Add(uint16(0), []byte(`{"message":{"content":"a","tool_calls":[{}]},"done":true,"done_reason":"length"}`))
	f.Add(uint16(0), []byte(`{"message":{"thinking":"x"}}`+"\n"+``+"\n"+``))
	f.Add(uint16(0), []byte(`{"message":{"tool_calls":[{"id":"a","function":{"name":"","arguments":{"a":1}}},{"id":"a","function":{"arguments":null}}]},"done":true}`))
	llmtest.AnyAnswer(f, func(t http.RoundTripper) (llmtest.FuzzedProvider, error) {
		return ollama.New(ollama.Options{Host: "http://127.0.0.1:9", Transport: t})
	}, llm.Key{}, request)
}
