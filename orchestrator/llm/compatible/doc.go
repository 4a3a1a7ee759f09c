// Package compatible asks any server that speaks the Chat Completions API at an address that the user gives: OpenRouter, DeepSeek,
// vLLM, LM Studio, llama.cpp and others.
//
// These servers agree on little beyond a question, pieces of text and a finish reason, so the package relies on no more. It sends a
// key if there is one, estimates token counts that are missing, and recognizes reasoning by either of the two fields in use. An
// answer without a finish reason is not an answer.
package compatible
