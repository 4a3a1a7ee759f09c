package sandbox

import _ "embed" // for the profile

// boxProfile is what seccompProfile makes on Linux, from Docker's default profile, which
// its module has for Linux alone. A test keeps the two equal.
//
//go:embed seccomp_darwin.json
var boxProfile string

// seccompProfile returns the boxes' system call filter as JSON. Boxes run on the Linux of
// the engine.
func seccompProfile() (string, error) { return boxProfile, nil }
