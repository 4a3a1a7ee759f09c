// Package workspace owns what is read from the user's directory and what may be written to it. Package promotion below
// it makes a write survive a crash. It knows nothing of containers, models or databases.
//
// # Reading
//
// Scan walks a directory without following a link and digests every regular file. A snapshot is built from the result,
// a [Manifest], and a promotion is checked against it. Scan silently leaves out what everyone expects to be left out:
//
//   - .git, wherever it is, and .agent at the root;
//   - what git ignores, by the .gitignore files, the repository's
//     info/exclude and its index (a tracked file is never ignored). The user's
//     global ignore file does not count. Scan asks the git program, with a
//     neutral configuration: it never reads the repository's own, so that no
//     hook or monitor in it can run. A nested repository is asked about itself;
//   - virtual environments (any directory with pyvenv.cfg or an activate
//     script; autovenv), installed dependencies (node_modules and the like), caches of
//     tools, byte code, editor directories (.vscode, .idea) and droppings. The
//     lists are in leftout.go. build and dist stay: where git does not ignore them they are sources;
//   - what matches the exclude patterns, which have the syntax of a .dockerignore file.
//
// Scan leaves out, but always reports: secrets (.env, private keys, .netrc and the like, by name or by content), FIFOs,
// sockets, devices, and names that are not UTF-8. A key among tests does not count as a secret if git has the same
// content: the tests need it.
//
// Scan does not trust size and time of modification: an editor or a tool may restore both. It tries a file that changes
// while it is read up to eight times, and then refuses it. It does the same with a file that was changed so recently
// that the change may still be going on: the kernel stamps a file before it copies what is written. A file that a
// process may have open for writing is read twice, and only once its stamp is 200 ms old. A later read through the
// Manifest returns the digested bytes or a *ChangedError, never other bytes.
//
// # Scanning again
//
// Scan reads every byte. Rescan looks at every file, and reads those for which its own earlier result does not vouch.
// It takes over a digest if mode, size, time of modification, time of status change, inode and device are the same, and
// the time of status change, which no program can set, proves it:
//
//   - it was more than two seconds old when the earlier scan began, and is so
//     by today's clock: a change within one tick of a clock leaves no trace;
//   - no process had the file open for writing, or mapped for writing, when it was read,
//     as a read lease shows: the kernel stamps the first store to a mapped page
//     and no later one. Without a lease, as on other users' files, it is read;
//   - the file system is ext4, XFS, Btrfs or F2FS. Others, and all network file
//     systems, stamp less, or by another clock.
//
// Files whose content decides whether they are secrets are always read. The digests are in the user's cache directory,
// in agent/manifests: one file for a root, at most 256 in all, of mode 0600 in a directory of mode 0700. Rescan does
// not use a file that is damaged, belongs to another user, or is about another root or version, nor one in the
// workspace itself, where a patch could write it. A scan that read less than 16 MiB or a thousand files, or a small
// part of that if there is a cache, writes none. All of this affects only time, so no error comes of it.
//
// Trusting the cache means trusting the user: anyone who can write it could as well write the workspace's files, and
// boxes see neither. A wrong digest would still not let a byte out, since readers compare; they then remove the cache.
// Nor would it cost a file: a promotion compares the bytes that it replaces, and never a digest of a scan.
//
// # What was frozen
//
// KeepFrozen and Frozen keep the manifest of the newest snapshot of a root, in a file next to those digests that is
// trusted under the same conditions. What it says of a snapshot counts only if one on the engine carries its Digest, so
// a wrong manifest only leads to a new snapshot.
//
// # What outlives the workspace
//
// An inventory is what a manifest says of the files, as text that is the same for the same content. From it and the
// contents by their digests, Rebuild makes the workspace again, in an empty directory. Rebuild trusts nothing in the
// text, which may come from elsewhere.
//
// # Changing
//
// A [Changeset] is the only form in which a change travels. Check refuses what may never be written. CheckRepositories
// refuses what would form a git repository together with the files that exist; a promotion checks the host once more.
// Manifest.Unseen lists the parts of a changeset that no later scan would see. Reverse returns the changeset that
// undoes it, so an undo takes the same path with the same checks. Package verify/policy decides what needs an approval.
package workspace
