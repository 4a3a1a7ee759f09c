package compatible_test

import (
	"net/http"
	"testing"

	"agent/orchestrator/llm/compatible"
	"agent/orchestrator/llm/llmtest"
)

func FuzzAnswer(f *testing.F) {
	f.Add(uint16(0), []byte(": x\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"two\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":1,\"prompt_cache_hit_tokens\":5}}\n\ndata: [DONE]\n\n"))
	f.Add(uint16(0), []byte("error: {\"code\":500,\"message\":\"x\"}\n\n"))
	f.Add(uint16(0), []byte("data: {\"choices\":[{\"index\":1}]}\n\ndata: {\"error\":\"x\"}\n\n"))
	f.Add(uint16(203), []byte("{\"error\":{\"message\":\"x\",\"code\":403,\"metadata\":{\"reasons\":[\"a\"]}}}"))
	f.Add(uint16(0), []byte("data: 1\r\ndata: 2\n\n"))
	f.Add(uint16(0), []byte("data: {\"choices\":[{\"delta\":{\"reasoning\":\"x\",\"tool_calls\":[{\"index\":-1,\"id\":\"a\",\"function\":{\"name\":\"\",\"arguments\":[]}},{\"id\":\"a\",\"function\":{\"arguments\":\"{\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n"))
	llmtest.AnyAnswer(f, func(t http.RoundTripper) (llmtest.FuzzedProvider, error) {
		return compatible.New(compatible.Options{BaseURL: "http://127.0.0.1:9", Transport: t})
	}, key, request)
}
