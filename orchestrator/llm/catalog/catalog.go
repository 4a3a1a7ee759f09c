// Package catalog is the table of what is known about models: their context, their prices, and their best sampling. The user's
// configuration takes precedence, see [prices] and [windows] there.
//
// Each figure is here with the vendor's page that states it and the month for which it was stated. Doubtful figures are left out,
// because an unknown price is shown as such but a wrong one breaks a budget. A price that rises with the length of the question is
// left out too.
package catalog

import (
	"slices"
	"strings"

	"agent/orchestrator/llm"
	"agent/sandbox/workspace/lazyregexp"
)

// Currency is the currency of the prices here.
const Currency = "USD"

// A Model is what is known about one model.
type Model struct {
	Name    string     // VENDOR/NAME
	Context int        // tokens of question and answer, 0 if not known
	Price   *llm.Price // nil if not known
	Tools   bool       // it calls tools well enough to explore with them
}

// All returns the table, in the order of its vendors.
func All() []Model { return slices.Clone(table) }

// samplings are the recommendations of the models' makers, by the part of the name after its last slash: many vendors offer the
// same model. The first match counts.
var samplings = []struct {
	name *lazyregexp.Regexp
	llm.Sampling
}{
	{lazyregexp.New(`^gemini-([3-9]|[1-9]\d)`), llm.Sampling{Temperature: 1}},                 // ai.google.dev/gemini-api/docs/gemini-3: lower ones may loop
	{lazyregexp.New(`^gpt-oss`), llm.Sampling{Temperature: 1, TopP: 1}},                       // github.com/openai/gpt-oss
	{lazyregexp.New(`(?i)^qwen3-coder`), llm.Sampling{Temperature: 0.7, TopP: 0.8, TopK: 20}}, // its model card
	{lazyregexp.New(`(?i)^qwen3`), llm.Sampling{Temperature: 0.6, TopP: 0.95, TopK: 20}},      // its model card: greedy decoding repeats without end
	{lazyregexp.New(`(?i)^(qwq|deepseek-r1)`), llm.Sampling{Temperature: 0.6, TopP: 0.95}},    // their model cards
	{lazyregexp.New(`(?i)^kimi-k2`), llm.Sampling{Temperature: 0.6}},                          // its model card
	{lazyregexp.New(`(?i)^minimax-m2`), llm.Sampling{Temperature: 1, TopP: 0.95, TopK: 40}},   // its model card
}

// Sampling returns how a model is best sampled, or the zero Sampling if nothing is known.
func Sampling(model string) llm.Sampling {
	for _, s := range samplings {
		if s.name.MatchString(model[strings.LastIndexByte(model, '/')+1:]) {
			return s.Sampling
		}
	}
	return llm.Sampling{}
}

// dated matches the version that vendors write after the name of a model.
var dated = lazyregexp.New(`^-(\d{8}|\d{4}-\d{2}-\d{2})$`)

// Find returns what is known about a vendor's model, by its name alone or with the date of a version.
func Find(vendor, model string) (Model, bool) {
	for _, m := range table {
		rest, ok := strings.CutPrefix(vendor+"/"+model, m.Name)
		if ok && (rest == "" || dated.MatchString(rest)) {
			return m, true
		}
	}
	return Model{}, false
}

// table is everything that is known. A cached price of 0 means the price of the question, see llm.Price.
var table = []Model{
	// ai.google.dev/gemini-api/docs/pricing and /models, 2026-05. Google's price for cached tokens has changed several times, and
	// is left at the price of the question. The price of 2.5 Pro rises with the length of the question.
	{"gemini/gemini-2.5-flash", 1_048_576, &llm.Price{In: 0.30, Out: 2.50}, true},
	{"gemini/gemini-2.5-flash-lite", 1_048_576, &llm.Price{In: 0.10, Out: 0.40}, true},
	{"gemini/gemini-2.5-pro", 1_048_576, nil, true},

	// docs.anthropic.com/en/docs/about-claude/pricing and /models/overview, 2026-05; Written is the price of a write to the
	// 5-minute cache. Sonnet 4 and 4.5 hold more with a beta header, which is not sent here.
	{"anthropic/claude-opus-4-7", 1_000_000, &llm.Price{In: 5, Out: 25, Cached: 0.50, Written: 6.25}, true},
	{"anthropic/claude-opus-4-6", 1_000_000, &llm.Price{In: 5, Out: 25, Cached: 0.50, Written: 6.25}, true},
	{"anthropic/claude-opus-4-5", 200_000, &llm.Price{In: 5, Out: 25, Cached: 0.50, Written: 6.25}, true},
	{"anthropic/claude-opus-4-1", 200_000, &llm.Price{In: 15, Out: 75, Cached: 1.50, Written: 18.75}, true},
	{"anthropic/claude-sonnet-4-6", 1_000_000, &llm.Price{In: 3, Out: 15, Cached: 0.30, Written: 3.75}, true},
	{"anthropic/claude-sonnet-4-5", 200_000, &llm.Price{In: 3, Out: 15, Cached: 0.30, Written: 3.75}, true},
	{"anthropic/claude-sonnet-4", 200_000, &llm.Price{In: 3, Out: 15, Cached: 0.30, Written: 3.75}, true},
	{"anthropic/claude-haiku-4-5", 200_000, &llm.Price{In: 1, Out: 5, Cached: 0.10, Written: 1.25}, true},

	// platform.openai.com/docs/pricing and /models, 2026-05.
	{"openai/gpt-5.3-codex", 400_000, &llm.Price{In: 1.75, Out: 14, Cached: 0.175}, true},
	{"openai/gpt-5.2-codex", 400_000, &llm.Price{In: 1.75, Out: 14, Cached: 0.175}, true},
	{"openai/gpt-5.2", 400_000, &llm.Price{In: 1.75, Out: 14, Cached: 0.175}, true},
	{"openai/gpt-5.1-codex", 400_000, &llm.Price{In: 1.25, Out: 10, Cached: 0.125}, true},
	{"openai/gpt-5.1", 400_000, &llm.Price{In: 1.25, Out: 10, Cached: 0.125}, true},
	{"openai/gpt-5-codex", 400_000, &llm.Price{In: 1.25, Out: 10, Cached: 0.125}, true},
	{"openai/gpt-5", 400_000, &llm.Price{In: 1.25, Out: 10, Cached: 0.125}, true},
	{"openai/gpt-5-mini", 400_000, &llm.Price{In: 0.25, Out: 2, Cached: 0.025}, true},
	{"openai/gpt-4.1", 1_047_576, &llm.Price{In: 2, Out: 8, Cached: 0.50}, true},
	{"openai/gpt-4.1-mini", 1_047_576, &llm.Price{In: 0.40, Out: 1.60, Cached: 0.10}, true},
}
