// Package knowledge keeps what runs leave for later ones: the memory of a workspace, the queue of files that use something that
// changed, the iterations of the loop, what scans and models said about files, and pending proposals.
//
// Base implements loop.Knowledge, loop.Iterations, survey.SymbolStore, survey.SummaryStore and run.Proposals. Nothing here is fenced by
// the token of a run. What is written either has an identifier in its own row, or is written so that doing it twice is the same as
// doing it once. run.ErrFenced means that another process was faster.
package knowledge
