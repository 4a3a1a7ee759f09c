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

// Clean makes any bytes acceptable to Postgres: broken UTF-8 and NUL become the replacement character. It changes nothing else; whoever
// prints the text deals with escape sequences.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Exact refuses a path that Clean would change: it cannot be kept as text and found again.
func Exact(path string) error {
	if !utf8.ValidString(path) || strings.ContainsRune(path, 0) {
		return errPathText
	}
	return nil
}

// CleanJSON encodes v for a jsonb column, with every string in it cleaned. The encoder repairs broken UTF-8 by itself but writes NUL as
// an escape, which jsonb refuses. A nil list becomes null, and is nil again when it is read.
func CleanJSON(v any) ([]byte, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if !strings.Contains(string(data), `\u0000`) {
		return data, nil // the encoder has already repaired broken UTF-8
	}
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	return json.Marshal(cleanTree(tree))
}

// cleanTree cleans every string in a decoded JSON document. The names in its objects are the agent's own and need no cleaning.
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

// CleanDocument returns a JSON document that jsonb accepts: without NUL, broken UTF-8 or halves of surrogate pairs. Go's decoder
// repairs all of these except NUL. Numbers stay as they are written. A document that has none of these, as nearly all do, is returned
// as it is, for the database to read.
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

// unkept matches the escapes of NUL and of surrogates, including whole pairs.
var unkept = lazyregexp.New(`\\u(0000|[dD])`)

// CleanAll returns a list with every text cleaned.
func CleanAll(list []string) []string {
	cleaned := make([]string, len(list))
	for i, s := range list {
		cleaned[i] = Clean(s)
	}
	return cleaned
}

// OrNull returns data for a nullable column: null if there is none.
func OrNull(data []byte) any {
	if len(data) == 0 {
		return nil
	}
	return data
}
