package guest

// The limits of a box that a program meets as errors of its own, such as "no space left on device". Result.Reached
// names them, since the program's output seldom does.
const (
	ReachedProcesses = "processes"
	ReachedFileSize  = "the size of a file"
	ReachedWork      = "the size of /work"
	ReachedWorkFiles = "files in /work"
	ReachedTmp       = "the size of /tmp"
)

// reachable are the known limits, in the order in which they are reported.
var reachable = []string{ReachedProcesses, ReachedFileSize, ReachedWork, ReachedWorkFiles, ReachedTmp}
