// Package wire assembles what the commands build on: the engine and the builder of its images, the record, the
// configured models, and the runner over them.
//
// It owns the order of opening and closing, and everything that asks a model: the chain, its entries in the log, and
// the hiding of credentials in a question. It decides nothing about a run, and prints only messages about opening.
package wire
