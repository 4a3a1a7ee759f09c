package store

import (
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// errPathText refuses a path that the record could not give back exactly.
var errPathText = errors.New("path is not UTF-8 text")

// clean makes any bytes acceptable to Postgres: broken UTF-8 and NUL become
// the replacement character. Nothing else is changed; escape sequences are the
// business of whoever prints.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// exact refuses what clean would change: such a path cannot be kept as text
// and found again.
func exact(path string) error {
	if !utf8.ValidString(path) || strings.ContainsRune(path, 0) {
		return errPathText
	}
	return nil
}

// cleanJSON encodes v for a jsonb column, every string in it cleaned. The
// encoder mends broken UTF-8 by itself but writes NUL as an escape, which
// jsonb refuses. A nil list becomes null, and is nil again when it is read.
func cleanJSON(v any) ([]byte, error) {
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
		return clean(v)
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
