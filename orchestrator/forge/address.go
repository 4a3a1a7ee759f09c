package forge

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"
)

// An Address is a repository on a forge.
type Address struct {
	// Base is the address of the forge's pages: scheme and host, and the path before the owner if the forge does not
	// begin at the root. It has no user and no password.
	Base string
	// Owner may contain slashes, as groups of GitLab do.
	Owner, Name string
}

// ErrNoAddress means that a text does not name a repository on a forge.
var ErrNoAddress = errors.New("not the address of a repository on a forge")

// ParseAddress reads what git calls a remote: https://host/owner/name.git, ssh://git@host/owner/name,
// git@host:owner/name. base is the configured forge: it determines the scheme, port and path with which the text's host
// is reached. ParseAddress drops a user and a password from the text. Files and other transports, such as ext::, are
// not addresses.
func ParseAddress(text, base string) (Address, error) {
	text = strings.TrimSpace(text)
	fail := fmt.Errorf("%q: %w", hidePassword(text), ErrNoAddress)
	forge, err := url.Parse(base)
	if err != nil || forge.Host == "" {
		return Address{}, fmt.Errorf("%q: %w", base, ErrNoAddress)
	}
	host, rest, web := "", "", false
	if scheme, _, ok := strings.Cut(text, "://"); ok {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || scheme != "https" && scheme != "http" && scheme != "ssh" {
			return Address{}, fail
		}
		host, rest, web = u.Host, u.Path, scheme != "ssh"
	} else {
		// The short form of ssh; the colon comes before any slash.
		before, after, ok := strings.Cut(text, ":")
		if !ok || strings.ContainsAny(before, "/\\") || strings.HasPrefix(after, ":") {
			return Address{}, fail
		}
		host, rest = before[strings.LastIndex(before, "@")+1:], after
	}
	a := Address{Base: "https://" + host}
	if name, _, err := net.SplitHostPort(host); err == nil && !web {
		a.Base = "https://" + name // the port is ssh's
	}
	// The host decides, not how it is reached: a token is for the forge that the user named.
	if other, err := url.Parse(a.Base); err == nil && strings.EqualFold(other.Hostname(), forge.Hostname()) && (!web || other.Host == forge.Host) {
		a.Base = strings.TrimSuffix(forge.Scheme+"://"+forge.Host+forge.Path, "/")
		rest = strings.TrimPrefix("/"+strings.TrimPrefix(rest, "/"), strings.TrimSuffix(forge.Path, "/"))
	}
	rest = strings.TrimSuffix(strings.Trim(rest, "/"), ".git")
	a.Owner, a.Name = path.Split(rest)
	a.Owner = strings.Trim(a.Owner, "/")
	for _, part := range strings.Split(rest, "/") {
		if !PlainName(part) {
			return Address{}, fail
		}
	}
	if a.Owner == "" {
		return Address{}, fail
	}
	return a, nil
}

// PlainName reports whether a part of a path, or a user, is a name of the kind that forges allow: it can stand
// unchanged in a URL and in the name of a directory.
func PlainName(part string) bool {
	if part == "" || strings.HasPrefix(part, ".") || strings.HasPrefix(part, "-") || len(part) > 200 {
		return false
	}
	return strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~") == ""
}

// hidePassword returns a text that may be a URL without what stands before its host.
func hidePassword(text string) string {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return text
	}
	host, after, _ := strings.Cut(rest, "/")
	if at := strings.LastIndex(host, "@"); at >= 0 {
		return scheme + "://" + host[at+1:] + "/" + after
	}
	return text
}

// URL returns the address for git.
func (a Address) URL() string { return a.Base + "/" + a.Owner + "/" + a.Name + ".git" }

// Slug returns the owner and the name.
func (a Address) Slug() string { return a.Owner + "/" + a.Name }

// Host returns the host of the forge, with its port.
func (a Address) Host() string {
	u, err := url.Parse(a.Base)
	if err != nil {
		return ""
	}
	return u.Host
}

// Private reports whether no third party can read what is sent to the forge: it uses https, or does not leave the
// machine.
func (a Address) Private() bool {
	u, err := url.Parse(a.Base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// A Kind is a vendor of forges.
type Kind string

// The kinds. Forgejo has the same API as Gitea.
const (
	GitHub Kind = "github"
	Gitea  Kind = "gitea"
	GitLab Kind = "gitlab"
)

// Kinds lists the kinds that have a driver.
func Kinds() []Kind { return []Kind{GitHub, Gitea, GitLab} }

// KindOf returns the kind of a well-known host, or "" for any other.
func KindOf(host string) Kind {
	return map[string]Kind{"github.com": GitHub, "codeberg.org": Gitea, "gitea.com": Gitea, "gitlab.com": GitLab}[strings.ToLower(host)]
}

// User returns the user name that git sends with a token to a repository of this kind.
func (k Kind) User() string {
	return map[Kind]string{GitHub: "x-access-token", Gitea: "agent", GitLab: "oauth2"}[k]
}

// HeadRef returns the reference of the head of a pull request in the repository, even if the head comes from a fork.
func (k Kind) HeadRef(number int) string {
	if k == GitLab {
		return fmt.Sprintf("refs/merge-requests/%d/head", number)
	}
	return fmt.Sprintf("refs/pull/%d/head", number)
}
