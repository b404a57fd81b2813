package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-bench/weir/internal/engine/event"
	"github.com/weir-bench/weir/internal/unit"
)

// runTCPStream connects every stream, then sends on all of them at once.
func runTCPStream(ctx context.Context, c config, s *stopper, out events) (any, error) {
	var conns []tcpConn
	defer func() {
		for _, t := range conns {
			unix.Close(t.fd)
		}
	}()
	defer out.people.halt()
	for range c.Streams {
		t, err := dialTCP(ctx, c, s)
		if err != nil {
			return nil, err
		}
		conns = append(conns, t)
		if c.zerocopy {
			if conns[len(conns)-1].zero, err = newZerocopy(t.fd); err != nil {
				return nil, fmt.Errorf("engine: tcp %v: %w", c.server, err)
			}
		}
	}
	out.say("%s to %s (%v): streams: %d, writes: %d bytes; %s\n", c.Workload, c.name, c.server, c.Streams, c.Size, conns[0].describe(c))
	retransmits, err := sendStreams(ctx, c, conns, s, out)
	if err != nil {
		return nil, err
	}
	r := event.TCPStream{Streams: c.Streams, Retransmits: retransmits,
		Congestion: conns[0].cc, FarCongestion: conns[0].far.CC, RcvBuf: conns[0].far.RcvBuf,
		Send: "copy", Recv: "copy", DSCP: conns[0].dscp}
	if c.Discard {
		r.Recv = "discard"
	}
	for i, t := range conns {
		var report streamReport
		if err := readJSON(t.fd, &report, now()+int64(c.timeout), s); err != nil {
			return nil, fmt.Errorf("engine: tcp %v: stream %d: the server's count: %w", c.server, i+1, err)
		}
		switch {
		case report.Error != "":
			return nil, fmt.Errorf("engine: tcp %v: stream %d: the server's count: %s", c.server, i+1, report.Error)
		case report.Bytes < 0 || report.Window != int64(c.Duration):
			return nil, fmt.Errorf("engine: tcp %v: stream %d: impossible: %d bytes in %d ns, asked for %d ns", c.server, i+1, report.Bytes, report.Window, c.Duration)
		case report.Silence < 0 || report.Silence > report.Window:
			return nil, fmt.Errorf("engine: tcp %v: stream %d: impossible: a silence of %d ns in %d ns", c.server, i+1, report.Silence, report.Window)
		}
		r.Bytes += report.Bytes
		r.Silence = max(r.Silence, seconds(report.Silence))
		r.StreamBytes = append(r.StreamBytes, report.Bytes)
		r.Rate += t.paced
		if t.zero != nil {
			t.zero.reap() // all has arrived, and most of it is told
			r.Send = "zerocopy"
			r.ZeroSends += t.zero.done
			r.ZeroCopied += t.zero.copied
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
	r.MSS, r.SndBuf = int(info.Snd_mss), conns[0].sndBuf
	r.Head = event.NewHead(c.Workload, c.server.String(), c.Size, time.Duration(int64(c.Duration)))
	return r, nil
}

// sendStreams sends on every connection until the server's window must have
// passed, and marks the window on out. It returns the retransmissions between
// the marks. All senders have ended when it returns.
func sendStreams(ctx context.Context, c config, conns []tcpConn, s *stopper, out events) (int64, error) {
	var first atomic.Int64
	var over stopper
	started := make(chan error, len(conns))
	failed := make(chan error, len(conns))
	var senders []<-chan error
	for i, t := range conns {
		senders = append(senders, onThread(func() error {
			err := sendStream(t, c, &first, started, &over, s)
			if err != nil {
				failed <- fmt.Errorf("engine: tcp %v: stream %d: send: %w", c.server, i+1, err)
			}
			return nil
		}))
	}
	retransmits, err := watchStreams(ctx, c, conns, &first, started, failed, out)
	over.stop()
	for _, done := range senders {
		if e := <-done; err == nil {
			err = e
		}
	}
	return retransmits, err
}

// watchStreams keeps the time while the senders send.
func watchStreams(ctx context.Context, c config, conns []tcpConn, first *atomic.Int64, started, failed <-chan error, out events) (int64, error) {
	select {
	case <-started:
	case err := <-failed:
		return 0, err
	case <-ctx.Done():
		return 0, errStopped
	}
	begin := first.Load() + int64(c.Warmup)
	if err := sleepUntil(ctx, begin, failed); err != nil {
		return 0, err
	}
	before, err := tcpInfo(conns)
	if err != nil {
		return 0, err
	}
	watchAcks(conns, out)
	if err := out.begin(); err != nil {
		return 0, err
	}
	end := begin + int64(c.Duration)
	if err := sleepUntil(ctx, end, failed); err != nil {
		return 0, err
	}
	if err := out.end(); err != nil {
		return 0, err
	}
	after, err := tcpInfo(conns)
	if err != nil {
		return 0, err
	}
	return after - before, counted(ctx, conns, end+int64(c.timeout), failed)
}

// counted returns when the server has told its count of every connection. Its
// window begins and ends later than the client's: when the first byte is read.
func counted(ctx context.Context, conns []tcpConn, deadline int64, failed <-chan error) error {
	wait := make([]unix.PollFd, 0, len(conns))
	for _, t := range conns {
		wait = append(wait, unix.PollFd{Fd: int32(t.fd), Events: unix.POLLIN})
	}
	for len(wait) > 0 && now() < deadline {
		if _, err := unix.Poll(wait, int(tick/time.Millisecond)/10); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("engine: tcp: wait for the server's count: %w", err)
		}
		select {
		case err := <-failed:
			return err
		case <-ctx.Done():
			return errStopped
		default:
		}
		wait = slices.DeleteFunc(wait, func(p unix.PollFd) bool { return p.Revents&(unix.POLLIN|unix.POLLHUP) != 0 })
	}
	return nil // whose count is missing is found out when it is read
}

// watchAcks lets out watch what the receiver's kernel acknowledges from now on. Of
// what its program reads the sender learns at the end.
func watchAcks(conns []tcpConn, out events) {
	if out.people == nil {
		return
	}
	var window, rtt uint64 // bytes of all streams together, and µs of the slowest
	acked := func() (t tally, ok bool) {
		window, rtt = 0, 0
		for _, c := range conns {
			info, err := unix.GetsockoptTCPInfo(c.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
			if err != nil {
				return t, false
			}
			t.Bytes += int64(info.Bytes_acked)
			t.Lost += int64(info.Total_retrans)
			window += uint64(info.Snd_cwnd) * uint64(info.Snd_mss)
			rtt = max(rtt, uint64(info.Rtt))
		}
		return t, true
	}
	begin := now()
	first, _ := acked()
	out.watch(func() (tally, bool) {
		t, ok := acked()
		return tally{At: now() - begin, Bytes: t.Bytes - first.Bytes, Lost: t.Lost - first.Lost}, ok
	}, func(from, to tally) string {
		return fmt.Sprintf("%s acknowledged, %d segments sent again, congestion window %s, round trip %s",
			perSecond(8*(to.Bytes-from.Bytes), from, to, "bit/s"), to.Lost-from.Lost, unit.Format(float64(window), "byte"), unit.Format(float64(rtt)/1e6, "s"))
	})
}

// sendStream writes until over is set, then shuts down its side. What is still
// queued is sent by the kernel, and read outside of the window. A path on which
// nothing moves for the timeout ends it.
func sendStream(t tcpConn, c config, first *atomic.Int64, started chan<- error, over, s *stopper) error {
	b := make([]byte, c.Size)
	first.CompareAndSwap(0, now())
	stalled := 0 // sends in a row that took nothing within a tick
	for told := false; !over.stopped(); {
		_, errno := t.send(b)
		switch {
		case s.stopped():
			return errStopped
		case again(errno):
			if stalled++; time.Duration(stalled)*tick > c.timeout {
				return fmt.Errorf("nothing was taken for %v: %w", c.timeout, errSilent)
			}
			continue
		case errno != 0:
			return t.zero.explain(errno)
		case !told:
			started <- nil
			told = true
		}
		stalled = 0
	}
	return unix.Shutdown(t.fd, unix.SHUT_WR)
}

// send sends b the way that was asked for. See hot.go.
func (t *tcpConn) send(b []byte) (int, unix.Errno) {
	if t.zero != nil {
		return t.zero.send(b)
	}
	return hotSend(t.fd, b, 0)
}

// tcpInfo returns the retransmitted segments of all connections so far.
func tcpInfo(conns []tcpConn) (retransmits int64, err error) {
	for _, t := range conns {
		info, err := unix.GetsockoptTCPInfo(t.fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			return 0, fmt.Errorf("engine: tcp: TCP_INFO: %w", err)
		}
		retransmits += int64(info.Total_retrans)
	}
	return retransmits, nil
}
