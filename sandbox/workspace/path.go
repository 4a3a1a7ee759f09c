package workspace

import (
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A PathError says why a path is refused.
type PathError struct{ Path, Reason string }

// Error names the path and the reason.
func (e *PathError) Error() string { return "path " + e.Path + ": " + e.Reason }

// Limits of Linux file systems, in bytes.
const (
	// PATH_MAX less the final NUL.
	maxPath = 4095
	// NAME_MAX.
	maxName = 255
)

// CheckPath reports why path may not be written in any workspace: not local, a
// backslash or control character, a part named .git in any case, a secret file
// (.env, keys, .netrc …), .agent/, a whiteout name, a name that some file
// systems fold (trailing dot or space, device names, "a:b"). The error is a
// *PathError.
func CheckPath(name string) error {
	if reason := refusal(name); reason != "" {
		return &PathError{Path: name, Reason: reason}
	}
	return nil
}

// refusal is CheckPath without the wrapping.
func refusal(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case !utf8.ValidString(name):
		return "it is not UTF-8"
	case strings.ContainsRune(name, '\\'):
		return "it has a backslash: write parts with /"
	case strings.HasPrefix(name, "/"):
		return "it is absolute: write it relative to the workspace"
	case len(name) > maxPath:
		return "it is too long"
	// Only one way of writing a path is taken, so that two changes of one file
	// cannot hide behind two spellings.
	case path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "../"):
		return "it is not a plain path inside the workspace"
	}
	parts := strings.Split(name, "/")
	for _, part := range parts {
		if reason := partRefusal(part); reason != "" {
			return reason
		}
	}
	// Exports are written there by the agent itself, and the journal of the
	// very promotion that would write this path.
	if strings.EqualFold(parts[0], ".agent") {
		return ".agent belongs to the agent"
	}
	if isSecret(name) {
		return "it is a place for secrets"
	}
	return ""
}

// partRefusal judges one part of a path.
func partRefusal(part string) string {
	if strings.ContainsFunc(part, isHidden) {
		return "it has a control or invisible character"
	}
	// NTFS knows .git as git~1 too, and HFS+ drops the characters that
	// isHidden finds.
	lower := strings.ToLower(part)
	stem, _, _ := strings.Cut(lower, ".")
	switch {
	case lower == ".git" || lower == "git~1":
		return "it is in .git, which is git's own"
	case strings.HasPrefix(lower, ".wh."):
		return "its name starts with .wh., which deletes files in container layers"
	case strings.HasPrefix(lower, SlotPrefix):
		return "its name starts with " + SlotPrefix + ", which is the agent's own"
	case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") || strings.HasPrefix(part, " "):
		return "a part begins or ends with a space or ends with a dot, which some systems drop"
	case strings.Contains(part, ":"):
		return "it has a colon, which some systems take for a drive or a stream"
	case slices.Contains(deviceNames, stem):
		return "a part is a device name on some systems"
	case len(part) > maxName:
		return "a part is longer than 255 bytes"
	}
	return ""
}

// deviceNames are those that Windows reserves with any extension. Source:
// "Naming Files, Paths, and Namespaces" in Microsoft's documentation of Win32.
var deviceNames = []string{
	"con", "prn", "aux", "nul", "conin$", "conout$",
	"com0", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt0", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
}

// isHidden reports characters that a person does not see in a name: control
// characters, and format characters such as those that reverse the direction.
func isHidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
