// Package forge speaks to git and, later, to the host of pull requests.
//
// It reads a repository on the host by the runner of package workspace/git, which
// treats that repository as hostile: its configuration can name programs that git
// would run. Each call has a bound of time and of output. It writes nothing to a
// repository.
package forge
