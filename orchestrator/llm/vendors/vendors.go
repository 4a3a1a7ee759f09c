// Package vendors lists the vendors of models that the product can ask.
//
// It owns only the list and its order. The row in each vendor's own package says what that vendor needs, and a test refuses a row
// that lacks a part.
package vendors

import (
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/anthropic"
	"agent/orchestrator/llm/compatible"
	"agent/orchestrator/llm/gemini"
	"agent/orchestrator/llm/ollama"
	"agent/orchestrator/llm/openai"
)

// All returns one row for each vendor. If a user names no model, the vendors that can answer are asked in this order.
func All() []llm.Vendor {
	return []llm.Vendor{gemini.Row(), anthropic.Row(), openai.Row(), compatible.Row(), ollama.Row()}
}
