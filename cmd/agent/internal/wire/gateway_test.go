package wire

import (
	"errors"
	"strings"
	"testing"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/llm/catalog"
)

func TestAProgramAsksItsVendorThroughAGateway(t *testing.T) {
	t.Parallel()
	env, dir := ownFile(t, "[prices.\"anthropic/own\"]\nin = 1\nout = 2\n")
	env["ANTHROPIC_API_KEYS"] = aKey + ",second-key-0123456789"
	m, err := NewGatewayMaker(loaded(t, env, dir), "claude", "anthropic")
	if err != nil || len(m.Keys()) != 2 || m.limits.Requests != 100 {
		t.Fatalf("%+v, %v", m, err)
	}
	// The user's price takes precedence over the known one.
	known, _ := catalog.Find("anthropic", "claude-sonnet-4-6")
	if p := m.conf.Price("own"); p == nil || p.In != 1 {
		t.Errorf("the user's price is %v", p)
	}
	if p := m.conf.Price("claude-sonnet-4-6"); p == nil || known.Price == nil || *p != *known.Price {
		t.Errorf("the known price is %v", p)
	}
	if p := m.conf.Price("nobody-knows-it"); p != nil {
		t.Errorf("an unknown price is %v", p)
	}
	s := &Session{}
	for range 2 { // one for each run, with its own meter
		if g, err := s.Gateway(m, "r1"); err != nil || g == nil {
			t.Errorf("%v, %v", g, err)
		}
	}
	if m.conf.Run != "" || m.conf.Meter != nil {
		t.Error("a run is left in the maker")
	}
}

func TestAVendorThatCannotBeAskedIsTold(t *testing.T) {
	t.Parallel()
	for want, test := range map[string]struct {
		vendor string
		env    map[string]string
	}{
		"exec.tool asks Gemini: no API key": {"gemini", nil},
		"openai.base_url":                   {"openai", map[string]string{"OPENAI_API_KEYS": aKey, "OPENAI_BASE_URL": "host"}},
		"compatible.base_url":               {"compatible", nil}, // an address is needed, but no key
		"ANTHROPIC_API_KEYS":                {"anthropic", map[string]string{"ANTHROPIC_API_KEYS": "a b"}},
	} {
		env, dir := ownFile(t, "")
		for k, v := range test.env {
			env[k] = v
		}
		_, err := NewGatewayMaker(loaded(t, env, dir), "tool", test.vendor)
		var told *fault.Error
		if !errors.As(err, &told) || told.Next == "" || !strings.Contains(err.Error()+told.Next, want) && !strings.Contains(err.Error(), "anthropic.keys") {
			t.Errorf("%s: %v, want %q", test.vendor, err, want)
		}
	}
}
