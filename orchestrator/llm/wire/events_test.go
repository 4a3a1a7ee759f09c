package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestEventsAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "|EOF",
		"\n\n":                  "|EOF",
		"data: a\n\ndata:b\n\n": ":a|:b|EOF",
		"event: e\r\ndata: a\r\ndata:  b\r\n\r\n": "e:a\n b|EOF",
		": alive\n\ndata: a\n\n":                  ":|:a|EOF",
		"data: a\n: in between\ndata: b\n\n":      ":a\nb|EOF",
		"id: 1\nretry: 5\ndata: a\n\n":            ":a|EOF",
		"error: x\n\n":                            "error:x|EOF",
		"data: a\n":                               "|unexpected EOF",
		"data: a":                                 "|unexpected EOF",
		"event: e\n":                              "|unexpected EOF",
		"hello":                                   "|" + errNoEvents.Error(),
		"<html>\n":                                "|" + errNoEvents.Error(),
		"data: a\n\n{\"error\":7}\n":              ":a||" + errNoEvents.Error(),
	} {
		got, events := "", NewEvents(strings.NewReader(text))
		for {
			e, err := events.Next()
			if err != nil {
				got = strings.TrimSuffix(got, "|") + "|" + err.Error()
				break
			}
			got += e.Name + ":" + string(e.Data) + "|"
		}
		if want = strings.ReplaceAll(want, "||", "|"); got != want {
			t.Errorf("%q is read as %q, want %q", text, got, want)
		}
	}
}

func TestEventsHaveABound(t *testing.T) {
	events := NewEvents(io.LimitReader(&lines{}, 3*MaxEvents+30))
	var err error
	n := 0
	for ; err == nil; n++ {
		_, err = events.Next()
	}
	if !errors.Is(err, ErrEvents) || n != MaxEvents+1 {
		t.Errorf("%d events, then %v", n, err)
	}
}

// lines is an endless stream of comments.
type lines struct{ n int }

func (l *lines) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ":\n\n"[l.n%3]
		l.n++
	}
	return len(p), nil
}

func TestABaseURLHoldsNoPassword(t *testing.T) {
	for address, want := range map[string]string{"https://host/v1/": "https://host/v1", "http://127.0.0.1:8080": "http://127.0.0.1:8080"} {
		if got, err := BaseURL("X", address); err != nil || got != want {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
	for _, bad := range []string{"", "host", "ftp://host", "http://", "https://me:secret@host", "https://host?key=secret", "https://host#secret", "http://%secret"} {
		if got, err := BaseURL("X", bad); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %q, %v", bad, got, err)
		}
	}
}
