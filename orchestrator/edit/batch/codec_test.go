package batch

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// Every escape of JSON is undone, alone and next to others. The strings are given without quotes, as unquote takes them.
func TestEveryEscapeIsUndone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{``, ""},
		{`a`, "a"},
		{`\"`, `"`},
		{`\\`, `\`},
		{`\/`, "/"},
		{`\b\f\n\r\t`, "\b\f\n\r\t"},
		{`\\n`, `\n`},
		{`\\\n`, "\\\n"},
		{`a\nb\tc`, "a\nb\tc"},
		{`\u0000`, "\x00"},
		{`\u007f\u0080`, "\x7f\u0080"},
		{`\u07ff\u0800\uffff`, "\u07ff\u0800\uffff"},
		{`\u00E9\u00e9`, "éé"},
		{`\u2028x`, "\u2028x"},
		{`\ud7ff\ue000`, "\ud7ff\ue000"},
		{`\ud800\udc00\udbff\udfff`, "\U00010000\U0010ffff"},
		{`\uD83D\uDE00`, "😀"},
		{`\ud83d \ude00`, "\xed\xa0\xbd \xed\xb8\x80"},
		{`\ud83d\nx`, "\xed\xa0\xbd\nx"},
		{`\ud83d`, "\xed\xa0\xbd"},
		{`\ud83d\u00e9`, "\xed\xa0\xbdé"},
		{`é😀`, "é😀"},
	} {
		if got := string(unquote([]byte(c.in))); got != c.want {
			t.Errorf("%s: %q, want %q", c.in, got, c.want)
		}
	}
}

// Unless the string contains half of a surrogate pair, package json reads the same.
func TestEveryUnitIsReadAsPackageJSONReadsIt(t *testing.T) {
	t.Parallel()
	for r := range rune(0x10000) {
		for _, form := range []string{`\u%04x`, `\u%04X`} {
			in := fmt.Sprintf(form, r)
			got := string(unquote([]byte(in)))
			if r >= 0xd800 && r <= 0xdfff {
				if len(got) != 3 || utf8.ValidString(got) {
					t.Errorf("%s: %q, want three bytes that are no text", in, got)
				}
				continue
			}
			if got != string(r) {
				t.Errorf("%s: %q, want %q", in, got, r)
			}
		}
	}
}

// The text is a copy, because the line reader reuses its buffer.
func TestWhatIsReadIsACopy(t *testing.T) {
	t.Parallel()
	in := []byte(`"abc"`)
	var got text
	if err := got.UnmarshalJSON(in); err != nil {
		t.Fatal(err)
	}
	copy(in, `"xyz"`)
	if string(got) != "abc" {
		t.Errorf("the text changed with the line: %q", got)
	}
}

// A pointer stays nil for null and for a missing field: there is no such file yet.
func TestAFileThatIsNotThereIsToldFromAnEmptyOne(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{`{}`: "none", `{"before":null}`: "none", `{"before":""}`: "0 bytes", `{"before":"\n"}`: "1 bytes"} {
		var q question
		if err := json.Unmarshal([]byte(in), &q); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		got := "none"
		if q.Before != nil {
			got = fmt.Sprint(len(*q.Before), " bytes")
		}
		if got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// Only characters that need escaping are escaped, in the shortest form.
func TestOnlyWhatMustBeIsEscaped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"", `""`},
		{"a b", `"a b"`},
		{`"`, `"\""`},
		{`a\b`, `"a\\b"`},
		{"a/b", `"a/b"`},
		{"<&>'", `"<&>'"`},
		{"\n\t\r", `"\n\t\r"`},
		{"\x00\b\f\x1f", `"\u0000\u0008\u000c\u001f"`},
		{"\x7f", "\"\x7f\""},
		{"é\u2028😀", "\"é\u2028😀\""},
		{"\ufffd", "\"\ufffd\""},
		{"\xff", `"\ufffd"`},
		{"a\xc3", `"a\ufffd"`},
		{"\xe2\x82", `"\ufffd\ufffd"`},
		{"\xc0\x80", `"\ufffd\ufffd"`},
		{"\xed\xa0\x80", `"\ud800"`},
		{"\xed\xbf\xbf", `"\udfff"`},
		{"\xed\x9f\xbf", "\"\ud7ff\""},
		{"\xed\xa0", `"\ufffd\ufffd"`},
		{"\xed\xa0a", `"\ufffd\ufffda"`},
		{"\xf4\x90\x80\x80", `"\ufffd\ufffd\ufffd\ufffd"`},
		{"a\nb\"c", `"a\nb\"c"`},
	} {
		if got := string(appendQuoted(nil, c.in)); got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
		if got := string(appendQuoted([]byte("x:"), []byte(c.in))); got != "x:"+c.want {
			t.Errorf("%q behind other bytes: %s, want x:%s", c.in, got, c.want)
		}
	}
}

// decode returns how many bytes belong together, and how to escape them if they cannot be written as they are.
func TestCharactersThatCannotStandAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		code rune
		n    int
	}{
		{"é", 0, 2},
		{"€x", 0, 3},
		{"😀", 0, 4},
		{"\ufffd", 0, 3},
		{"\x80", utf8.RuneError, 1},
		{"\xff\xff", utf8.RuneError, 1},
		{"\xed\xa0\x80x", 0xd800, 3},
		{"\xed\xaf\xbf", 0xdbff, 3},
		{"\xed\xb0\x80", 0xdc00, 3},
		{"\xed\xbf\xbf", 0xdfff, 3},
		{"\xed\xbf", utf8.RuneError, 1},
		{"\xed\xbf\xc0", utf8.RuneError, 1},
		{"\xee\xa0", utf8.RuneError, 1},
	} {
		if code, n := decode(c.in); code != c.code || n != c.n {
			t.Errorf("%q: %U of %d bytes, want %U of %d", c.in, code, n, c.code, c.n)
		}
	}
}

// Every half of a surrogate pair is written as it was read, wherever in the text it is.
func TestEveryHalfComesBack(t *testing.T) {
	t.Parallel()
	for half := 0xd800; half <= 0xdfff; half++ {
		for _, form := range []string{`"\u%04x"`, `"a\u%04x\n"`, `"é\u%04x😀"`} {
			in := fmt.Sprintf(form, half)
			var got text
			if err := json.Unmarshal([]byte(in), &got); err != nil {
				t.Fatal(err)
			}
			if out := string(appendQuoted(nil, got)); out != in {
				t.Errorf("%s comes back as %s", in, out)
			}
		}
	}
}

// All values other than strings give the same error.
func TestAValueThatIsNoStringIsNamed(t *testing.T) {
	t.Parallel()
	for _, in := range []string{``, `"`, `1`, `12`, `null`, `[""]`, `{}`} {
		was := text("kept")
		if err := was.UnmarshalJSON([]byte(in)); err != errNoText || !strings.Contains(err.Error(), "string") {
			t.Errorf("%s: %v", in, err)
		}
		if string(was) != "kept" {
			t.Errorf("%s: the text became %q", in, was)
		}
	}
}
