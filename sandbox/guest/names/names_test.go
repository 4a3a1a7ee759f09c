package names_test

import (
	"bytes"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"agent/sandbox/guest/names"
)

// question is a query for a name.
func question(t testing.TB, name string, kind dnsmessage.Type) []byte {
	t.Helper()
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}},
	}
	text, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestNamesMeanWhatTheStandardSays(t *testing.T) {
	t.Parallel()
	const a, aaaa, ptr = dnsmessage.TypeA, dnsmessage.TypeAAAA, dnsmessage.TypePTR
	here := &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}
	for name, test := range map[string]struct {
		kind dnsmessage.Type
		want dnsmessage.ResourceBody
		code dnsmessage.RCode
	}{
		"localhost.":              {a, here, 0},
		"LocalHost.":              {a, here, 0},
		"db.localhost.":           {a, here, 0},
		"api.localhost.":          {aaaa, nil, 0},
		"ip6-localhost.":          {aaaa, &dnsmessage.AAAAResource{AAAA: [16]byte{15: 1}}, 0},
		"ip6-loopback.":           {a, nil, 0},
		"1.0.0.127.in-addr.arpa.": {ptr, &dnsmessage.PTRResource{PTR: dnsmessage.MustNewName("localhost.")}, 0},
		"1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.ip6.arpa.": {ptr, &dnsmessage.PTRResource{PTR: dnsmessage.MustNewName("localhost.")}, 0},
		"no.such.invalid.": {a, nil, dnsmessage.RCodeNameError},
		"test.":            {aaaa, nil, dnsmessage.RCodeNameError},
		"notlocalhost.":    {a, nil, dnsmessage.RCodeServerFailure},
		"example.com.":     {a, nil, dnsmessage.RCodeServerFailure},
		".":                {a, nil, dnsmessage.RCodeServerFailure},
	} {
		var m dnsmessage.Message
		if err := m.Unpack(names.Answer(question(t, name, test.kind))); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.ID != 7 || !m.Response || m.RCode != test.code || len(m.Questions) != 1 || m.Questions[0].Name.String() != name {
			t.Errorf("%s: %+v", name, m)
		}
		if test.want == nil && len(m.Answers) > 0 || test.want != nil && (len(m.Answers) != 1 || m.Answers[0].Body.GoString() != test.want.GoString()) {
			t.Errorf("%s: answers %+v", name, m.Answers)
		}
	}
}

// Whatever the packet, the reply is a well-formed answer to it, or there is none.
func FuzzAnswer(f *testing.F) {
	f.Add(question(f, "localhost.", dnsmessage.TypeA))
	f.Add([]byte{0, 1, 0x28, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'x', 0, 0, 1, 0, 1}) // another operation
	f.Add([]byte{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1})     // a name that points to itself
	f.Add([]byte{0, 1, 0x80, 0})
	f.Fuzz(func(t *testing.T, query []byte) {
		reply := names.Answer(query)
		if reply == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(reply); err != nil || !m.Response || !bytes.Equal(reply[:2], query[:2]) {
			t.Errorf("%q is answered with %q, %v", query, reply, err)
		}
	})
}
