package concealed

import (
	"strings"
	"testing"
)

func TestWhatIsConcealed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line string
		in   string // "code" alone, or "both" for code and other text
	}{
		"a direction that is turned":       {"access = \"user\u202e \u2066# admin\u2069\"", "both"},
		"isolated alone":                   {"# \u2067abc", "both"},
		"letters of tags":                  {"hello \U000e0069\U000e0067", "both"},
		"tags behind another flag":         {"\U0001f1e9\U000e0067", "both"},
		"a row of variation selectors":     {"x = \"a\ufe00\ufe01\U000e0100\"", "both"},
		"a space without width":            {"na\u200bme = 1", "code"},
		"a letter without a shape":         {"const \u3164 = 1", "code"},
		"a joiner of words":                {"a\u2060b", "code"},
		"an escape":                        {"x = 1 # \x1b[8mhidden", "code"},
		"a return of the carriage":         {"x = 1 # \rimport os", "code"},
		"steps back":                       {"rm -rf x\b\b\b", "code"},
		"a control character of eight bit": {"x = \"\u009b\"", "code"},
		"code far to the right":            {"x = 1" + strings.Repeat(" ", 130) + "; import os", "code"},
		"behind tabs":                      {"x = 1" + strings.Repeat("\t", 130) + "; import os", "code"},
		"all of it far to the right":       {strings.Repeat(" ", 220) + "import os", "code"},
	} {
		before := "a\nb\n"
		after := before + c.line + "\n"
		for code, want := range map[bool]bool{true: true, false: c.in == "both"} {
			found := Find(before, after, code)
			if (len(found) == 1 && found[0].Number == 3) != want {
				t.Errorf("%s, code %v: %+v", name, code, found)
			}
			if found := Find(after, after, code); len(found) > 0 {
				t.Errorf("%s, which was there: %+v", name, found)
			}
		}
	}
}

// Ordinary writing conceals nothing.
func TestOrdinaryText(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"\ufeffimport os", "x = 1\r", "\f", "\tindented", "heart = \"\u2764\ufe0f\"", "family = \"\U0001f468\u200d\U0001f469\u200d\U0001f467\"",
		"scotland = \"\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f\"", "\"\u06cc\u200c\u0647\u0627\"", "# שלום, \u200fמה נשמע", "naïve = \"ﬁ\"",
		"x = 1" + strings.Repeat(" ", 60) + "# a comment that is aligned", strings.Repeat(" ", 120) + "deep()", "text = \"東葛\U000e0100城\"",
	} {
		if found := Find("", line+"\n", true); len(found) > 0 {
			t.Errorf("%q: %+v", line, found)
		}
	}
	if found := Find("", strings.Repeat("\u202ea\n", 50), true); len(found) != mostLines {
		t.Errorf("%d lines are told", len(found))
	}
}

func TestIsCode(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{"a.py": true, "a.go": true, "a.ts": true, "a.md": false, "a.json": false, "tests/test_a.py": false} {
		if got := IsCode(path, "x\n"); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
