// Package run takes one patch from a request to its end, through states that are
// recorded in order. It owns the lease of a run, the checkpoint, the order of a
// promotion, the log, and the recovery of runs whose process died; it declares the
// Store that it needs. It does not judge candidates (package gate), find changes
// (package tournament), touch the engine (packages sandbox and images) or write
// files (package promotion): it calls those, in the order that makes a promotion
// safe. Whoever else does a run, as a tournament, gets an [Execution] for it.
//
// # States
//
// A run enters these states, and no others, in these orders. The table in
// state.go is the truth; a test keeps this drawing and the SQL equal to it.
//
//	queued            -> analyzing promoting conflict failed cancelled
//	analyzing         -> planning proposing verifying rejected conflict failed cancelled
//	planning          -> proposing rejected conflict failed cancelled
//	proposing         -> verifying awaiting_approval rejected conflict failed cancelled
//	verifying         -> proposing awaiting_approval rejected conflict failed cancelled
//	awaiting_approval -> proposing verifying promoting done rejected conflict failed cancelled
//	promoting         -> promoted conflict failed cancelled
//
// From proposing to awaiting_approval goes a run whose review found nothing and
// which asks whether a feature is to be written; nothing is there to be promoted
// then. promoted is the end of a run that wrote; done is the end of one that proved a patch
// without promoting it; rejected, conflict, failed and cancelled are the other ends.
//
// # The order of a promotion
//
// What makes a promotion safe is the order in which three parties are told:
// the journal on the host's disk, the host's files, and the store.
//
//  1. The journal is prepared: every new byte is staged and synced. The
//     workspace is still exactly as it was.
//  2. The store records the promotion as prepared, with the content of every
//     file. When it cannot, the journal is dropped and nothing has happened.
//  3. The files change, each by one rename. When one cannot be placed, all
//     are put back.
//  4. The store records it as committed. When it cannot, all files are put
//     back: there is no promotion without evidence.
//  5. The journal is removed.
//
// A kill between any two of these is settled by what the journal says, and
// the store is then told what became of the files, never the other way round.
//
// # Errors
//
// Nothing here is returned as an error: a run always gives a Document, and
// everything that can go wrong is in its Error, with a kind that decides the
// exit code, a message that says what happened and the next thing to do. That
// which is the patch's fault ends rejected; everything else ends failed and is
// never charged to the patch.
//
// # The log
//
// Whatever is done for a run is entered in its Log: by the run itself, by the
// engine and the boxes through the context, and by whoever calls Enter. The log
// writes in batches, behind the run's back, and is flushed before files change and
// before the end is recorded: a run that ended has a whole log, and one whose log is
// lost ends as infra. What follows the end is added: boxes are removed, and a loop
// learns. A kill loses what was entered in the last tenth of a second, and Recover
// enters the end.
//
// # In the background
//
// Two kinds of work go on without anybody waiting for their result, and each has an
// owner who waits for its end. What goes on beside a run, as the baseline that the
// next one finds, belongs to the Execution and ends before the end is recorded. What
// follows a run, as the files that it saw and that a replay needs, is given to
// Runner.AfterRun, whose owner is the process.
//
// # What a kill leaves
//
// A run holds an flock on its workspace and a heartbeat in its row. When its
// process dies the kernel drops the lock, and the next command of any kind
// calls Recover: it claims the row with a higher fencing token, settles the
// promotion journal forward or back, removes the boxes and classifies the run.
// A late writer with the old token is refused by the store.
package run
