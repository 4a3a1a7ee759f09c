package check

import "bytes"

// sources returns lines of a view's files and reads each file once. A finding carries its source line because that,
// unlike a line number, survives edits above it. It is not safe for concurrent use.
type sources struct {
	view View
	// lines is by path; nil for a file that cannot be read, so that it is tried only once.
	lines map[string][][]byte
}

// NewSources returns a reader of lines from the files of v.
func NewSources(v View) *sources { return &sources{view: v, lines: map[string][][]byte{}} }

// Line returns line n of the file at p, counted from 1 and trimmed; "" if there is none or it can no longer be read.
func (s *sources) Line(p string, n int) string {
	lines, ok := s.lines[p]
	if !ok && p != "" {
		data, err := s.view.Read(p)
		if err == nil {
			lines = bytes.Split(data, []byte("\n"))
		}
		s.lines[p] = lines
	}
	if n < 1 || n > len(lines) {
		return ""
	}
	return Shorten(string(lines[n-1]))
}

// Fill sets the source line of every finding.
func (s *sources) Fill(found []Finding) []Finding {
	for i, f := range found {
		found[i].Source = s.Line(f.File, f.Line)
	}
	return found
}
