package engine

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// readSize is how much the server reads at once. It fits a core's second-level
	// cache, where the copy is cheapest.
	readSize = 128 << 10
	// discardSize is how much it discards at once: nothing is copied, and a call
	// returns what there is.
	discardSize = 1 << 20
)

// A tcpRun is what the connections of one tcp-stream run share.
type tcpRun struct {
	params
	conns int
	first atomic.Int64 // when the first byte of any stream was read; 0 before
}

// streamReport is what the receiver of one stream counted.
type streamReport struct {
	Error  string `json:"error,omitempty"`
	Bytes  int64  `json:"bytes"`  // read inside the window
	Window int64  `json:"window"` // ns
}

// handle serves one connection. A client learns what was wrong from the
// connection itself; the server carries on for the next one.
func (s *server) handle(fd int) {
	if setTimeouts(fd, tick) != nil || s.transact(fd, helloTimeout, new([]byte)) {
		return
	}
	var p params
	err := readJSON(fd, &p, now()+int64(helloTimeout), s.stop)
	if err == nil {
		err = p.check()
	}
	if err == nil && !strings.HasPrefix(p.Workload, "tcp-") {
		err = fmt.Errorf("%s was asked for over TCP", p.Workload)
	}
	var run *tcpRun
	if err == nil {
		run, err = s.join(p)
	}
	a := accepted{Weir: version}
	if err == nil {
		defer s.leave(run)
		a.CC, a.RcvBuf, err = prepare(fd, s.v6, p)
	}
	var e *echoer
	if err == nil && p.Workload == "tcp-rr" {
		if e, err = newEchoer(p, newStampedSocket(fd, nil)); err == nil {
			a.Place, a.NoStamps = e.place, e.noStamps
		}
	}
	if err == nil && p.Workload == "tcp-crr" {
		s.short.Add(1) // before the client learns that it may begin
		defer s.short.Add(-1)
	}
	deadline := now() + int64(helloTimeout)
	if err != nil {
		a.Error = err.Error()
		writeJSON(fd, a, deadline, s.stop)
		return
	}
	if writeJSON(fd, a, deadline, s.stop) != nil {
		return
	}
	switch p.Workload {
	case "tcp-rr":
		s.echo(e)
		return
	case "tcp-crr":
		s.hold(fd, p)
		return
	}
	report := s.receive(fd, run)
	writeJSON(fd, report, now()+int64(helloTimeout), s.stop)
}

func prepare(fd int, v6 bool, p params) (cc string, rcvBuf int, err error) {
	if cc, err = setCC(fd, p.CC); err != nil {
		return "", 0, err
	}
	if rcvBuf, err = setBuffer(fd, unix.SO_RCVBUF, p.RcvBuf); err != nil {
		return "", 0, err
	}
	if _, err = setDSCP(fd, v6, p.DSCP); err != nil {
		return "", 0, err
	}
	return cc, rcvBuf, unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
}

// join returns the run that p belongs to; its connections must agree.
func (s *server) join(p params) (*tcpRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run, ok := s.runs[p.Run]
	if !ok {
		run = &tcpRun{params: p}
		s.runs[p.Run] = run
	}
	if run.params != p || run.conns == p.Streams {
		return nil, fmt.Errorf("run %d has other parameters, or all of its %d streams already", p.Run, run.Streams)
	}
	run.conns++
	return run, nil
}

func (s *server) leave(run *tcpRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if run.conns--; run.conns == 0 {
		delete(s.runs, run.Run)
	}
}

// receive reads until the client shuts down, and counts what the reads inside
// the run's window returned. The window begins a warm-up after the first byte of
// any of the run's streams, so it is the same for all of them.
func (s *server) receive(fd int, run *tcpRun) streamReport {
	buf, flags := make([]byte, readSize), 0
	if run.Discard {
		// tcp(7): the bytes are thrown away, and not put into the buffer.
		buf, flags = make([]byte, discardSize), unix.MSG_TRUNC
	}
	r := streamReport{Window: int64(run.Duration)}
	idle := now() + int64(run.Warmup+run.Duration+idleTimeout)
	var begin, end int64
	for {
		n, errno := recvFlags(fd, buf, flags)
		t := now()
		switch {
		case again(errno):
			if err := mayWait(idle, s.stop); err != nil {
				return streamReport{Error: err.Error()}
			}
			continue
		case errno != 0:
			return streamReport{Error: errno.Error()}
		}
		s.bytes.Add(int64(n))
		if end == 0 {
			if n > 0 {
				run.first.CompareAndSwap(0, t)
			}
			begin = run.first.Load() + int64(run.Warmup)
			end = begin + int64(run.Duration)
		}
		switch {
		case n == 0 && (run.first.Load() == 0 || t < end):
			return streamReport{Error: "the stream ended before the measured window did"}
		case n == 0: // even one whose first byte never came: the others left it no room
			return r
		case t > begin && t <= end:
			r.Bytes += int64(n)
		}
	}
}

// margin is how much longer a client sends than the window lasts on its own
// clock: the server's window begins when the first byte is read, a one-way delay
// later and whatever a busy machine takes to run the server.
func margin(rtt time.Duration) time.Duration { return 50*time.Millisecond + 2*rtt }
