// Package ledger knows what the files of a workspace define and where that is used.
//
// It is made of data and rules, without files, processes or a model: a scanner that runs inside a box lists what
// each file defines, imports and refers to ([Decode] reads its answer, which nobody has to trust), a [Ledger] resolves
// the imports among those files, and the rules below follow a change to everyone it concerns.
//
// # Who uses what
//
// A use is never a mere equality of names. [Ledger.Users] asks how a definition can be reached:
//
//	a top-level name     through an import of it, under its alias, through re-exports, a star or a namespace
//	a name of a Go file  also by the other files of its directory
//	a member of a class  by attribute, in files that reach the class's file through imports, near or far
//	a global of a script also in the pages that load it and in their other scripts
//	a selector or id     in pages, scripts and styles that some page brings together
//
// Where the text does not tell, as for the class of an object, the answer errs on the side of too many: a needless look
// costs little, a missed user is a broken program. What no text shows is missed: names put together at run time, and
// a Go type that satisfies an interface of a package which it does not import.
//
// # What a change ripples to
//
// [Ledger.Update] replaces the files that changed and says whom that concerns, from the union of both states: a
// definition that was renamed is gone afterwards, yet its users still say the old name. New definitions ripple nowhere,
// nor does a function's body.
//
// A Ledger is not safe for use by several goroutines at once. Its results are sorted and hold nothing of its inside.
package ledger
