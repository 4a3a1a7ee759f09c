package images

import (
	"bufio"
	"bytes"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/moby/buildkit/client/llb"
)

// Where archives come from when the user says nothing else.
const (
	defaultRegistry = "https://registry.npmjs.org"
	defaultProxy    = "https://proxy.golang.org,direct"
)

// A sources says where the archives of a recipe come from. It decides nothing about the image: their content is
// fixed by the digests in the recipe, so that any mirror will do.
type sources struct {
	registry string // of npm, without a slash at its end
	proxy    string // GOPROXY
	ca       memTree
	out      llb.RunOption // the network of the steps that have one
}

// A host is what is read of the user's machine to find the sources.
type host struct {
	getenv   func(string) string
	readFile func(string) ([]byte, error)
}

// sources reads the user's own settings, as npm and go do: the environment, then their files. Only addresses are
// taken. One with a password in it is refused, since the engine would keep it in its cache and show it on progress lines.
func (h host) sources() (sources, error) {
	registry := first(h.getenv("NPM_CONFIG_REGISTRY"), h.getenv("npm_config_registry"),
		h.setting(filepath.Join(h.getenv("HOME"), ".npmrc"), "registry"), defaultRegistry)
	u, err := url.Parse(registry)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return sources{}, fmt.Errorf("npm registry: it is no https address: set NPM_CONFIG_REGISTRY to one such as %s", defaultRegistry)
	}
	if u.User != nil {
		return sources{}, fmt.Errorf("npm registry %s: its address has a password in it: set NPM_CONFIG_REGISTRY to one without", u.Host)
	}
	config := first(h.getenv("XDG_CONFIG_HOME"), filepath.Join(h.getenv("HOME"), ".config"))
	proxy := first(h.getenv("GOPROXY"), h.setting(first(h.getenv("GOENV"), filepath.Join(config, "go", "env")), "GOPROXY"), defaultProxy)
	for _, p := range strings.FieldsFunc(proxy, func(r rune) bool { return r == ',' || r == '|' }) {
		if u, err := url.Parse(p); err != nil || u.User != nil {
			return sources{}, fmt.Errorf("GOPROXY: an address with a password in it, or none at all: set GOPROXY to one such as %s", defaultProxy)
		}
	}
	s := sources{registry: strings.TrimRight(u.String(), "/"), proxy: proxy}
	// Where there are none, those of the base serve.
	if ca, err := h.readFile(first(h.getenv("SSL_CERT_FILE"), "/etc/ssl/certs/ca-certificates.crt")); err == nil {
		s.ca = memTree{{path: "ca.crt", content: ca, mode: 0o444}}
	}
	return s, nil
}

// setting returns the value of key in a file of lines "key=value", "" when there is none.
func (h host) setting(file, key string) string {
	text, err := h.readFile(file)
	if err != nil {
		return ""
	}
	value := ""
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if k, v, ok := strings.Cut(lines.Text(), "="); ok && strings.TrimSpace(k) == key {
			value = strings.Trim(strings.TrimSpace(v), `"'`)
		}
	}
	return value
}

// first returns the first of its arguments that says something.
func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}

// explain adds to the error of a build what to do when a registry of npm is the reason, which the engine gives as text only.
// What the Go tools have to say is in their step's own output.
func (s sources) explain(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "digest mismatch"):
		return fmt.Errorf("%w: what the npm registry %s serves is not what the recipe pins, and nothing of it was used: "+
			"set NPM_CONFIG_REGISTRY to a registry that serves the archives as they were published", err, s.registry)
	case strings.Contains(text, s.registry):
		return fmt.Errorf("%w: the npm registry %s does not serve it: set NPM_CONFIG_REGISTRY to one that does", err, s.registry)
	}
	return err
}
