package llm_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"agent/orchestrator/llm"
)

func TestAKeyPrintsAsItsID(t *testing.T) {
	const secret = "canary-0123456789-canary"
	key := llm.NewKey(secret)
	if key.Secret() != secret || len(key.ID) != 8 || key.ID != llm.NewKey(secret).ID {
		t.Fatalf("key %v is not the secret's", key)
	}
	// Package fmt does not call methods on values in unexported fields.
	hidden := struct {
		key  llm.Key
		list []llm.Key
		link *llm.Link
	}{key, []llm.Key{key}, &llm.Link{Keys: []llm.Key{key}}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%08.3f"} {
		if got := fmt.Sprintf(verb, key); got != key.ID || key.String() != key.ID {
			t.Errorf("%s prints %q, want %s", verb, got, key.ID)
		}
	}
	var texts []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%08.3f", "%T", "%!"} {
		for _, x := range []any{key, &key, []llm.Key{key}, map[string]llm.Key{"k": key}, hidden, &hidden, struct{ K llm.Key }{key}} {
			texts = append(texts, fmt.Sprintf(verb, x))
		}
	}
	encoded, err := json.Marshal(map[string]any{"key": key, "link": hidden})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	for _, h := range []slog.Handler{slog.NewJSONHandler(&log, nil), slog.NewTextHandler(&log, nil)} {
		slog.New(h).Info("ask", "key", key, "keys", []llm.Key{key}, "link", hidden.link.Keys)
	}
	for _, text := range append(texts, string(encoded), log.String()) {
		if strings.Contains(text, secret) || strings.Contains(strings.ToLower(text), hex.EncodeToString([]byte(secret))) {
			t.Errorf("the secret is in %q", text)
		}
	}
	for _, text := range []string{fmt.Sprint(key), string(encoded), log.String()} {
		if !strings.Contains(text, key.ID) {
			t.Errorf("the ID %s is not in %q", key.ID, text)
		}
	}
}

func TestTheZeroKey(t *testing.T) {
	for _, key := range []llm.Key{{}, llm.NewKey("")} {
		if key.ID != "" || key.Secret() != "" || fmt.Sprint(key) != "" {
			t.Errorf("the zero key prints as %v and has secret %q", key, key.Secret())
		}
	}
}

func TestParseKeys(t *testing.T) {
	for _, c := range []struct {
		list string
		want []string
		err  string
	}{
		{list: ""},
		{list: " , ,"},
		{list: "one", want: []string{"one"}},
		{list: "b, a ,\tb,a\n,c", want: []string{"b", "a", "c"}},
		{list: "one,canary\x00secret", err: "key 2 of the list contains a space or a control character"},
		{list: "canary secret", err: "key 1 of the list"},
		{list: "a,,canary\u0085secret", err: "key 3 of the list"},
	} {
		keys, err := llm.ParseKeys(c.list)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%q: error %v, want %q and no secret", c.list, err, c.err)
			}
			continue
		}
		var got []string
		for _, k := range keys {
			got = append(got, k.Secret())
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: keys %q, error %v, want %q", c.list, got, err, c.want)
		}
	}
}

// encodings returns the forms in which a secret may leave a program, each produced by the standard library and not by the code under
// test.
func encodings(secret string) map[string]string {
	reversed := []byte(secret)
	slices.Reverse(reversed)
	list := map[string]string{
		"plain": secret, "reversed": string(reversed), "quoted": strconv.Quote(secret),
		"query": url.QueryEscape(secret), "path": url.PathEscape(secret),
		"URL": (&url.URL{Scheme: "https", Host: "host", RawQuery: url.Values{"key": {secret}}.Encode()}).String(),
		"hex": hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	digits := regexp.MustCompile("%[0-9A-F]{2}")
	for _, name := range []string{"query", "path"} {
		list[name+" in lower case"] = digits.ReplaceAllStringFunc(list[name], strings.ToLower)
	}
	for i, prefix := range []string{"", "x", "xy", "user:"} {
		list[fmt.Sprint("base64 ", i)] = base64.StdEncoding.EncodeToString([]byte(prefix + secret + "tail"))
		list[fmt.Sprint("base64 URL ", i)] = base64.URLEncoding.EncodeToString([]byte(prefix + secret))
		list[fmt.Sprint("base64 raw ", i)] = base64.RawStdEncoding.EncodeToString([]byte(prefix + secret))
	}
	return list
}

// leaks returns the form in which text contains secret, or "". For base64 it looks for the middle part, which does not depend on
// neighbouring bytes.
func leaks(text, secret string) string {
	lower := strings.ToLower(text)
	for name, form := range encodings(secret) {
		if strings.HasPrefix(name, "base64") {
			form = form[7 : 7+len(secret)/2]
		}
		if strings.Contains(text, form) || strings.Contains(lower, strings.ToLower(url.QueryEscape(secret))) {
			return name
		}
	}
	return ""
}

func TestMaskTakesEveryFormOfAKeyOut(t *testing.T) {
	one, two := "AQ.canary/+Zx9=&?q 7", `sk-"quoted\canary"-\8812`
	keys := []llm.Key{llm.NewKey(one), llm.NewKey(two), {}}
	for _, secret := range []string{one, two} {
		for name, form := range encodings(secret) {
			for _, text := range []string{form, "before" + form + "after", form + form, "[" + form + "] " + form} {
				got := llm.Mask(text, keys...)
				if form := leaks(got, secret); form != "" {
					t.Errorf("%s: %q still holds the key (%s): %q", name, text, form, got)
				}
				if !strings.Contains(got, llm.NewKey(secret).ID) {
					t.Errorf("%s: %q does not say which key it was: %q", name, text, got)
				}
			}
		}
	}
	if got := llm.Mask("nothing of this is a secret: AQ.canar", keys...); got != "nothing of this is a secret: AQ.canar" {
		t.Errorf("a text without a key became %q", got)
	}
	short, long := llm.NewKey("secret-1"), llm.NewKey("secret-12")
	if got := llm.Mask("x secret-12", short, long); got != "x [key "+long.ID+"]" {
		t.Errorf("where one key begins with another: %q", got)
	}
	if got := llm.Mask("a cab", llm.NewKey("a")); got != "a cab" {
		t.Errorf("a secret of one byte destroyed the text: %q", got)
	}
}

func TestMaskIsForAnySecret(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.StringMatching(`[!-~]{12,48}`).Draw(t, "secret")
		before, after := rapid.String().Draw(t, "before"), rapid.String().Draw(t, "after")
		for name, form := range encodings(secret) {
			if got := llm.Mask(before+form+after, llm.NewKey(secret)); strings.Contains(got, form) {
				t.Fatalf("%s: %q is left in %q", name, form, got)
			}
		}
		encoded := base64.StdEncoding.EncodeToString([]byte(before + secret + after))
		if got := llm.Mask(encoded, llm.NewKey(secret)); got == encoded {
			t.Fatalf("the key is left in base64 of a text around it: %q", got)
		}
	})
}

func TestTheDetailOfAnErrorIsOneSafeLine(t *testing.T) {
	key := llm.NewKey("canary-0123456789")
	e := llm.NewError(llm.Auth, "gemini", "flash", "bad\r\n\x1b[31mkey\x00 canary-0123456789\u202e\t\xff end", key)
	if want := "bad [31mkey [key " + key.ID + "] \uFFFD end"; e.Detail != want {
		t.Errorf("detail %q, want %q", e.Detail, want)
	}
	if want := "gemini/flash: auth: " + e.Detail; e.Error() != want {
		t.Errorf("error %q, want %q", e, want)
	}
	long := llm.NewError(llm.Unknown, "v", "m", strings.Repeat("é", 1000)).Detail
	if len(long) > 300 || !utf8.ValidString(long) || !strings.HasSuffix(long, "é…") {
		t.Errorf("a long detail has %d bytes: %q", len(long), long)
	}
	// A key at the point of truncation must not remain in part.
	cut := llm.NewError(llm.Unknown, "v", "m", strings.Repeat("x", 290)+key.Secret(), key).Detail
	if strings.Contains(cut, "cana") {
		t.Errorf("part of the key is left: %q", cut)
	}
}
