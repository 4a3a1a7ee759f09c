// Package knowledge keeps what runs leave to those after them: the memory of a
// workspace, the queue of files that use something which changed, the iterations
// of the loop, what scans and models said of files, and pending proposals.
//
// Base implements loop.Knowledge, loop.Iterations, survey.SymbolStore, survey.SummaryStore
// and run.Proposals. Nothing here is fenced by the token of a run: what is
// written either has an identifier in its own row, or is written in such a way
// that doing it twice is doing it once; run.ErrFenced means that another process
// was faster.
package knowledge
