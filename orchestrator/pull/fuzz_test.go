package pull_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"agent/orchestrator/pull"
)

// FuzzSpan puts arbitrary text into a code span and a fence: nothing in it closes them, and both are bounded.
func FuzzSpan(f *testing.F) {
	for _, text := range []string{"", "`", "a``b", "```\n```", hostile, strings.Repeat("`", 400), "\u2028\u202e", "\xff\xfe"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		span := pull.Span(text)
		if !utf8.ValidString(span) || strings.ContainsAny(span, "\n\r\x1b") || len(span) > 1200 {
			t.Errorf("%q is %q", text, span)
		}
		ticks := span[:len(span)-len(strings.TrimLeft(span, "`"))]
		if inner := strings.TrimSuffix(strings.TrimPrefix(span, ticks), ticks); text != "" && strings.Contains(inner, ticks) {
			t.Errorf("%q ends its span: %q", text, span)
		}
		fence := pull.Fence(text, 100)
		ticks, inner, _ := strings.Cut(fence, "\n")
		inner, ok := strings.CutSuffix(inner, "\n"+ticks+"\n")
		if !ok || strings.Contains(inner, ticks) || !utf8.ValidString(fence) {
			t.Errorf("%q ends its fence: %q", text, fence)
		}
		if m := pull.Runs([]string{pull.Message(pull.Work{Run: "0k1", Intent: text})}); len(m) != 1 || m[0] != "0k1" {
			t.Errorf("%q is the runs %q", text, m)
		}
	})
}
