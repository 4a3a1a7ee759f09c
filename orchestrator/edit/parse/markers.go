package parse

import (
	"fmt"
	"strings"

	"agent/orchestrator/edit/lex"
	"agent/orchestrator/edit/problem"
	"agent/sandbox/workspace/lazyregexp"
)

// parseMarkers reads blocks between conflict markers:
//
//	shop/stock.py
//	<<<<<<< SEARCH
//	old lines
//	=======
//	new lines
//	>>>>>>> REPLACE
//
// A block without a file name above it means the file of the block before, unless the text above it turns out to mention another
// file: see pathFromProse in the package above.
//
// The number of the first old line may be above the old lines, as in ":start_line:12", with or without a line of dashes after it.
//
// The markers may be five to nine characters wide, with one width per block. This leaves a way out if the text itself holds lines
// of seven.
func parseMarkers(text string) ([]*Operation, error) {
	lines := strings.Split(text, "\n")
	var ops []*Operation
	var prose []string
	path, above, endless := "", 0, thoughts{}
	for i := 0; i < len(lines); i++ {
		if end := endless.pass(lines, i); end > i {
			i, above = end, end // a name in a thought does not name a file
		}
		width, ok := marker(lines[i], '<', " SEARCH")
		if !ok {
			if otherThan(markersForm, lines, i) {
				return nil, mixedForms()
			}
			prose = append(prose, lines[i])
			continue
		}
		said := strings.Join(lines[above:i], "\n")
		if name := pathLine(lastLines(lines[above:i], 3)); name != "" {
			path, said = name, ""
		}
		mid, end, err := markerEnds(lines, i, width, len(ops)+1)
		if err != nil {
			return nil, err
		}
		old, line := markerLine(lines[i+1 : mid])
		ops = append(ops, &Operation{Kind: OpEdit, Path: path, Above: said, Line: line, Search: body(old), Replace: body(lines[mid+1 : end])})
		i, above = end, end+1
	}
	text = strings.Join(prose, "\n")
	if holdsPatch(text, 0, len(text), nil) {
		return nil, mixedForms()
	}
	if len(ops) > 0 && beginsMarker(lastLine(text)) {
		return nil, problem.Refuse(problem.Problem{
			Block: len(ops) + 1, Kind: problem.KindTruncated, Reason: "the response ends in the marker of one more block: it was cut off", Advice: "send the whole response again",
		})
	}
	return ops, nil
}

// Lines that some tools put above the old lines of a block: the number at which those begin, and the divider after it.
var (
	markerNumber  = lazyregexp.New(`^:(start_line|end_line|line):[ \t]*(\d+)[ \t\r]*$`)
	markerDivider = lazyregexp.New(`^-{5,9}[ \t\r]*$`)
)

// markerLine cuts such lines off the old lines of a block, and returns the line at which those begin, or 0 if it is not given. A
// line of dashes counts only below a number: alone it is text.
func markerLine(old []string) (rest []string, line int) {
	n := 0
	for ; n < len(old); n++ {
		m := markerNumber.FindStringSubmatch(old[n])
		if m == nil {
			break
		}
		if m[1] != "end_line" {
			line = number(m[2], 0)
		}
	}
	if n > 0 && n < len(old) && markerDivider.MatchString(old[n]) {
		n++
	}
	return old[n:], line
}

// markerEnds returns the divider line and the end line of the block that begins at line i with a marker of that width.
//
// An underlined heading looks like a divider. Which of two such lines divides cannot be known, so the block is refused and not
// split at the first.
func markerEnds(lines []string, i, width, block int) (mid, end int, err error) {
	fault := func(kind, reason, advice string) error {
		return problem.Refuse(problem.Problem{Block: block, Kind: kind, Reason: reason, Advice: advice})
	}
	mid, dividers := 0, 0
	for k := i + 1; k < len(lines); k++ {
		if w, ok := marker(lines[k], '=', ""); ok && w == width {
			mid = k
			dividers++
		}
		if _, ok := marker(lines[k], '<', " SEARCH"); ok {
			break
		}
		if w, ok := marker(lines[k], '>', " REPLACE"); !ok || w != width {
			continue
		}
		switch {
		case dividers == 0:
			return 0, 0, fault(problem.KindParse, "the block has no divider", "put a line of "+strings.Repeat("=", width)+" between the old and the new lines")
		case dividers > 1:
			return 0, 0, fault(problem.KindParse, fmt.Sprintf("the block has %d lines that could be its divider", dividers),
				"send the change as a unified diff, or leave such lines out of the block")
		}
		return mid, k, nil
	}
	return 0, 0, fault(problem.KindTruncated, "the block is opened and never closed: the response was cut off", "send the whole response again")
}

// body returns lines as a body, without the carriage returns of the response and without the byte order mark of a file.
func body(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = strings.TrimSuffix(l, "\r")
	}
	if len(out) > 0 {
		out[0] = strings.TrimPrefix(out[0], lex.BOM) // the mark is not part of the first line
	}
	return out
}

// beginsMarker reports whether a line is a marker that was cut off: "<<<<", "<<<<<<< SEA".
func beginsMarker(s string) bool {
	s = strings.TrimPrefix(s, lex.BOM)
	rest := strings.TrimLeft(s, "<")
	return len(s) > len(rest) && len(s)-len(rest) <= 9 && (strings.HasPrefix(" SEARCH", rest) || strings.HasPrefix("SEARCH", rest))
}

// lastLine returns the last line of a text that is not blank, without trailing space.
func lastLine(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// lastLines joins the last n lines.
func lastLines(lines []string, n int) string {
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
