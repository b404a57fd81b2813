package engine

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/web"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// goUDP returns the Go runtime's socket for a UDP socket, which no longer blocks. Its addresses are those of now.
func goUDP(fd int) (*net.UDPConn, error) {
	f, err := again(fd)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := net.FilePacketConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.UDPConn), nil
}

// prepareQUIC serves a run of quic-rr while its connection fd is open. Like each of several streams, it has a socket of its own, which is
// connected to the client's once that has said hello: nobody else reaches the library. The first byte over fd says that the
// client has the answer, and hands the socket to the library; the others are those of prepareWeb.
func (s *server) prepareQUIC(fd int, run *serverRun, a *wire.Accepted, identity tls.Certificate, answer func() any) (serve func(), err error) {
	if err := web.CheckQUIC(); err != nil {
		return nil, err
	}
	u, err := s.ownUDP(fd, run, a)
	if err != nil {
		return nil, err
	}
	greeting, err := goUDP(u.fd)
	if err != nil {
		s.dropUDP(u)
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	greeted, served := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(served)
		_ = caught.Error(func() error { // the client has noticed any error
			func() {
				defer close(greeted)
				u.greetings(greeting)
			}()
			return s.serveQUIC(ctx, u.fd, identity, run.Packet)
		})
	}()
	handOver := func() {
		_ = greeting.SetReadDeadline(time.Unix(1, 0)) // long ago
		<-greeted
	}
	return func() {
		begun := false
		s.hold(fd, run.Params, func() any {
			if !begun {
				begun = true
				handOver()
				return wire.Reading{}
			}
			return answer()
		})
		end()
		handOver()
		<-served
		s.dropUDP(u)
	}, nil
}

// greetings answers hellos until the socket's deadline, and closes it.
func (u *udpServer) greetings(c *net.UDPConn) {
	defer c.Close()
	raw, err := c.SyscallConn()
	for err == nil {
		err = raw.Read(func(uintptr) bool { return !sock.Again(u.readOne()) })
	}
}

func (s *server) serveQUIC(ctx context.Context, fd int, identity tls.Certificate, packet int) error {
	if ctx.Err() != nil {
		return nil
	}
	c, err := goUDP(fd)
	if err != nil {
		return err
	}
	defer c.Close()
	return web.ServeQUIC(ctx, c, identity, packet, func(bytes int) { s.meter.Add(1, bytes) })
}
