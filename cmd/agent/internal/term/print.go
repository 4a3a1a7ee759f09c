package term

import (
	"bytes"
	"encoding/json"
	"io"
)

// PrintJSON prints v as one document.
func PrintJSON(w io.Writer, v any) error {
	// A diff is full of < and &; escaped they would be unreadable and
	// no safer.
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Print collects what show writes and sends it to w at once, so that
// an error half-way leaves no half of an answer.
func Print(w io.Writer, show func(io.Writer) error) error {
	// A table or a run is small; a result that may be large is streamed
	// instead, see sql.
	var text bytes.Buffer
	if err := show(&text); err != nil {
		return err
	}
	_, err := w.Write(text.Bytes())
	return err
}

// PrintJSONLine prints v as one line of JSON.
//
// The loop prints one document a line, as they come; a reader need not wait for
// the end. Code and diffs stay legible, since nothing is escaped for HTML.
func PrintJSONLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
