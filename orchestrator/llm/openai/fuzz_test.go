package openai_test

import (
	"net/http"
	"testing"

	"agent/orchestrator/llm/llmtest"
	"agent/orchestrator/llm/openai"
)

func FuzzAnswer(f *testing.F) {
	f.Add(uint16(0), []byte("data: {\"type\":\"response.output_text.delta\",\"delta\":\"two\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"model\":\"m\",\"usage\":{\"input_tokens\":1,\"output_tokens\":-1,\"input_tokens_details\":{\"cached_tokens\":7}}}}\n\n"))
	f.Add(uint16(0), []byte("data: {\"type\":\"response.incomplete\",\"response\":{\"incomplete_details\":{\"reason\":\"content_filter\"}}}\n\n"))
	f.Add(uint16(0), []byte("data: {\"type\":\"response.completed\"}\n\n"))
	f.Add(uint16(229), []byte("{\"error\":{\"code\":\"insufficient_quota\"}}"))
	f.Add(uint16(0), []byte("event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"x\"}\n\n"))
	f.Add(uint16(0), []byte("data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"reasoning\",\"encrypted_content\":\"x\"}}\n\ndata: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\",\"call_id\":\"a b\",\"arguments\":\"[\"}}\n\ndata: {\"type\":\"response.completed\",\"response\":{}}\n\n"))
	llmtest.AnyAnswer(f, func(t http.RoundTripper) (llmtest.FuzzedProvider, error) {
		return openai.New(openai.Options{BaseURL: "http://127.0.0.1:9", Transport: t})
	}, key, request)
}
