package llmtest

import (
	"cmp"
	"net/http"
	"strings"
)

// sse formats one server-sent event without a name.
func sse(data any) string { return "data: " + encode(data) + "\n\n" }

// namedSSE formats one server-sent event with a name, which its data has as its type.
func namedSSE(name string, data map[string]any) string {
	data["type"] = name
	return "event: " + name + "\n" + sse(data)
}

// number64 returns a number in a question, 0 if there is none.
func number64(v any) float64 {
	n, _ := v.(float64)
	return n
}

// list returns the answer of an endpoint that lists models in OpenAI's form, which others adopted.
func list(entries ...map[string]any) (int, string) {
	return http.StatusOK, encode(map[string]any{"object": "list", "data": entries, "has_more": false})
}

// after returns the path after a prefix, "" for another path.
func after(r *http.Request, prefix string) string {
	rest, ok := strings.CutPrefix(r.URL.Path, prefix)
	if !ok {
		return ""
	}
	return rest
}

// echoed returns the name of the model in an answer.
func echoed(q Request, s Step) string { return cmp.Or(s.Model, q.Model) }
