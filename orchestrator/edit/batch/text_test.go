package batch

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestHalvesOfCharactersComeBackAsTheyCame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, kept, out string }{
		{`"\udc80"`, "\xed\xb2\x80", `"\udc80"`},
		{`"\uD800x"`, "\xed\xa0\x80x", `"\ud800x"`},
		{`"\ud83d\ude00"`, "😀", `"😀"`},
		{`"\ud83d\ud83d\ude00"`, "\xed\xa0\xbd😀", `"\ud83d😀"`},
		{`"\ude00\ud83d"`, "\xed\xb8\x80\xed\xa0\xbd", `"\ude00\ud83d"`},
		{`"\ud800\u0041"`, "\xed\xa0\x80A", `"\ud800A"`},
		{`"\ud800\\u0041"`, "\xed\xa0\x80\\u0041", `"\ud800\\u0041"`},
		{`"\u00e9\/\b\f\u001f\u007f"`, "é/\b\f\x1f\x7f", `"é/\u0008\u000c\u001f` + "\x7f" + `"`},
		{`"\ufffd"`, "\ufffd", `"` + "\ufffd" + `"`},
		{`"<a href=\"&\">"`, `<a href="&">`, `"<a href=\"&\">"`},
		{`""`, "", `""`},
	} {
		var got text
		if err := json.Unmarshal([]byte(c.in), &got); err != nil || string(got) != c.kept {
			t.Errorf("%s is read as %q, %v; want %q", c.in, got, err, c.kept)
		}
		if out := string(appendQuoted(nil, got)); out != c.out {
			t.Errorf("%s comes back as %s, want %s", c.in, out, c.out)
		}
	}
}

func TestWhatIsNoTextIsAnError(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`5`, `true`, `{"a":"b"}`, `["a"]`, `null`} {
		var q struct{ T text }
		if err := json.Unmarshal([]byte(`{"T":`+in+`}`), &q); err == nil {
			t.Errorf("%s passes for a text: %q", in, q.T)
		}
	}
}

// For every string that package json can carry, it reads what we write, and we read what it writes.
func TestTextAgreesWithPackageJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOf(rapid.OneOf(
			rapid.String(), rapid.SampledFrom([]string{"\n", "\r\n", "\t", `"`, `\`, `\u`, "\x00", "\x7f", "\u2028", "😀", "<&>"}),
		)).Draw(t, "pieces"), "")
		s = strings.ToValidUTF8(s, "\ufffd")

		theirs, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var read text
		if err := json.Unmarshal(theirs, &read); err != nil || string(read) != s {
			t.Fatalf("%s is read as %q, %v", theirs, read, err)
		}
		ours := appendQuoted(nil, s)
		var back string
		if err := json.Unmarshal(ours, &back); err != nil || back != s {
			t.Fatalf("%q is written as %s, which is %q, %v", s, ours, back, err)
		}
	})
}

// Arbitrary bytes make a valid line, and what a line can represent is read back unchanged.
func TestAnyBytesCanBeWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOf(rapid.SampledFrom([]byte("\xed\xa0\x80\xb2\xbf\xc3\xa9\xf0\x9f\x98\x80\xff\"\\\na"))).Draw(t, "bytes")
		quoted := appendQuoted(nil, b)
		if !utf8.Valid(quoted) || !json.Valid(quoted) {
			t.Fatalf("%q is written as %q", b, quoted)
		}
		var once, twice text
		if err := json.Unmarshal(quoted, &once); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(appendQuoted(nil, once), &twice); err != nil || string(once) != string(twice) {
			t.Fatalf("%q comes back as %q, %v", once, twice, err)
		}
	})
}
