package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"agent/orchestrator/llm"
)

// broken ends an answer in its middle, after what it cost was told.
func broken(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, `data: {"usage":{"input_tokens":5,"output_tokens":40}}`+"\n\n")
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// What a vendor has counted is paid for, whether or not its answer came to an end.
func TestAnAnswerThatBreaksOffIsCounted(t *testing.T) {
	t.Parallel()
	v := serve(t, broken)
	g, journal, client := opened(t, Config{Vendor: "anthropic"}, llm.Limits{}, v.URL, secretKey)
	r, err := client.Post(Address+"/v1/messages", "application/json", strings.NewReader(`{"model":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r.Body); err == nil {
		t.Errorf("the answer is whole to the program: %q", text)
	}
	r.Body.Close()
	if spent, err := settled(t, g, 1); spent.Tokens != 45 || err != nil {
		t.Errorf("spent %+v, %v", spent, err)
	}
	if ofRun, _, err := journal.Spent(t.Context(), "r1", time.Time{}); err != nil || ofRun.Tokens != 45 {
		t.Errorf("recorded %+v, %v", ofRun, err)
	}
}
