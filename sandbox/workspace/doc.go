// Package workspace owns everything that touches the user's directory: what is
// read from it, what may be written to it, and how a write survives a crash.
// It knows nothing of containers, models or databases.
//
// # Reading
//
// Scan walks a directory without following a link and digests every regular
// file. The result, a Manifest, is what a snapshot is built from and what a
// promotion is checked against. Left out, quietly, because everyone expects
// it:
//
//   - .git, wherever it is, and .agent at the root;
//   - what git ignores, by the .gitignore files, the repository's
//     info/exclude and its index (a tracked file is never ignored). The user's
//     global ignore file does not count. The git program is asked, with a
//     neutral configuration: the repository's own is never read, so that no
//     hook or monitor in it can run. A nested repository is asked about itself;
//   - virtual environments (any directory with pyvenv.cfg or an activate
//     script; autovenv), installed dependencies (node_modules and the like), caches of
//     tools, byte code, editor directories (.vscode, .idea) and droppings. The
//     lists are in leftout.go. build and dist stay: where git does not ignore them they are sources;
//   - what matches the exclude patterns, which have the syntax of a .dockerignore file.
//
// Left out and always shown: secrets (.env, private keys, .netrc and the like,
// by name or by content), FIFOs, sockets, devices, names that are not UTF-8.
//
// Size and time of modification are not trusted: an editor or a tool may
// restore both. A file that changes while it is read is read again, eight times
// at most, and then refused. So is one that was changed so lately that the
// change may still be going on: the kernel stamps a file before it copies what
// is written. A file that somebody has open for writing is read twice, and only
// when its stamp is 200 ms old. Whoever reads a file later through the Manifest
// gets the digested bytes or a *ChangedError, never others.
//
// # Scanning again
//
// Scan reads every byte. Rescan looks at every file, and reads those that its
// own earlier result does not vouch for. A digest is taken over when mode, size,
// time of modification, time of status change, inode and device are the same,
// and the time of status change, which no program can set, proves it:
//
//   - it was more than two seconds old when the earlier scan began, and is so
//     by today's clock: a change within one tick of a clock leaves no trace;
//   - no process had the file open for writing, or mapped so, when it was read,
//     as a read lease tells: the kernel stamps the first store to a mapped page
//     and no later one. Without a lease, as on other users' files, it is read;
//   - the file system is ext4, XFS, Btrfs or F2FS. Others, and all network file
//     systems, stamp less, or by another clock.
//
// Files whose content decides whether they are secrets are always read. The
// digests lie in the user's cache directory, in agent/manifests, one file of
// at most 256 for a root, of mode 0600 in a directory of mode 0700. A file that
// is damaged, somebody else's or of another root or version is not used, nor
// one in the workspace itself, where a patch could write it. A scan that read
// less than 16 MiB or a thousand files, or a small part of that when there is a
// cache, leaves none. All of this is a matter of time only, so no error comes
// of it.
//
// To believe the cache is to believe the user: who can write it could as well
// write the workspace's files, and boxes see neither. A wrong digest
// would still not let a byte out, for readers compare; the cache is then
// forgotten. Nor would it cost a file: a promotion compares the bytes that it
// replaces, and never a digest of a scan.
//
// # What was frozen
//
// KeepFrozen and Frozen keep the manifest of the newest snapshot of a root, in
// a file beside those digests and believed under the same conditions. What it
// says of a snapshot counts only where one on the engine carries its Digest, so
// a wrong one leads to a new snapshot and to nothing else.
//
// # What outlives the workspace
//
// An Inventory is what a manifest says of the files, as text that is the same for the same
// content; with the contents by their digests, Rebuild makes the workspace of it
// again, in an empty directory. Nothing is believed of the text, which may come from
// elsewhere.
//
// # Changing
//
// A Changeset is the only form in which a change travels. Check refuses what
// may never be written, and CheckRepositories what would be a git repository
// together with the files that are there; Prepare looks at the host once more. Manifest.Unseen
// lists what of it no later scan would see. Reverse gives the changeset that
// undoes it, so an undo takes the same road with the same checks. What needs an
// approval is the business of verify/policy.
//
// # Promoting
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
// A writer takes the lock with Acquire, settles the past with Lock.Recover,
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
package workspace
