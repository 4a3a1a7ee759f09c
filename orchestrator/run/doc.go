// Package run takes one patch from a request to its end, through states that are recorded in order.
//
// It owns the lease of a run, the checkpoint, the order of a promotion, the log, and the recovery of runs whose process died. It
// declares the Store that it needs. It does not judge candidates (package gate), find changes (package tournament), touch the engine
// (packages sandbox and images) or write files (package promotion): it calls those packages, in the order that makes a promotion safe.
// A package that performs a run itself, such as tournament, gets an [Execution] for it.
//
// # States
//
// A run enters only these states, and only in these orders. The table in state.go is authoritative; a test keeps this drawing and the
// SQL equal to it.
//
//	queued            -> analyzing promoting conflict failed cancelled
//	analyzing         -> planning proposing verifying rejected conflict failed cancelled
//	planning          -> proposing rejected conflict failed cancelled
//	proposing         -> verifying awaiting_approval rejected conflict failed cancelled
//	verifying         -> proposing awaiting_approval rejected conflict failed cancelled
//	awaiting_approval -> proposing verifying promoting done rejected conflict failed cancelled
//	promoting         -> promoted conflict failed cancelled
//
// A run goes from proposing to awaiting_approval if its review found nothing and it asks whether to write a feature; there is nothing
// to promote at that point. A run that wrote ends in promoted. A run that proved a patch without promoting it ends in done. The other
// ends are rejected, conflict, failed and cancelled.
//
// # The order of a promotion
//
// A promotion is safe because of the order in which three parties learn of it: the journal on the host's disk, the host's files, and
// the store.
//
//  1. The journal is prepared: every new byte is staged and synced. The workspace is still exactly as it was.
//  2. The store records the promotion as prepared, with the content of every file. If it cannot, the journal is dropped and nothing has
//     happened.
//  3. The files change, each by one rename. If one cannot be placed, all are put back.
//  4. The store records the promotion as committed. If it cannot, all files are put back: there is no promotion without evidence.
//  5. The journal is removed.
//
// A kill between any two of these steps is settled by what the journal says. The store is then told what became of the files, never the
// other way round.
//
// # Errors
//
// A run does not return an error. It always gives a Document, whose Error holds whatever went wrong: a kind that decides the exit code,
// a message that says what happened, and the next thing to do. A run ends rejected because of its patch, a policy or a decision, or if
// there is nothing to change. Any other trouble ends it failed, in conflict or cancelled, and is never charged to the patch.
//
// # The log
//
// Everything that is done for a run is entered in its Log: by the run itself, by the engine and the boxes through the context, and by
// every caller of Enter. The log writes in batches in the background. It is flushed before files change and before the end is recorded:
// a run that ended has a whole log, and a run whose log is lost ends as infra. Entries may follow the end: boxes are removed, and a
// loop learns. A kill loses what was entered in the last tenth of a second, and Recover enters the end.
//
// # In the background
//
// Two kinds of work go on without anybody waiting for their results. Each has an owner that waits for it to finish. Work beside a run,
// such as the baseline that the next run finds, belongs to the Execution and finishes before the end is recorded. Work after a run,
// such as keeping the files that it saw for a replay, is given to Runner.AfterRun, whose owner is the process.
//
// # What a kill leaves
//
// A run holds an flock on its workspace and a heartbeat in its row. When its process dies, the kernel drops the lock, and the next
// command of any kind calls Recover. Recover removes the boxes, claims the row with a higher fencing token, settles the promotion
// journal forward or back, and classifies the run. The store refuses a late writer with the old token.
package run
