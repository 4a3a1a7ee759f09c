package compatible

import "agent/orchestrator/llm"

// Row returns what the product knows about servers of the Chat Completions API.
func Row() llm.Vendor {
	return llm.Vendor{
		Name: Vendor, Title: "Chat Completions",
		Tools: llm.EmulatedTools, // only their servers know which of them support calls
		Setup: "set COMPATIBLE_BASE_URL and name a model with --model compatible/NAME",
		Settings: []llm.Setting{
			{
				Kind: llm.KeyList, Name: "keys", File: "api_keys", Env: "COMPATIBLE_API_KEYS", Optional: true,
				About: "keys of that server, separated by commas; shown by their IDs; empty: none needed",
			},
			{
				Kind: llm.Address, Name: "base_url", Env: "COMPATIBLE_BASE_URL",
				About: "a server of the Chat Completions API, up to /v1: OpenRouter, DeepSeek, vLLM, LM Studio, llama.cpp",
				Next:  "set COMPATIBLE_BASE_URL to http://HOST:PORT/v1 or https://HOST/v1",
			},
		},
		Open: func(address string) (llm.Provider, error) { return New(Options{BaseURL: address}) },
	}
}
