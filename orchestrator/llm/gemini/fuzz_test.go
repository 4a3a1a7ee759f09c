package gemini_test

import (
	"net/http"
	"testing"

	"agent/orchestrator/llm/gemini"
	"agent/orchestrator/llm/llmtest"
)

func FuzzAnswer(f *testing.F) {
	f.Add(uint16(0), []byte(`[{"candidates":[{"content":{"parts":[{"text":"two"}]},"finishReason":1}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":-1}}]`))
	f.Add(uint16(0), []byte(`[{"candidates":[{"content":{"parts":[{"text":"a","thought":true},{"functionCall":{}}]},"finishReason":"SAFETY"}]},`))
	f.Add(uint16(229), []byte(`[{"error":{"code":429,"message":"m","details":[{"retryDelay":"99999999999s"}]}}]`))
	f.Add(uint16(0), []byte(`[{"promptFeedback":{"blockReason":99}}]`))
	f.Add(uint16(0), []byte(`{}`))
	f.Add(uint16(0), []byte(`[{"candidates":[{"content":{"parts":[{"functionCall":{"name":"","args":[]},"thoughtSignature":"x"},{"functionCall":{"id":"a"}}]},"finishReason":"STOP"}]}]`))
	llmtest.AnyAnswer(f, func(t http.RoundTripper) (llmtest.FuzzedProvider, error) {
		return gemini.New(gemini.Options{BaseURL: "http://127.0.0.1:9", Transport: t})
	}, key, request)
}
