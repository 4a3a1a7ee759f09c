// Package workspace owns what is read from the user's directory and what may be written
// to it; how a write survives a crash is the business of promotion below it.
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
// by name or by content), FIFOs, sockets, devices, names that are not UTF-8. A key
// among tests is none where git has it as it is: the tests need it.
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
// together with the files that are there; a promotion looks at the host once more. Manifest.Unseen
// lists what of it no later scan would see. Reverse gives the changeset that
// undoes it, so an undo takes the same road with the same checks. What needs an
// approval is the business of verify/policy.
package workspace
