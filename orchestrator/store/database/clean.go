package database

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"agent/sandbox/workspace/lazyregexp"
)

// errPathText refuses a path that the record could not give back exactly.
var errPathText = errors.New("path is not UTF-8 text")

// Clean makes any bytes acceptable to Postgres: broken UTF-8 and NUL become
// the replacement character. Nothing else is changed; escape sequences are the
// business of whoever prints.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Exact refuses what Clean would change: such a path cannot be kept as text
// and found again.
func Exact(path string) error {
	if !utf8.ValidString(path) || strings.ContainsRune(path, 0) {
		return errPathText
	}
	return nil
}

// CleanJSON encodes v for a jsonb column, every string in it cleaned. The
// encoder mends broken UTF-8 by itself but writes NUL as an escape, which
// jsonb refuses. A nil list becomes null, and is nil again when it is read.
func CleanJSON(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(string(data), `\u0000`) {
		return data, nil // the encoder has already mended broken UTF-8
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	return json.Marshal(cleanTree(tree))
}

// cleanTree cleans every string in a decoded JSON document. The names in its
// objects are ours and need none.
func cleanTree(v any) any {
	switch v := v.(type) {
	case string:
		return Clean(v)
	case []any:
		for i := range v {
			v[i] = cleanTree(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = cleanTree(v[k])
		}
	}
	return v
}

// CleanDocument returns a JSON document that jsonb takes: without NUL, broken
// UTF-8 or halves of surrogate pairs, which Go's decoder mends but for the
// first. Numbers stay as they are written. One that has none of these, as
// nearly all do, is left to the database to read.
func CleanDocument(doc []byte) ([]byte, error) {
	if utf8.Valid(doc) && !unkept.Match(doc) {
		return doc, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return nil, err
	}
	return json.Marshal(cleanTree(tree))
}

// unkept finds the escapes of NUL and of surrogates, whole pairs included.
var unkept = lazyregexp.New(`\\u(0000|[dD])`)

// CleanAll cleans every text of a list.
func CleanAll(list []string) []string {
	cleaned := make([]string, len(list))
	for i, s := range list {
		cleaned[i] = Clean(s)
	}
	return cleaned
}

// OrNull returns data for a column that may be null, which it is where there is
// none.
func OrNull(data []byte) any {
	if len(data) == 0 {
		return nil
	}
	return data
}
