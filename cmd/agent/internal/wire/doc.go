// Package wire puts together what commands stand on: the engine and the builder of
// its images, the record, the models of the configuration, the runner over them.
//
// It owns the order of opening and closing, and what asks a model: the chain, its
// entries in the log, the credentials hidden in a question. It decides nothing about
// a run, and prints nothing but what opening has to tell.
package wire
