// Package run takes one intent from a request to its end, through states that
// are recorded in order. It owns the order of the phases, the checkpoint, the
// heartbeat and the recovery of runs whose process died; it declares the Store
// that it needs. It does not match edits (package edit), judge candidates
// (package verify), touch the engine (packages sandbox and images) or write
// files (package sandbox/workspace): it calls those, in the order that makes
// a promotion safe.
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
//	promoted          -> done
//
// From proposing to awaiting_approval goes a run whose review found nothing and
// which asks whether a feature is to be written; nothing is there to be promoted
// then. promoted is final for a run after which nothing else is done; done is the end of a
// run that proved a patch without promoting it; rejected, conflict, failed and cancelled
// are the other ends.
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
// # The loop
//
// A run without a patch is one iteration of a loop: work, in which a target is
// chosen and a run made; learn, in which the ledger, the cascade queue and the
// memory follow what was promoted; settled. Before each of these is begun, what
// the one before decided is recorded, and model calls are recorded under the
// iteration's name. Whoever carries an iteration on makes the same plan, asks
// the same questions, and so finds the answers that were paid for.
//
// While a model is asked, the boxes for its candidates are started: see Warmer. A
// run that is given its patch has no time to do so, and starts them as they are
// needed. The candidates of a round are judged at the same time, in the order of
// asking where there are more boxes than turns, and one that cannot be the best any
// more is cancelled at once: its record ends with the verdict cancelled and the gate
// contest, which says why.
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
// # Replay
//
// When a run has ended, the files that it saw are kept in the store, from its frozen state
// and beside what follows; a file that changed since is not read. Replay rebuilds the
// workspace of that, applies the recorded responses again, has the candidates judged
// by whatever tools are there, and compares. It writes no record.
//
// # What a kill leaves
//
// A run holds an flock on its workspace and a heartbeat in its row. When its
// process dies the kernel drops the lock, and the next command of any kind
// calls Recover: it claims the row with a higher fencing token, settles the
// promotion journal forward or back, removes the boxes and classifies the run.
// A late writer with the old token is refused by the store.
package run
