package workspace

// stamps is false: of no file system of this one it is known that a change through a
// mapping of a file's pages shows in its time of change.
func stamps(int) bool { return false }
