package guest

import (
	"encoding/hex"
	"io"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// socketTables are the kernel's lists of the box's TCP sockets (see its Documentation/networking/proc_net_tcp.rst). A
// table that does not exist lists nothing.
var socketTables = []string{"/proc/net/tcp", "/proc/net/tcp6"}

// stateListen is the state of a socket that accepts connections.
const stateListen = "0A"

// listeners returns the ports on which something in the box accepts connections, each with an address to reach it.
func listeners() map[int]netip.Addr {
	found := map[int]netip.Addr{}
	for _, name := range socketTables {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(io.LimitReader(f, maxTable)) // a truncated table lists less
		f.Close()
		parseListeners(string(text), found)
	}
	return found
}

// parseListeners reads one table. The first address of a port stays, so that a program that listens on both kinds is
// asked by IPv4.
func parseListeners(table string, found map[int]netip.Addr) {
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[3] != stateListen {
			continue
		}
		host, number, _ := strings.Cut(fields[1], ":")
		port, err := strconv.ParseUint(number, 16, 16)
		addr, ok := parseAddress(host)
		if err != nil || !ok || port == 0 {
			continue
		}
		if _, known := found[int(port)]; !known {
			found[int(port)] = addr
		}
	}
}

// parseAddress reads an address as the tables write it: words of 32 bits, each in the byte order of the machine, which
// is little-endian on every port of the guest. An unspecified address is reached on the loopback, even an IPv6 one by
// IPv4: such a socket accepts both.
func parseAddress(text string) (netip.Addr, bool) {
	raw, err := hex.DecodeString(text)
	if err != nil {
		return netip.Addr{}, false
	}
	for word := range slices.Chunk(raw, 4) {
		slices.Reverse(word)
	}
	addr, ok := netip.AddrFromSlice(raw)
	if addr = addr.Unmap(); addr.IsUnspecified() {
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return addr, ok
}
