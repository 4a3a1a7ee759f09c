// Package revision shows what a git repository has recorded as workspaces are shown
// elsewhere: a commit or the index as a manifest, and what is between two of them as a
// changeset, to be judged by the same gates as a patch.
//
// Nothing is checked out. A file that is on disk as the revision has it is taken from there,
// the others come from the object store, byte for byte: no filter of the repository is run,
// so a file kept by LFS is the pointer to it. Nothing is fetched. What a changeset cannot
// hold, as a link, a submodule or a large file, is part of the state before, and named.
//
// It reads by the runner of package workspace/git, and writes nothing to the repository but
// the tree of an index that somebody is about to commit.
package revision
