package egress

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// parsed is Parse for entries that are valid.
func parsed(t rapid.TB, entries ...string) List {
	t.Helper()
	list, err := Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAListIsReadAsPeopleWriteIt(t *testing.T) {
	t.Parallel()
	got := parsed(t, "Example.org.", "*.example.org", "api.example.org:8443", "192.168.1.5:8080", "[FD00::5]:1", "::ffff:10.0.0.1", "xn--bcher-kva.example:1", "example.org:80").Entries()
	want := []string{
		"example.org:443", "example.org:80", "*.example.org:443", "*.example.org:80", "api.example.org:8443", "192.168.1.5:8080", "[fd00::5]:1",
		"10.0.0.1:443", "10.0.0.1:80", "xn--bcher-kva.example:1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if again := parsed(t, got...).Entries(); !slices.Equal(again, want) {
		t.Errorf("read again: %q", again)
	}
}

func TestWhatIsNoHostIsRefused(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{
		"", "*", "*.org", "https://example.org", "example.org/path", "a*.example.org", "*.*.example.org", "example.org:0", "example.org:65536", "example.org:http",
		"user@example.org", "exa mple.org", "bücher.example", "fe80::1%eth0", "[2600::1%.example.org]:80", ".example.org", strings.Repeat("a.", 127) + "org", "*.192.168.1.5/24",
	} {
		if list, err := Parse([]string{entry}); err == nil {
			t.Errorf("%q was read as %q", entry, list.Entries())
		}
	}
}

// A narrowed list lets through exactly what both lists do: narrowing adds nothing.
func TestNarrowingLetsThroughWhatBothDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entry := rapid.SampledFrom([]string{"a.b.c", "*.b.c", "*.a.b.c", "b.c", "x.a.b.c:80", "*.b.c:80", "a.b.c:443", "10.0.0.1", "*.b.c:8080", "a.b.c:8080"})
		one := parsed(t, rapid.SliceOfN(entry, 0, 4).Draw(t, "one")...)
		two := parsed(t, rapid.SliceOfN(entry, 0, 4).Draw(t, "two")...)
		both := one.Narrow(two)
		for _, host := range []string{"a.b.c", "b.c", "x.a.b.c", "y.x.a.b.c", "x.b.c", "10.0.0.1", "ab.c", "evil.org"} {
			for _, port := range []uint16{80, 443, 8080, 22} {
				p := Place{host, port}
				if both.Covers(p) != (one.Covers(p) && two.Covers(p)) {
					t.Fatalf("%s: %v in %q and %v in %q, %v in %q", p, one.Covers(p), one.Entries(), two.Covers(p), two.Entries(), both.Covers(p), both.Entries())
				}
			}
		}
	})
}

func TestOnlyHostsOnTheInternetArePublic(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"1.1.1.1": true, "193.0.0.1": true, "100.63.255.255": true, "172.32.0.1": true, "2606:4700::1111": true, "2a00:1450::1": true,
		"127.0.0.1": false, "127.8.8.8": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.0.1": false, "0.0.0.0": false, "0.1.2.3": false,
		"169.254.169.254": false, "100.100.100.200": false, "168.63.129.16": false, "192.0.0.192": false, "224.0.0.1": false, "239.255.255.250": false,
		"255.255.255.255": false, "240.0.0.1": false, "198.18.0.1": false, "203.0.113.9": false,
		"::": false, "::1": false, "fe80::1": false, "fe80::1%eth0": false, "2606:4700::1%x": false, "fd00:ec2::254": false, "fc00::1": false, "fec0::1": false, "ff02::1": false,
		"::ffff:1.1.1.1": false, "::127.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "2001:0:7f00:1::": false, "2001:db8::1": false,
	} {
		if got := public(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
