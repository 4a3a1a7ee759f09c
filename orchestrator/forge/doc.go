// Package forge is the host of a git repository and of its pull requests, as the agent needs
// it: which one a remote is, the contract that its drivers keep, and the kinds of error that a
// caller decides on. The drivers are in packages of their own, one a vendor; mirror holds the
// objects of a repository, and wire is the HTTP that drivers share.
//
// What a forge answers is data: titles, comments and logs are bounded where they are read, and
// decide nothing. It also reads the history of a repository on the host, by the runner of
// package workspace/git, which treats that repository as hostile.
package forge
