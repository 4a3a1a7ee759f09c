// Package directive reads the orders that a person left for a loop from a file of the workspace.
package directive

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"agent/orchestrator/agent"
	"agent/orchestrator/tournament"
)

// maxDirectives bounds the size of that file, in bytes.
const maxDirectives = 64 << 10

// A Directive is one order of a person, an item of the list in DirectivesFile.
type Directive struct {
	// Text is the item with white space collapsed. It identifies the directive, so that another wording is another order.
	Text string
	// Path is the text before a colon, "" for none. It aims at a file only if that exists; otherwise it is part of the sentence.
	Path string
	// Rest is Text without Path.
	Rest string
}

// List returns the directives of the workspace at root that are not marked as done, in their order; none if there is no file.
//
// A file that cannot be trusted to be what the person wrote, such as a link, is an *agent.StopError: an order that is silently skipped
// looks obeyed.
func List(root string) ([]Directive, error) {
	text, err := readDirectives(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &agent.StopError{
			Message: "read " + tournament.DirectivesFile + ": " + err.Error(), Err: err,
			Next: "make it a regular file of at most 64 KiB of UTF-8, or move it away",
		}
	}
	return parseDirectives(text), nil
}

// readDirectives reads the file and nothing else: no link on the way, no device, no FIFO that nobody writes to.
func readDirectives(root string) (string, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return "", err
	}
	defer dir.Close() // it was only read
	above, err := dir.Lstat(path.Dir(tournament.DirectivesFile))
	if err != nil {
		return "", err
	}
	was, err := dir.Lstat(tournament.DirectivesFile)
	switch {
	case err != nil:
		return "", err
	case !above.IsDir() || !was.Mode().IsRegular():
		return "", errors.New("it is not a regular file, or is behind a link")
	}
	f, err := dir.OpenFile(tournament.DirectivesFile, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close() // it was only read
	// The file that was opened must be the one that was examined.
	if is, err := f.Stat(); err != nil || !os.SameFile(was, is) {
		return "", errors.New("it is being replaced")
	}
	text, err := io.ReadAll(io.LimitReader(f, maxDirectives+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > maxDirectives:
		return "", fmt.Errorf("it is larger than %d bytes", maxDirectives)
	case !utf8.Valid(text) || slices.Contains(text, 0):
		return "", errors.New("it is not UTF-8")
	}
	return string(text), nil
}

// parseDirectives reads the items of the lists in a Markdown text. An item continues in the indented lines below it. Text within a
// fence is an example.
func parseDirectives(text string) []Directive {
	var items []string
	fenced, open := false, false // within a fence; below an item that counts
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		item, marked := listItem(bare)
		switch {
		case strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~"):
			fenced, open = !fenced, false
		case fenced:
		case marked:
			if open = item != ""; open {
				items = append(items, item)
			}
		case bare != "" && open && strings.TrimLeft(line, " \t") != line:
			items[len(items)-1] += " " + bare
		default:
			open = false
		}
	}
	var list []Directive
	for _, item := range items {
		list = append(list, newDirective(item))
	}
	return list
}

// listItem returns the text of a line that is a list item, "" for one that is empty or checked off; ok is false for any other line.
func listItem(line string) (text string, ok bool) {
	marker, text, _ := strings.Cut(line, " ")
	if marker != "-" && marker != "*" && marker != "+" {
		return "", false
	}
	text = strings.TrimSpace(text)
	if _, done := cutAny(text, "[x]", "[X]"); done {
		return "", true
	}
	text, _ = cutAny(text, "[ ]", "[]")
	return strings.TrimSpace(text), true
}

// cutAny cuts the first prefix that matches.
func cutAny(s string, prefixes ...string) (rest string, found bool) {
	for _, p := range prefixes {
		if rest, found = strings.CutPrefix(s, p); found {
			return rest, true
		}
	}
	return s, false
}

// newDirective splits an item into its parts.
func newDirective(item string) Directive {
	d := Directive{Text: strings.Join(strings.Fields(item), " ")}
	if name, rest, ok := strings.Cut(d.Text, ": "); ok {
		d.Path, d.Rest = path.Clean(strings.Trim(name, "`\"'")), rest
	}
	return d
}
