package web

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	other "golang.org/x/net/quic" // an implementation that has nothing of quic-go

	"github.com/weir-bench/weir/internal/engine/event"
)

var quicSizes = []int{0, 1, 64, 1100, 1500, 20_000, event.MaxBody}

// identified returns a certificate for a server and a socket for each end.
func identified(t *testing.T) (identity tls.Certificate, near, far *net.UDPConn) {
	t.Helper()
	identity, err := Identify(time.Now().Add(-time.Hour), time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []**net.UDPConn{&near, &far} {
		if *c, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0"))); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*c).Close() })
	}
	return identity, near, far
}

// otherConn connects the other implementation to a server of ours, which reports its answers.
func otherConn(t *testing.T) (c *other.Conn, answered chan int) {
	t.Helper()
	identity, near, far := identified(t)
	answered = make(chan int, len(quicSizes))
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- ServeQUIC(ctx, far, identity, event.MinPacket, func(bytes int) { answered <- bytes })
	}()
	t.Cleanup(func() { cancel(); <-served })
	trust, err := Trust(identity.Certificate[0], false, quicProtocol)
	if err != nil {
		t.Fatal(err)
	}
	e, err := other.NewEndpoint(near, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close(ctx) })
	patience, late := context.WithTimeout(ctx, 10*time.Second)
	defer late()
	if c, err = e.Dial(patience, "udp", far.LocalAddr().String(), &other.Config{TLSConfig: trust}); err != nil {
		t.Fatal(err)
	}
	return c, answered
}

// asks sends bytes over a stream of the other implementation and returns the answer.
func asks(t *testing.T, c *other.Conn, b []byte) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	s, err := c.NewStream(ctx)
	if err != nil {
		return nil, err
	}
	s.SetReadContext(ctx)
	s.SetWriteContext(ctx)
	if _, err := s.Write(b); err != nil {
		return nil, err
	}
	s.CloseWrite()
	return io.ReadAll(s)
}

func ask(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// Another implementation reads our server's answers.
func TestQUICServer(t *testing.T) {
	c, answered := otherConn(t)
	for _, n := range quicSizes {
		b, err := asks(t, c, ask(uint32(n)))
		if err != nil || len(b) != n || strings.Trim(string(b), "\x00") != "" || <-answered != n {
			t.Errorf("asked for %d bytes, got %d: %v", n, len(b), err)
		}
	}
}

// Anything but a request ends the connection with a reason.
func TestQUICRefuses(t *testing.T) {
	for _, b := range [][]byte{nil, ask(1)[:3], append(ask(1), 0), ask(event.MaxBody + 1), []byte("GET / HTTP/1.1\r\n\r\n")} {
		c, _ := otherConn(t)
		_, err := asks(t, c, b)
		if said := new(other.ApplicationError); !errors.As(err, &said) || said.Code != quicRefused || !strings.Contains(said.Reason, "not a request") {
			t.Errorf("%x: %v", b, err)
		}
	}
}

// Our client reads another implementation's answers, and tells wrong ones.
func TestQUICClient(t *testing.T) {
	identity, near, far := identified(t)
	e, err := other.NewEndpoint(far, &other.Config{TLSConfig: &tls.Config{Certificates: []tls.Certificate{identity}, MinVersion: tls.VersionTLS13, NextProtos: []string{quicProtocol}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- answers(ctx, e) }()
	defer func() { cancel(); <-served; e.Close(ctx) }()
	q, err := DialQUIC(t.Context(), near, far.LocalAddr().(*net.UDPAddr).AddrPort(), identity.Certificate[0], event.MinPacket, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for _, n := range quicSizes {
		if err := q.Exchange(n); err != nil {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	q.timeout = 200 * time.Millisecond
	for n, want := range map[int]string{shorter: "response: 666 bytes, want 667", longer: "response: more than the 668 bytes", reset: "response: after 0 of 669 bytes: ", silent: "response: after 0 of 670 bytes: deadline exceeded"} {
		if err := q.Exchange(n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: %v, want %q", n, err, want)
		}
	}
}

// Sizes that the server of answers gets wrong.
const shorter, longer, reset, silent = 667, 668, 669, 670

// answers answers the streams of one connection, some of them wrongly.
func answers(ctx context.Context, e *other.Endpoint) error {
	c, err := e.Accept(ctx)
	if err != nil {
		return err
	}
	for {
		s, err := c.AcceptStream(ctx)
		if err != nil {
			return err
		}
		go func() {
			b, _ := io.ReadAll(s)
			n := int(binary.BigEndian.Uint32(b))
			switch n {
			case shorter:
				n--
			case longer:
				n++
			case reset:
				s.Reset(7)
				return
			case silent:
				return
			}
			_, _ = s.Write(make([]byte, n))
			s.CloseWrite()
		}()
	}
}

// The library's switches are refused, so that none is in effect unseen.
func TestQUICEnvironment(t *testing.T) {
	if err := CheckQUIC(); err != nil {
		t.Error(err)
	}
	t.Setenv("QUIC_GO_LOG_LEVEL", "debug")
	if err := CheckQUIC(); err == nil || !strings.Contains(err.Error(), "QUIC_GO_LOG_LEVEL is set") {
		t.Error(err)
	}
}
