// Package ollama asks the models of an Ollama server, with Ollama's own client.
//
// That client reads a stream line by line and takes any end of it for the end of the answer: a broken connection, or a line longer
// than its buffer. The transport below it, a [wire.Call], knows how the body ended, and an answer counts only with the line that
// says it is done.
//
// A question that does not fit is refused: otherwise Ollama would silently leave out the oldest messages, or shift its window in
// mid-answer.
package ollama
