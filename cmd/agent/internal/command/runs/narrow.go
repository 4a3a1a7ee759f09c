package runs

import "strings"

// intentRoom is the minimum number of columns for the intents of runs on a terminal: without its intent a run is known
// only by its name.
const intentRoom = 20

// narrowed removes columns from the table of runs, the most dispensable first, until the intents have room on a
// terminal that is columns wide. The first line names the columns and says where each begins.
func narrowed(lines []string, columns int) []string {
	for _, name := range []string{"WORKSPACE", "SECONDS", "STARTED", "VERDICT"} {
		at, intent := strings.Index(lines[0], name), strings.Index(lines[0], "INTENT")
		if at < 0 || intent < 0 || name != "WORKSPACE" && columns-intent >= intentRoom {
			continue
		}
		// Even with the workspaces the whole table may fit.
		width := 0
		for _, line := range lines {
			width = max(width, len([]rune(line)))
		}
		if width <= columns {
			break
		}
		// The column ends where the next one begins.
		end := -1
		if rest := lines[0][at:]; strings.Contains(rest, "  ") {
			gap := strings.Index(rest, "  ")
			end = at + gap + len(rest[gap:]) - len(strings.TrimLeft(rest[gap:], " "))
		}
		for i, line := range lines {
			cells := []rune(line)
			kept := cells[:min(at, len(cells))]
			if end >= 0 && end < len(cells) {
				kept = append(kept[:len(kept):len(kept)], cells[end:]...)
			}
			lines[i] = strings.TrimRight(string(kept), " ")
		}
	}
	return lines
}
