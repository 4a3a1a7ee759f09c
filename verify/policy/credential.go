package policy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf16"

	"agent/sandbox/workspace"
	"agent/sandbox/workspace/secret"
	"agent/sandbox/workspace/secret/disguise"
)

// secretHolds lists the lines of a change that contain a credential that the file did not contain before, on any
// line. The reason names the rule and the line, never the value.
//
// Moving a line does not introduce it, and the patch is not to blame for a credential that the file already contained.
func secretHolds(c workspace.Change) (holds []Hold) {
	hold := func(f secret.Finding) {
		holds = append(holds, Hold{Path: c.Path, Kind: Secret, Block: true, Reason: fmt.Sprintf("Line %d holds what looks like %s.", f.Line, f.Rule)})
	}
	if rule, ok := secret.OfForm(c.Path); ok && c.Op != workspace.Delete {
		holds = append(holds, Hold{Path: c.Path, Kind: Secret, Block: true, Reason: fmt.Sprintf("Its name holds what looks like %s.", rule)})
	}
	if c.Op == workspace.Delete || bytes.Equal(c.Before, c.After) {
		return holds
	}
	before, after := decodedText(c.Before), decodedText(c.After)
	known := map[string]bool{}
	for line := range bytes.Lines(before) {
		known[string(bytes.TrimSpace(line))] = true
	}
	// Digests look random, and so does binary data: there only the formats of known issuers count.
	if lockFile(c.Path) || workspace.IsBinary(after) {
		n := 0
		for line := range bytes.Lines(after) {
			n++
			if rule, ok := secret.OfForm(string(line[:min(len(line), secret.MaxLine)])); ok && !known[string(bytes.TrimSpace(line))] {
				hold(secret.Finding{Rule: rule, Line: n})
			}
		}
		return holds
	}
	found := slices.Concat(secret.Find(after, known), disguise.Find(string(after), known))
	for _, f := range secret.Assigned(c.Path, after, known) {
		if !slices.ContainsFunc(found, func(other secret.Finding) bool { return other.Line == f.Line }) {
			found = append(found, f)
		}
	}
	for _, f := range found {
		hold(f)
	}
	return holds
}

// decodedText returns UTF-16 text, recognized by its byte order mark, as UTF-8, and any other text unchanged.
func decodedText(data []byte) []byte {
	order := binary.ByteOrder(binary.LittleEndian)
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return data
	}
	var units []uint16
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return []byte(string(utf16.Decode(units)))
}

// lockFile reports whether a file is by its nature full of digests.
func lockFile(name string) bool {
	base := strings.ToLower(path.Base(name))
	return strings.HasSuffix(base, ".lock") || strings.HasSuffix(base, "-lock.json") || strings.HasSuffix(base, "-lock.yaml") || base == "go.sum"
}
