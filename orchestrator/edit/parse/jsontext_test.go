package parse

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// plain returns a value as encoding/json would decode it.
func plain(v jsonValue) any {
	switch v.kind {
	case '{':
		out := map[string]any{}
		for i, name := range v.names {
			out[name] = plain(v.items[i])
		}
		return out
	case '[':
		out := []any{}
		for _, item := range v.items {
			out = append(out, plain(item))
		}
		return out
	case '0':
		return json.Number(v.text)
	case 't', 'f':
		return v.kind == 't'
	case 'n':
		return nil
	}
	return v.text
}

// anyJSON draws a value that encoding/json can write.
func anyJSON(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 5
		if depth == 0 {
			kinds = 3
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return rapid.String().Draw(t, "string")
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return rapid.Int().Draw(t, "int")
		case 3:
			return rapid.SliceOfN(anyJSON(depth-1), 0, 4).Draw(t, "list")
		}
		return rapid.MapOfN(rapid.String(), anyJSON(depth-1), 0, 4).Draw(t, "object")
	})
}

// JSON that the standard library writes is read as the library itself reads it.
func TestJSONIsReadAsTheStandardLibraryReadsIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.MarshalIndent(rapid.MapOfN(rapid.String(), anyJSON(3), 0, 5).Draw(t, "value"), "", rapid.SampledFrom([]string{"", " ", "\t"}).Draw(t, "indent"))
		if err != nil {
			t.Fatal(err)
		}
		v, end, err := readJSON(string(text), 0)
		if err != nil || end != len(text) {
			t.Fatalf("%s: %v at %d", text, err, end)
		}
		dec := json.NewDecoder(strings.NewReader(string(text)))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got := plain(v); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s: %#v instead of %#v", text, got, want)
		}
		for cut := range text {
			if _, _, err := readJSON(string(text[:cut]), 0); !cutOff(err) {
				t.Fatalf("cut to %q: %v", text[:cut], err)
			}
		}
	})
}

func TestJSONIsRepairedWhereNothingCanBeLost(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\"a\":\"one\ntwo\"}":          `{"a":"one\ntwo"}`,
		"{\"a\":\"one\r\ntwo\"}":        `{"a":"one\ntwo"}`,
		"{\"a\":\"one\rtwo\"}":          `{"a":"one\rtwo"}`,
		`{"a":"one\r\ntwo"}`:            `{"a":"one\r\ntwo"}`,
		"{\"a\":\"\tone\"}":             `{"a":"\tone"}`,
		`{"a":1,}`:                      `{"a":1}`,
		"[1, 2 ,\n]":                    `[1,2]`,
		"[1, // one\n2]":                `[1,2]`,
		"[1, /* , 3 */ 2]":              `[1,2]`,
		"{\"a\" // the name\n: 1}":      `{"a":1}`,
		"{\"a\": \"x\" // the value\n}": `{"a":"x"}`,
		"\ufeff[1]":                     `[1]`,
		"[\ufeff1]":                     `[1]`,
		`["\ufeff"]`:                    "[\"\ufeff\"]",
		`["\ud83d\ude00"]`:              `["😀"]`,
		`["\u00E9\/"]`:                  `["é/"]`,
		"[\"\xff\"]":                    "",
		`["http://x", "/* */"]`:         `["http://x","/* */"]`,
		"{}":                            `{}`,
		"[null, true, -1.5e3]":          `[null,true,-1.5e3]`,
	} {
		v, end, err := readJSON(text, 0)
		if err != nil || end != len(text) {
			t.Errorf("%q: %v, ends at %d of %d", text, err, end, len(text))
			continue
		}
		if want == "" { // bytes that are not UTF-8 stay unchanged
			if v.items[0].text != "\xff" {
				t.Errorf("%q: %q", text, v.items[0].text)
			}
			continue
		}
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(plain(v)); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(b.String()); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestJSONThatCouldMeanTwoThingsIsRefused(t *testing.T) {
	t.Parallel()
	const quotes = "this quotation mark is inside a string"
	for text, want := range map[string]struct {
		at     int
		reason string
	}{
		`{"a":"say "hi" now"}`:    {10, quotes},
		`{"a":"f("x", 1)"}`:       {8, quotes},
		`{"a":""b""}`:             {6, quotes},
		`{"a":"x", y"}`:           {10, "the name of a field"},
		`{"a" b":1}`:              {3, quotes},
		`["a" "b"]`:               {3, quotes},
		"[\"find(\"//div\")\"\n]": {7, quotes},
		`{"a":"x" /* "y" */}`:     {7, quotes},
		`{"a":"\d"}`:              {6, "a backslash"},
		`{"a":"\u12x4"}`:          {6, "a backslash"},
		"{\"a\":\"\\\nb\"}":       {6, "a backslash"},
		`{"a":"\ud83d"}`:          {6, "half of a surrogate pair"},
		`{"a":"\ud83dx\ude00"}`:   {6, "half of a surrogate pair"},
		`{"a":"\ude00\ud83d"}`:    {6, "half of a surrogate pair"},
		`{"a":1,"a":2}`:           {7, `duplicate field "a"`},
		`{"a":1,,}`:               {7, "the name of a field"},
		`[1,,2]`:                  {3, "expected a value"},
		`[,]`:                     {1, "expected a value"},
		`[1 2]`:                   {3, "a comma or"},
		`{"a":1]`:                 {6, "a comma or"},
		`{a:1}`:                   {1, "the name of a field"},
		`{'a':1}`:                 {1, "the name of a field"},
		`["a':1}]`:                {8, ""},
		`[True]`:                  {1, "expected a value"},
		`[NaN]`:                   {1, "expected a value"},
		`[0x10]`:                  {1, "expected a value"},
		`[...]`:                   {1, "expected a value"},
		strings.Repeat("[", 40):   {32, "too deep"},
		"[1 # why\n]":             {3, "a comma or"},
	} {
		_, _, err := readJSON(text, 0)
		fault, ok := err.(*jsonFault)
		if !ok || fault.at != want.at || !strings.Contains(fault.reason, want.reason) {
			t.Errorf("%q: %+v, want offset %d, %q", text, err, want.at, want.reason)
		}
	}
}

func TestAFaultOfJSONTellsItsPlace(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte("[\n  {\"path\": \"é\", \"action\": \"a\"b\"}]"))
	if err == nil || !strings.Contains(err.Error(), "line 2, column 29: ") {
		t.Errorf("the place of the quotation mark: %v", err)
	}
}

func FuzzJSONText(f *testing.F) {
	for _, s := range []string{"{\"a\": [1, \"b\\u00e9\", null,],}", "[\"x\" // c\n]", "{\"a\":\"\\ud83d\\ude00\"}", "[\"a\"b\"]", "\ufeff{}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, end, err := readJSON(text, 0)
		if err != nil {
			if e := refusal(err).Error(); utf8.ValidString(text) && !utf8.ValidString(e) {
				t.Fatalf("the refusal is not UTF-8: %q", e)
			}
			return
		}
		if end > len(text) {
			t.Fatalf("ends at %d of %d", end, len(text))
		}
		var want any
		dec := json.NewDecoder(strings.NewReader(text[:end]))
		dec.UseNumber()
		if utf8.ValidString(text) && dec.Decode(&want) == nil && dec.InputOffset() == int64(end) && !reflect.DeepEqual(plain(v), want) {
			t.Fatalf("%q: %#v instead of %#v", text, plain(v), want)
		}
	})
}
