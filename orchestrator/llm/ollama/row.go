package ollama

import "agent/orchestrator/llm"

// Row returns what the product knows about Ollama.
func Row() llm.Vendor {
	return llm.Vendor{
		Name: Vendor, Title: "Ollama", Model: "qwen3-coder:30b", Local: true,
		Tools: llm.EmulatedTools, // only their servers know which of them support calls
		Setup: "start Ollama (`ollama serve`, `ollama pull qwen3-coder:30b`)",
		Settings: []llm.Setting{
			{
				Kind: llm.Address, Name: "host", Env: "OLLAMA_HOST",
				About: "where Ollama answers; empty: this machine", Next: "use HOST:PORT",
			},
			{
				Kind: llm.ContextTokens, Name: "context", Default: "32000",
				About: "context in tokens that Ollama is to provide; questions are cut to fit",
			},
		},
		Open: func(address string) (llm.Provider, error) { return New(Options{Host: address}) },
		Host: func(address string) (string, error) {
			u, err := Host(address)
			if err != nil {
				return "", err
			}
			return u.Host, nil
		},
	}
}
