package llmtest

import (
	"cmp"
	"net/http"
	"strings"
)

// sse is one server-sent event without a name.
func sse(data any) string { return "data: " + encode(data) + "\n\n" }

// namedSSE is one server-sent event with a name, which its data has as its type.
func namedSSE(name string, data map[string]any) string {
	data["type"] = name
	return "event: " + name + "\n" + sse(data)
}

// number64 is a number of a question, 0 where there is none.
func number64(v any) float64 {
	n, _ := v.(float64)
	return n
}

// list is the answer of an endpoint that lists models in OpenAI's way, which others took over.
func list(entries ...map[string]any) (int, string) {
	return http.StatusOK, encode(map[string]any{"object": "list", "data": entries, "has_more": false})
}

// after is the path behind a prefix, "" for another path.
func after(r *http.Request, prefix string) string {
	rest, ok := strings.CutPrefix(r.URL.Path, prefix)
	if !ok {
		return ""
	}
	return rest
}

// echoed is the name of the model in an answer.
func echoed(q Request, s Step) string { return cmp.Or(s.Model, q.Model) }
