package anthropic

import "agent/orchestrator/llm"

// Row returns what the product knows about Anthropic.
func Row() llm.Vendor {
	return llm.Vendor{
		Name: Vendor, Title: "Anthropic", Model: "claude-sonnet-4-6",
		Tools: llm.NativeTools, Sees: true,
		Setup: "put a key in ANTHROPIC_API_KEYS",
		Settings: []llm.Setting{
			{
				Kind: llm.KeyList, Name: "keys", File: "api_keys", Env: "ANTHROPIC_API_KEYS ANTHROPIC_API_KEY",
				About: "Anthropic keys, separated by commas; shown by their IDs",
			},
			{
				Kind: llm.Address, Name: "base_url", Env: "ANTHROPIC_BASE_URL",
				About: "another endpoint of the Messages API, without /v1", Next: "use https://HOST",
			},
		},
		Open: func(address string) (llm.Provider, error) { return New(Options{BaseURL: address}) },
	}
}
