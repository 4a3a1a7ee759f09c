// Package term shows a person at a terminal what is going on, and asks them: the board of a run, its summary, a diff in
// colours, the pager, questions with a countdown, the user's editor.
//
// It owns how text reaches a terminal: everything that a model, a tool or a workspace wrote goes through Clean first.
// It decides nothing: the caller determines what an answer means.
package term
