package sandbox

import _ "embed" // for the profile

// boxProfile is what seccompProfile returns on Linux. Docker's default profile, on which it is based, exists in its
// module for Linux alone. A test keeps the two equal.
//
//go:embed seccomp_darwin.json
var boxProfile string

// seccompProfile returns the boxes' system call filter as JSON. Boxes run on the engine's Linux.
func seccompProfile() (string, error) { return boxProfile, nil }
