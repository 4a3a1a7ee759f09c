package match

import (
	"bytes"
	"slices"

	"agent/orchestrator/edit/document"
	"agent/orchestrator/edit/parse"
)

// A Match is an operation with its places in a file, ready to be applied.
//
// Most matches have one place and one splice. A block with elisions has a place for each piece, and a block that changes lines at
// both ends of its context has two splices in one place.
type Match struct {
	Op      *parse.Operation
	Places  []Place
	Splices []Splice
	ends    *bool // whether the file then ends in a newline; nil if nothing decides that
}

// Strategy returns the name of the strategy that is reported to the caller.
func (m *Match) Strategy() Strategy {
	if m.Op.Hunk != nil {
		return Hunk
	}
	return m.Places[0].Strategy
}

// Find locates an operation. If SEARCH is not found with a Markdown fence around the bodies, it tries without the fence.
//
// Fences are removed only where they cannot be text: from a REPLACE for a language without fences, and from both bodies if SEARCH
// is nowhere with them.
func Find(d *document.Document, op *parse.Operation) Finding {
	search, replace := op.Search, op.Replace
	if _, both := parse.Unfence(search); !both && op.Hunk == nil && !d.Lang.Fenced() {
		replace, _ = parse.Unfence(replace) // code does not begin and end with a fence
	}
	f := locate(d, search, replace)
	if op.Hunk != nil || len(f.Places)+len(f.Ambiguous) > 0 {
		return choose(op, d, replace, f)
	}
	inner, ok := parse.Unfence(search)
	if !ok || op.Every {
		return f
	}
	replace, both := parse.Unfence(replace)
	if !both && d.Lang.Fenced() {
		return f // SEARCH begins and ends with fences of the text
	}
	return locate(d, inner, replace)
}

// Endings decides about the newline at the end of the file, for an operation that reaches it: as the file had it, or as a diff
// says.
//
// A block that removes lines up to the end and puts none there says nothing about the line before them, which stays as it is.
func Endings(op *parse.Operation, d *document.Document, m *Match) {
	last := m.Places[len(m.Places)-1]
	if last.Hi != d.Len() || len(last.Replace) == 0 {
		return // the last line is not the block's
	}
	ends := d.End(d.Len()-1) != ""
	if h := op.Hunk; h != nil && (h.OldNoEOL || h.NewNoEOL) {
		ends = !h.NewNoEOL
	}
	m.ends = &ends
}

// Merge returns the text with all matches applied, including the byte order mark.
//
// Text between two splices is copied as one slice of the original, so nothing outside them can change.
func Merge(d *document.Document, found []*Match) []byte {
	all := Sorted(found)
	size := len(d.Mark) + len(d.Text) + len(d.EOL)
	for _, s := range all {
		size += len(s.Text)
	}
	out := make([]byte, 0, size)
	out = append(out, d.Mark...)
	at := 0
	for _, s := range all {
		out = append(out, d.Text[d.Off[at]:d.Off[s.Lo]]...)
		if s.Text != "" && s.Lo > 0 && s.Lo == d.Len() && d.End(s.Lo-1) == "" {
			out = append(out, d.EOL...) // lines added after a last line that had no newline
		}
		out = append(out, s.Text...)
		at = s.Hi
	}
	out = append(out, d.Text[d.Off[at]:]...)
	for _, m := range found {
		if m.ends != nil {
			out = endWith(d, out, *m.ends)
		}
	}
	return out
}

// endWith returns the text with one newline at its end, or with none.
//
// A missing newline after the last line is a property of the file, not of the line: the line that comes last inherits it.
func endWith(d *document.Document, text []byte, newline bool) []byte {
	has := len(text) > 0 && text[len(text)-1] == d.Sep
	switch {
	case newline && !has && string(text) != d.Mark:
		return append(text, d.EOL...)
	case !newline && has && d.Sep == '\n':
		return bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	case !newline && has:
		return bytes.TrimSuffix(text, []byte("\r"))
	}
	return text
}

// Sorted returns the splices of all matches in the order of the file.
//
// Of two that begin at one line, the shorter comes first: an insertion before a line is written before the replacement of that
// line.
func Sorted(found []*Match) []Splice {
	n := 0
	for _, m := range found {
		n += len(m.Splices)
	}
	all := make([]Splice, 0, n)
	for _, m := range found {
		all = append(all, m.Splices...)
	}
	slices.SortStableFunc(all, func(a, b Splice) int {
		if a.Lo != b.Lo {
			return a.Lo - b.Lo
		}
		return a.Hi - b.Hi
	})
	return all
}
