package document

import (
	"strings"

	"agent/orchestrator/edit/lex"
)

// A ViewKind is a way to look at the lines of a file; each is looser than the one before.
type ViewKind int

const (
	whole       ViewKind = iota // as they are, except for the line ends
	TrimmedEnd                  // ignoring trailing space
	Loose                       // ignoring indentation, trailing space and Unicode punctuation
	LooseFilled                 // like Loose, without blank lines
	LooseCode                   // like Loose, without blank lines and comments
	viewKinds                   // the number of kinds
)

// A view is the lines of a file as numbers: lines that are equal in this view have equal numbers, so comparing windows reads no
// text.
//
// Numbering hashes every line, so it is done when a strategy first needs it, and mostly once: for the loose view. The two stricter
// views compare the text of the few places that the loose view finds. They number the lines themselves only for text so repetitive
// that there are many places. The view without blank lines takes the loose view's numbers for the lines it keeps; the one without
// comments has lines of its own.
type view struct {
	kind     ViewKind
	d        *Document
	sequence         // the lines that the view keeps; without numbers until built
	lines    []int32 // the line of the file that ids[i] stands for; nil if all are kept
}

// View returns the view of kind k.
func (d *Document) View(k ViewKind) *view {
	if d.views[k] == nil {
		d.views[k] = &view{kind: k, d: d}
	}
	return d.views[k]
}

// build numbers the lines on the first call.
func (v *view) build() *view {
	switch {
	case v.numbers != nil:
	case v.kind == LooseFilled:
		v.keepNonBlank(v.d.View(Loose).build())
	default:
		v.enumerate()
	}
	return v
}

// enumerate numbers the lines that the view keeps by their keys.
func (v *view) enumerate() {
	distinct := min(v.d.Len(), 4096) // a guess: the map grows as needed
	v.numbers, v.work = make(map[string]int32, distinct), v.d.Work
	v.first, v.count = make([]int32, 0, distinct), make([]int32, 0, distinct)
	v.ids = make([]int32, 0, v.d.Len())
	if v.kind == LooseCode {
		v.lines = make([]int32, 0, v.d.Len())
	}
	for i := range v.d.Len() {
		if v.kind == LooseCode {
			if lex.Blank(v.d.CodeLines()[i]) {
				continue
			}
			v.lines = append(v.lines, int32(i))
		}
		v.push(v.keyOf(i))
	}
}

// keepNonBlank takes the numbers in all for the lines that the view keeps. A file without any line to leave out is the same in both
// views.
//
// A number that only omitted lines have keeps a count of 0, which the method number checks.
func (v *view) keepNonBlank(all *view) {
	kept := 0
	for i := range all.ids {
		if !v.skips(v.d.Raw(i)) {
			kept++
		}
	}
	if kept == len(all.ids) {
		v.sequence = all.sequence
		return
	}
	v.numbers, v.work = all.numbers, all.work
	v.first, v.count = make([]int32, len(all.count)), make([]int32, len(all.count))
	v.ids, v.lines = make([]int32, 0, kept), make([]int32, 0, kept)
	for i, id := range all.ids {
		if v.skips(v.d.Raw(i)) {
			continue
		}
		if v.count[id]++; v.count[id] == 1 {
			v.first[id] = int32(len(v.ids))
		}
		v.ids, v.lines = append(v.ids, id), append(v.lines, int32(i))
	}
}

// keyOf returns the key of line i of the file.
func (v *view) keyOf(i int) string {
	switch v.kind {
	case LooseCode:
		return Loose.Key(v.d.CodeLines()[i])
	case Loose, LooseFilled:
		return Loose.Key(v.d.Raw(i)) // the line's end is space too
	}
	return v.kind.Key(v.d.Line(i))
}

// Line returns the line of the file that place i of the view stands for.
func (v *view) Line(i int) int {
	if v.lines == nil {
		return i
	}
	return int(v.lines[i])
}

// Window returns the lines of the file that n places from lo on stand for.
func (v *view) Window(lo, n int) []int32 {
	if v.lines != nil {
		return v.lines[lo : lo+n]
	}
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(lo + i)
	}
	return out
}

// skips reports whether the view leaves the line s out.
func (v *view) skips(s string) bool {
	return (v.kind == LooseFilled || v.kind == LooseCode) && lex.Blank(s)
}

// Key returns the part of the line s that views of kind k compare.
func (k ViewKind) Key(s string) string {
	switch k {
	case whole:
		return s
	case TrimmedEnd:
		return strings.TrimRight(s, " \t\r\f\v")
	}
	return strings.TrimSpace(lex.PlainUnicode(s))
}

// has reports whether the view holds the line s.
func (v *view) has(s string) bool {
	_, ok := v.build().number(v.kind.Key(s))
	return ok
}

// Numbers returns the lines of s that the view keeps, as numbers and as indexes into s; ok is false if one of them is not in the
// file at all or if none is left.
func (v *view) Numbers(s []string) (ids []int32, kept []int, ok bool) {
	v.build()
	if v.kind == LooseCode {
		s = v.d.Lang.Code(s)
	}
	ids, kept = make([]int32, 0, len(s)), make([]int, 0, len(s))
	for i, l := range s {
		if v.skips(l) {
			continue
		}
		id, known := v.number(v.kind.Key(l))
		if !known {
			return nil, nil, false
		}
		ids, kept = append(ids, id), append(kept, i)
	}
	return ids, kept, len(ids) > 0
}
