// Package revision presents the recorded states of a git repository in the form of workspaces: a commit or the index as
// a manifest, and the difference between two of them as a changeset, for judgement by the same gates as a patch.
//
// It checks nothing out. It takes a file from disk if the revision has the same bytes, and the others from the object
// store, byte for byte. No filter of the repository runs, so a file kept by LFS is only its pointer. It fetches
// nothing. What a changeset cannot hold, such as a link, a submodule or a large file, becomes part of the state before,
// and is reported.
//
// It reads with the runner of package workspace/git, and writes nothing to the repository except the tree of an index
// that somebody is about to commit.
package revision
