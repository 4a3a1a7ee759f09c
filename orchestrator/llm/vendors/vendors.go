// Package vendors lists the vendors of models that the product can ask.
//
// It owns the list and its order alone: what a vendor needs is in the row of its own
// package, and a test refuses a row that lacks a part.
package vendors

import (
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/anthropic"
	"agent/orchestrator/llm/compatible"
	"agent/orchestrator/llm/gemini"
	"agent/orchestrator/llm/ollama"
	"agent/orchestrator/llm/openai"
)

// All returns one row for each vendor. Where a user names no model, those that can
// answer are asked in this order.
func All() []llm.Vendor {
	return []llm.Vendor{gemini.Row(), anthropic.Row(), openai.Row(), compatible.Row(), ollama.Row()}
}
