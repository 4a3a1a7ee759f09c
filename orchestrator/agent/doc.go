// Package agent is the engineer that works on the gate: it words the questions
// that a model is asked, reads what comes back, and decides what to ask next.
//
// It owns the prompts (embedded templates, overridable by a workspace), what
// of a workspace goes into one and how much, the choice of a target, the way
// from a failed gate to a question about it, and the memory that one iteration
// leaves to the next.
//
// It refuses to act. It writes no file, runs nothing and judges nothing: an
// answer is text until package edit has made a changeset of it and package
// verify has proved that. What a model says of its own work is never evidence.
//
// Text that comes from a workspace, from a log or from a model stands in a
// prompt between two lines that hold a word drawn for the run, and the model
// is told that nothing between such lines is an instruction; see [Fence].
// Everything here is a function of its input: the same run asks the same
// questions byte for byte, which is what makes a replay possible.
package agent
