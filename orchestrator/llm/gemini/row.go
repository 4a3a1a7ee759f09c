package gemini

import "agent/orchestrator/llm"

// Row returns what the product knows about Gemini.
func Row() llm.Vendor {
	return llm.Vendor{
		Name: Vendor, Title: "Gemini", Model: "gemini-2.5-flash",
		Tools: llm.NativeTools, Sees: true,
		Setup: "put a key in GEMINI_API_KEYS",
		Settings: []llm.Setting{
			{
				Kind: llm.KeyList, Name: "keys", File: "api_keys", Env: "GEMINI_API_KEYS GEMINI_API_KEY",
				About: "Gemini keys, separated by commas; shown by their IDs",
			},
			{
				Kind: llm.Address, Name: "base_url", Env: "GEMINI_BASE_URL",
				About: "a compatible endpoint instead of Google's", Next: "use https://HOST",
			},
		},
		Open: func(address string) (llm.Provider, error) { return New(Options{BaseURL: address}) },
	}
}
