package parse

import (
	"strings"

	"agent/orchestrator/edit/lex"
)

// An OpKind is what an operation does.
type OpKind int

const (
	OpEdit    OpKind = iota // replace the lines search by the lines replace
	OpCreate                // a new file from text
	OpDelete                // remove the file; search, when given, is its content
	OpRename                // move from to path
	OpWhole                 // the whole content of a file that is there, from text
	OpMode                  // only the execute bit
	OpWrite                 // OpWhole, or OpCreate where there is no file
	OpAppend                // the lines replace after the last one
	OpPrepend               // the lines replace before the first one
)

// An Operation is one thing that a response asks for, the same whichever form
// it was written in. Bodies are lines without their ends.
//
// The parsers fill in what their form can say and leave the rest alone;
// whatever comes after them asks for kind and fields, never for the form. A
// new form is a new parser, and nothing else.
type Operation struct {
	Block    int    // from 1, in the order of the response
	Kind     OpKind //
	Path     string // as written; "" when the response names none
	From     string // for OpRename, as written
	Search   []string
	Replace  []string
	Text     string // for OpCreate and OpWhole: the content, byte for byte
	Exec     *bool  // the execute bit when the response sets it
	Hunk     *Hunk  // set when the operation comes from a unified diff
	Above    string // the text above the block, when path is that of the block before
	Prefixed string // path as a diff wrote it, with its "a/" or "b/"; "" elsewhere

	// What a form says of the place beyond the lines; see the hints of match.
	Line   int      // where search begins, from 1; 0 when the form does not say
	Under  []string // lines that head the section in which it stands, outermost first
	Ending bool     // search ends where the file ends
	Every  bool     // search is meant wherever it stands
	Doubt  bool     // text may be a part of the file shown under its name, not all of it
}

// A Hunk is what a unified diff knows about an edit beyond its lines.
type Hunk struct {
	Line     int  // first old line by the header, from 1; 0 when unknown
	Trusted  bool // the header's counts are those of the body
	OldNoEOL bool // the last old line has no newline at its end
	NewNoEOL bool // the last new line has none

	// Which old and new lines end in "\r\n"; nil when none do, or when all of the diff does.
	OldCR, NewCR []bool
}

// SplitBody cuts a body into lines without their ends. A final newline ends
// the last line rather than beginning another, so "" is no line at all and
// "\n" is one blank line.
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

// tagBody returns the body between two tags: one newline after the opening
// tag goes, and so does the space before a closing tag that is on its own
// line. Nothing else is touched.
//
// So <SEARCH>\n x\n</SEARCH> and <SEARCH> x</SEARCH> have the same body but
// for the final newline, which SplitBody does not count. Indentation of the
// first line and blank lines are text.
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

// Unfence removes a Markdown fence that encloses the whole body, and reports
// whether there was one. The closing fence must be as long as the opening one.
//
// A fence is a line of three or more backquotes or tildes; the opening one
// may name a language. Bodies that only begin or only end with one are left
// as they are.
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

// JoinLines makes a text of lines, each ended by a newline.
func JoinLines(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// BlockNumbers returns the blocks that operations are, in their order.
func BlockNumbers(ops []*Operation) []int {
	out := make([]int, len(ops))
	for i, op := range ops {
		out[i] = op.Block
	}
	return out
}
