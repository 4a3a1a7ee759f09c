// Package decode reads, for the ledger, what the scanner in a box found in files; the answer may be anything.
package decode

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/orchestrator/ledger"
)

// The bounds on a scan. The scanner enforces tighter ones for a file; these hold whatever it says.
const (
	// MaxFiles is the most files of one scan.
	MaxFiles = 100_000
	// maxRecord is the most bytes for one file, maxAnswer for all of one answer.
	maxRecord = 8 << 20
	maxAnswer = 1 << 30
	// maxParts is the most imports, definitions or references of one file, maxUses the lines of one reference.
	maxParts = 50_000
	maxUses  = 100
	// maxName and maxText are bytes; a character takes up to four.
	maxName = 800
	maxText = 1200
	maxLine = 1 << 24
)

// languages and kinds are the words that a scan may use.
var (
	languages = words("python javascript typescript go html css json shell module")
	kinds     = words("function method class type constant variable field selector id key package module")
)

// words returns the set of the words in s, and "". Any other word would travel through the ledger into prompts and
// reports, where an invented kind reads like a fact.
func words(s string) map[string]bool {
	set := map[string]bool{"": true}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}

// Files reads the scanner's answer, one JSON object on each line, about the files at the asked paths. The answer comes
// from a box in which hostile text was parsed: anything out of bounds, about another file, or repeated is an error. A
// path without an answer gets a file with a Problem, so that the result has all paths; it is sorted by path.
func Files(r io.Reader, asked []string) ([]ledger.File, error) {
	if len(asked) > MaxFiles {
		return nil, fmt.Errorf("scan of %d files, at most %d", len(asked), MaxFiles)
	}
	// The open paths: the first answer removes its path, so that a second one, which could contradict it, is refused.
	open := make(map[string]bool, len(asked))
	for _, p := range asked {
		open[p] = true
	}
	var files []ledger.File
	lines := bufio.NewScanner(io.LimitReader(r, maxAnswer))
	lines.Buffer(nil, maxRecord)
	for n := 1; lines.Scan(); n++ {
		// The JSON decoder silently replaces what is not UTF-8; two different names would then become one.
		if !utf8.Valid(lines.Bytes()) {
			return nil, fmt.Errorf("scan, line %d: not UTF-8", n)
		}
		f, err := decodeFile(lines.Bytes())
		if err != nil {
			return nil, fmt.Errorf("scan, line %d: %w", n, err)
		}
		if !open[f.Path] {
			return nil, fmt.Errorf("scan, line %d: %q was not asked for, or answered before", n, f.Path)
		}
		delete(open, f.Path)
		files = append(files, f)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the scan: %w", err)
	}
	// A scanner that died half-way must not look like a workspace whose files lost all their definitions: every user of
	// them would be sent to repair what is intact. A Problem says that nothing is known.
	for p := range open {
		files = append(files, ledger.File{Path: p, Problem: "the scanner gave no answer"})
	}
	slices.SortFunc(files, func(a, b ledger.File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// decodeFile reads one line. An unknown field is an error, since scanner and reader belong together. For example, it
// refuses {"path":"a.py","owner":"x"}: a newer scanner could mean something by "owner" that this reader must not
// ignore.
func decodeFile(line []byte) (ledger.File, error) {
	var f ledger.File
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return ledger.File{}, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return ledger.File{}, errors.New("more than one object")
	}
	if err := check(f); err != nil {
		return ledger.File{}, fmt.Errorf("%.100q: %w", f.Path, err)
	}
	// The scanner must not choose the order: binary search relies on it, and a wrong one would hide references.
	f.Sort()
	return f, nil
}

// check returns an error for the first thing in f that is out of bounds. It does not check the path: only a path that
// was asked for is accepted, and those are the caller's.
func check(f ledger.File) error {
	if n := max(len(f.Imports), len(f.Definitions), len(f.References)); n > maxParts {
		return fmt.Errorf("%d imports, definitions or references, at most %d", n, maxParts)
	}
	if !languages[f.Language] || f.Lines < 0 || f.Lines > maxLine || len(f.SHA256) > 64 || strings.Trim(f.SHA256, "0123456789abcdef") != "" {
		return fmt.Errorf("language %.20q, %d lines, digest %.70q", f.Language, f.Lines, f.SHA256)
	}
	if err := texts(maxText, f.Summary, f.Problem); err != nil {
		return err
	}
	for _, i := range f.Imports {
		if err := errors.Join(texts(maxName, i.Module, i.Name, i.Alias), within(i.Line, i.Line)); err != nil {
			return fmt.Errorf("import: %w", err)
		}
	}
	for _, d := range f.Definitions {
		if err := errors.Join(texts(maxName, d.Name, d.Parent, d.Digest), texts(maxText, d.Signature), within(d.Line, d.End)); err != nil {
			return fmt.Errorf("definition: %w", err)
		}
		// With an empty name, every rule that looks at the first character would read past the end.
		if d.Name == "" || d.Kind == "" || !kinds[d.Kind] {
			return fmt.Errorf("definition %.50q of kind %.50q", d.Name, d.Kind)
		}
	}
	for _, r := range f.References {
		if err := texts(maxName, r.Name, r.On); err != nil {
			return fmt.Errorf("reference: %w", err)
		}
		if r.Name == "" || len(r.Lines) == 0 || len(r.Lines) > maxUses || !slices.IsSorted(r.Lines) || within(r.Lines[0], r.Lines[len(r.Lines)-1]) != nil {
			return fmt.Errorf("reference %.50q on %d lines", r.Name, len(r.Lines))
		}
	}
	return nil
}

// texts checks that each text is short and shows as what it is: no control characters, no directional overrides.
// "\u202e" before a name would show it backwards to the person who approves a change; an escape sequence could rewrite
// the screen.
func texts(limit int, list ...string) error {
	for _, s := range list {
		if len(s) > limit {
			return fmt.Errorf("text of %d bytes, at most %d", len(s), limit)
		}
		if i := strings.IndexFunc(s, hidden); i >= 0 {
			return fmt.Errorf("text with a hidden character at byte %d: %.50q", i, s)
		}
	}
	return nil
}

// hidden reports whether r changes how text is shown instead of being shown itself.
func hidden(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// within checks a range of lines, which count from 1. It checks both ends: a range that ends before it begins would cut
// nothing, or panic, where it is used.
func within(first, last int) error {
	if first < 1 || last < first || last > maxLine {
		return fmt.Errorf("lines %d to %d", first, last)
	}
	return nil
}
