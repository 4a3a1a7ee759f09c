package agent

import (
	"fmt"
	"strings"
	"time"
)

// An Entry is one promotion in the history of a workspace.
type Entry struct {
	At   time.Time
	Path string
	Diff string
}

// The bounds of a diff in the history, as in the original: a longer one keeps its first and last lines.
const (
	wholeDiff = 20
	diffEnds  = 5
	recent    = 3
)

// truncated marks the place where a diff was shortened.
const truncated = "[TRUNCATED FOR MEMORY]"

// Markdown returns the entry as HISTORY.md shows it. Only promotions are entered, after their verdict: a patch that did
// not pass has not happened.
func (e Entry) Markdown() string {
	lines := strings.Split(strings.TrimSuffix(e.Diff, "\n"), "\n")
	if len(lines) > wholeDiff {
		short := append([]string{}, lines[:diffEnds]...)
		lines = append(append(short, truncated), lines[len(lines)-diffEnds:]...)
	}
	fence := "```"
	for strings.Contains(e.Diff, fence) {
		fence += "`"
	}
	return fmt.Sprintf("## %s - `%s`\n\n%sdiff\n%s\n%s\n", e.At.UTC().Format(time.DateTime), oneLine(e.Path), fence, strings.Join(lines, "\n"), fence)
}

// Recent returns the last three entries for a prompt, the newest last.
func Recent(entries []Entry) string {
	var b strings.Builder
	for _, e := range entries[max(0, len(entries)-recent):] {
		b.WriteString(e.Markdown())
		b.WriteString("\n")
	}
	return b.String()
}
