package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
)

// special are addresses that are not on the internet or do not belong to one host, besides those that netip knows. They
// come from IANA's registries of special-purpose addresses.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"), netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("168.63.129.16/32"), // the metadata of Azure
	// IPv6 addresses that stand for IPv4 addresses, and addresses for documentation.
	netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"),
}

// internet is the part of IPv6 that is assigned to hosts.
var internet = netip.MustParsePrefix("2000::/3")

// public reports whether addr belongs to a host on the internet.
func public(addr netip.Addr) bool {
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && (addr.Is4() || internet.Contains(addr)) &&
		!slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// ownAddress reports whether addr is an address of this machine.
func ownAddress(addr netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(own, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err != nil || prefix.Addr().Unmap() == addr
	})
}

// An addressError refuses the address of a name that is on the list.
type addressError struct{ addr netip.AddrPort }

func (e *addressError) Error() string {
	return fmt.Sprintf("its address %s is on this machine or a private network: only the user may allow it, by listing that address under [egress] allow", e.addr)
}

// control checks the address that a name resolved to, right before the connection; nothing is resolved after that.
func (l List) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
	if slices.Contains(l, Place{at.Addr().String(), at.Port()}) || public(at.Addr()) && !ownAddress(at.Addr()) {
		return nil
	}
	return &addressError{at}
}
