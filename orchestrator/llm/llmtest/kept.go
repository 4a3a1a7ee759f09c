package llmtest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// leastKept is the least that the API keeps, in tokens: the minimum of its large models.
const leastKept = 4096

// keptContents are the cached contents of a Gemini server, from which questions may continue.
type keptContents struct {
	mu    sync.Mutex
	made  int
	list  map[string]map[string]any // by name
	names []string                  // in the order of making
}

// Kept returns the names of the cached contents that a Gemini server holds, oldest first, and how many it has ever made.
func (s *Server) Kept() (names []string, made int) {
	k := s.vendor.(gemini).kept
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.names), k.made
}

// Lose makes a Gemini server lose its cached contents, as when they expire.
func (s *Server) Lose() {
	k := s.vendor.(gemini).kept
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list, k.names = nil, nil
}

// handle creates and deletes them, and returns the answer in the form for keptAnswer.
func (k *keptContents) handle(method, name string, body map[string]any) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	name = "cachedContents" + name
	switch {
	case method == http.MethodPost && name == "cachedContents":
		if body["ttl"] != "3600s" || !strings.HasPrefix(word(body["model"]), "models/") {
			return "kept wrong"
		}
		n := len(encode(body)) / 4
		if n < leastKept {
			return fmt.Sprintf("kept small %d", n)
		}
		k.made++
		name = fmt.Sprintf("cachedContents/kept-%d", k.made)
		if k.list == nil {
			k.list = map[string]map[string]any{}
		}
		k.list[name], k.names = body, append(k.names, name)
		return fmt.Sprintf("kept made %s %d", name, n)
	case method == http.MethodDelete && k.list[name] != nil:
		delete(k.list, name)
		k.names = slices.DeleteFunc(k.names, func(n string) bool { return n == name })
		return "kept dropped"
	}
	return "kept lost"
}

// whole returns a question together with the cached content that it continues from, or what is wrong with that.
func (k *keptContents) whole(name, model string, body map[string]any) (map[string]any, string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	of := k.list[name]
	switch {
	case of == nil || of["model"] != "models/"+model:
		return nil, "kept lost"
	case body["systemInstruction"] != nil || body["tools"] != nil || body["toolConfig"] != nil:
		return nil, "kept twice"
	}
	whole := map[string]any{}
	for name, v := range body {
		whole[name] = v
	}
	first, _ := of["contents"].([]any)
	rest, _ := body["contents"].([]any)
	whole["systemInstruction"], whole["tools"], whole["contents"] = of["systemInstruction"], of["tools"], append(slices.Clone(first), rest...)
	return whole, ""
}

// keptAnswer returns the API's answer about a cached content, "" if what does not concern one.
func keptAnswer(what string) (int, string) {
	said := strings.Fields(what)
	if len(said) < 2 || said[0] != "kept" {
		return 0, ""
	}
	fault := func(status int, name, message string) (int, string) {
		return status, encode(map[string]any{"error": map[string]any{"code": status, "message": message, "status": name}})
	}
	switch said[1] {
	case "made":
		return http.StatusOK, fmt.Sprintf(`{"name": %q, "model": "models/m", "expireTime": "2030-01-01T00:00:00Z", "usageMetadata": {"totalTokenCount": %s}}`, said[2], said[3])
	case "dropped":
		return http.StatusOK, "{}"
	case "small":
		return fault(http.StatusBadRequest, "INVALID_ARGUMENT", fmt.Sprintf("Cached content is too small. total_token_count=%s, min_total_token_count=%d", said[2], leastKept))
	case "twice":
		return fault(http.StatusBadRequest, "INVALID_ARGUMENT", "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config.")
	case "lost":
		return fault(http.StatusForbidden, "PERMISSION_DENIED", "CachedContent not found (or permission denied)")
	}
	return fault(http.StatusBadRequest, "INVALID_ARGUMENT", "Request contains an invalid argument.")
}
