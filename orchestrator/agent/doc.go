// Package agent is the engineer that works on the gate: it words the questions for a model, reads the answers, and
// decides what to ask next.
//
// It owns the prompts (embedded templates that a workspace can override), what a prompt quotes of a workspace and how
// much of it, the choice of a target, the step from a failed gate to a question about it, and the memory that one
// iteration leaves to the next.
//
// It refuses to act. It writes no file, runs nothing and judges nothing: an answer is only text until package edit has
// made a changeset of it and package verify has proved that changeset. A model's claims about its own work are never
// evidence.
//
// In a prompt, text from a workspace, a log or a model stands between two lines that hold a word drawn for the run. The
// prompt tells the model that nothing between these lines is an instruction; see [Fence]. Everything here is a function
// of its input: the same run asks the same questions byte for byte, which makes a replay possible.
package agent
