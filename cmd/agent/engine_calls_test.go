package main

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/docker/docker/api/types/container"

	"agent/orchestrator/run"
	"agent/orchestrator/store"
	"agent/orchestrator/store/storetest"
)

// A recorder stands between the agent and the engine and records the calls. To the agent it is an engine on another
// machine, which speaks TLS.
type recorder struct {
	// The variables that point the agent to it.
	env []string

	mu sync.Mutex
	// The keys have the form "POST /containers/create", without the version.
	calls map[string]int
	// The bodies of the requests for a container.
	created []string
}

// apiVersion begins the path of most requests.
var apiVersion = regexp.MustCompile(`^/v[0-9.]+`)

// record starts a recorder in front of the machine's engine.
func record(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{calls: map[string]int{}}
	to := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "engine"})
	to.Transport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", "/var/run/docker.sock")
	}}
	to.FlushInterval = -1
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		call := q.Method + " " + apiVersion.ReplaceAllString(q.URL.Path, "")
		r.mu.Lock()
		r.calls[call]++
		if call == "POST /containers/create" {
			body, _ := io.ReadAll(q.Body) // a body that was cut short does not parse
			q.Body = io.NopCloser(bytes.NewReader(body))
			r.created = append(r.created, string(body))
		}
		r.mu.Unlock()
		to.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	certificate := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(certificate.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{
		"ca.pem": {Type: "CERTIFICATE", Bytes: certificate.Certificate[0]}, "cert.pem": {Type: "CERTIFICATE", Bytes: certificate.Certificate[0]},
		"key.pem": {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r.env = []string{"DOCKER_HOST=tcp://" + server.Listener.Addr().String(), "DOCKER_TLS_VERIFY=1", "DOCKER_CERT_PATH=" + dir}
	return r
}

// engineCalls matches every call that a run may make to an engine. It excludes archives, by which files were once
// written to a host, commands in a box that already runs, volumes, and builds of a Dockerfile.
var engineCalls = regexp.MustCompile(`^(HEAD|GET) /_ping$|^GET /(info|version|containers/json|images/json)$` +
	`|^GET /(images|containers)/[^/]+/json$|^POST /(session|grpc)$|^DELETE /(images|containers)/[^/]+$` +
	`|^POST /containers/(create|[^/]+/(attach|start|wait|kill))$|^POST /images/[^/]+/tag$|^POST /build/prune$`)

// A workspace contains files that mean something to an engine, and each of them is only content. The agent makes few
// kinds of calls to the engine. They are the same for every workspace, and none needs an engine on this machine.
// A16–A19. Files that the program writes in its box are not promoted: C22.
func TestTheEngineIsAskedForBoxesAndNothingElse(t *testing.T) {
	t.Parallel()
	engine := record(t)
	db, dsn := storetest.New(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.py": "import pathlib\n\nprint(pathlib.Path(\"Dockerfile\").read_text(), pathlib.Path(\"secret-looking.txt\").read_text())\n" +
			"for name in (\"main.py\", \"evil.py\"):\n    pathlib.Path(name).write_text(\"evil = 1\\n\")\n",
		"Dockerfile":    "# syntax=registry.invalid/evil\nFROM registry.invalid/evil\nRUN --mount=type=cache,source=/,target=/host touch /host/evil\n",
		".dockerignore": "*\n", "secret-looking.txt": "still here\n",
		"compose.yaml": "services:\n  evil:\n    image: registry.invalid/evil\n    privileged: true\n    volumes: [\"/:/host\"]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	patch := filepath.Join(t.TempDir(), "patch.xml")
	edit := "<EDIT file=\"main.py\">\n<SEARCH>\nimport pathlib\n</SEARCH>\n<REPLACE>\nimport pathlib\n\nprint(1)\n</REPLACE>\n</EDIT>\n"
	if err := os.WriteFile(patch, []byte(edit), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(agentProgram, "sandbox", "run", "-w", dir, "--patch", patch, "--yes", "--json")
	cmd.Env = append(append(os.Environ(), "AGENT_DATABASE_URL="+dsn), engine.env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var doc run.Document
	if json.Unmarshal(out, &doc) != nil || err != nil || doc.State != run.Promoted {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}

	if text, err := os.ReadFile(filepath.Join(dir, "main.py")); err != nil || !strings.HasPrefix(string(text), "import pathlib\n\nprint(1)\n") {
		t.Errorf("promoted: %s, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "evil.py")); err == nil {
		t.Error("what the program wrote is promoted")
	}
	for call, n := range engine.calls {
		if !engineCalls.MatchString(call) {
			t.Errorf("asked %d times: %s", n, call)
		}
	}
	engine.logged(t, db, doc.Run)
	if len(engine.created) < 2 {
		t.Errorf("only %d boxes were seen", len(engine.created))
	}
	for _, body := range engine.created {
		var box struct {
			container.Config
			HostConfig container.HostConfig
		}
		if err := json.Unmarshal([]byte(body), &box); err != nil {
			t.Fatal(err)
		}
		host := box.HostConfig
		if host.Privileged || len(host.Binds)+len(host.Mounts)+len(host.Devices)+len(box.Volumes)+len(host.CapAdd) > 0 || host.NetworkMode != "none" {
			t.Errorf("a box was asked for as %s", body)
		}
		if strings.Contains(body, "registry.invalid") || strings.Contains(body, dir) {
			t.Errorf("a box knows of the workspace: %s", body)
		}
	}
}

// outsideOfRuns matches the calls that a command makes for itself: it looks for the engine, for leftovers, and for its
// images.
var outsideOfRuns = regexp.MustCompile(`^(HEAD|GET) /_ping$|^GET /(info|version|containers/json)$|^GET /images/[^/]+/json$`)

// ofBox matches a call about one box.
var ofBox = regexp.MustCompile(`^[A-Z]+ (/containers/[0-9a-f]{64})(?:/|$)`)

// outsideOfRun reports whether a command made a call for itself. That includes calls about the box of a dead process,
// as concurrent tests leave them: the command removes it and waits for that. The run started its own boxes itself.
func (r *recorder) outsideOfRun(call string) bool {
	box := ofBox.FindStringSubmatch(call)
	return outsideOfRuns.MatchString(call) || box != nil && r.calls["POST "+box[1]+"/start"] == 0
}

// logged checks that the log of a run has every call to the engine, as often as it was made, except those that the
// command made for itself. It includes the calls that removed boxes after the run had ended.
func (r *recorder) logged(t *testing.T, db *store.DB, id string) {
	t.Helper()
	rows, err := db.Events(t.Context(), id, run.EngineEntry, 0)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]int{}
	for _, e := range rows {
		told[e.Subject]++
		if !regexp.MustCompile(`"status": [1245]\d\d`).Match(e.Detail) || r.calls[e.Subject] == 0 {
			t.Errorf("the engine was not asked for %s: %s", e.Subject, e.Detail)
		}
	}
	for call, n := range r.calls {
		if told[call] > n || told[call] < n && !r.outsideOfRun(call) {
			t.Errorf("%s: asked %d times, in the log %d times", call, n, told[call])
		}
	}
}
