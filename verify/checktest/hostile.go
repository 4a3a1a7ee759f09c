package checktest

import (
	"context"
	"strings"

	"pgregory.net/rapid"

	"agent/sandbox/guest"
)

// Hostile draws bytes as a program under test might write them: pieces of
// escapes, of the tools' own output, and anything else.
func Hostile() *rapid.Generator[[]byte] {
	pieces := rapid.OneOf(
		rapid.SampledFrom([]string{
			"\x1b[", "\x1b]0;", "\x07", "\x1b\\", "\x1b", "31m", "\r", "\r\n", "\n", "\x00", "\u202e", "\u009b", "\xff", "é",
			"Traceback (most recent call last):\n", "  File \"/work/a.py\", line 3, in f\n", "ValueError: x\n", "/work/a.js:2\n",
			`{"kind": "test", "id": "a::b", "outcome": "passed"}` + "\n", `{"kind": "finished", "status": 0}` + "\n", "{", "}", "null\n", "[]\n",
			`{"code": "F821", "filename": "/work/a.py", "message": "m", "location": {"row": -1, "column": 99999999999}}` + "\n",
			`{"file": "../../etc/passwd", "line": -3, "message": "m", "severity": "error"}` + "\n", "a.py:1: error: m  [x]\n", "mypy: error: \n",
		}),
		rapid.StringN(0, 8, 20),
	)
	return rapid.Custom(func(t *rapid.T) []byte {
		return []byte(strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), ""))
	})
}

// HostileResult draws the worst that a tool may have written, with any exit status.
func HostileResult(t *rapid.T) guest.Result {
	return guest.Result{
		Exit:   rapid.IntRange(0, 3).Draw(t, "exit"),
		Stdout: guest.Output{Head: Hostile().Draw(t, "stdout")},
		Stderr: guest.Output{Head: Hostile().Draw(t, "stderr")},
	}
}

// Row is what mypy knows from an earlier box.
type Row struct{ Packed []byte }

// Load implements check.CacheRow.
func (k *Row) Load(context.Context) []byte { return k.Packed }
