package wire

import (
	"errors"
	"unicode/utf8"

	"agent/orchestrator/llm"
)

// maxTokens is more than any model holds. A larger count is a mistake of the vendor, and would exhaust a budget.
const maxTokens = 100_000_000

// Check returns why req cannot be asked, or nil if it can. It needs a model, turns that form a valid conversation, and valid UTF-8,
// which JSON would otherwise change silently.
func Check(req llm.Request) error {
	if req.Model == "" {
		return errors.New("no model is named")
	}
	if err := req.CheckTurns(); err != nil {
		return err
	}
	for _, text := range req.Texts() {
		if !utf8.ValidString(text) {
			return errors.New("the question is not valid UTF-8")
		}
	}
	return nil
}

// Count returns n as a measured count. It returns an estimate for texts if n cannot be right: zero or less, which also stands for a
// missing count, or more than any model holds.
func Count(n float64, texts ...string) llm.Tokens {
	if n > 0 && n <= maxTokens {
		return llm.Tokens{N: int(n)}
	}
	return llm.Estimate(texts...)
}

// Part returns n if it is a part of whole, else 0.
func Part(n float64, whole llm.Tokens) int {
	if n > 0 && n <= float64(whole.N) {
		return int(n)
	}
	return 0
}

// Size returns a vendor's figure for the context of a model, or 0 if no model can hold that.
func Size(n float64) int {
	if n > 0 && n <= maxTokens {
		return int(n)
	}
	return 0
}
