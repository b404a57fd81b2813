package engine

import (
	"errors"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/tally"
	"github.com/weir-bench/weir/internal/engine/wire"
)

// hold keeps a run alive until its client closes this connection or is silent for too
// long. Every byte asks for the counters of a board.
func (s *server) hold(fd int, p wire.Params, counters *tally.Board) {
	var b [1]byte
	deadline := sock.Now() + int64(p.Warmup+p.Duration+s.patience)
	for sock.ReadFull(fd, b[:], deadline, s.stop) == nil && counters != nil {
		t, ok := counters.Ask()
		if !ok || sock.WriteJSON(fd, t, sock.Now()+int64(helloTimeout), s.stop) != nil {
			return
		}
	}
}

// transact answers the one request of a short connection, and reports whether it was
// one; the caller closes. Accepted sockets have the listener's timeouts. A connection
// that says nothing within patience, and in any case within a Tick, counts as another
// kind. buf is room for requests and grows as needed.
func (s *server) transact(fd int, peer netip.Addr, patience time.Duration, buf *[]byte) bool {
	if s.short.Load() == 0 || s.token != "" && !s.serves(peer) {
		return false
	}
	var head [wire.HeaderSize]byte
	deadline := sock.Now() + int64(patience)
	for {
		n, _, err := unix.Recvfrom(fd, head[:], unix.MSG_PEEK|unix.MSG_WAITALL)
		if err == nil && n == len(head) {
			break
		}
		// Control messages are longer than a header.
		if err == nil || !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) || sock.MayWait(deadline, s.stop) != nil {
			return false
		}
	}
	h, ok := wire.ParseHeader(head[:])
	if !ok || h.Kind != wire.KindConnect {
		return false
	}
	s.mu.Lock()
	run := s.runs[h.Run]
	s.mu.Unlock()
	if run != nil && run.Workload == "tcp-crr" && run.peer == peer {
		if len(*buf) < run.Size {
			*buf = make([]byte, run.Size)
		}
		s.answerShort(fd, run.Params, (*buf)[:run.Size])
	}
	return true
}

func (s *server) answerShort(fd int, p wire.Params, b []byte) {
	if p.CC != "" && unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, p.CC) != nil {
		return
	}
	if p.RcvBuf > 0 {
		if _, err := sock.SetBuffer(fd, unix.SO_RCVBUF, p.RcvBuf); err != nil {
			return
		}
	}
	deadline := sock.Now() + int64(helloTimeout)
	if sock.ReadFull(fd, b, deadline, s.stop) != nil {
		return
	}
	b[2] |= byte(wire.KindAnswer)
	_ = sock.WriteFull(fd, b, deadline, s.stop) // the client reports it
	s.meter.Add(1, len(b))
}
