// Package compatible asks whatever speaks the Chat Completions API at an address
// that the user gives: OpenRouter, DeepSeek, vLLM, LM Studio, llama.cpp and others.
//
// These servers agree on little beyond a question, pieces of text and a reason to
// finish, so no more is relied on: a key is sent where there is one, counts of tokens
// are estimated where none comes, reasoning is told apart by either of the two fields
// in use, and an answer without a reason to finish is none.
package compatible
