// Package forge describes the host of a git repository and of its pull requests, as the agent needs it: which forge a
// remote belongs to, the contract of its drivers, and the kinds of error on which a caller decides. The drivers are in
// packages of their own, one for each vendor; mirror holds the objects of a repository, and wire is the HTTP layer that
// drivers share.
//
// A forge's answers are data: titles, comments and logs are bounded where they are read, and decide nothing. The
// package also reads the history of a repository on the local machine, with the runner of package workspace/git, which
// treats that repository as hostile.
package forge
