// Package forge speaks to git and, later, to the host of pull requests.
//
// It reads a repository on the host by the git program, and treats that
// repository as hostile: its configuration can name programs that git would
// run, so each call sets aside every such setting, takes no configuration of
// the machine or the user, reaches no network and has a time limit. It writes
// nothing to a repository.
package forge
