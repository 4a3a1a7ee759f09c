package verify

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"agent/sandbox/egress"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/owngate"
	"agent/verify/verifytest"
)

// elsewhere starts a server that programs in boxes do not mistake for their own: it listens at an address of this machine that is not a
// loopback address.
func elsewhere(t *testing.T) *httptest.Server {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		addr := netip.MustParsePrefix(a.String()).Addr()
		if !addr.Is4() || addr.IsLoopback() {
			continue
		}
		l, err := net.Listen("tcp", addr.String()+":0")
		if err != nil {
			t.Fatal(err)
		}
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "here") }))
		s.Listener.Close()
		s.Listener = l
		s.Start()
		t.Cleanup(s.Close)
		return s
	}
	t.Fatal("this machine has no address but that of the loopback")
	return nil
}

// The program, the tests and the workspace's own gates reach the allowed hosts, on both sides of the comparison, through the environment
// variables that any HTTP library reads. Every request is reported.
func TestProgramsReachWhatIsAllowed(t *testing.T) {
	t.Parallel()
	server := elsewhere(t)
	s := newSite(t, map[string]string{
		"main.py":     "import urllib.request\n\nprint(urllib.request.urlopen(\"" + server.URL + "/smoke?hush\").read())\n",
		"test_net.py": "import urllib.request\n\n\ndef test_reach():\n    assert urllib.request.urlopen(\"" + server.URL + "\").read() == b\"here\"\n",
		"refused.py":  "import urllib.error\nimport urllib.request\n\ntry:\n    urllib.request.urlopen(\"http://other.example/\")\nexcept urllib.error.HTTPError as e:\n    assert e.code == 403 and b\"other.example:80\" in e.read()\n",
	})
	var err error
	if s.config.Egress, err = egress.Parse([]string{server.Listener.Addr().String()}); err != nil {
		t.Fatal(err)
	}
	s.config.Gates = []CustomGate{{Name: "net", Command: []string{"python3", "refused.py"}, When: WhenAlways}}
	text := "\"\"\"Tell where.\"\"\"\n\nimport urllib.request\n\nprint(urllib.request.urlopen(\"" + server.URL + "/smoke?hush\").read())\n"
	var mu sync.Mutex
	told := map[string][]string{}
	r, err := s.verifier.Verify(t.Context(), s.request(verifytest.Change(t, s.base, map[string]string{"main.py": text})), func(e Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Request != nil {
			told[e.Gate] = append(told[e.Gate], e.Request.String())
		}
	})
	if err != nil || r.Verdict != check.Pass || len(r.Gates) < 5 {
		t.Fatalf("%v, %+v", err, r)
	}
	want := []string{"baseline-gate-net", "baseline-smoke", "baseline-tests", "gate-net", "smoke", "tests"}
	if got := slices.Sorted(maps.Keys(told)); !slices.Equal(got, want) {
		t.Errorf("requests of %q, want %q", got, want)
	}
	for purpose, requests := range told {
		begin := "GET " + server.Listener.Addr().String() + " allowed, "
		if strings.HasSuffix(purpose, "net") {
			begin = "GET other.example:80 refused: "
		}
		if len(requests) != 1 || !strings.HasPrefix(requests[0], begin) || strings.Contains(requests[0], "hush") {
			t.Errorf("%s: %q, want %q", purpose, requests, begin)
		}
	}
}

// A tool that examines the workspace may run code of it, and must not reach the network.
func TestOnlyProgramsReachOut(t *testing.T) {
	t.Parallel()
	for _, def := range append(allChecks(), owngate.Checks([]CustomGate{{Name: "static"}}, workspace.Changeset{})...) {
		if want := def.Gate == check.GateSmoke || def.Gate == check.GateTests || def.Gate == "static"; reachesOut(def.Group) != want {
			t.Errorf("%s of gate %s: %v", def.Name, def.Gate, !want)
		}
	}
	if reachesOut("proof") {
		t.Error("the proof of the gates has a way out")
	}
}
