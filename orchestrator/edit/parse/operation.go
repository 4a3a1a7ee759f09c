package parse

import (
	"strings"

	"agent/orchestrator/edit/lex"
)

// An OpKind is the kind of an operation.
type OpKind int

const (
	OpEdit    OpKind = iota // replace the lines Search with the lines Replace
	OpCreate                // a new file from Text
	OpDelete                // remove the file; Search, if given, is its content
	OpRename                // move From to Path
	OpWhole                 // the whole content of an existing file, from Text
	OpMode                  // only the execute bit
	OpWrite                 // OpWhole, or OpCreate if the file does not exist
	OpAppend                // add the lines Replace after the last line
	OpPrepend               // add the lines Replace before the first line
)

// An Operation is one thing that a response asks for, the same in whichever form it was written. Bodies are lines without their
// ends.
//
// The parsers fill in what their form can express and leave the rest alone. The code after them looks at kind and fields, never at
// the form. A new form is a new parser and nothing else.
type Operation struct {
	Block    int    // from 1, in the order of the response
	Kind     OpKind //
	Path     string // as written; "" if the response names none
	From     string // for OpRename, as written
	Search   []string
	Replace  []string
	Text     string // for OpCreate and OpWhole: the content, byte for byte
	Exec     *bool  // the execute bit if the response sets it
	Hunk     *Hunk  // set if the operation comes from a unified diff
	Above    string // the text above the block, if Path is that of the block before
	Prefixed string // Path as a diff wrote it, with its "a/" or "b/"; "" elsewhere

	// What a form says about the place beyond the lines; see the hints of match.
	Line   int      // where Search begins, from 1; 0 if the form does not say
	Under  []string // lines that head the section of the block, outermost first
	Ending bool     // Search ends where the file ends
	Every  bool     // every occurrence of Search is meant
	Doubt  bool     // Text may be a part of the file shown below its name, not all of it
}

// A Hunk holds what a unified diff says about an edit beyond its lines.
type Hunk struct {
	Line     int  // first old line according to the header, from 1; 0 if unknown
	Trusted  bool // the header's counts match the body
	OldNoEOL bool // the last old line has no newline at its end
	NewNoEOL bool // the last new line has no newline at its end

	// Which old and new lines end in "\r\n"; nil if none do, or if the whole diff does.
	OldCR, NewCR []bool
}

// SplitBody divides a body into lines without their ends. A final newline ends the last line and does not begin another, so "" is
// no line at all and "\n" is one blank line.
func SplitBody(s string) []string {
	s = strings.TrimPrefix(s, lex.BOM)
	if s == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

// tagBody returns the body between two tags. It removes one newline after the opening tag, and the space before a closing tag that
// is on its own line. Nothing else is touched.
//
// So <SEARCH>\n x\n</SEARCH> and <SEARCH> x</SEARCH> have the same body except for the final newline, which SplitBody does not
// count. Indentation of the first line and blank lines are text.
func tagBody(s string) string {
	if rest, ok := strings.CutPrefix(s, "\n"); ok {
		s = rest
	} else if rest, ok := strings.CutPrefix(s, "\r\n"); ok {
		s = rest
	}
	if i := strings.LastIndexByte(s, '\n'); strings.Trim(s[i+1:], " \t") == "" {
		s = s[:i+1]
	}
	return s
}

// Unfence removes a Markdown fence that encloses the whole body, and reports whether there was one. The closing fence must be as
// long as the opening one.
//
// A fence is a line of three or more backquotes or tildes; the opening one may name a language. Bodies that only begin or only end
// with a fence stay unchanged.
func Unfence(lines []string) ([]string, bool) {
	lo, hi := lex.Outer(lines)
	if hi-lo < 2 {
		return lines, false
	}
	open, end := strings.TrimSpace(lines[lo]), strings.TrimSpace(lines[hi-1])
	mark := end
	if len(mark) < 3 || strings.Trim(mark, "`") != "" && strings.Trim(mark, "~") != "" {
		return lines, false
	}
	info, ok := strings.CutPrefix(open, mark)
	if !ok || strings.ContainsAny(info, "`") || strings.HasPrefix(info, mark[:1]) {
		return lines, false
	}
	return lines[lo+1 : hi-1], true
}

// JoinLines joins lines into a text, each ended by a newline.
func JoinLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// BlockNumbers returns the block numbers of the operations, in their order.
func BlockNumbers(ops []*Operation) []int {
	out := make([]int, len(ops))
	for i, op := range ops {
		out[i] = op.Block
	}
	return out
}
