package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxConns bounds the connections that are open at once.
	maxConns = 2 * maxStreams
	// helloTimeout is how long a new connection may take to say what it wants.
	helloTimeout = 5 * time.Second
	// idleTimeout is how long a client may be silent beyond what it announced.
	idleTimeout = 10 * time.Second
	// serverRcvBuf is asked for the UDP socket when the client asks for nothing:
	// 4 MiB hold some 10 ms of the highest packet rate, so that a server that
	// is scheduled away for that long loses nothing.
	serverRcvBuf = 4 << 20
)

// A server plays all roles at once; the first message says which one is wanted.
type server struct {
	v6   bool
	stop *stopper
	wg   sync.WaitGroup

	mu   sync.Mutex
	fds  map[int]bool // open sockets
	runs map[uint32]*tcpRun

	short atomic.Int32 // runs of tcp-crr that are on

	tally
}

// serveMain is `weir engine serve`. It binds TCP before UDP, so a server that
// answers over UDP accepts connections too.
func serveMain(ctx context.Context, args []string, out events, stderr io.Writer) error {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	var cpus []int
	fs.Func("cpu", "run the server on these CPUs alone, such as 0 or 0,2-3", func(s string) (err error) {
		cpus, err = parseCPUs(s)
		return err
	})
	pos, err := parseFlags(fs, args, stderr, "ADDR:PORT")
	if err != nil {
		return err
	}
	at, err := parseServer("serve", pos[0])
	if err != nil {
		return err
	}
	if err := stayOn(cpus); err != nil {
		return err
	}
	roomFor(1)
	tcp, udp, at, err := listenBoth(at)
	if err != nil {
		return err
	}
	s := &server{v6: at.Addr().Is6(), stop: new(stopper), fds: map[int]bool{tcp: true, udp: true}, runs: map[uint32]*tcpRun{}}
	u, err := newUDPServer(udp, at.Addr(), s.stop, &s.tally)
	if err == nil {
		err = errors.Join(setTimeouts(tcp, tick), setTimeouts(udp, tick))
	}
	if err != nil {
		closeAll([]int{tcp, udp})
		return fmt.Errorf("engine: serve %v: %w", at, err)
	}
	accepting := onThread(func() error { return s.accept(tcp) })
	serving := onThread(u.serve)
	err = out.print(struct {
		Event   string `json:"event"`
		Address string `json:"address"`
	}{"ready", at.String()})
	if err == nil {
		go out.answer(func() any { return s.tally.count() })
		select {
		case <-ctx.Done():
		case err = <-accepting: // they end before they are told to only when they fail
		case err = <-serving:
		}
	}
	s.close()
	err = errors.Join(err, <-accepting, <-serving)
	s.wg.Wait()
	closeAll([]int{tcp, udp})
	return err
}

// listenBoth binds TCP and UDP to one port, which the kernel chooses when it is 0.
func listenBoth(at netip.AddrPort) (tcp, udp int, bound netip.AddrPort, err error) {
	for range 10 {
		if tcp, err = listen(unix.SOCK_STREAM, at); err != nil {
			return -1, -1, at, err
		}
		port, err := localPort(tcp)
		if err != nil {
			unix.Close(tcp)
			return -1, -1, at, fmt.Errorf("engine: listen %v: %w", at, err)
		}
		bound = netip.AddrPortFrom(at.Addr(), port)
		udp, err = listen(unix.SOCK_DGRAM, bound)
		if err == nil {
			return tcp, udp, bound, nil
		}
		unix.Close(tcp)
		if at.Port() != 0 || !errors.Is(err, unix.EADDRINUSE) {
			return -1, -1, at, err
		}
	}
	return -1, -1, at, fmt.Errorf("engine: listen %v: no port is free for both TCP and UDP after 10 tries", at)
}

// close tells every thread to stop, and wakes those that wait in a socket: a
// shutdown does so even where it then reports that nothing was connected.
func (s *server) close() {
	s.stop.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for fd := range s.fds {
		unix.Shutdown(fd, unix.SHUT_RDWR)
	}
}

// open registers a socket, unless there are too many or the server is stopping.
func (s *server) open(fd int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.fds) >= maxConns || s.stop.stopped() {
		return false
	}
	s.fds[fd] = true
	return true
}

// drop closes a socket. The lock keeps close from shutting down another one that
// got the same number. A server that stops resets its connections: after an
// orderly end, a client whose window was closed would send probes to the socket
// in FIN-WAIT-2 for another minute (tcp_timewait_state_process,
// net/ipv4/tcp_minisocks.c).
func (s *server) drop(fd int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.fds, fd)
	if s.stop.stopped() {
		unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	}
	unix.Close(fd)
}

func (s *server) accept(listener int) error {
	var buf []byte // of the short connections that are served here
	for !s.stop.stopped() {
		fd, _, err := unix.Accept4(listener, unix.SOCK_CLOEXEC)
		switch {
		case err == nil:
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR), errors.Is(err, unix.ECONNABORTED):
			continue
		case s.stop.stopped():
			return nil
		default:
			return fmt.Errorf("engine: serve: accept: %w", err)
		}
		if s.transact(fd, 0, &buf) || !s.open(fd) {
			unix.Close(fd)
			continue
		}
		s.wg.Add(1)
		onThread(func() error {
			defer s.wg.Done()
			defer s.drop(fd)
			s.handle(fd)
			return nil
		})
	}
	return nil
}
