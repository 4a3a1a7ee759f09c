package openai

import "agent/orchestrator/llm"

// Row returns what the product knows about OpenAI.
func Row() llm.Vendor {
	return llm.Vendor{
		Name: Vendor, Title: "OpenAI", Model: "gpt-5.3-codex",
		Tools: llm.NativeTools, Sees: true,
		Setup: "put a key in OPENAI_API_KEYS",
		Settings: []llm.Setting{
			{
				Kind: llm.KeyList, Name: "keys", File: "api_keys", Env: "OPENAI_API_KEYS OPENAI_API_KEY",
				About: "OpenAI keys, separated by commas; shown by their IDs",
			},
			{
				Kind: llm.Address, Name: "base_url", Env: "OPENAI_BASE_URL",
				About: "another endpoint of the Responses API, up to /v1", Next: "use https://HOST/v1",
			},
		},
		Open: func(address string) (llm.Provider, error) { return New(Options{BaseURL: address}) },
	}
}
