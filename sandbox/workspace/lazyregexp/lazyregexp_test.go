package lazyregexp

import (
	"reflect"
	"regexp"
	"sync"
	"testing"
)

// Each method returns what its counterpart in package regexp returns.
func TestMethodsAreThoseOfRegexp(t *testing.T) {
	t.Parallel()
	const text, pattern = "a1 b22 c", `([a-z])(\d+)`
	lazy, plain := New(pattern), regexp.MustCompile(pattern)
	upper := func(s string) string { return "<" + s + ">" }
	for name, pair := range map[string][2]any{
		"String":                     {lazy.String(), plain.String()},
		"Match":                      {lazy.Match([]byte(text)), plain.Match([]byte(text))},
		"MatchString":                {lazy.MatchString("c"), plain.MatchString("c")},
		"Find":                       {lazy.Find([]byte(text)), plain.Find([]byte(text))},
		"FindString":                 {lazy.FindString(text), plain.FindString(text)},
		"FindStringIndex":            {lazy.FindStringIndex(text), plain.FindStringIndex(text)},
		"FindStringSubmatch":         {lazy.FindStringSubmatch(text), plain.FindStringSubmatch(text)},
		"FindStringSubmatchIndex":    {lazy.FindStringSubmatchIndex(text), plain.FindStringSubmatchIndex(text)},
		"FindAllString":              {lazy.FindAllString(text, -1), plain.FindAllString(text, -1)},
		"FindAllStringIndex":         {lazy.FindAllStringIndex(text, 1), plain.FindAllStringIndex(text, 1)},
		"FindAllSubmatch":            {lazy.FindAllSubmatch([]byte(text), -1), plain.FindAllSubmatch([]byte(text), -1)},
		"FindAllStringSubmatch":      {lazy.FindAllStringSubmatch(text, -1), plain.FindAllStringSubmatch(text, -1)},
		"FindAllStringSubmatchIndex": {lazy.FindAllStringSubmatchIndex(text, -1), plain.FindAllStringSubmatchIndex(text, -1)},
		"ReplaceAll":                 {lazy.ReplaceAll([]byte(text), []byte("$2")), plain.ReplaceAll([]byte(text), []byte("$2"))},
		"ReplaceAllString":           {lazy.ReplaceAllString(text, "$2$1"), plain.ReplaceAllString(text, "$2$1")},
		"ReplaceAllStringFunc":       {lazy.ReplaceAllStringFunc(text, upper), plain.ReplaceAllStringFunc(text, upper)},
		"Split":                      {lazy.Split(text, 2), plain.Split(text, 2)},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %v, want %v", name, pair[0], pair[1])
		}
	}
}

// Outside of tests, a pattern is compiled at its first use, once for all concurrent callers.
func TestCompiledAtTheFirstUse(t *testing.T) {
	t.Parallel()
	r := &Regexp{text: `^a+$`}
	if r.form != nil {
		t.Fatal("it is compiled already")
	}
	var asked sync.WaitGroup
	for range 8 {
		asked.Go(func() {
			if !r.MatchString("aaa") {
				t.Error("it does not match")
			}
		})
	}
	asked.Wait()
	if first := r.compiled(); first != r.compiled() {
		t.Error("it was compiled twice")
	}
}

// In a test, New finds a mistake at once, even if the pattern is never used.
func TestAMistakeEndsTheTest(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a pattern that is none was taken")
		}
	}()
	New(`(`)
}
