package pull

import "strings"

// commandPrefix begins a comment that asks the agent for work.
const commandPrefix = "/agent"

// maxWord bounds how much of the command word is read, in bytes.
const maxWord = 32

// Command returns the word of a comment that asks the agent for work: its first line is /agent and one word, and
// nothing else. Text below that line is for people. ok says that it is such a comment, whatever its word.
func Command(text string) (word string, ok bool) {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	fields := strings.Fields(first)
	if len(fields) == 0 || fields[0] != commandPrefix {
		return "", false
	}
	if len(fields) != 2 || len(fields[1]) > maxWord {
		return "?", true
	}
	return strings.ToLower(fields[1]), true
}
