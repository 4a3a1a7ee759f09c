package workspace

import (
	"fmt"
	"strings"
)

// Limits bound what Scan accepts, so that a scan of the wrong directory fails at once instead of hashing for an hour.
type Limits struct {
	// The maximum number of entries; 0 means 200,000.
	Files int
	// The maximum content in bytes; 0 means 1 GiB.
	Bytes int64
}

// The defaults of Limits.
const (
	maxFiles = 200_000
	maxBytes = 1 << 30
)

// A TooLargeError says that a workspace exceeds the Limits of a scan, which stopped there.
type TooLargeError struct {
	Limits Limits
	// Entries seen until then.
	Files int
	// Content seen until then.
	Bytes int64
	// The directories that hold the most, largest first, at most five.
	Largest []Usage
}

// Usage is what one directory, at most two levels deep, holds.
type Usage struct {
	Path  string
	Files int
	Bytes int64
}

// Error names the limit, the largest directories and the remedy.
func (e *TooLargeError) Error() string {
	var b strings.Builder
	if e.Files > e.Limits.Files {
		fmt.Fprintf(&b, "the workspace has more than %d files and directories", e.Limits.Files)
	} else {
		fmt.Fprintf(&b, "the workspace has more than %d MiB of content", e.Limits.Bytes>>20)
	}
	b.WriteString("; the largest directories so far:")
	for _, u := range e.Largest {
		fmt.Fprintf(&b, " %s (%d entries, %d MiB)", u.Path, u.Files, u.Bytes>>20)
	}
	b.WriteString("; leave out what is not source with exclude in agent.toml, or choose a smaller directory")
	return b.String()
}
