// Package ledger knows what the files of a workspace define and where these definitions are used.
//
// It consists of data and rules, without files, processes or a model: a scanner in a box lists what each file defines,
// imports and refers to (package decode reads its answer without trusting it), a [Ledger] resolves the imports among
// those files, and the rules below follow a change to every file that it concerns.
//
// # Who uses what
//
// A use is never merely an equality of names. [Ledger.Users] asks how a definition can be reached:
//
//	a top-level name     through an import of it, under its alias, through re-exports, a star or a namespace
//	a name of a Go file  also by the other files of its directory
//	a member of a class  by attribute, in files that reach the class's file through imports, near or far
//	a global of a script also in the pages that load it and in their other scripts
//	a selector or id     in pages, scripts and styles that some page brings together
//
// Where the text is not conclusive, as for the class of an object, the answer errs on the side of too many: a needless
// look costs little, but a missed user is a broken program. It misses what no text shows: names put together at run
// time, and a Go type that satisfies an interface of a package that it does not import.
//
// # What a change ripples to
//
// [Ledger.Update] replaces the files that changed and lists the files that this concerns, from the union of both
// states: a renamed definition is gone afterwards, yet its users still use the old name. New definitions ripple
// nowhere, and neither does a function's body.
//
// A Ledger is not safe for concurrent use. Its results are sorted and share nothing with its internals.
package ledger
