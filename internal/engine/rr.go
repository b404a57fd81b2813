package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

// rrResult is what a tcp-rr or udp-rr run prints. One request is outstanding at
// a time, so a slow reply delays the requests after it: this is closed-loop
// latency, and its tail is that of the transactions that were made.
type rrResult struct {
	head
	Requests     int64  `json:"requests"`
	Transactions int64  `json:"transactions"` // requests that were answered
	Lost         int64  `json:"lost"`         // that were not, within replyTimeout
	Late         int64  `json:"late"`         // replies that came after it, and duplicates, from the warm-up on; not counted
	Hist         string `json:"hist"`         // of response times, ns: HDR V2 compressed, base64
	Congestion   string `json:"congestion,omitempty"`
	FarCC        string `json:"serverCongestion,omitempty"`
	SndBuf       int    `json:"sndbuf"` // bytes in effect
	RcvBuf       int    `json:"rcvbuf"` // bytes in effect
}

// replyTimeout is when a request over UDP counts as lost. It is several times the
// longest stalls of a busy virtual machine, which are not losses.
const replyTimeout = 500 * time.Millisecond

// The range and precision of every histogram, in nanoseconds and decimal digits.
// Equal ranges make them mergeable.
const (
	histLowest  = 1
	histHighest = int64(60 * time.Second)
	histDigits  = 3
)

func newHist() *hdrhistogram.Histogram {
	return hdrhistogram.New(histLowest, histHighest, histDigits)
}

func encodeHist(h *hdrhistogram.Histogram) (string, error) {
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("engine: histogram: %w", err)
	}
	return string(b), nil
}

// An exchange makes one transaction and returns its time in nanoseconds, or 0
// when the reply was lost.
type exchange func(seq uint64) (int64, error)

// transact makes transactions one after another: through the warm-up, then for
// the duration, which the last one may outlast. It must run on a thread of its own.
func transact(c config, s *stopper, out events, do exchange) (r rrResult, err error) {
	hist := newHist()
	seq := uint64(0)
	for end := now() + int64(c.Warmup); now() < end; seq++ {
		if _, err := do(seq); err != nil {
			return r, err
		}
	}
	if err := out.begin(); err != nil {
		return r, err
	}
	begin := now()
	end := begin + int64(c.Duration)
	last := begin
	for silent := begin; last < end; seq++ {
		if s.stopped() {
			return r, errStopped
		}
		rtt, err := do(seq)
		last = now()
		switch {
		case err != nil:
			return r, err
		case rtt > 0:
			silent = last
			r.Transactions++
			err = hist.RecordValue(rtt)
		case last-silent > int64(c.timeout):
			err = fmt.Errorf("no reply for %v: %w", c.timeout, errSilent)
		default:
			r.Lost++
		}
		if err != nil {
			return r, err
		}
		r.Requests++
	}
	if err := out.end(); err != nil {
		return r, err
	}
	if r.Transactions == 0 {
		return r, fmt.Errorf("none of %d requests was answered within %v", r.Requests, replyTimeout)
	}
	r.head = newHead(c.Workload, c.server.String(), c.Size, last-begin)
	r.Hist, err = encodeHist(hist)
	return r, err
}

func runTCPRR(ctx context.Context, c config, s *stopper, out events) (any, error) {
	t, err := dialTCP(ctx, c, s)
	if err != nil {
		return nil, err
	}
	defer unix.Close(t.fd)
	b := make([]byte, c.Size)
	do := func(uint64) (int64, error) {
		start := now()
		deadline := start + int64(c.timeout)
		if err := writeFull(t.fd, b, deadline, s); err != nil {
			return 0, fmt.Errorf("request: %w", err)
		}
		if err := readFull(t.fd, b, deadline, s); err != nil {
			return 0, fmt.Errorf("reply: %w", err)
		}
		return max(now()-start, 1), nil
	}
	var r rrResult
	err = <-onThread(func() error {
		r, err = transact(c, s, out, do)
		return err
	})
	if err == nil {
		err = t.finish()
	}
	if err != nil {
		return nil, fmt.Errorf("engine: tcp %v: %w", c.server, err)
	}
	r.Congestion, r.FarCC, r.SndBuf, r.RcvBuf = t.cc, t.far.CC, t.sndBuf, t.far.RcvBuf
	return r, nil
}

func runUDPRR(ctx context.Context, c config, s *stopper, out events) (any, error) {
	u, err := meet(ctx, c, s)
	if err != nil {
		return nil, err
	}
	defer unix.Close(u.fd)
	request := make([]byte, c.Size)
	late := int64(0)
	do := func(seq uint64) (int64, error) { return u.exchange(request, seq, &late) }
	var r rrResult
	err = <-onThread(func() error {
		r, err = transact(c, s, out, do)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("engine: udp %v: %w", c.server, err)
	}
	r.Late, r.SndBuf, r.RcvBuf = late, u.sndBuf, u.far.RcvBuf
	return r, nil
}

// exchange sends one request and waits for its reply. Whatever else arrives is a
// reply to an earlier request, and adds to late.
func (u *udpClient) exchange(request []byte, seq uint64, late *int64) (int64, error) {
	start := now()
	header{kind: kindEcho, run: u.run, seq: seq, sent: uint64(start) & mask40}.put(request)
	if _, errno := send(u.fd, request); transient(errno) {
		return 0, nil
	} else if errno != 0 {
		return 0, fmt.Errorf("request: %w", errno)
	}
	for deadline := start + int64(replyTimeout); ; {
		n, errno := recv(u.fd, u.buf)
		t := now()
		if u.stop.stopped() {
			return 0, errStopped
		}
		switch {
		case errno == 0:
			h, ok := parseHeader(u.buf[:n])
			if ok && h.kind == kindEcho|kindAnswer && h.run == u.run && h.seq == seq && n == len(request) {
				return max(t-start, 1), nil
			}
			*late++
		case !transient(errno):
			return 0, fmt.Errorf("reply: %w", errno)
		}
		if t > deadline {
			return 0, nil
		}
	}
}

// transient reports that one datagram could not go, and the next one may: the
// call was cut short, a queue of this machine was full, or the path just told
// of a smaller MTU, from which on the kernel fragments.
func transient(errno unix.Errno) bool {
	return again(errno) || errno == unix.ENOBUFS || errno == unix.EMSGSIZE
}
