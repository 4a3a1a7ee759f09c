// Package promotion writes a changeset to the user's directory, all of it or nothing, and never over a file that
// changed since the snapshot.
//
// The journal of a [Promotion] is outside the workspace, in $XDG_STATE_HOME/agent/promotions (~/.local/state by
// default), under the inode number and the path of the workspace. It consists of the plan (journal.json), signed with a
// key of the user, and an empty file whose name is the state (state.staging and so on). Changing the state is one
// rename, which needs no space on a full disk. The workspace has one slot for each path, in .agent/staging/ID. Its
// contents alone mean nothing: no file of a workspace is ever taken for a journal. Staged files for which this user has
// no journal stop a promotion, because another user's promotion may be half done.
//
//	staging ──► ready ──► committing ──► committed
//	                          │
//	                          └──► rolling-back ──► rolled-back
//
// Until "ready" the workspace is untouched. While committing, each path changes by one rename: a modified file is
// exchanged with its staged successor, a created one is renamed to a name that must be free, a deleted one is renamed
// into its slot. So at every instant each path is wholly before or wholly after. Its slot tells which, since the staged
// file is known by its inode number. The bytes that were displaced are compared with those that the changeset was made
// from. If another process wrote in between, or has the file open for writing, the exchange is reversed and the whole
// promotion rolled back. A kill therefore leaves a journal from which Recover continues: forward if every path is
// before or after, otherwise back, keeping whatever the user made in the meantime. Recover repeats nothing that is
// done, so it may be killed too.
//
// A modified file gets a new inode, so another hard link to it keeps the old content. Permission bits are kept,
// extended attributes are not. Directories that a changeset empties are removed with the last file, as in git; those
// that it needs are made with mode 0755.
//
// # Order of calls
//
// A writer takes the lock with Acquire, or with Hold before it asks for anything and Place.Acquire afterwards. It
// settles the past with Lock.Recover, records each outcome and calls Discard on it. Then follow Lock.Prepare, Commit,
// recording the outcome, Close, and Release. A second process gets ErrLocked.
//
// The Lock holds the directory open, and everything is written to that directory. If the path of the workspace by then
// names another one, nothing is written: Prepare and Commit check that, and so does Lock.InPlace, for a caller that
// reads by the path.
//
// # What is not promised
//
// A malicious process of the same user can change the workspace at any time, and no order of renames prevents it. With
// an editor, a formatter or git at work, nothing is lost: if a program held a file open while it was replaced, its late
// bytes are in a file next to it, named by *KeptError. On a file system without renameat2's flags a modified file is
// missing for a moment.
package promotion
