// Package promotion writes a changeset to the user's directory.
//
// A Promotion writes a changeset to the host, all of it or nothing, and never
// over a file that changed since the snapshot. Its journal lies outside the
// workspace, in $XDG_STATE_HOME/agent/promotions (~/.local/state by default), by
// the inode number and the path of the workspace: the plan (journal.json), signed
// with a key of the user, and an empty file whose name is the state
// (state.staging and so on). Changing state is one rename, which needs no space
// on a full disk. In the workspace, in .agent/staging/ID, lies one slot for each
// path; what lies there says nothing by itself, and no file of a workspace is
// ever taken for a journal. Staged files of which this user has no journal stop
// a promotion: another user's may be half done.
//
//	staging ──► ready ──► committing ──► committed
//	                          │
//	                          └──► rolling-back ──► rolled-back
//
// Until "ready" the workspace is untouched. While committing, each path
// changes by one rename: a modified file is exchanged with its staged
// successor, a created one is renamed into a name that must be free, a deleted
// one is renamed into its slot. So at every instant each path is wholly before
// or wholly after, and its slot tells which: the staged file is known by its
// inode number. What was displaced is compared with the bytes that the
// changeset was made from; when somebody wrote in between, or has the file
// open for writing, the exchange is reversed and the whole promotion rolled
// back. A kill therefore leaves a journal from which Recover goes on: forward
// when every path is before or after, else back, and whatever the user made in
// the meantime is kept. Recover repeats nothing that is done, so it may be
// killed too.
//
// A modified file gets a new inode: another hard link to it keeps the old
// content. Permission bits are kept, extended attributes are not. Directories
// that a changeset empties are removed with the last file, as git does; those
// it needs are made with mode 0755.
//
// # Order of calls
//
// A writer takes the lock with Acquire, or with Hold before it asks for anything and
// Place.Acquire after, settles the past with Lock.Recover,
// records each outcome and calls Discard on it. Then Lock.Prepare, Commit,
// record the outcome, Close, and Release. A second process gets ErrLocked.
//
// The Lock holds the directory open, and everything is written to that
// directory. When the path of the workspace names another one by then, nothing
// is written: Prepare and Commit compare, and so does Lock.InPlace, for a caller
// that reads by the path.
//
// # What is not promised
//
// A process of the same user that means harm can change the workspace at any
// time, and no order of renames stops it. Against an editor, a formatter or
// git at work, nothing is lost: a program that held a file open while it was
// replaced finds its late bytes in a file beside, named by *KeptError. On a
// file system without renameat2's flags a modified file is away for a moment.
package promotion
