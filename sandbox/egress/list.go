package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// A Place is a host and port that a box may connect to.
type Place struct {
	// Host is a lowercase name, with "*." before it for all names below it, or an IP address.
	Host string
	Port uint16
}

// A List is what a box may connect to; an empty one allows nothing.
type List []Place

// defaultPorts apply if an entry names no port: those of https and http.
var defaultPorts = []uint16{443, 80}

// hostName matches a DNS name, international ones in their ASCII form, optionally with the prefix that stands for all
// names below it. Such a name must be more than a whole top-level domain.
var hostName = lazyregexp.New(`^(\*\.([a-z0-9_-]{1,63}\.)+)?([a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}$`)

// Parse reads a list as people write it: "example.org", "*.example.org", "api.example.org:8443", "192.168.1.5:8080",
// "[fd00::5]:8080". Without a port an entry means 443 and 80.
func Parse(entries []string) (List, error) {
	var list List
	for _, entry := range entries {
		host, ports := entry, defaultPorts
		if h, p, err := net.SplitHostPort(entry); err == nil {
			port, err := strconv.ParseUint(p, 10, 16)
			if err != nil || port == 0 {
				return nil, fmt.Errorf("%q: %q is not a port", entry, p)
			}
			host, ports = h, []uint16{uint16(port)}
		}
		host = canonical(strings.Trim(host, "[]"))
		if !validHost(host) {
			return nil, fmt.Errorf("%q is not a host: write a name, \"*.\" and a name, or an IP address, with or without a port, such as \"api.example.org:8443\"", entry)
		}
		for _, port := range ports {
			if p := (Place{host, port}); !slices.Contains(list, p) {
				list = append(list, p)
			}
		}
	}
	return list, nil
}

// validHost reports whether a canonical host is an address or a name. An address with a zone is invalid: its end could
// pass for the end of a name.
func validHost(host string) bool {
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Zone() == ""
	}
	return len(host) <= 253 && hostName.MatchString(host)
}

// canonical returns a host in the one form in which hosts are compared.
func canonical(host string) string {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.Unmap().String()
	}
	return host
}

// String returns the place in the form that Parse reads.
func (p Place) String() string { return net.JoinHostPort(p.Host, strconv.Itoa(int(p.Port))) }

// Entries returns the list in the form that Parse reads.
func (l List) Entries() []string {
	entries := []string{}
	for _, p := range l {
		entries = append(entries, p.String())
	}
	return entries
}

// covers reports whether p lets through everything that q does.
func (p Place) covers(q Place) bool {
	below, all := strings.CutPrefix(p.Host, "*")
	return p.Port == q.Port && (p.Host == q.Host || all && strings.HasSuffix(q.Host, below))
}

// Covers reports whether the list lets through everything that p does.
func (l List) Covers(p Place) bool {
	return slices.ContainsFunc(l, func(own Place) bool { return own.covers(p) })
}

// Narrow returns what both lists let through.
func (l List) Narrow(other List) List {
	both := List{}
	for _, p := range l {
		if other.Covers(p) {
			both = append(both, p)
		}
	}
	for _, p := range other {
		if l.Covers(p) && !slices.Contains(both, p) {
			both = append(both, p)
		}
	}
	return both
}
