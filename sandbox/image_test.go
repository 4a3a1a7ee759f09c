package sandbox_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agent/sandbox"
)

// ImageLabels asks again about an image that is being removed. The engine is a fake: a real one does not give the
// intermediate answer on demand.
func TestAnImageThatIsBeingRemovedIsAskedAboutAgain(t *testing.T) {
	asked := map[string]int{}
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, name, _ := strings.Cut(strings.TrimSuffix(r.URL.Path, "/json"), "/images/")
		if name == "" { // a ping
			w.Header().Set("API-Version", "1.41")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		status, message := http.StatusInternalServerError, "layer does not exist"
		if asked[name]++; name == "going" && asked[name] > 2 {
			status, message = http.StatusNotFound, "No such image"
		}
		w.WriteHeader(status)
		w.Write([]byte(`{"message": "` + message + `"}`))
	}))
	defer engine.Close()
	t.Setenv("DOCKER_HOST", "tcp://"+strings.TrimPrefix(engine.URL, "http://"))
	e, err := sandbox.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if id, _, err := e.ImageLabels(t.Context(), "going"); id != "" || err != nil || asked["going"] != 3 {
		t.Errorf("asked %d times: %q, %v", asked["going"], id, err)
	}
	if _, _, err := e.ImageLabels(t.Context(), "broken"); err == nil || !strings.Contains(err.Error(), "layer does not exist") {
		t.Errorf("asked %d times: %v", asked["broken"], err)
	}
}
