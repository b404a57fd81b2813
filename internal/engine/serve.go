package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/caught"
	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

const (
	// maxConns is more than a run of datagrams needs: each stream takes a connection and a socket.
	maxConns = 3 * wire.MaxStreams
	// helloTimeout bounds the wait for a new connection's hello.
	helloTimeout = 5 * time.Second
	// idleTimeout is how long a client can be silent beyond the time it announced.
	idleTimeout = 10 * time.Second
)

// A server serves all workloads at once; the first message of a client selects one.
type server struct {
	stop     *sock.Stopper
	patience time.Duration // idleTimeout, shorter in tests
	token    string        // "": an open server
	udp      *udpServer    // of an open server
	tcp      int           // the listening socket
	validFor time.Duration // of certificates
	wg       sync.WaitGroup

	mu       sync.Mutex
	fds      map[int]bool // open sockets
	waiting  []stranger   // connections that no run has admitted, oldest first
	turned   int          // connections that ended without a run
	runs     map[uint32]*serverRun
	expected map[string]*udpServer // those of runs, by the secrets for their hellos
	ended    int                   // runs
	changed  chan struct{}         // closed, and replaced, when a run begins or ends

	short atomic.Int32              // tcp-crr and connect-outage runs in progress
	hasty atomic.Pointer[serverRun] // of connect-outage
	web   atomic.Pointer[webServer] // nil: no run of the protocols of package web
	meter tally.Meter
	marks *marks // nil: print none
}

func serveMain(ctx context.Context, args []string, out events, help io.Writer) error {
	c, err := parseServe(args, help)
	if err != nil {
		return err
	}
	return listenAndServe(ctx, c, out)
}

// listenAndServe serves until it has been idle for long or ctx is canceled, and then returns the cause.
// It binds TCP before UDP, so a server that answers over UDP also accepts connections.
func listenAndServe(ctx context.Context, c serveConfig, out events) error {
	if err := stayOn(c.cpus); err != nil {
		return err
	}
	sock.RoomFor(1)
	tcp, udp, at, err := listenBoth(c.at, c.open)
	if err != nil {
		return err
	}
	s := &server{stop: new(sock.Stopper), patience: c.patience, token: c.token, tcp: tcp, validFor: cmp.Or(c.validFor, defaultValid),
		fds: map[int]bool{tcp: true, udp: true}, runs: map[uint32]*serverRun{}, expected: map[string]*udpServer{}, changed: make(chan struct{})}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if c.marks {
		s.marks = &marks{out: out, meter: &s.meter, fail: fail}
	}
	err = errors.Join(sock.SetTimeouts(tcp, sock.Tick), sock.SetTimeouts(udp, sock.Tick))
	var serving <-chan error
	switch {
	case err != nil:
	case !c.open:
		s.drop(udp) // runs bind it
	default:
		if s.udp, err = newUDPServer(udp, at.Addr(), s.stop, &s.meter); err == nil {
			s.udp.pass, s.udp.other = s.pass, s.answerDNS
			serving = sock.OnThread(s.udp.serve)
		}
	}
	if err != nil {
		sock.CloseAll([]int{tcp, udp})
		return fmt.Errorf("engine: serve %v: %w", at, err)
	}
	accepting := sock.OnThread(func() error { return s.accept(tcp) })
	if err = out.print(event.Ready{Event: event.KindReady, Address: at.String(), Token: c.made}); err == nil {
		if c.count {
			go func() {
				err := caught.Error(func() error { out.answer(func() any { return s.meter.Count(sock.Now()) }); return nil })
				if err != nil {
					fail(err)
				}
			}()
		}
		err = s.attend(ctx, c, accepting, serving)
	}
	s.close()
	err = errors.Join(err, <-accepting)
	if serving != nil {
		err = errors.Join(err, <-serving)
		s.drop(udp)
	}
	s.wg.Wait()
	s.drop(tcp)
	return err
}

// attend waits until the server has been idle for long.
func (s *server) attend(ctx context.Context, c serveConfig, accepting, serving <-chan error) error {
	for {
		on, ended, changed := s.state()
		var idle <-chan time.Time
		if c.idle > 0 && on == 0 {
			idle = time.After(c.idle)
		}
		select {
		case <-changed:
		case <-idle:
			if on, now, _ := s.state(); on == 0 && now == ended {
				return nil
			}
		case <-ctx.Done():
			return sock.Canceled(ctx, sock.ErrStopped)
		case err := <-accepting: // these end early only if they fail
			return err
		case err := <-serving:
			return err
		}
	}
}

// listenBoth binds TCP and UDP to one port; for port 0 the kernel chooses one. Without IPv6, the
// unspecified address becomes that of IPv4. An open server shares its port for datagrams with the sockets of streams;
// another server cannot, for lack of the port for TCP.
func listenBoth(at netip.AddrPort, open bool) (tcp, udp int, bound netip.AddrPort, err error) {
	for range 10 {
		tcp, err = sock.Listen(unix.SOCK_STREAM, at)
		if errors.Is(err, unix.EAFNOSUPPORT) && at.Addr() == netip.IPv6Unspecified() {
			at = netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port())
			tcp, err = sock.Listen(unix.SOCK_STREAM, at)
		}
		if err != nil {
			return -1, -1, at, fmt.Errorf("%w: %w", ErrEnvironment, err)
		}
		own, err := sock.OwnAddr(tcp)
		if err != nil {
			unix.Close(tcp)
			return -1, -1, at, fmt.Errorf("engine: listen %v: %w", at, err)
		}
		bound = netip.AddrPortFrom(at.Addr(), own.Port())
		if open {
			udp, err = sock.ListenShared(bound)
		} else {
			udp, err = sock.Listen(unix.SOCK_DGRAM, bound)
		}
		if err == nil {
			return tcp, udp, bound, nil
		}
		unix.Close(tcp)
		if at.Port() != 0 || !errors.Is(err, unix.EADDRINUSE) {
			return -1, -1, at, fmt.Errorf("%w: %w", ErrEnvironment, err)
		}
	}
	return -1, -1, at, fmt.Errorf("engine: listen %v: no port is free for both TCP and UDP after 10 tries", at)
}

// close stops every thread and wakes those that wait in a socket: shutdown does so even if it
// reports that nothing was connected.
func (s *server) close() {
	s.stop.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for fd := range s.fds {
		unix.Shutdown(fd, unix.SHUT_RDWR)
	}
}

// A stranger is a connection that no run has admitted yet.
type stranger struct {
	fd   int
	peer netip.Addr
}

// open registers a socket unless too many are open or the server is stopping. For a new connection of peer,
// one of the others that no run has admitted makes room: the oldest of the address that has most of them.
// So silent connections, and those of one address, lock nobody else out.
func (s *server) open(fd int, peer netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop.Stopped() {
		return false
	}
	if len(s.fds) >= maxConns {
		of := map[netip.Addr]int{}
		for _, w := range s.waiting {
			of[w.peer]++
		}
		i, most := -1, 0
		for n, w := range s.waiting {
			if of[w.peer] > most {
				i, most = n, of[w.peer]
			}
		}
		if i < 0 {
			return false
		}
		unix.Shutdown(s.waiting[i].fd, unix.SHUT_RDWR) // wakes its thread, which closes it
		delete(s.fds, s.waiting[i].fd)
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	s.fds[fd] = true
	if peer.IsValid() {
		s.waiting = append(s.waiting, stranger{fd, peer})
	}
	return true
}

// known ends the wait of a connection: a run has admitted it, or it ends.
func (s *server) known(fd int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(w stranger) bool { return w.fd == fd })
}

// turn counts a connection that ended without a run. Automatic garbage collection is off for the sake of
// measurements, so between them the server gives back what strangers have cost it.
func (s *server) turn() {
	s.mu.Lock()
	s.turned++
	collect := s.turned%maxConns == 0 && len(s.runs) == 0
	s.mu.Unlock()
	if collect {
		debug.FreeOSMemory()
	}
}

// drop closes a socket. The lock keeps close from shutting down another socket with the same
// number. A stopping server resets its connections: after an orderly end, a client whose window was
// closed would probe the socket in FIN-WAIT-2 for another minute (tcp_timewait_state_process,
// net/ipv4/tcp_minisocks.c).
func (s *server) drop(fd int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.fds, fd)
	if s.stop.Stopped() {
		unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	}
	unix.Close(fd)
}

func (s *server) accept(listener int) error {
	var buf []byte // of the short connections served here
	gauge := sock.NewGauge(-1)
	defer gauge.Close()
	for !s.stop.Stopped() {
		if w := s.web.Load(); w != nil {
			<-w.over
			continue
		}
		if s.short.Load() == 0 {
			sock.Await(listener, math.MaxInt64)
		}
		if !s.awake(listener) {
			continue
		}
		fd, peer, errno := sock.HotAccept(listener)
		switch {
		case errno == 0:
		case sock.Again(errno), errno == unix.ECONNABORTED:
			continue
		case s.stop.Stopped():
			return nil
		default:
			return fmt.Errorf("engine: serve: accept: %w", errno)
		}
		if w := s.web.Load(); w != nil { // it began while this thread waited
			s.sortLate(w, fd)
			continue
		}
		if s.soon(fd) && s.transact(fd, peer, 0, &buf, gauge) {
			unix.Close(fd)
			continue
		}
		s.admit(fd, peer)
	}
	return nil
}

// admit serves a connection on a thread of its own.
func (s *server) admit(fd int, peer netip.Addr) {
	if !s.open(fd, peer) {
		refuse(fd, errFull)
		s.turn()
		return
	}
	s.wg.Add(1)
	sock.OnThread(func() error {
		defer s.wg.Done()
		run := s.handle(fd, peer)
		s.known(fd)
		s.drop(fd) // before the run ends: a server that ends with it resets connections
		if s.leave(run); run == nil {
			s.turn()
		}
		return nil
	})
}

var errFull = fmt.Errorf("too many connections: %d are open; try again later", maxConns)

// refuse closes a connection, and says why if that does not block.
func refuse(fd int, why error) {
	b, _ := json.Marshal(wire.Accepted{Weir: wire.Version, Error: why.Error()}) // cannot fail
	_, _ = unix.SendmsgN(fd, append(b, '\n'), nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	unix.Close(fd)
}
