package batch

import (
	"bytes"
	"errors"
	"unicode/utf16"
	"unicode/utf8"
)

// A text is a string of a JSON stream that is returned exactly as it was received. Files are bytes, and some are not UTF-8:
// programs then write each invalid byte as the escape of half a surrogate pair, as Python does. Package encoding/json reads those
// as U+FFFD, and a file made from the answer would have lost them. A text keeps such a half as the three bytes that UTF-8 would
// have for it, which no valid text holds.
type text []byte

// errNoText is the error for a value that must be a string and is not.
var errNoText = errors.New("a string is wanted")

// UnmarshalJSON reads a value that package json found to be well formed.
func (t *text) UnmarshalJSON(value []byte) error {
	if len(value) < 2 || value[0] != '"' {
		return errNoText
	}
	*t = unquote(value[1 : len(value)-1])
	return nil
}

// unquote undoes the escapes of a well-formed JSON string without its quotes.
func unquote(s []byte) []byte {
	// No escape is shorter than the text it stands for, so this is enough room.
	out := make([]byte, 0, len(s))
	for {
		// The text between two escapes is copied at once: that is most of a file.
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
		// Two halves that belong together form one character.
		if utf16.IsSurrogate(r) && len(s) >= 6 && s[0] == '\\' && s[1] == 'u' {
			if pair := utf16.DecodeRune(r, hexRune(s[2:])); pair != utf8.RuneError {
				r, s = pair, s[6:]
			}
		}
		// Uses the formula for three bytes, which package utf8 refuses to apply here.
		if utf16.IsSurrogate(r) {
			out = append(out, 0xe0|byte(r>>12), 0x80|byte(r>>6)&0x3f, 0x80|byte(r)&0x3f)
		} else {
			out = utf8.AppendRune(out, r)
		}
	}
}

// plainEscape returns the byte that a backslash and c stand for, where c is not u.
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
	// Either case is allowed; package json has checked that they are digits.
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

// appendQuoted appends s to dst as a JSON string, the reverse of unquote. It escapes only what must be escaped. Package json would
// also escape <, > and &, and refuse to write the surrogate halves that a text keeps.
func appendQuoted[T ~string | ~[]byte](dst []byte, s T) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0 // the text from here to i is not copied yet and needs no escape
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		// A valid character beyond ASCII is written unchanged.
		n, code := 1, rune(c)
		if c >= utf8.RuneSelf {
			if code, n = decode(s[i:min(len(s), i+utf8.UTFMax)]); code == 0 {
				i += n
				continue
			}
		}
		dst = append(dst, s[from:i]...)
		// Most escapes in texts are the short ones.
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

// decode examines the character at the start of s, which is not ASCII. n is its length, and code is 0 if it can appear in JSON
// unchanged. Otherwise code is the half of a surrogate pair that unquote kept, or U+FFFD for an invalid byte.
func decode[T ~string | ~[]byte](s T) (code rune, n int) {
	// A copy, since a value of a type parameter cannot be passed to package utf8.
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
