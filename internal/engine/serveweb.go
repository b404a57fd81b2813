package engine

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/web"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// A webServer serves the protocols of package web during their runs, as Go programs do: the runtime accepts the connections
// instead of the accepting thread. Those of other protocols go to threads, as always.
type webServer struct {
	http     *http.Server
	identity tls.Certificate
	listener net.Listener
	sorted   sorted
	open     map[net.Conn]bool // that no library closes; under the server's lock
	over     chan struct{}     // closed when the last run has ended
	runs     int               // under the server's lock
	cc       string            // congestion control of the connections; "": the machine's
}

// defaultValid is longer than any run.
const defaultValid = 3 * wire.MaxTime

// beginWeb serves the protocols of package web until endWeb. Several runs share what the first sets up.
func (s *server) beginWeb(cc string) (*webServer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.web.Load(); w != nil {
		w.runs++
		return w, nil
	}
	identity, err := web.Identify(time.Now().Add(-time.Hour), time.Now().Add(s.validFor))
	if err != nil {
		return nil, err
	}
	l, err := goListener(s.tcp)
	if err != nil {
		return nil, err
	}
	w := &webServer{identity: identity, listener: l, runs: 1, over: make(chan struct{}), open: map[net.Conn]bool{}, cc: cc}
	w.sorted = sorted{Listener: l, conns: make(chan net.Conn), over: w.over}
	w.http = web.NewServer(identity, func(bytes int) { s.meter.Add(1, bytes) })
	s.web.Store(w)
	s.wg.Add(2)
	go func() {
		defer s.wg.Done()
		_ = caught.Error(func() error { return w.http.Serve(w.sorted) }) // it ends with the runs
	}()
	go func() {
		defer s.wg.Done()
		_ = caught.Error(func() error { s.sort(w); return nil })
	}()
	return w, nil
}

// endWeb ends a run. After the last one the accepting thread takes the connections again.
func (s *server) endWeb(w *webServer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.runs--; w.runs > 0 {
		return
	}
	s.web.Store(nil)
	for c := range w.open {
		c.Close()
	}
	w.listener.Close() // of its own descriptor
	_ = unix.SetNonblock(s.tcp, false)
	close(w.over)
	w.http.Close()
}

// goListener returns the Go runtime's listener for a listening socket, which no longer blocks.
func goListener(fd int) (net.Listener, error) {
	f, err := again(fd)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return net.FileListener(f)
}

// again returns a socket as a file of its own.
func again(fd int) (*os.File, error) {
	other, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(other), "socket"), nil
}

// sorted is a listener of connections for net/http.
type sorted struct {
	net.Listener
	conns chan net.Conn
	over  chan struct{}
}

func (l sorted) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.over:
		return nil, net.ErrClosed
	}
}

// sort gives each new connection to what serves it, until the listener is closed.
func (s *server) sort(w *webServer) {
	for {
		c, err := w.listener.Accept()
		if err != nil {
			return
		}
		s.sortSoon(w, c)
	}
}

// sortLate gives a connection that the accepting thread has taken to what serves it.
func (s *server) sortLate(w *webServer, fd int) {
	if c, err := goConn(fd); err == nil {
		s.sortSoon(w, c)
	}
}

// goConn hands a connection to Go's runtime, in place of fd.
func goConn(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "connection")
	defer f.Close()
	return net.FileConn(f)
}

func (s *server) sortSoon(w *webServer, c net.Conn) {
	if conn, ok := c.(*net.TCPConn); ok {
		go func() { _ = caught.Error(func() error { s.sortOne(w, conn); return nil }) }()
	}
}

// The first bytes of connections: of a control message, of the engine's header, of a TLS record that begins a handshake
// (RFC 8446, section 5.1) and of a DNS message shorter than 256 bytes (RFC 1035, section 4.2.2).
const firstControl, firstHeader, firstTLS, firstDNS = '{', 0x57, 0x16, 0

func (s *server) sortOne(w *webServer, c *net.TCPConn) {
	peer := c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
	first := byte(firstControl)
	if s.token == "" || s.serves(peer) {
		first = begin(c, w.cc)
	}
	switch first {
	case firstControl, firstHeader:
		s.toThread(c, peer)
	case firstTLS:
		t := tls.Server(c, w.http.TLSConfig)
		if t.Handshake() != nil || t.ConnectionState().NegotiatedProtocol != "h2" {
			s.serveOne(w, t, web.Serve)
			return
		}
		select {
		case w.sorted.conns <- t:
		case <-w.over:
			t.Close()
		}
	case firstDNS:
		s.serveOne(w, c, web.ServeDNS)
	default:
		s.serveOne(w, c, web.Serve)
	}
}

// serveOne serves a connection until it or the last run ends. The client reports any error.
func (s *server) serveOne(w *webServer, c net.Conn, serve func(net.Conn, func(bytes int)) error) {
	s.mu.Lock()
	if s.web.Load() == w {
		w.open[c] = true
	}
	on := w.open[c]
	s.mu.Unlock()
	if on {
		_ = serve(c, func(bytes int) { s.meter.Add(1, bytes) })
	}
	c.Close()
	s.mu.Lock()
	delete(w.open, c)
	s.mu.Unlock()
}

// begin sets a connection's congestion control, and returns its first byte, which stays there to be read; if none
// comes, it returns that of a control message.
func begin(c *net.TCPConn, cc string) byte {
	first := []byte{firstControl}
	_ = c.SetReadDeadline(time.Now().Add(helloTimeout))
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, err = sock.SetCC(int(fd), cc) })
		if err != nil {
			return firstControl
		}
		_ = raw.Read(func(fd uintptr) bool {
			_, errno := sock.RecvFlags(int(fd), first, unix.MSG_PEEK|unix.MSG_DONTWAIT)
			return !sock.Again(errno)
		})
	}
	_ = c.SetReadDeadline(time.Time{})
	return first[0]
}

// toThread gives a connection to a thread of its own.
func (s *server) toThread(c *net.TCPConn, peer netip.Addr) {
	defer c.Close()
	f, err := c.File()
	if err != nil {
		return
	}
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return
	}
	if unix.SetNonblock(fd, false) != nil || sock.SetTimeouts(fd, sock.Tick) != nil {
		unix.Close(fd)
		return
	}
	s.admit(fd, peer)
}

// prepareWeb serves a run of the protocols of package web as long as its connection fd is open. Each byte over it asks what
// the process has used since the byte before.
func (s *server) prepareWeb(fd int, run *serverRun, a *wire.Accepted) (serve func(), err error) {
	p := run.Params
	if a.CC, _, _, err = sock.SetTCP(fd, run.peer.Is6(), p.CC, p.AnyCC, unix.SO_RCVBUF, 0, 0); err != nil {
		return nil, err
	}
	w, err := s.beginWeb(a.CC)
	if err != nil {
		return nil, err
	}
	a.Certificate = w.identity.Certificate[0]
	var last wire.Reading
	used := func() any {
		s.marks.at(sock.Now(), p.Duration)
		now := sock.ProcessReading()
		since := now.Since(last)
		if last.CPU == 0 {
			since.CPU = 0
		}
		last = now
		return since
	}
	hold := func() { s.hold(fd, p, used) }
	switch {
	case strings.HasPrefix(p.Workload, "dns-"):
		hold, err = s.prepareUDP(fd, run, a, used)
	case p.Workload == "quic-rr":
		hold, err = s.prepareQUIC(fd, run, a, w.identity, used)
	}
	if err != nil {
		s.endWeb(w)
		return nil, err
	}
	return func() { hold(); s.endWeb(w) }, nil
}

// answerDNS answers a query over UDP during a run of package web; nil: it is not a query.
func (s *server) answerDNS(b []byte) []byte {
	if s.web.Load() == nil {
		return nil
	}
	answer := web.Answer(b)
	if answer != nil {
		s.meter.Add(1, len(b))
	}
	return answer
}
