package verify

import (
	"strings"
	"testing"

	"agent/sandbox/guest"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/smoke"
)

func TestReadyIsAPathAPortOrAText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]guest.Watch{
		"":                       {},
		"/health":                {Path: "/health"},
		"port:8080/":             {Port: 8080, Path: "/"},
		"port:8080":              {Port: 8080, Path: "/"},
		"port:8080/health?deep":  {Port: 8080, Path: "/health?deep"},
		"Listening on port 80/x": {Text: "Listening on port 80/x"},
	} {
		if got, err := (check.Smoke{Ready: text}).Watch(); got != want || err != nil {
			t.Errorf("%q: %+v %v", text, got, err)
		}
	}
	for _, text := range []string{
		"/a b", "/a\r\nHost: x", "/é", "port:", "port:0/", "port:70000/x", "port:http/x", "port:80/a b",
		"http://localhost:80/health", "https://x", "two\nlines", strings.Repeat("x", check.MaxMessage+1),
	} {
		s := check.Smoke{Ready: text}
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), "give") && !strings.Contains(err.Error(), "path") {
			t.Errorf("%.40q: %v", text, err)
		}
		b, _ := checktest.Replayed(map[string]guest.Result{"prog": {}})
		b.Smoke = s
		if out := smoke.Program.Run(t.Context(), b); out.Verdict != check.Infra {
			t.Errorf("%.40q is run: %+v", text, out)
		}
	}
}
