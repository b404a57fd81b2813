package web

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/miekg/dns"
)

// zone is the name that clients look up; the reserved top level domain belongs to nobody (RFC 6761, section 6.2).
const zone = name + "."

// The addresses that the server knows, of networks for documentation (RFC 5737, RFC 3849).
var (
	four = netip.MustParseAddr("192.0.2.1")
	six  = netip.MustParseAddr("2001:db8::1")
)

// Question returns the query for the addresses of one family of the server's name.
func Question(six bool) ([]byte, error) {
	kind := dns.TypeA
	if six {
		kind = dns.TypeAAAA
	}
	m := new(dns.Msg).SetQuestion(zone, kind)
	b, err := m.Pack()
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	return b, nil
}

// Number gives a query another number, by which its answer is known.
func Number(query []byte, id uint16) { query[0], query[1] = byte(id>>8), byte(id) }

// Answer returns the answer to a query; nil if b is none.
func Answer(b []byte) []byte {
	var q dns.Msg
	if q.Unpack(b) != nil || q.Response || len(q.Question) != 1 {
		return nil
	}
	m := new(dns.Msg).SetReply(&q)
	m.Authoritative = true
	head := dns.RR_Header{Name: q.Question[0].Name, Rrtype: q.Question[0].Qtype, Class: dns.ClassINET, Ttl: 60}
	switch {
	case dns.CanonicalName(head.Name) != zone:
		m.Rcode = dns.RcodeNameError
	case head.Rrtype == dns.TypeA:
		m.Answer = []dns.RR{&dns.A{Hdr: head, A: four.AsSlice()}}
	case head.Rrtype == dns.TypeAAAA:
		m.Answer = []dns.RR{&dns.AAAA{Hdr: head, AAAA: six.AsSlice()}}
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}

// ServeDNS answers queries over a TCP connection until it ends. answered is called for each, with the bytes of the query.
func ServeDNS(c net.Conn, answered func(bytes int)) error {
	conn := &dns.Conn{Conn: c}
	b := make([]byte, dns.MaxMsgSize)
	for {
		n, err := conn.Read(b)
		if err != nil {
			return err
		}
		answer := Answer(b[:n])
		if answer == nil {
			return errors.New("not a query")
		}
		if _, err := conn.Write(answer); err != nil {
			return err
		}
		answered(n)
	}
}

// ErrOther means that a message answers another query, such as one that was given up.
var ErrOther = errors.New("an answer to another query")

// CheckAnswer returns an error unless b answers the query with an address.
func CheckAnswer(b, query []byte) error {
	var m dns.Msg
	if err := m.Unpack(b); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	if len(b) < 2 || b[0] != query[0] || b[1] != query[1] {
		return ErrOther
	}
	if m.Rcode != dns.RcodeSuccess || m.Truncated {
		return fmt.Errorf("answer: %s (truncated: %t), want %s", dns.RcodeToString[m.Rcode], m.Truncated, dns.RcodeToString[dns.RcodeSuccess])
	}
	if len(m.Answer) != 1 {
		return fmt.Errorf("answer: %d records, want 1", len(m.Answer))
	}
	switch r := m.Answer[0].(type) {
	case *dns.A:
		if got, _ := netip.AddrFromSlice(r.A); got.Unmap() == four {
			return nil
		}
	case *dns.AAAA:
		if got, _ := netip.AddrFromSlice(r.AAAA); got == six {
			return nil
		}
	}
	return fmt.Errorf("answer: %v, want %v or %v", m.Answer[0], four, six)
}
