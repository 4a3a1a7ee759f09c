package wire

import (
	"fmt"
	"net/url"
	"strings"

	"agent/orchestrator/llm"
)

// BaseURL returns an address at which a vendor is asked, without a trailing slash. It returns an error for an invalid address, or
// one that holds a password or a query: neither belongs in a URL. The error quotes nothing of the address.
func BaseURL(title, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("the base URL of %s is not http://HOST or https://HOST", title)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("the base URL of %s contains more than scheme, host and path", title)
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// Sendable reports whether a key can be sent in a header: it is not empty, and printable ASCII.
func Sendable(key llm.Key) bool {
	secret := key.Secret()
	return secret != "" && !strings.ContainsFunc(secret, func(r rune) bool { return r < '!' || r > '~' })
}
