package vendors_test

import (
	"regexp"
	"strings"
	"testing"

	"agent/orchestrator/llm"
	"agent/orchestrator/llm/vendors"
)

// If a row lacked a part, some command would not know that vendor.
func TestEveryVendorHasAllItsParts(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-of-a-row"
	plain, seen := regexp.MustCompile(`^[a-z][a-z0-9]*$`), map[string]bool{}
	for _, v := range vendors.All() {
		t.Run(v.Name, func(t *testing.T) {
			if !plain.MatchString(v.Name) || seen[v.Name] || v.Title == "" || v.Setup == "" || v.Open == nil {
				t.Errorf("the row has no name of its own or lacks a part: %+v", v)
			}
			seen[v.Name] = true
			if v.Tools != llm.NativeTools && v.Tools != llm.EmulatedTools && v.Tools != llm.NoTools {
				t.Errorf("its models are given tools in the form %q", v.Tools)
			}
			keys, keyed := v.Setting(llm.KeyList)
			if keyed == (v.Host != nil) || keyed && strings.Fields(keys.Env)[0] != strings.ToUpper(v.Name)+"_API_KEYS" {
				t.Errorf("it needs either keys in %s_API_KEYS or a host to look for", strings.ToUpper(v.Name))
			}
			address, ok := v.Setting(llm.Address)
			if !ok || address.Next == "" {
				t.Error("it has no address, or no advice about a wrong one")
			}
			for _, s := range v.Settings {
				if s.Name == "" || s.About == "" || strings.ContainsAny(s.Name+s.File, ".") {
					t.Errorf("setting %+v lacks a part", s)
				}
			}
			// A vendor with a default model has a default address.
			p, err := v.Open("")
			if v.Model == "" {
				if err == nil {
					t.Error("it is asked only by name, and has an address of its own")
				}
				p, err = v.Open("http://127.0.0.1:1/v1")
			}
			if err != nil || p.Vendor() != v.Name {
				t.Fatalf("%v, %v", p, err)
			}
			if _, ok := p.(llm.Lister); !ok {
				t.Error("it does not tell which models it has")
			}
			for _, wrong := range []string{"x://me:" + secret + "@host", "http://me:" + secret + "@host/?a#b"} {
				if _, err := v.Open(wrong); err == nil || strings.Contains(err.Error(), secret) {
					t.Errorf("the address %q: %v", wrong, err)
				}
			}
			if v.Host != nil {
				if host, err := v.Host(""); err != nil || !strings.Contains(host, ":") {
					t.Errorf("it is looked for at %q, %v", host, err)
				}
			}
		})
	}
}

func TestAModelsNameBeginsWithItsVendor(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"gemini/a": "gemini a", "ollama/b/c:1": "ollama b/c:1", "gemini": "", "gemini/": "", "/a": "", "": "", "Gemini/a": "", "mistral/a": "",
		"compatible/deepseek/r1": "compatible deepseek/r1", "openai/a": "openai a",
	} {
		v, model, ok := llm.FindVendor(vendors.All(), name)
		if got := strings.TrimSpace(v.Name + " " + model); got != want || ok != (want != "") {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
