// Package calls keeps every request to a model, its texts byte for byte, and its
// price; and when a key rests or is not used again, never a key itself.
//
// Journal implements llm.Journal and Keys llm.KeyStates. A request is entered
// before it is sent, with what it may cost, so that one whose process died counts
// as spent. Texts of questions and answers are in no view.
package calls
