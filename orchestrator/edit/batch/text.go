package batch

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// A text is a string of a JSON stream that comes back as it came. Files are
// bytes, and some are not UTF-8: programs then write each odd byte as the
// escape of half a surrogate pair, as Python does. Package encoding/json
// reads those as U+FFFD, and the file that is made of the answer would have
// lost them. In a text such a half is kept as the three bytes that UTF-8
// would have for it, which no valid text holds.
type text []byte

// errNoText is what a value that must be a string gives when it is none.
var errNoText = errors.New("a string is wanted")

// UnmarshalJSON reads a value that package json found to be well formed.
func (t *text) UnmarshalJSON(value []byte) error {
	if len(value) < 2 || value[0] != '"' {
		return errNoText
	}
	*t = unquote(value[1 : len(value)-1])
	return nil
}

// unquote undoes the escapes of a JSON string without its quotes. The
// string is well formed.
func unquote(s []byte) []byte {
	// No escape is shorter than what it stands for, so this is room enough.
	out := make([]byte, 0, len(s))
	for {
		// What stands between two escapes is copied in one go: most of a
		// file is.
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(out, s...)
		}
		out = append(out, s[:i]...)
		if s[i+1] != 'u' {
			out = append(out, plainEscape(s[i+1]))
			s = s[i+2:]
			continue
		}
		r := hexRune(s[i+2:])
		s = s[i+6:]
		// Two halves that belong together are one character.
		if utf16.IsSurrogate(r) && len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
			if pair := utf16.DecodeRune(r, hexRune(s[2:])); pair != utf8.RuneError {
				r, s = pair, s[6:]
			}
		}
		// By the formula of three bytes, which package utf8 refuses here.
		if utf16.IsSurrogate(r) {
			out = append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
}

// plainEscape is what a backslash and c stand for, c not being u.
func plainEscape(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	}
	return c // the quote, the slash and the backslash stand for themselves
}

// hexRune reads the four digits of an escape.
func hexRune(s []byte) (r rune) {
	// Either case is allowed; that they are digits is known.
	for _, c := range s[:4] {
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		r = r<<4 | rune(c)
	}
	return r
}

// appendQuoted appends s to dst as a JSON string, the reverse of unquote.
// Only what must be escaped is.
// Package json would also escape <, > and &, and refuse to write the halves of
// characters that a text keeps.
func appendQuoted[T ~string | ~[]byte](dst []byte, s T) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0 // what stands before i and is not copied yet needs no escape
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		// A character beyond ASCII is written as it is, unless it is none.
		n, code := 1, rune(c)
		if c >= utf8.RuneSelf {
			if code, n = decode(s[i:min(len(s), i+utf8.UTFMax)]); code == 0 {
				i += n
				continue
			}
		}
		dst = append(dst, s[from:i]...)
		// The escapes that texts are full of are the short ones.
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', digits[code>>12&15], digits[code>>8&15], digits[code>>4&15], digits[code&15])
		}
		i += n
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// decode looks at the character at the start of s, which is not ASCII: n is
// its length, and code is 0 when it can stand in JSON as it is. It is the
// half of a surrogate pair that unquote kept, else U+FFFD for a byte that
// is no text at all.
func decode[T ~string | ~[]byte](s T) (code rune, n int) {
	// A copy, since a type parameter cannot be given to package utf8.
	var b [utf8.UTFMax]byte
	head := b[:copy(b[:], s)]
	if r, n := utf8.DecodeRune(head); r != utf8.RuneError || n > 1 {
		return 0, n
	}
	// ED A0 80 to ED BF BF are the bytes of U+D800 to U+DFFF.
	if len(head) > 2 && head[0] == 0xed && head[1] >= 0xa0 && head[1] <= 0xbf && head[2]&0xc0 == 0x80 {
		return 0xd000 | rune(head[1]&0x3f)<<6 | rune(head[2]&0x3f), 3
	}
	return utf8.RuneError, 1
}
