package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/engine/sock"
	"github.com/weir-bench/weir/internal/engine/wire"
)

func runTCPStream(ctx context.Context, c config, s *sock.Stopper, out events) (any, error) {
	var conns []tcpConn
	defer func() {
		for _, t := range conns {
			unix.Close(t.fd)
			if t.file != nil {
				t.file.Close()
			}
		}
	}()
	for range c.Streams {
		t, err := dialTCP(ctx, c, s)
		if err != nil {
			return nil, err
		}
		switch {
		case c.zerocopy:
			t.zero, err = sock.NewZerocopy(t.fd)
		case c.sendfile:
			t.file, err = sock.NewFile(c.Size)
		}
		if conns = append(conns, t); err != nil {
			return nil, fmt.Errorf("engine: tcp %v: %w", c.server, err)
		}
	}
	sent, err := sendStreams(ctx, c, conns, s, out)
	if err != nil {
		return nil, err
	}
	r := event.TCPStream{Streams: c.Streams, Retransmits: sent.TCP.Retransmitted,
		Congestion: conns[0].cc, FarCongestion: conns[0].far.CC, RcvBuf: conns[0].far.RcvBuf,
		Send: "copy", Recv: "copy", DSCP: conns[0].dscp}
	if c.Discard {
		r.Recv = "discard"
	}
	if c.sendfile {
		r.Send = "sendfile"
	}
	var received []wire.Reading
	for i, t := range conns {
		var report wire.StreamReport
		if err := sock.ReadJSON(t.fd, &report, sock.Now()+int64(c.timeout), s); err != nil {
			return nil, fmt.Errorf("engine: tcp %v: stream %d: the server's count: %w", c.server, i+1, err)
		}
		switch {
		case report.Error != "":
			return nil, fmt.Errorf("engine: tcp %v: stream %d: the server's count: %s", c.server, i+1, report.Error)
		case report.Bytes < 0 || report.Window != int64(c.Duration):
			return nil, fmt.Errorf("engine: tcp %v: stream %d: impossible: %d bytes in %d ns, asked for %d ns", c.server, i+1, report.Bytes, report.Window, c.Duration)
		case report.Used.Check() != nil:
			return nil, fmt.Errorf("engine: tcp %v: stream %d: impossible: the server's %w", c.server, i+1, report.Used.Check())
		case report.Silence < 0 || report.Silence > report.Window:
			return nil, fmt.Errorf("engine: tcp %v: stream %d: impossible: a silence of %d ns in %d ns", c.server, i+1, report.Silence, report.Window)
		}
		r.Bytes += report.Bytes
		received = append(received, report.Used)
		r.Silence = max(r.Silence, seconds(report.Silence))
		r.StreamBytes = append(r.StreamBytes, report.Bytes)
		r.Rate += t.paced
		if t.zero != nil {
			t.zero.Reap() // everything has arrived, and most of it is reported
			r.Send = "zerocopy"
			r.ZeroSends += t.zero.Done
			r.ZeroCopied += t.zero.Copied
		}
	}
	if 2*r.ZeroCopied > r.ZeroSends {
		r.Send = "zerocopy, copied after all"
	}
	info, err := unix.GetsockoptTCPInfo(conns[0].fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil {
		return nil, fmt.Errorf("engine: tcp %v: TCP_INFO: %w", c.server, err)
	}
	if err := conns[0].finish(); err != nil {
		return nil, fmt.Errorf("engine: tcp %v: %w", c.server, err)
	}
	r.Own = own(sent, wire.Sum(received), true)
	r.ClientTCP = connection(sent.TCP) // even after a stall
	r.MSS, r.SndBuf = int(info.Snd_mss), conns[0].sndBuf
	r.Head = event.NewHead(c.Workload, c.server.String(), c.Size, time.Duration(int64(c.Duration)))
	return r, nil
}

// sendStreams sends on every connection until the server's window must have passed, and marks the
// window on out. It returns what the senders and their connections used between the marks, after all
// senders have ended.
func sendStreams(ctx context.Context, c config, conns []tcpConn, s *sock.Stopper, out events) (wire.Reading, error) {
	var first, marks atomic.Int64
	var over sock.Stopper
	clocks := make([]marked, len(conns))
	started := make(chan error, len(conns))
	failed := make(chan error, len(conns))
	var senders []<-chan error
	for i, t := range conns {
		senders = append(senders, sock.OnThread(func() error {
			clocks[i].marks, clocks[i].gauge = &marks, sock.NewGauge(-1)
			defer clocks[i].gauge.Close()
			err := sendStream(t, c, &first, &clocks[i], started, &over, s)
			if err != nil {
				failed <- fmt.Errorf("engine: tcp %v: stream %d: send: %w", c.server, i+1, err)
			}
			return nil
		}))
	}
	tcp, err := watchStreams(ctx, c, conns, &first, &marks, started, failed, out)
	over.Stop()
	for _, done := range senders {
		err = cmp.Or(err, <-done)
	}
	var sent []wire.Reading
	for _, k := range clocks {
		sent = append(sent, k.used())
	}
	sum := wire.Sum(sent)
	sum.TCP = tcp
	return sum, err
}

// A marked reads the gauge of its thread at marks that another thread sets.
type marked struct {
	marks *atomic.Int64 // set so far
	gauge *sock.Gauge
	seen  int64
	at    [3]wire.Reading // after each mark; without CPU time: not read
}

// look reads the gauge after a new mark; otherwise it only loads a counter.
func (m *marked) look() {
	if n := m.marks.Load(); n != m.seen {
		m.seen, m.at[n] = n, m.gauge.Read()
	}
}

// used returns the difference of the two marks; zero if a stall lasted over one of them.
func (m *marked) used() wire.Reading {
	if m.at[1].CPU == 0 || m.at[2].CPU == 0 {
		return wire.Reading{}
	}
	return m.at[2].Since(m.at[1])
}

// watchStreams keeps the time while the senders send, and returns what TCP_INFO grew by.
func watchStreams(ctx context.Context, c config, conns []tcpConn, first, marks *atomic.Int64, started, failed <-chan error, out events) (tcp wire.TCP, err error) {
	select {
	case <-started:
	case err := <-failed:
		return tcp, err
	case <-ctx.Done():
		return tcp, sock.ErrStopped
	}
	begin := first.Load() + int64(c.Warmup)
	if err := sock.SleepUntil(ctx, begin, failed); err != nil {
		return tcp, err
	}
	before, err := readInfo(conns)
	if err != nil {
		return tcp, err
	}
	marks.Store(1)
	out.begin()
	end := begin + int64(c.Duration)
	if err := sock.SleepUntil(ctx, end, failed); err != nil {
		return tcp, err
	}
	marks.Store(2)
	out.end()
	after, err := readInfo(conns)
	if err != nil {
		return tcp, err
	}
	return after.Since(before), counted(ctx, conns, end+int64(c.timeout), failed)
}

// counted waits for the server's count on every connection. Its window begins and ends later than
// the client's: when it reads the first byte.
func counted(ctx context.Context, conns []tcpConn, deadline int64, failed <-chan error) error {
	wait := make([]unix.PollFd, 0, len(conns))
	for _, t := range conns {
		wait = append(wait, unix.PollFd{Fd: int32(t.fd), Events: unix.POLLIN})
	}
	for len(wait) > 0 && sock.Now() < deadline {
		if _, err := unix.Poll(wait, int(sock.Tick/time.Millisecond)/10); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("engine: tcp: wait for the server's count: %w", err)
		}
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return sock.ErrStopped
		default:
		}
		wait = slices.DeleteFunc(wait, func(p unix.PollFd) bool { return p.Revents&(unix.POLLIN|unix.POLLHUP) != 0 })
	}
	return nil // a missing count is an error when it is read
}

// sendStream writes until over is set, then shuts down its side. The kernel sends the rest of the
// queue, which is read after the window. A path on which nothing moves for the timeout ends the
// stream.
func sendStream(t tcpConn, c config, first *atomic.Int64, clock *marked, started chan<- error, over, s *sock.Stopper) error {
	b := sock.Buffer(c.Size)
	for i := range b { // else all of it is the kernel's one page of zeros, always in the nearest cache
		b[i] = byte(i)
	}
	first.CompareAndSwap(0, sock.Now())
	stalled := 0 // consecutive sends that took nothing within a Tick
	for told := false; !over.Stopped(); {
		_, errno := t.send(b)
		clock.look()
		switch {
		case s.Stopped():
			return sock.ErrStopped
		case sock.Again(errno):
			if stalled++; time.Duration(stalled)*sock.Tick > c.timeout {
				return fmt.Errorf("the kernel took nothing for %v: %w", c.timeout, sock.ErrSilent)
			}
			continue
		case errno != 0:
			return t.zero.Explain(errno)
		case !told:
			started <- nil
			told = true
		}
		stalled = 0
	}
	return unix.Shutdown(t.fd, unix.SHUT_WR)
}

func (t *tcpConn) send(b []byte) (int, unix.Errno) {
	switch {
	case t.zero != nil:
		return t.zero.Send(b)
	case t.file != nil:
		return t.file.Send(t.fd)
	}
	return sock.HotSend(t.fd, b, 0)
}

// readInfo returns the kernel's report on several connections together, so far.
func readInfo(conns []tcpConn) (all wire.TCP, err error) {
	for _, t := range conns {
		info, err := unix.GetsockoptTCPInfo(t.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			return all, fmt.Errorf("engine: tcp: TCP_INFO: %w", err)
		}
		all = all.Plus(sock.TCPReading(info))
	}
	return all, nil
}
