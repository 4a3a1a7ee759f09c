package parse

import (
	"fmt"
	"strings"

	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/problem"
)

// Limits on what Apply reads. They bound the work, so that no response can hold up a run; a person's patch is far below both.
const (
	MaxResponse = 16 << 20 // bytes of a response
	MaxBlocks   = 2000     // operations of a response
)

// TooMany returns the problem of a response with n operations, more than MaxBlocks.
func TooMany(n int) problem.Problem {
	return problem.Problem{Kind: problem.KindRefused, Reason: fmt.Sprintf("%d blocks are more than the %d that are read at once", n, MaxBlocks), Advice: "send the change in several responses"}
}

// CrowdedResponse refuses a response with too many short lines before it is divided into lines; it returns nil for any other. An
// escaped line end in JSON counts as a line end.
func CrowdedResponse(lines, size int) error {
	if !lex.Crowded(lines, size) {
		return nil
	}
	return problem.Refuse(problem.Problem{
		Kind: problem.KindRefused, Reason: fmt.Sprintf("the response has %d lines of %d bytes on average, more than are read at once", lines, size/lines),
		Advice: "send the change in several responses",
	})
}

// linesIn counts the line ends of a text, including those that JSON escapes.
func linesIn(text string) int { return strings.Count(text, "\n") + strings.Count(text, `\n`) }
