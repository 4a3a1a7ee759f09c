package anthropic_test

import (
	"net/http"
	"testing"

	"agent/orchestrator/llm/anthropic"
	"agent/orchestrator/llm/llmtest"
)

func FuzzAnswer(f *testing.F) {
	f.Add(uint16(0), []byte("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":-1,\"cache_read_input_tokens\":9}}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"two\"}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":3}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"))
	f.Add(uint16(0), []byte("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}}\n\n"))
	f.Add(uint16(0), []byte("data: {\"type\":\"a\\nb\"}\n\n"))
	f.Add(uint16(329), []byte("{\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\",\"message\":\"x\"}}"))
	f.Add(uint16(0), []byte("data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"\",\"input\":[]}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"))
	llmtest.AnyAnswer(f, func(t http.RoundTripper) (llmtest.FuzzedProvider, error) {
		return anthropic.New(anthropic.Options{BaseURL: "http://127.0.0.1:9", Transport: t})
	}, key, request)
}
