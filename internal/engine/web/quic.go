package web

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/engine/event"
)

// Requests over QUIC (RFC 9000), each over a stream of its own: four bytes, how many the answer is to have, and the end of
// the client's side; then as many bytes and the end of the server's.
const (
	quicProtocol = "weir" // of ALPN
	quicAsk      = 4      // bytes of a request
	quicRefused  = 1      // code of the error that ends a connection after a request that is none
)

// QUICCongestion is the congestion control of quic-go, which it has itself and does not let anybody choose.
const QUICCongestion = "reno (quic-go)"

// CheckQUIC returns an error if an environment variable changes how the library works (QUIC_GO_LOG_LEVEL, QUIC_GO_DISABLE_GSO, …). It
// has read some of them when the program started.
func CheckQUIC() error {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "QUIC_GO_") {
			return fmt.Errorf("%s is set, which changes how the library of QUIC works: unset it", name)
		}
	}
	return nil
}

// settled is the configuration of both ends. Packets have no more than so many bytes of UDP payload, and discovery of a
// larger size is off: it would change them in the middle of a measurement.
func settled(packet int) *quic.Config {
	return &quic.Config{InitialPacketSize: uint16(packet), DisablePathMTUDiscovery: true, MaxIncomingUniStreams: -1, MaxIncomingStreams: -1}
}

// ServeQUIC answers the requests of one connection over c, which is connected to the client's socket, until the connection
// ends or ctx does. answered is called for each, with the bytes of the answer.
func ServeQUIC(ctx context.Context, c *net.UDPConn, identity tls.Certificate, packet int, answered func(bytes int)) error {
	config := settled(packet)
	// A client's requests never fill these bounds. Another end's bytes cannot take more than the connection's window.
	config.MaxIncomingStreams = 10 * event.MaxWebInflight
	config.InitialStreamReceiveWindow, config.MaxStreamReceiveWindow = 1<<10, 1<<10
	config.InitialConnectionReceiveWindow, config.MaxConnectionReceiveWindow = 64<<10, 64<<10
	t := &quic.Transport{Conn: c}
	defer t.Close()
	l, err := t.Listen(&tls.Config{Certificates: []tls.Certificate{identity}, MinVersion: tls.VersionTLS13, NextProtos: []string{quicProtocol}}, config)
	if err != nil {
		return err
	}
	// Others would wait in the library's queue of 32. A closed listener would answer late packets of this one's handshake with a refusal.
	conn, err := l.Accept(ctx)
	if err != nil {
		return err
	}
	body := make([]byte, event.MaxBody)
	for {
		s, err := conn.AcceptStream(ctx)
		if err != nil {
			return err
		}
		go func() {
			err := caught.Error(func() error { return answerQUIC(s, body, answered) })
			if errors.Is(err, errAsk) {
				_ = conn.CloseWithError(quicRefused, err.Error()) // the client reports it
			}
		}()
	}
}

var errAsk = errors.New("not a request")

// answerQUIC answers the request of a stream; body has zeros for the longest answer.
func answerQUIC(s *quic.Stream, body []byte, answered func(bytes int)) error {
	var ask [quicAsk + 1]byte
	got, err := io.ReadFull(s, ask[:])
	if n := binary.BigEndian.Uint32(ask[:]); got != quicAsk || !errors.Is(err, io.ErrUnexpectedEOF) || n > event.MaxBody {
		return fmt.Errorf("%w: %x (%v), want %d bytes, a number up to %d", errAsk, ask[:got], err, quicAsk, event.MaxBody)
	} else if _, err := s.Write(body[:n]); err != nil {
		return err
	} else if err := s.Close(); err != nil {
		return err
	} else {
		answered(int(n))
	}
	return nil
}

// A QUIC asks for answers over one connection. Several goroutines can ask at once.
type QUIC struct {
	transport *quic.Transport
	conn      *quic.Conn
	timeout   time.Duration // of each exchange
}

// DialQUIC connects to a server of ServeQUIC over c, which the QUIC owns from then on. timeout also bounds the handshake.
func DialQUIC(ctx context.Context, c *net.UDPConn, server netip.AddrPort, certificate []byte, packet int, timeout time.Duration) (*QUIC, error) {
	trust, err := Trust(certificate, false, quicProtocol)
	if err != nil {
		return nil, err
	}
	config := settled(packet)
	config.HandshakeIdleTimeout = timeout
	q := &QUIC{transport: &quic.Transport{Conn: c}, timeout: timeout}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if q.conn, err = q.transport.Dial(ctx, net.UDPAddrFromAddrPort(server), trust, config); err != nil {
		q.transport.Close()
		return nil, fmt.Errorf("QUIC: %w", err)
	}
	return q, nil
}

// Exchange sends a request and reads the answer of size bytes.
func (q *QUIC) Exchange(size int) error {
	s, err := q.open()
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	if err := s.SetDeadline(time.Now().Add(q.timeout)); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	if _, err = s.Write(binary.BigEndian.AppendUint32(nil, uint32(size))); err == nil {
		err = s.Close()
	}
	if err != nil {
		return fmt.Errorf("request: %w", err)
	}
	n, err := io.Copy(io.Discard, io.LimitReader(s, int64(size)+1))
	switch {
	case err != nil:
		return fmt.Errorf("response: after %d of %d bytes: %w", n, size, err)
	case n > int64(size):
		return fmt.Errorf("response: more than the %d bytes that were asked for", size)
	case n < int64(size):
		return fmt.Errorf("response: %d bytes, want %d", n, size)
	}
	return nil
}

// open opens a stream. It waits only if the other end does not let it have one more.
func (q *QUIC) open() (*quic.Stream, error) {
	s, err := q.conn.OpenStream()
	if full := new(*quic.StreamLimitReachedError); errors.As(err, full) {
		ctx, cancel := context.WithTimeout(context.Background(), q.timeout)
		defer cancel()
		return q.conn.OpenStreamSync(ctx)
	}
	return s, err
}

// Close ends the connection and closes its socket.
func (q *QUIC) Close() {
	_ = q.conn.CloseWithError(0, "")
	_ = q.transport.Close()
	_ = q.transport.Conn.Close()
}
