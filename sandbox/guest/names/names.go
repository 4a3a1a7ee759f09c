// Package names is a DNS server for a box, which resolves localhost and the other special names where nothing else does.
//
// The engine's networking would put an /etc/hosts over that of the image, which every engine empties for each container. A box
// without that networking has only this server on the loopback, which resolvers ask if /etc/resolv.conf names none
// (resolv.conf(5)). It knows what RFC 6761 says about the special names.
package names

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	// address is where resolvers ask by default; address6 is where Go's resolver asks next.
	address, address6 = "127.0.0.1:53", "[::1]:53"
	// maxQuery is the largest packet of DNS without extensions (RFC 1035, 4.2.1); no question is longer.
	maxQuery = 512
	// life is how long an answer is valid, in seconds.
	life = 3600
)

// Serve begins to answer and returns; it ends with the process. It does nothing if /etc/hosts defines localhost. It is an error
// if the port is taken or not allowed.
func Serve() error {
	hosts, err := os.ReadFile("/etc/hosts")
	if err == nil && bytes.Contains(hosts, []byte("localhost")) {
		return nil
	}
	conn, err := net.ListenPacket("udp4", address)
	if err != nil {
		return fmt.Errorf("serve the name localhost: %w", err)
	}
	go serve(conn)
	if conn, err := net.ListenPacket("udp6", address6); err == nil { // a kernel may lack IPv6
		go serve(conn)
	}
	return nil
}

// serve answers until conn is closed. A packet that is not a query gets no answer.
func serve(conn net.PacketConn) {
	packet := make([]byte, maxQuery)
	for {
		n, from, err := conn.ReadFrom(packet)
		if err != nil {
			return
		}
		if reply := Answer(packet[:n]); reply != nil {
			_, _ = conn.WriteTo(reply, from) // the asker may have gone
		}
	}
}

// Answer returns the reply to a DNS query, or nil if query is not one. localhost and the names below it are this machine, by IPv4
// alone, because programs that listen on one address listen there. test and invalid do not exist. For all other names it reports
// a failure, as a resolver that reaches no server does.
func Answer(query []byte) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(query)
	if err != nil || head.Response {
		return nil
	}
	reply := dnsmessage.Message{Header: dnsmessage.Header{
		ID: head.ID, Response: true, OpCode: head.OpCode, Authoritative: true,
		RecursionDesired: head.RecursionDesired, RecursionAvailable: true,
	}}
	switch q, err := p.Question(); {
	case err != nil:
		reply.RCode = dnsmessage.RCodeFormatError
	case head.OpCode != 0:
		reply.Questions, reply.RCode = []dnsmessage.Question{q}, dnsmessage.RCodeNotImplemented
	default:
		var body dnsmessage.ResourceBody
		body, reply.RCode = meaning(q)
		reply.Questions = []dnsmessage.Question{q}
		if body != nil {
			reply.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: life}, Body: body}}
		}
	}
	text, err := reply.Pack()
	if err != nil {
		return nil
	}
	return text
}

// meaning returns the answer to a question: nil and success if the name has no record of that type.
func meaning(q dnsmessage.Question) (dnsmessage.ResourceBody, dnsmessage.RCode) {
	name := strings.ToLower(q.Name.String())
	within := func(top string) bool { return name == top || strings.HasSuffix(name, "."+top) }
	switch {
	case within("localhost."):
		if q.Type == dnsmessage.TypeA {
			return &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}, dnsmessage.RCodeSuccess
		}
	case name == "ip6-localhost.", name == "ip6-loopback.":
		if q.Type == dnsmessage.TypeAAAA {
			return &dnsmessage.AAAAResource{AAAA: [16]byte(net.IPv6loopback)}, dnsmessage.RCodeSuccess
		}
	case name == "1.0.0.127.in-addr.arpa.", name == "1."+strings.Repeat("0.", 31)+"ip6.arpa.":
		if q.Type == dnsmessage.TypePTR {
			return &dnsmessage.PTRResource{PTR: dnsmessage.MustNewName("localhost.")}, dnsmessage.RCodeSuccess
		}
	case within("test."), within("invalid."):
		return nil, dnsmessage.RCodeNameError
	default:
		return nil, dnsmessage.RCodeServerFailure
	}
	return nil, dnsmessage.RCodeSuccess
}
