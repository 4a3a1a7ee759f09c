// Package term shows what goes on to a person at a terminal, and asks them: the
// board of a run, its summary, a diff in colours, the pager, questions with a
// countdown, the user's editor.
//
// It owns how text reaches a terminal: whatever a model, a tool or a workspace
// wrote goes through Clean first. It decides nothing: what an answer means is the
// caller's.
package term
