package web

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

// zone is the name that clients look up; the reserved top level domain belongs to nobody (RFC 6761, section 6.2).
var zone = dnsmessage.MustNewName(name + ".")

// The addresses that the server knows, of networks for documentation (RFC 5737, RFC 3849).
var (
	four = netip.MustParseAddr("192.0.2.1")
	six  = netip.MustParseAddr("2001:db8::1")
)

// Question returns the query for the addresses of one family of the server's name.
func Question(six bool) ([]byte, error) {
	q := dnsmessage.Question{Name: zone, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}
	if six {
		q.Type = dnsmessage.TypeAAAA
	}
	b, err := (&dnsmessage.Message{Header: dnsmessage.Header{RecursionDesired: true}, Questions: []dnsmessage.Question{q}}).Pack()
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	return b, nil
}

// Number gives a query another number, by which its answer is known.
func Number(query []byte, id uint16) { binary.BigEndian.PutUint16(query, id) }

// Answer returns the answer to a query; nil if b is not a query.
func Answer(b []byte) []byte {
	var m dnsmessage.Message
	if m.Unpack(b) != nil || m.Response || m.OpCode != 0 || len(m.Questions) != 1 {
		return nil
	}
	m.Response, m.Authoritative = true, true
	m.Answers, m.Authorities, m.Additionals = nil, nil, nil
	q := m.Questions[0]
	head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: dnsmessage.ClassINET, TTL: 60}
	switch {
	case !strings.EqualFold(q.Name.String(), zone.String()):
		m.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: four.As4()}}}
	case q.Type == dnsmessage.TypeAAAA:
		m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AAAAResource{AAAA: six.As16()}}}
	}
	out, err := m.Pack()
	if err != nil {
		return nil
	}
	return out
}

// ServeDNS answers queries over a TCP connection until it ends, each behind its length (RFC 1035, section 4.2.2). answered is called for
// each, with the bytes of the query.
func ServeDNS(c net.Conn, answered func(bytes int)) error {
	b := make([]byte, 1<<16)
	for {
		if _, err := io.ReadFull(c, b[:2]); err != nil {
			return err
		}
		query := b[:binary.BigEndian.Uint16(b)]
		if _, err := io.ReadFull(c, query); err != nil {
			return err
		}
		answer := Answer(query)
		if answer == nil {
			return errors.New("not a query")
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return err
		}
		answered(len(query))
	}
}

// ErrOther means that a message answers another query, such as one that was given up.
var ErrOther = errors.New("an answer to another query")

// CheckAnswer returns an error unless b answers the query with an address.
func CheckAnswer(b, query []byte) error {
	var m dnsmessage.Message
	if err := m.Unpack(b); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	if m.ID != binary.BigEndian.Uint16(query) {
		return ErrOther
	}
	if m.RCode != dnsmessage.RCodeSuccess || m.Truncated {
		return fmt.Errorf("answer: %s (truncated: %t), want Success", strings.TrimPrefix(m.RCode.String(), "RCode"), m.Truncated)
	}
	if len(m.Answers) != 1 {
		return fmt.Errorf("answer: %d records, want 1", len(m.Answers))
	}
	switch r := m.Answers[0].Body.(type) {
	case *dnsmessage.AResource:
		if netip.AddrFrom4(r.A) == four {
			return nil
		}
	case *dnsmessage.AAAAResource:
		if netip.AddrFrom16(r.AAAA) == six {
			return nil
		}
	}
	return fmt.Errorf("answer: %v, want %v or %v", m.Answers[0].Body.GoString(), four, six)
}
