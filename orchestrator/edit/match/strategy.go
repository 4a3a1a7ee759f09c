package match

// A Strategy is how a block's SEARCH found its place, in order of trust.
type Strategy string

// The strategies. Create, Delete, Rename and Diff hunks have their own names in Applied.
const (
	Exact       Strategy = "exact"       // whole lines, byte for byte
	Stripped    Strategy = "stripped"    // outer blank lines, trailing space and line ends aside
	Normalised  Strategy = "normalised"  // Unicode punctuation and spaces, blank lines and comments of the language aside
	Indentation Strategy = "indentation" // one uniform shift of the indentation
	Robust      Strategy = "robust"      // elided or reflowed lines with equal tokens
	Chained     Strategy = "chained"     // exact, in the result of the blocks before it
)

// The names of what has no SEARCH to match.
const (
	Creation Strategy = "create"  // a new file
	Deletion Strategy = "delete"  // a file removed
	Renaming Strategy = "rename"  // a file moved
	Content  Strategy = "content" // a whole file given anew
	Hunk     Strategy = "diff"    // a hunk of a diff or a chunk of a patch, located by its content
	ModeBits Strategy = "mode"    // only the execute bit
)
