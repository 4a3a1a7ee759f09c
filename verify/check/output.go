package check

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
)

// MaxTail is how much of a tool's output a gate keeps, in bytes; MaxMessage is how much of one message it keeps.
const (
	MaxTail    = 4 << 10
	MaxMessage = 1 << 10
)

// escapes matches terminal sequences: CSI, OSC up to its terminator, and the short forms (ECMA-48, 8.3).
var escapes = lazyregexp.New("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")

// Clean makes text that a program wrote safe to show. It removes terminal escapes and control characters and replaces
// invalid UTF-8. It also removes directional overrides, which make text read as something else.
func Clean(b []byte) string {
	text := escapes.ReplaceAllString(strings.ToValidUTF8(string(b), "\uFFFD"), "")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			// A progress bar returns to the start of its line. As separate lines, every state can be read and none
			// hides the previous one.
			return '\n'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, text)
}

// Tail returns the end of text, at most n bytes, starting at the beginning of a line if that costs little.
func Tail(text string, n int) string {
	text = strings.TrimRight(text, " \t\n")
	if len(text) <= n {
		return text
	}
	text = text[len(text)-n:]
	// The cut may be inside a rune.
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < n/4 {
		text = text[i+1:]
	}
	return text
}

// Shorten bounds the length of a message and puts it on one line, so that no message can look like several in a list.
func Shorten(text string) string {
	text = strings.Join(strings.Fields(Clean([]byte(text))), " ")
	if len(text) <= MaxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:MaxMessage], "") + " …"
}

// Shown returns what a person sees of a command: the end of what it wrote, stderr last because errors are reported
// there.
func Shown(res guest.Result) string {
	out := bytes.TrimSpace(Bytes(res.Stdout))
	err := bytes.TrimSpace(Bytes(res.Stderr))
	return Tail(Clean(bytes.TrimSpace(bytes.Join([][]byte{out, err}, []byte("\n")))), MaxTail)
}

// Bytes returns what was kept of a stream, without the note about dropped bytes: a parser must never read text that the
// agent wrote.
func Bytes(o guest.Output) []byte {
	// The newline keeps a cut line from running into the first one kept.
	if len(o.Tail) == 0 {
		return o.Head
	}
	return append(append(bytes.Clone(o.Head), '\n'), o.Tail...)
}

// FirstLine returns the first line of text that is not blank.
func FirstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// Link returns raw if it is an https address that may be shown and followed, and "" otherwise. A tool's own word is not
// enough, because it works on content from the patch.
func Link(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(raw) > MaxMessage {
		return ""
	}
	// An address is plain ASCII (RFC 3986); anything else only looks like one.
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return raw
}

// MaxToolOutput is how much of a tool's list of findings is read, in bytes. A workspace with more is not judged by that
// tool.
const MaxToolOutput = 16 << 20

// Join joins the texts that are not empty.
func Join(texts []string, between string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), between)
}

// LastLine returns the last line of text that is not blank.
func LastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
