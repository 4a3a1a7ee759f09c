package catalog_test

import (
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/catalog"
	"agent/orchestrator/llm/vendors"
)

func TestEveryRowIsOfAVendorAndMakesSense(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range catalog.All() {
		v, name, ok := llm.FindVendor(vendors.All(), m.Name)
		if !ok || v.Local || seen[m.Name] {
			t.Errorf("%s is of no vendor that is paid, or stands twice", m.Name)
		}
		seen[m.Name] = true
		if m.Context < 1024 && m.Price == nil {
			t.Errorf("%s: nothing is known of it", m.Name)
		}
		// A price in another unit, or with input and output swapped, would be far off.
		if p := m.Price; p != nil && (p.In < 0.01 || p.In > 100 || p.Out <= p.In || p.Cached > p.In || p.Written != 0 && p.Written < p.In) {
			t.Errorf("%s costs %+v", m.Name, *p)
		}
		if got, ok := catalog.Find(v.Name, name); !ok || got.Name != m.Name {
			t.Errorf("%s is found as %+v", m.Name, got)
		}
	}
	// A cap on cost works for every default model without a price from the user.
	for _, v := range vendors.All() {
		if m, _ := catalog.Find(v.Name, v.Model); v.Model != "" && !v.Local && m.Price == nil {
			t.Errorf("the price of %s/%s is not known", v.Name, v.Model)
		}
	}
}

func TestAModelIsAskedAsItsMakersSay(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]llm.Sampling{
		"gemini-2.5-flash": {}, "gemini-3-flash-preview": {Temperature: 1}, "gemini-10": {Temperature: 1}, "gpt-oss:20b": {Temperature: 1, TopP: 1}, "openai/gpt-oss-120b": {Temperature: 1, TopP: 1},
		"qwen3-coder:30b": {Temperature: 0.7, TopP: 0.8, TopK: 20}, "Qwen/Qwen3-Coder-480B": {Temperature: 0.7, TopP: 0.8, TopK: 20}, "qwen3:8b": {Temperature: 0.6, TopP: 0.95, TopK: 20},
		"qwen2.5-coder:7b": {}, "claude-sonnet-4-6": {}, "my-gpt-oss": {}, "": {},
	} {
		if got := catalog.Sampling(name); got != want {
			t.Errorf("%s is asked with %+v, want %+v", name, got, want)
		}
	}
}

func TestAModelIsFoundByItsVersionAndNoOther(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"claude-sonnet-4-5": "claude-sonnet-4-5", "claude-sonnet-4-5-20250929": "claude-sonnet-4-5", "claude-sonnet-4-20250514": "claude-sonnet-4",
		"claude-sonnet-4-9": "", "claude-sonnet-4-5-fast": "", "claude": "", "": "",
	} {
		m, ok := catalog.Find("anthropic", name)
		if ok != (want != "") || ok && m.Name != "anthropic/"+want {
			t.Errorf("%q is %+v, %v", name, m, ok)
		}
	}
	if m, ok := catalog.Find("openai", "gpt-5-2025-08-07"); !ok || m.Price.In != 1.25 {
		t.Errorf("%+v, %v", m, ok)
	}
	if m, ok := catalog.Find("openai", "gpt-5-pro"); ok {
		t.Errorf("another model at another price is %+v", m)
	}
	if _, ok := catalog.Find("compatible", "gpt-5"); ok {
		t.Error("a server of somebody's has the vendor's price")
	}
}
