package ollama

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Host returns the address that a value of OLLAMA_HOST means, read as Ollama reads it: "", HOST, HOST:PORT, :PORT, an IPv6 address
// with or without brackets, http://… and https://…, each with or without a path. The default port is 11434, or that of the scheme
// if one is given; ollama.com is https. An address that only a server can listen on, 0.0.0.0 or ::, means this machine.
//
// It refuses an invalid port or scheme, unlike Ollama, which then uses its default.
func Host(value string) (*url.URL, error) {
	scheme, rest, given := strings.Cut(strings.Trim(strings.TrimSpace(value), `"'`), "://")
	port := "11434"
	switch {
	case !given && scheme == "ollama.com":
		scheme, rest, port = "https", scheme, "443"
	case !given:
		scheme, rest = "http", scheme
	case scheme == "http":
		port = "80"
	case scheme == "https":
		port = "443"
	default:
		return nil, fmt.Errorf("the host of Ollama has the scheme %q, which is neither http nor https", scheme)
	}
	if strings.ContainsAny(rest, "@?# ") { // the error quotes none of it, since it may hold a password
		return nil, errors.New("the host of Ollama is not HOST, HOST:PORT or http://HOST:PORT")
	}
	address, path, _ := strings.Cut(rest, "/")
	// An address without a port, in particular an IPv6 one, does not split.
	host := address
	if h, p, err := net.SplitHostPort(address); err == nil {
		host, port = h, p
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, fmt.Errorf("the host of Ollama has the port %q, which is not 1 to 65535", port)
	}
	host = strings.Trim(host, "[]")
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	} else if ip == nil && strings.Contains(host, ":") {
		return nil, fmt.Errorf("the host of Ollama is %q, which is neither a name nor an address", host)
	}
	u := &url.URL{Scheme: scheme, Host: net.JoinHostPort(host, port)}
	if path = strings.TrimRight(path, "/"); path != "" {
		u.Path = "/" + path
	}
	return u, nil
}
