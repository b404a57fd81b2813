package engine

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// busyPatience is how long a new run waits for the previous one to end: the server can still be
// closing sockets after its client has left.
const busyPatience = time.Second / 2

// join returns the run that p belongs to; its connections must agree. Runs disturb each other, so a
// server that is not open serves one at a time.
func (s *server) join(p wire.Params, peer netip.Addr) (*serverRun, error) {
	patience := time.NewTimer(busyPatience)
	defer patience.Stop()
	for {
		run, changed, err := s.tryJoin(p, peer)
		if run != nil || err != nil {
			return run, err
		}
		select {
		case <-changed:
		case <-patience.C:
			return nil, errBusy
		}
	}
}

var errBusy = fmt.Errorf("the server is busy with another run, which this one would disturb; try again when it has ended")

// tryJoin returns nil if the server is busy; changed is then closed when that can be over.
func (s *server) tryJoin(p wire.Params, peer netip.Addr) (run *serverRun, changed <-chan struct{}, err error) {
	begins, threads := false, 0
	s.mu.Lock()
	defer func() {
		if s.mu.Unlock(); begins {
			sock.RoomFor(threads)
		}
	}()
	run, ok := s.runs[p.Run]
	switch {
	case ok && (run.Params != p || run.peer != peer || run.conns == p.Streams):
		return nil, nil, fmt.Errorf("run %d has other parameters, or already all of its %d streams", p.Run, run.Streams)
	case s.stop.Stopped():
		return nil, nil, sock.ErrStopped
	case !ok && s.token != "" && len(s.runs) > 0:
		return nil, s.changed, nil
	case !ok:
		run = &serverRun{Params: p, peer: peer}
		s.runs[p.Run] = run
		s.change()
		begins, threads = true, 1 // the thread of an open server's datagrams
		for _, run := range s.runs {
			threads += run.Streams
		}
	}
	run.conns++
	return run, nil, nil
}

// leave ends the part of a closed connection in a run, and the run with its last connection.
func (s *server) leave(run *serverRun) {
	if run == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if run.conns--; run.conns > 0 {
		return
	}
	s.marks.end() // before anything else uses the CPU
	delete(s.runs, run.Run)
	if len(s.runs) == 0 {
		runtime.GC() // automatic collection is off, and no run is measured now
	}
	s.ended++
	s.change()
}

// change wakes every waiter. The caller holds the lock.
func (s *server) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// state returns the number of current and of ended runs, and a channel that is closed when either
// changes.
func (s *server) state() (on, ended int, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.runs), s.ended, s.changed
}

// serves reports whether a run of peer is in progress.
func (s *server) serves(peer netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.runs {
		if run.peer == peer {
			return true
		}
	}
	return false
}

// prepareUDP makes the server answer the datagrams of a run while the connection fd is open. An
// open server always answers those of one stream. A server with a token has a socket per run, bound to the address
// that the client connected to: replies come from there, and none between runs.
//
// Each of several streams has a socket and a thread. They share the port, so that whatever lets one stream through lets all
// of them through, and each socket is connected to its client's as soon as that has said hello: the kernel then looks for it
// by both addresses and ports. Without that it would choose by a hash, which gives two streams to one socket and none to another.
// answer is that to bytes over fd, see hold.
func (s *server) prepareUDP(fd int, run *serverRun, a *wire.Accepted, answer func() any) (serve func(), err error) {
	p := run.Params
	if s.udp != nil && !p.Apart() {
		return func() { s.hold(fd, p, answer) }, nil
	}
	u, err := s.ownUDP(fd, run, a)
	if err != nil {
		return nil, err
	}
	serving := sock.OnThread(u.serve)
	return func() {
		s.hold(fd, p, answer)
		u.stop.Stop()
		unix.Shutdown(u.fd, unix.SHUT_RDWR) // wakes the thread
		<-serving                           // the client has noticed any error
		s.dropUDP(u)
	}, nil
}

// ownUDP makes the socket of a run, or of one of its streams; see prepareUDP.
func (s *server) ownUDP(fd int, run *serverRun, a *wire.Accepted) (*udpServer, error) {
	p := run.Params
	at, err := sock.OwnAddr(fd)
	if err != nil {
		return nil, err
	}
	var udp int
	if !p.Apart() {
		udp, err = sock.Listen(unix.SOCK_DGRAM, at)
	} else {
		if s.udp != nil { // which takes what is for this address, until pass
			at = netip.AddrPortFrom(unspecified(at.Addr()), at.Port())
		}
		udp, err = sock.ListenShared(at)
	}
	if err != nil {
		return nil, err
	}
	u, err := newUDPServer(udp, at.Addr(), new(sock.Stopper), &s.meter)
	if err = cmp.Or(err, sock.SetTimeouts(udp, sock.Tick)); err == nil && !s.open(udp, netip.Addr{}) {
		err = errFull
	}
	if err != nil {
		unix.Close(udp)
		return nil, err
	}
	a.Secret = rand.Text()
	u.only = &grant{Params: p, peer: run.peer, secret: a.Secret}
	u.edge, u.other = s.marks.edge(p), s.answerDNS
	s.mu.Lock()
	s.expected[a.Secret] = u
	s.mu.Unlock()
	return u, nil
}

func (s *server) dropUDP(u *udpServer) {
	s.mu.Lock()
	delete(s.expected, u.only.secret)
	s.mu.Unlock()
	s.drop(u.fd)
}

func unspecified(like netip.Addr) netip.Addr {
	if like.Is4() {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// pass connects the socket of the stream that holds a secret to the sender of its hello, which then says it again. It
// returns false if nothing expects it.
func (s *server) pass(secret string, hello *sock.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.expected[secret]
	return u != nil && hello.From() == u.only.peer.WithZone("") && hello.Connect(u.fd) == 0
}
