package guest

import (
	"maps"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestListenersAreReadFromTheKernelsTables(t *testing.T) {
	t.Parallel()
	const four = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 10001        0 4711 1 0 100 0 0 10 0\n" +
		"   1: 0100007F:1F90 0100007F:A2C4 01 00000000:00000000 00:00000000 00000000 10001        0 4712 1 0 100 0 0 10 0\n" +
		"   2: 0100007F:A2C4 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 10001        0 4713 1 0 100 0 0 10 0\n" +
		"   3: 00000000:0050 00000000:0000 0A 0\n" +
		"   4: 0200007F:0051 00000000:0000 0A 0\n"
	const six = "  sl  local_address                         remote_address                        st tx_queue\n" +
		"   0: 00000000000000000000000000000000:0BB8 00000000000000000000000000000000:0000 0A 0\n" +
		"   1: 00000000000000000000000001000000:0BB9 00000000000000000000000000000000:0000 0A 0\n" +
		"   2: 00000000000000000000000000000000:0050 00000000000000000000000000000000:0000 0A 0\n" +
		"   3: 0000000000000000FFFF00000100007F:0BBA 00000000000000000000000000000000:0000 0A 0\n"
	found := map[int]netip.Addr{}
	parseListeners(four, found)
	parseListeners(six, found)
	want := map[int]string{8080: "127.0.0.1", 80: "127.0.0.1", 81: "127.0.0.2", 3000: "127.0.0.1", 3001: "::1", 3002: "127.0.0.1"}
	got := map[int]string{}
	for port, addr := range found {
		got[port] = addr.String()
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	parseListeners("x: 01:50 0 0A\nx: 0100007F:FFFFF 0 0A\nx: 0100007F 0 0A\nx: zz:50 0 0A\n: 0100007F:0000 0 0A\n0A\n", found)
	if len(found) != len(want) {
		t.Errorf("what is no line of a table is read as %v", found)
	}
}

func TestStatusIsReadFromAnAnswerOfHTTPOnly(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]int{
		"HTTP/1.1 200 OK\r\nServer: x\r\n": 200, "HTTP/1.0 404\r\n": 404, "HTTP/1.1 500 \n": 500,
		"": 0, "HTTP/1.1 ": 0, "HTTP/1.1 20\r\n": 0, "HTTP/1.1 2000 x\n": 0, "HTTP/1.1 600 x\n": 0,
		"220 HTTP/1.1 200 OK\r\n": 0, "HTTP/2 200 x\r\n": 0, "HTTP/1.1 200": 0, "HTTP/1.1 -20 x\n": 0,
	} {
		if got := statusOf(answer); got != want {
			t.Errorf("%q: %d, want %d", answer, got, want)
		}
	}
}

func TestFinderSeesATextAcrossItsPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringMatching("[ab]{0,12}")
		text := rapid.StringMatching("[ab]{1,4}").Draw(t, "text")
		f := &finder{text: []byte(text)}
		one, other := f.in(), f.in()
		whole := ""
		for _, piece := range rapid.SliceOf(letters).Draw(t, "pieces") {
			one([]byte(piece))
			other([]byte("-"))
			whole += piece
		}
		if f.found.Load() != strings.Contains(whole, text) {
			t.Fatalf("%q in %q: found is %v", text, whole, f.found.Load())
		}
	})
	none := &finder{}
	none.in()([]byte("x"))
	if none.found.Load() {
		t.Error("no text is found")
	}
}

func TestWatchIsCheckedBeforeItRuns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		watch Watch
		ok    bool
	}{
		"nothing said":     {Watch{}, true},
		"all said":         {Watch{Path: "/a?b=%20", Port: 65535, Text: "x", Settle: 1}, true},
		"a relative path":  {Watch{Path: "a"}, false},
		"a second header":  {Watch{Path: "/ HTTP/1.1\r\nX: y"}, false},
		"a path of length": {Watch{Path: "/" + strings.Repeat("a", maxReadyText)}, false},
		"a port too high":  {Watch{Port: 65536}, false},
		"a negative port":  {Watch{Port: -1}, false},
		"a text of length": {Watch{Text: strings.Repeat("a", maxReadyText+1)}, false},
		"a time before":    {Watch{Settle: -1}, false},
		"a look before":    {Watch{Look: -1}, false},
	} {
		c := Command{Args: []string{"/bin/x"}, Watch: &test.watch}.WithDefaults()
		if err := c.Check(); (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
