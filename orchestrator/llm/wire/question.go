package wire

import (
	"errors"
	"unicode/utf8"

	"agent/orchestrator/llm"
)

// maxTokens is more than any model holds. A larger count is a mistake of the
// vendor, and a budget would end on it.
const maxTokens = 100_000_000

// Check returns why req cannot be asked, nil when it can: it needs a model and
// a last message of the user, of roles that exist, in valid UTF-8, which JSON
// would otherwise change without a word.
func Check(req llm.Request) error {
	if req.Model == "" {
		return errors.New("no model is named")
	}
	// A vendor would answer to a model's own last words by going on with them.
	if n := len(req.Messages); n == 0 || req.Messages[n-1].Role != llm.User {
		return errors.New("the last message is not the user's")
	}
	for _, m := range req.Messages {
		if m.Role != llm.User && m.Role != llm.Assistant {
			return errors.New("there is no role " + string(m.Role))
		}
		if !utf8.ValidString(m.Text) {
			return errors.New("a message is not valid UTF-8")
		}
	}
	if !utf8.ValidString(req.System) {
		return errors.New("the instructions are not valid UTF-8")
	}
	return nil
}

// Texts returns everything that req says, for an estimate.
func Texts(req llm.Request) []string {
	list := []string{req.System}
	for _, m := range req.Messages {
		list = append(list, m.Text)
	}
	return list
}

// Count returns n as a measured count, or an estimate for texts when no vendor
// can mean n: zero or less, which is also how a missing count reads, or more
// than any model holds.
func Count(n float64, texts ...string) llm.Tokens {
	if n > 0 && n <= maxTokens {
		return llm.Tokens{N: int(n)}
	}
	return llm.Estimate(texts...)
}

// Part returns n when it is a part of whole, else 0.
func Part(n float64, whole llm.Tokens) int {
	if n > 0 && n <= float64(whole.N) {
		return int(n)
	}
	return 0
}

// Size returns what a vendor says that a model holds, 0 when no model can hold that.
func Size(n float64) int {
	if n > 0 && n <= maxTokens {
		return int(n)
	}
	return 0
}
