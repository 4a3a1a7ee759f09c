package runs

import "strings"

// intentRoom is how many columns of a terminal the intents of runs should have at least:
// without one a run is known only by its name.
const intentRoom = 20

// narrowed leaves columns out of the table of runs until the intents have room on a
// terminal of so many columns, those first that can be done without. The first line
// names the columns and says where each begins.
func narrowed(lines []string, columns int) []string {
	for _, name := range []string{"WORKSPACE", "SECONDS", "STARTED", "VERDICT"} {
		at, intent := strings.Index(lines[0], name), strings.Index(lines[0], "INTENT")
		if at < 0 || intent < 0 || name != "WORKSPACE" && columns-intent >= intentRoom {
			continue
		}
		// With the workspaces all of the table may fit.
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
