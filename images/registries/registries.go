// Package registries finds where packages come from: by the user's own settings, as npm, pip and Go read them, and never by
// those of a workspace.
//
// It reads addresses, how Go checks modules, and the machine's certificates. It refuses an address that contains a password,
// since an engine would keep it in its cache and show it on progress lines.
package registries

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// Where packages come from unless the user says otherwise.
const (
	defaultNPM   = "https://registry.npmjs.org"
	defaultProxy = "https://proxy.golang.org,direct"
	defaultPyPI  = "https://pypi.org/simple"
)

// A Set says where packages come from. It decides nothing about a toolchain: digests fix the content of the toolchain's
// archives, so any mirror will do.
type Set struct {
	NPM     string // without a slash at its end
	GoProxy string // GOPROXY
	CA      []byte // the machine's certificates, in PEM; nil if there are none

	// PyPI and GoSums are only for what a workspace depends on, see Host.ForWorkspace.
	PyPI   string            // a simple index
	GoSums map[string]string // other variables that Go reads: GOSUMDB and the like
}

// A Host gives access to what is read on the user's machine.
type Host struct {
	Getenv   func(string) string
	ReadFile func(string) ([]byte, error)
}

// ForTools reads the environment, then the files of npm and Go. The error says which variable to set.
func (h Host) ForTools() (Set, error) {
	registry := cmp.Or(h.Getenv("NPM_CONFIG_REGISTRY"), h.Getenv("npm_config_registry"),
		h.setting(filepath.Join(h.Getenv("HOME"), ".npmrc"), "registry"), defaultNPM)
	u, err := url.Parse(registry)
	if err != nil || !web(u) || u.RawQuery != "" || u.Fragment != "" {
		return Set{}, fmt.Errorf("npm registry: not an https address: set NPM_CONFIG_REGISTRY to one such as %s", defaultNPM)
	}
	if u.User != nil {
		return Set{}, fmt.Errorf("npm registry %s: its address has a password in it: set NPM_CONFIG_REGISTRY to one without", u.Host)
	}
	proxy := cmp.Or(h.Getenv("GOPROXY"), h.setting(cmp.Or(h.Getenv("GOENV"), h.config("go", "env")), "GOPROXY"), defaultProxy)
	for _, p := range strings.FieldsFunc(proxy, func(r rune) bool { return r == ',' || r == '|' }) {
		if u, err := url.Parse(p); err != nil || u.User != nil {
			return Set{}, fmt.Errorf("GOPROXY: not an address, or one with a password: set GOPROXY to one such as %s", defaultProxy)
		}
	}
	s := Set{NPM: strings.TrimRight(u.String(), "/"), GoProxy: proxy}
	// If there are none, those of the base serve.
	if ca, err := h.ReadFile(cmp.Or(h.Getenv("SSL_CERT_FILE"), "/etc/ssl/certs/ca-certificates.crt")); err == nil {
		s.CA = ca
	}
	return s, nil
}

// ForWorkspace reads what ForTools reads, the settings of pip, and how Go checks modules. The error says which variable to
// set.
func (h Host) ForWorkspace() (Set, error) {
	s, err := h.ForTools()
	if err != nil {
		return Set{}, err
	}
	// Without a proxy, Go would open connections to whatever host a go.mod names, from the network of the engine's machine.
	// A user who wants that can set it.
	if s.GoProxy == defaultProxy {
		s.GoProxy = strings.TrimSuffix(defaultProxy, ",direct")
	}
	// pip reads more files than this one; this is the file that its own command "pip config set" writes.
	s.PyPI = cmp.Or(h.Getenv("PIP_INDEX_URL"), h.setting(h.config("pip", "pip.conf"), "index-url"), defaultPyPI)
	if u, err := url.Parse(s.PyPI); err != nil || !web(u) || u.User != nil {
		return Set{}, errors.New("the Python package index: not an https address, or one with a password: set PIP_INDEX_URL to one such as " + defaultPyPI)
	}
	// The user also decides which modules are checked against which database: a private module is in none.
	s.GoSums = map[string]string{}
	for _, name := range []string{"GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE"} {
		if v := h.Getenv(name); v != "" {
			s.GoSums[name] = v
		}
	}
	return s, nil
}

// web reports whether u is a web address.
func web(u *url.URL) bool {
	return (u.Scheme == "https" || u.Scheme == "http") && u.Host != ""
}

// config returns the path of a file in the user's configuration directory.
func (h Host) config(names ...string) string {
	dir := cmp.Or(h.Getenv("XDG_CONFIG_HOME"), filepath.Join(h.Getenv("HOME"), ".config"))
	return filepath.Join(append([]string{dir}, names...)...)
}

// setting returns the value of key in a file of lines "key=value", or "" if there is none.
func (h Host) setting(file, key string) string {
	text, err := h.ReadFile(file)
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

// Explain adds to the error of a build what to do if an npm registry is the reason, which the engine gives as text only.
// What the Go tools report is in the output of their own step.
func (s Set) Explain(err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "digest mismatch"):
		return fmt.Errorf("%w: what the npm registry %s serves is not what the recipe pins, so none of it was used: "+
			"set NPM_CONFIG_REGISTRY to a registry that serves the archives as they were published", err, s.NPM)
	case strings.Contains(text, s.NPM):
		return fmt.Errorf("%w: the npm registry %s does not serve it: set NPM_CONFIG_REGISTRY to one that does", err, s.NPM)
	}
	return err
}
