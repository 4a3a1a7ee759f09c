package workspace

import (
	"fmt"
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

// CheckPath reports why path may not be written in any workspace: it is not local; it has a backslash or control
// character, or a part by which version control knows a working copy (.git, .hg, .jj …) in any spelling; it is a secret
// file (.env, keys, .netrc …), in .agent/ or a whiteout name; or some file systems fold the name (trailing dot or
// space, device names, "a:b"). The error is a *PathError.
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
		return fmt.Sprintf("it has %d bytes, and a path may have %d", len(name), maxPath)
	// Only one spelling of a path is accepted, so that two changes of one file cannot hide behind two spellings.
	case path.Clean(name) != name || name == "." || name == ".." || strings.HasPrefix(name, "../"):
		return "it is not a plain path inside the workspace"
	}
	parts := strings.Split(name, "/")
	for _, part := range parts {
		if reason := partRefusal(part); reason != "" {
			return reason
		}
	}
	// The agent itself writes exports there, and the staged files of the very promotion that would write this path.
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
	if name := controls(part); name != "" {
		return "it is in " + name + ", which is " + controlNames[name] + "'s own"
	}
	lower := strings.ToLower(part)
	stem, _, _ := strings.Cut(lower, ".")
	switch {
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

// controlNames are the names by which a version control system recognises a working copy anywhere. For these the name
// is all that counts: the next command of that system reads settings, hooks or extensions there, which name programs.
// Repositories that need no such name are in repository.go.
var controlNames = map[string]string{
	".git": "git", ".hg": "Mercurial", ".svn": "Subversion", ".bzr": "Bazaar", ".jj": "Jujutsu", ".sl": "Sapling",
	".pijul": "Pijul", "_darcs": "Darcs", ".fslckout": "Fossil", "_fossil_": "Fossil",
}

// controls returns the one of these names that some file system takes part for, or "" for none. NTFS also knows .git as
// git~1, some file systems take ſ for s as Fold does, and HFS+ drops the characters that isHidden finds.
func controls(part string) string {
	folded := Fold(part)
	if controlNames[folded] != "" {
		return folded
	}
	short, ok := strings.CutSuffix(folded, "~1")
	if !ok {
		return ""
	}
	for name := range controlNames {
		// Six characters of it, without the dot: [MS-FSCC] 2.1.5.2.1.
		if bare := strings.TrimPrefix(name, "."); bare[:min(len(bare), 6)] == short {
			return name
		}
	}
	return ""
}

// deviceNames are the names that Windows reserves with any extension. Source: "Naming Files, Paths, and Namespaces" in
// Microsoft's documentation of Win32.
var deviceNames = []string{
	"con", "prn", "aux", "nul", "conin$", "conout$",
	"com0", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt0", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9",
}

// isHidden reports whether r is a character that a person does not see in a name: a control character, or a format
// character such as those that reverse the direction.
func isHidden(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}
