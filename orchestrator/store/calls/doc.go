// Package calls keeps every request to a model, with its texts byte for byte, and its price. It also keeps when a key rests or is not
// used again, but never a key itself.
//
// Journal implements llm.Journal, and Keys implements llm.KeyStates. A request is entered before it is sent, with its possible cost, so
// that a request whose process died counts as spent. No view shows the texts of questions and answers.
package calls
